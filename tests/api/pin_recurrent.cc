// Pins the constructors, enumerators and protected members of the recurrent operators, as
// pin_signatures.cc does for others.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <type_traits>

#include "api/pins.h"
#include "support/api_support.h"
#include "tim/vx/attrs.h"
#include "tim/vx/ops/bidirectional_sequence_lstm.h"
#include "tim/vx/ops/bidirectional_sequence_rnn.h"
#include "tim/vx/ops/bidirectional_sequence_rnn_ext.h"
#include "tim/vx/ops/grucell.h"
#include "tim/vx/ops/svdf.h"
#include "tim/vx/ops/unidirectional_sequence_gru.h"
#include "tim/vx/ops/unidirectional_sequence_lstm.h"
#include "tim/vx/ops/unidirectional_sequence_rnn.h"
#include "tim/vx/ops/unidirectional_sequence_rnn_ext.h"

namespace tim::vx::test {
namespace {

template <class Op>
constexpr bool kComposed = std::is_base_of_v<Operation, Op> && !std::is_base_of_v<BuiltinOp, Op> &&
                           !std::is_abstract_v<Op>;
#define PIN_CLONE(Op)                                                                              \
  static_assert(std::is_same_v<decltype(&ops::Op::Clone), std::shared_ptr<Operation> (ops::Op::*)( \
                                                              std::shared_ptr<Graph>&) const>)
#define PIN_VALUE(enumerator, number) static_assert(static_cast<int>(enumerator) == (number))

using Rnn = ops::UnidirectionalSequenceRnn;
static_assert(kNode<Rnn> && kTakes<Rnn, Rnn::ActivationType> &&
              kTakes<Rnn, Rnn::ActivationType, bool> && !kTakes<Rnn> && !kTakes<Rnn, int>);
PIN_CLONE(UnidirectionalSequenceRnn);
using BiRnn = ops::BidirectionalSequenceRnn;
static_assert(kNode<BiRnn> && kTakes<BiRnn, BiRnn::ActivationType> &&
              kTakes<BiRnn, BiRnn::ActivationType, bool> &&
              kTakes<BiRnn, BiRnn::ActivationType, bool, bool> && !kTakes<BiRnn>);
PIN_CLONE(BidirectionalSequenceRnn);
using RnnExt = ops::UnidirectionalSequenceRnnExt;
static_assert(kComposed<RnnExt> && kTakes<RnnExt, Rnn::ActivationType> && !kTakes<RnnExt>);
PIN_CLONE(UnidirectionalSequenceRnnExt);
using BiRnnExt = ops::BidirectionalSequenceRnnExt;
static_assert(kComposed<BiRnnExt> && kTakes<BiRnnExt, BiRnn::ActivationType> && !kTakes<BiRnnExt>);
PIN_CLONE(BidirectionalSequenceRnnExt);

using Cell = ops::GRUCell;
static_assert(kNode<Cell> && kTakes<Cell, uint32_t> &&
              kTakes<Cell, uint32_t, Cell::ActivationType> &&
              kTakes<Cell, uint32_t, Cell::ActivationType, Cell::ActivationType> &&
              kTakes<Cell, uint32_t, Cell::ActivationType, Cell::ActivationType, bool> &&
              !kTakes<Cell>);
PIN_CLONE(GRUCell);
using Gru = ops::UnidirectionalSequenceGRU;
using GruAct = Gru::ActivationType;
static_assert(kNode<Gru> && kTakes<Gru, uint32_t> && kTakes<Gru, uint32_t, GruAct> &&
              kTakes<Gru, uint32_t, GruAct, GruAct> &&
              kTakes<Gru, uint32_t, GruAct, GruAct, bool> &&
              kTakes<Gru, uint32_t, GruAct, GruAct, bool, bool> &&
              kTakes<Gru, uint32_t, GruAct, GruAct, bool, bool, bool> && !kTakes<Gru>);
PIN_CLONE(UnidirectionalSequenceGRU);

template <class Lstm>
constexpr bool kTakesAsLstm =
    kTakes<Lstm, float, float, typename Lstm::ActivationType, float>&&
        kTakes<Lstm, float, float, typename Lstm::ActivationType, float, bool>&&
            kTakes<Lstm, float, float, typename Lstm::ActivationType, float, bool,
                   typename Lstm::ActivationType>&&
                kTakes<Lstm, float, float, typename Lstm::ActivationType, float, bool,
                       typename Lstm::ActivationType, bool> &&
    !kTakes<Lstm, float, float, typename Lstm::ActivationType>;
using Lstm = ops::UnidirectionalSequenceLstm;
using BiLstm = ops::BidirectionalSequenceLstm;
static_assert(kNode<Lstm> && kTakesAsLstm<Lstm> && kComposed<BiLstm> && kTakesAsLstm<BiLstm>);
PIN_CLONE(UnidirectionalSequenceLstm);
PIN_CLONE(BidirectionalSequenceLstm);

static_assert(kNode<ops::Svdf> && kTakes<ops::Svdf, int32_t, int32_t, int32_t> &&
              !kTakes<ops::Svdf, int32_t, int32_t>);
PIN_CLONE(Svdf);

template <class Op>
constexpr bool kRnnNumbers = Op::kNONE == 0 && Op::kRELU == 1 && Op::kRELU6 == 3 &&
                             Op::kTANH == 4 && Op::kSIGMOID == 6 && Op::kHARDSIGMOID == 31;
static_assert(kRnnNumbers<Rnn> && kRnnNumbers<BiRnn> && kRnnNumbers<BiLstm> &&
              kRnnNumbers<ops::GRUCell> && kRnnNumbers<Gru>);
PIN_VALUE(Rnn::kRELU1, 2);
PIN_VALUE(BiRnn::kRELU1, 2);
PIN_VALUE(BiLstm::kRELU1, 2);
PIN_VALUE(Lstm::kNONE, 0);
PIN_VALUE(Lstm::kRELU, 1);
PIN_VALUE(Lstm::kRELU6, 2);
PIN_VALUE(Lstm::kTANH, 3);
PIN_VALUE(Lstm::kSIGMOID, 4);
PIN_VALUE(Lstm::kHARDSIGMOID, 5);
PIN_VALUE(Lstm::kCOUNT, 6);
static_assert(std::is_convertible_v<Lstm::ActivationType, int>);

#define MEMBER(name, Type, value)                                                 \
  static_assert(std::is_same_v<std::remove_const_t<decltype(this->name)>, Type>); \
  EXPECT_EQ(this->name, (value))

struct MyRnn : Rnn {
  using Rnn::Rnn;
  void Check(bool time_major) {
    MEMBER(act_type_, ActivationType, kRELU6);
    MEMBER(time_major_, bool, time_major);
  }
};
struct MyBiRnn : BiRnn {
  using BiRnn::BiRnn;
  void Check(bool time_major, bool merge_outputs) {
    MEMBER(act_type_, ActivationType, kRELU1);
    MEMBER(time_major_, bool, time_major);
    MEMBER(merge_outputs_, bool, merge_outputs);
  }
};
struct MyRnnExt : RnnExt {
  using RnnExt::RnnExt;
  void Check() { MEMBER(act_type_, Rnn::ActivationType, Rnn::kSIGMOID); }
};
struct MyBiRnnExt : BiRnnExt {
  using BiRnnExt::BiRnnExt;
  void Check() { MEMBER(act_type_, BiRnn::ActivationType, BiRnn::kNONE); }
};
struct MyCell : Cell {
  using Cell::Cell;
  void Check(ActivationType activation, ActivationType recurrent, bool reset_after) {
    MEMBER(num_units_, uint32_t, 7u);
    MEMBER(activation_, ActivationType, activation);
    MEMBER(recurrent_activation_, ActivationType, recurrent);
    MEMBER(reset_after_, bool, reset_after);
  }
};
struct MyGru : Gru {
  using Gru::Gru;
  void Check(bool reset_after, bool return_sequences, bool time_major) {
    MEMBER(num_units_, uint32_t, 7u);
    MEMBER(activation_, ActivationType, kTANH);
    MEMBER(recurrent_activation_, ActivationType, kSIGMOID);
    MEMBER(reset_after_, bool, reset_after);
    MEMBER(return_sequences_, bool, return_sequences);
    MEMBER(time_major_, bool, time_major);
  }
};
struct MyLstm : Lstm {
  using Lstm::Lstm;
  void Check() { MEMBER(act_type_, ActivationType, kRELU); }
};
struct MyBiLstm : BiLstm {
  using BiLstm::BiLstm;
  void Check(bool time_major, ActivationType recurrent, bool return_sequences) {
    MEMBER(cell_clip_, float, 1);
    MEMBER(proj_clip_, float, 2);
    MEMBER(act_type_, ActivationType, kTANH);
    MEMBER(forget_bias_, float, 3);
    MEMBER(time_major_, bool, time_major);
    MEMBER(recurrent_act_type_, ActivationType, recurrent);
    MEMBER(return_sequences_, bool, return_sequences);
  }
};
struct MySvdf : ops::Svdf {
  using Svdf::Svdf;
  void Check() {
    MEMBER(rank_, int32_t, 2);
    MEMBER(num_units_, int32_t, 3);
    MEMBER(spectrogram_length_, int32_t, 4);
  }
};

// The default arguments are the original's.
TEST(PinRecurrent, MembersAndDefaults) {
  ContextOptions options;
  options.host_only = true;
  auto owner = Context::Create(options)->CreateGraph();
  Graph* graph = owner.get();
  MyRnn(graph, Rnn::kRELU6).Check(false);
  MyRnn(graph, Rnn::kRELU6, true).Check(true);
  MyBiRnn(graph, BiRnn::kRELU1).Check(false, false);
  MyBiRnn(graph, BiRnn::kRELU1, true, true).Check(true, true);
  MyRnnExt(graph, Rnn::kSIGMOID).Check();
  MyBiRnnExt(graph, BiRnn::kNONE).Check();
  MyCell(graph, 7u).Check(Cell::kTANH, Cell::kSIGMOID, true);
  MyCell(graph, 7u, Cell::kRELU, Cell::kNONE, false).Check(Cell::kRELU, Cell::kNONE, false);
  MyGru(graph, 7u).Check(true, false, true);
  MyGru(graph, 7u, Gru::kTANH, Gru::kSIGMOID, false, true, false).Check(false, true, false);
  MyLstm(graph, 0.0f, 0.0f, Lstm::kRELU, 0.0f).Check();
  MyBiLstm(graph, 1.0f, 2.0f, BiLstm::kTANH, 3.0f).Check(false, BiLstm::kSIGMOID, false);
  MyBiLstm(graph, 1.0f, 2.0f, BiLstm::kTANH, 3.0f, true, BiLstm::kNONE, true)
      .Check(true, BiLstm::kNONE, true);
  MySvdf(graph, 2, 3, 4).Check();
}

TEST(PinRecurrent, DefaultsReachTheAttributes) {
  auto graph = SharedContext()->CreateGraph();
  EXPECT_EQ(
      graph->CreateOperation<Lstm>(1.0f, 2.0f, Lstm::kTANH, 3.0f)->Attributes(),
      graph->CreateOperation<Lstm>(1.0f, 2.0f, Lstm::kTANH, 3.0f, false, Lstm::kSIGMOID, false)
          ->Attributes());
  EXPECT_EQ(
      graph->CreateOperation<Gru>(7u)->Attributes(),
      graph->CreateOperation<Gru>(7u, Gru::kTANH, Gru::kSIGMOID, true, false, true)->Attributes());
}

// A whole graph by the public classes, with what callers leave out: placeholders in the middle,
// nothing at the end.
TEST(PinRecurrent, LstmWithPlaceHoldersRuns) {
  auto graph = SharedContext()->CreateGraph();
  auto none = [&] { return graph->CreateTensorPlaceHolder(); };
  auto weight = [&] { return Constant(graph, {1, 1}, {0.5f}); };
  auto x = Input(graph, {1, 1, 2});
  auto y = Output(graph, {1, 1}), h = Output(graph, {1, 1}), c = Output(graph, {1, 1});
  auto op = graph->CreateOperation<Lstm>(0.0f, 0.0f, Lstm::kTANH, 0.0f, true);
  (*op).BindInputs({x, none(), none()});
  for (int i = 0; i < 8; ++i) op->BindInput(weight());
  (*op).BindOutputs({y, h, c});
  ASSERT_TRUE(Write<float>(x, {1, 0}));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  const auto sigmoid = [](float v) { return 1 / (1 + std::exp(-v)); };
  float state = 0, cell = 0;
  for (const float v : {1.0f, 0.0f}) {
    const float sum = 0.5f * v + 0.5f * state, gate = sigmoid(sum);
    cell = gate * cell + gate * std::tanh(sum);
    state = gate * std::tanh(cell);
  }
  EXPECT_NEAR(Read(y, 1)[0], state, 1e-6);
  EXPECT_NEAR(Read(h, 1)[0], state, 1e-6);
  EXPECT_NEAR(Read(c, 1)[0], cell, 1e-6);
}

// State that lives in VARIABLE tensors from Run to Run.
TEST(PinRecurrent, GruKeepsItsStateInAVariable) {
  auto graph = SharedContext()->CreateGraph();
  auto x = Input(graph, {1, 1}), y = Output(graph, {1, 1});
  auto h = Make(graph, TensorAttribute::VARIABLE, {1, 1});
  auto op = graph->CreateOperation<Cell>(1u);
  (*op).BindInputs({x, h});
  for (int i = 0; i < 6; ++i) op->BindInput(Constant(graph, {1, 1}, {0.5f}));
  (*op).BindOutputs({y, h});
  ASSERT_TRUE(Write<float>(h, {0}));
  float state = 0;
  for (const float v : {1.0f, -0.5f, 0.25f}) {
    ASSERT_TRUE(Write<float>(x, {v}));
    ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
    const float sum = 0.5f * v + 0.5f * state, gate = 1 / (1 + std::exp(-sum));
    const float candidate = std::tanh(0.5f * v + gate * 0.5f * state);
    state = (1 - gate) * candidate + gate * state;
    EXPECT_NEAR(Read(y, 1)[0], state, 1e-6);
  }
}

}  // namespace
}  // namespace tim::vx::test
