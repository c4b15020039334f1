// Wrong operands, shapes and attributes of the recurrent operators.
#include <limits>
#include <memory>

#include "errors/error_fixture.h"
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

using Rnn = ops::UnidirectionalSequenceRnn;
using BiRnn = ops::BidirectionalSequenceRnn;
using Gru = ops::UnidirectionalSequenceGRU;
using Lstm = ops::UnidirectionalSequenceLstm;
using BiLstm = ops::BidirectionalSequenceLstm;

class RecurrentErrorTest : public ErrorTest {
 protected:
  std::vector<TensorPtr> Inputs(const std::vector<ShapeType>& shapes) {
    std::vector<TensorPtr> inputs;
    for (const ShapeType& shape : shapes)
      inputs.push_back(shape.empty() ? graph_->CreateTensorPlaceHolder() : Input(graph_, shape));
    return inputs;
  }
  std::vector<TensorPtr> Outputs(size_t count) {
    std::vector<TensorPtr> outputs;
    for (size_t i = 0; i < count; ++i) outputs.push_back(Output(graph_, {}));
    return outputs;
  }
  /// Compiles one op over these inputs in a graph of its own.
  template <class Op, class... Args>
  void Expect(Code code, const std::vector<std::string>& words,
              const std::vector<ShapeType>& shapes, size_t outputs, Args... args) {
    SCOPED_TRACE(words.at(0));
    graph_ = SharedContext()->CreateGraph();
    Bind<Op>(graph_, Inputs(shapes), Outputs(outputs), args...);
    if (code == Code::kOk) return ExpectSuccess();
    ExpectFailure(code, words);
  }
};

// Features 3, batch 2, 4 steps, 5 units.
TEST_F(RecurrentErrorTest, Rnn) {
  auto expect = [&](Code code, const std::vector<std::string>& words,
                    const std::vector<ShapeType>& shapes, size_t outputs = 2,
                    Rnn::ActivationType act = Rnn::kTANH, bool time_major = true) {
    Expect<Rnn>(code, words, shapes, outputs, act, time_major);
  };
  const Code shape = Code::kInvalidShape;
  const ShapeType x = {3, 2, 4}, w = {3, 5}, r = {5, 5}, b = {5}, h = {5, 2};
  expect(Code::kOk, {"fits"}, {x, w, r, b, b, h});
  expect(Code::kOk, {"a state of rank 3"}, {x, w, r, b, b, {5, 2, 1}});
  expect(Code::kOk, {"no biases, no state"}, {x, w, r});
  expect(Code::kInvalidGraph, {"UnidirectionalSequenceRnn#1", "2 inputs are bound"}, {x, w});
  expect(Code::kInvalidGraph, {"1 outputs are bound"}, {x, w, r}, 1);
  expect(shape, {"input 0", "f32[3,2]", "rank 2", "rank 3 is expected"}, {{3, 2}, w, r});
  expect(shape, {"input 1", "f32[3,5,1]", "rank 3", "rank 2 is expected"}, {x, {3, 5, 1}, r});
  expect(shape, {"input 1", "f32[4,5]", "[3,5]", "f32[3,2,4]"}, {x, {4, 5}, r});
  expect(shape, {"input 2", "f32[5,4]", "[5,5]"}, {x, w, {5, 4}});
  expect(shape, {"input 3", "it has 4 elements, [5] are expected"}, {x, w, r, {4}});
  expect(shape, {"input 4", "it has 10 elements, [5] are expected"}, {x, w, r, b, {10}});
  expect(shape, {"input 5", "it has 20 elements, [5,2] are expected"}, {x, w, r, b, b, {5, 4}});
  expect(shape, {"input 5", "it has 10 elements, [5,4] are expected"}, {x, w, r, b, b, h}, 2,
         Rnn::kTANH, false);
  expect(Code::kInvalidArgument, {"act_type", "5", "one of NONE RELU RELU1"}, {x, w, r}, 2,
         static_cast<Rnn::ActivationType>(5));
}

TEST_F(RecurrentErrorTest, RnnTypes) {
  Bind<Rnn>(
      graph_,
      {Input(graph_, {3, 2, 4}), Input(graph_, {3, 5}), Input(graph_, {5, 5}, DataType::INT32)},
      Outputs(2), Rnn::kTANH, true);
  ExpectFailure(Code::kInvalidType, {"UnidirectionalSequenceRnn#1", "f32, f32, i32 -> f32, f32"});
}

TEST_F(RecurrentErrorTest, RnnDeclaredOutput) {
  Bind<Rnn>(graph_, Inputs({{3, 2, 4}, {3, 5}, {5, 5}}),
            {Output(graph_, {5, 2}), Output(graph_, {5, 2, 3})}, Rnn::kTANH, true);
  ExpectFailure(Code::kInvalidShape, {"output 1", "declared [5,2,3]", "computes [5,2,4]"});
}

TEST_F(RecurrentErrorTest, RnnExt) {
  auto expect = [&](const std::vector<std::string>& words, const std::vector<ShapeType>& shapes) {
    Expect<ops::UnidirectionalSequenceRnnExt>(Code::kInvalidShape, words, shapes, 2, Rnn::kTANH);
  };
  const ShapeType x = {3, 2, 4}, w = {3, 5, 1}, r = {5, 5, 1}, b = {10, 1};
  expect({"input 0", "rank 2", "rank 3 is expected"}, {{3, 2}, w, r});
  expect({"input 1", "f32[3,5,2]", "[3,5,1]"}, {x, {3, 5, 2}, r});
  expect({"input 2", "f32[5,5]", "[5,5,1]"}, {x, w, {5, 5}});
  expect({"input 3", "it has 5 elements, [10,1] are expected"}, {x, w, r, {5}});
  expect({"input 4", "it has 20 elements, [5,2,1] are expected"}, {x, w, r, b, {5, 2, 2}});
  Expect<ops::BidirectionalSequenceRnnExt>(
      Code::kInvalidShape, {"input 1", "f32[3,5,1]", "[3,5,2]"}, {x, w, r}, 2, BiRnn::kTANH);
  Expect<ops::BidirectionalSequenceRnnExt>(Code::kInvalidShape,
                                           {"input 3", "it has 10 elements, [10,2] are expected"},
                                           {x, {3, 5, 2}, {5, 5, 2}, b}, 2, BiRnn::kTANH);
}

TEST_F(RecurrentErrorTest, BidirectionalRnn) {
  auto expect = [&](Code code, const std::vector<std::string>& words,
                    const std::vector<ShapeType>& shapes, size_t outputs, bool merge = false) {
    Expect<BiRnn>(code, words, shapes, outputs, BiRnn::kTANH, true, merge);
  };
  const ShapeType x = {3, 2, 4}, w = {3, 5}, r = {5, 5}, none = {}, aux = {6, 2, 4};
  const std::vector<ShapeType> whole = {x, w,    r,    none, none, none,   w,
                                        r, none, none, none, aux,  {6, 5}, {6, 5}};
  auto with = [&](size_t i, const ShapeType& shape) {
    auto shapes = whole;
    shapes[i] = shape;
    return shapes;
  };
  expect(Code::kOk, {"fits"}, whole, 4);
  expect(Code::kOk, {"fits merged"}, whole, 2, true);
  expect(Code::kInvalidGraph, {"2 outputs are bound, 4 expected", "false"}, whole, 2);
  expect(Code::kInvalidGraph, {"3 outputs are bound, 4 expected", "false"}, whole, 3);
  expect(Code::kInvalidGraph, {"4 outputs are bound, 2 expected", "true"}, whole, 4, true);
  expect(Code::kInvalidGraph, {"inputs 11, 12 and 13"}, with(11, none), 4);
  expect(Code::kInvalidGraph, {"inputs 11, 12 and 13"}, with(13, none), 4);
  expect(Code::kInvalidShape, {"input 11", "[6,2,4]"}, with(11, {6, 2, 3}), 4);
  expect(Code::kInvalidShape, {"input 13", "[6,5]"}, with(13, {6, 4}), 4);
  expect(Code::kInvalidShape, {"input 7", "[5,5]"}, with(7, {5, 6}), 4);
  expect(Code::kInvalidShape, {"input 6", "[3,5]"}, with(6, {4, 5}), 4);
}

TEST_F(RecurrentErrorTest, GruCell) {
  const ShapeType x = {3, 2}, h = {5, 2}, w = {3, 5}, r = {5, 5}, b = {5}, none = {};
  auto expect = [&](Code code, const std::vector<std::string>& words,
                    const std::vector<ShapeType>& shapes, uint32_t units = 5,
                    ops::GRUCell::ActivationType act = ops::GRUCell::kTANH) {
    Expect<ops::GRUCell>(code, words, shapes, 2, units, act);
  };
  const Code shape = Code::kInvalidShape;
  expect(Code::kOk, {"eight inputs"}, {x, h, w, w, w, r, r, r});
  expect(Code::kOk, {"no state"}, {x, none, w, w, w, r, r, r, b, b, b, b, b, b}, 0);
  expect(Code::kInvalidGraph, {"7 inputs are bound"}, {x, h, w, w, w, r, r});
  expect(shape, {"input 0", "rank 3", "rank 2 is expected"}, {{3, 2, 1}, h, w, w, w, r, r, r});
  expect(shape, {"input 1", "it has 15 elements, [5,2] are expected"},
         {x, {5, 3}, w, w, w, r, r, r});
  expect(shape, {"input 2", "5 units", "num_units says 6"}, {x, h, w, w, w, r, r, r}, 6);
  expect(shape, {"input 4", "f32[3,4]", "[3,5]"}, {x, h, w, w, {3, 4}, r, r, r});
  expect(shape, {"input 6", "f32[5,4]", "[5,5]"}, {x, h, w, w, w, r, {5, 4}, r});
  expect(shape, {"input 13", "it has 6 elements, [5] are expected"},
         {x, h, w, w, w, r, r, r, b, b, b, b, b, {6}});
  expect(Code::kInvalidArgument, {"activation", "2", "one of NONE RELU RELU6"},
         {x, h, w, w, w, r, r, r}, 5, static_cast<ops::GRUCell::ActivationType>(2));
}

TEST_F(RecurrentErrorTest, Gru) {
  const ShapeType x = {3, 2, 4}, h = {5, 2}, w = {3, 5}, r = {5, 5};
  Expect<Gru>(Code::kOk, {"fits"}, {x, h, w, w, w, r, r, r}, 2, 5u);
  Expect<Gru>(Code::kInvalidShape, {"input 0", "rank 2", "rank 3 is expected"},
              {{3, 2}, h, w, w, w, r, r, r}, 2, 5u);
  Expect<Gru>(Code::kInvalidShape, {"input 1", "it has 10 elements, [5,4] are expected"},
              {x, h, w, w, w, r, r, r}, 2, 5u, Gru::kTANH, Gru::kSIGMOID, true, false, false);
  graph_ = SharedContext()->CreateGraph();
  Bind<Gru>(graph_, Inputs({x, h, w, w, w, r, r, r}),
            {Output(graph_, {5, 2, 1}), Output(graph_, {5, 2})}, 5u);
  ExpectSuccess();  // the last step may be declared with a dimension of 1
}

TEST_F(RecurrentErrorTest, Lstm) {
  const ShapeType x = {3, 2, 4}, h = {4, 2}, c = {5, 2}, w = {3, 5}, r = {4, 5}, v = {5}, none = {};
  std::vector<ShapeType> whole = {x, h, c, w, w, w, w, r, r,      r,
                                  r, v, v, v, v, v, v, v, {5, 4}, {4}};
  for (int i = 0; i < 4; ++i) whole.push_back(v);
  whole.push_back({6, 2, 4});
  for (int i = 0; i < 4; ++i) whole.push_back({6, 5});
  for (int i = 0; i < 4; ++i) whole.push_back(v);
  ASSERT_EQ(whole.size(), 33u);
  auto with = [&](size_t i, const ShapeType& shape) {
    auto shapes = whole;
    shapes[i] = shape;
    return shapes;
  };
  auto expect = [&](Code code, const std::vector<std::string>& words,
                    const std::vector<ShapeType>& shapes, float clip = 0,
                    Lstm::ActivationType act = Lstm::kSIGMOID) {
    Expect<Lstm>(code, words, shapes, 3, clip, 0.0f, Lstm::kTANH, 0.0f, true, act);
  };
  const Code shape = Code::kInvalidShape, wiring = Code::kInvalidGraph;
  expect(Code::kOk, {"fits"}, whole);
  expect(Code::kOk, {"coupled, with recurrent weights that nobody reads"}, with(3, none));
  expect(wiring, {"10 inputs are bound, 11 to 33 expected"}, {whole.begin(), whole.begin() + 10});
  expect(wiring, {"input 7, the recurrent weights", "input 3"}, with(7, none));
  expect(wiring, {"input 19", "without a projection, input 18"}, [&] {
    auto shapes = with(18, none);
    shapes[1] = c;
    for (size_t i = 7; i < 11; ++i) shapes[i] = {5, 5};
    return shapes;
  }());
  expect(wiring, {"input 24 is left out, input 25 is bound"}, with(24, none));
  expect(wiring, {"input 24 is bound, input 27 is left out"}, with(27, none));
  expect(shape, {"input 0", "rank 2", "rank 3 is expected"}, with(0, {3, 2}));
  expect(shape, {"input 1", "it has 10 elements, [4,2] are expected"}, with(1, c));
  expect(shape, {"input 2", "it has 8 elements, [5,2] are expected"}, with(2, h));
  expect(shape, {"input 6", "f32[4,5]", "[3,5]"}, with(6, {4, 5}));
  expect(shape, {"input 9", "f32[5,5]", "[4,5]"}, with(9, {5, 5}));
  for (size_t i : {11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 29, 30, 31, 32})
    expect(shape, {"input " + std::to_string(i), "it has 4 elements, [5] are expected"},
           with(i, {4}));
  expect(shape, {"input 18", "f32[6,4]", "[5,4]"}, with(18, {6, 4}));
  expect(shape, {"input 19", "it has 5 elements, [4] are expected"}, with(19, v));
  expect(shape, {"input 24", "[6,2,4]"}, with(24, {6, 4, 2}));
  expect(shape, {"input 26", "[6,5]"}, with(26, {3, 5}));
  expect(Code::kOk, {"no limit"}, whole, std::numeric_limits<float>::infinity());
  expect(Code::kInvalidArgument, {"cell_clip", "must be numbers"}, whole,
         std::numeric_limits<float>::quiet_NaN());
  expect(Code::kInvalidArgument, {"recurrent_act_type", "6"}, whole, 0, Lstm::kCOUNT);
}

TEST_F(RecurrentErrorTest, BidirectionalLstm) {
  const ShapeType x = {3, 2, 4}, w = {3, 5}, r = {5, 5};
  std::vector<ShapeType> whole(56);
  whole[0] = x;
  for (size_t first : {1, 18}) {
    for (size_t g = 0; g < 4; ++g) whole[first + g] = w, whole[first + 4 + g] = r;
  }
  auto expect = [&](Code code, const std::vector<std::string>& words, size_t i,
                    const ShapeType& operand, size_t outputs = 6) {
    auto shapes = whole;
    shapes[i] = operand;
    Expect<BiLstm>(code, words, shapes, outputs, 0.0f, 0.0f, BiLstm::kTANH, 0.0f, true,
                   BiLstm::kSIGMOID, true);
  };
  expect(Code::kOk, {"fits"}, 0, x);
  expect(Code::kOk, {"an aux input that is not used"}, 39, {6, 2, 4});
  EXPECT_THAT(graph_->Report().warnings, testing::Contains(testing::HasSubstr("input 39")));
  expect(Code::kInvalidGraph, {"3 outputs are bound, 6 expected"}, 0, x, 3);
  expect(Code::kInvalidShape, {"input 22", "f32[5,4]", "[5,5]"}, 22, {5, 4});
  expect(Code::kInvalidShape, {"input 38", "it has 8 elements, [5,2] are expected"}, 38, {4, 2});
  expect(Code::kInvalidShape, {"input 55", "it has 4 elements, [5] are expected"}, 55, {4});
}

TEST_F(RecurrentErrorTest, Svdf) {
  // Features 3, batch 2, 5 units of rank 2, memory 4.
  const ShapeType x = {3, 2}, state = {40, 2}, feature = {3, 10}, time = {4, 10}, b = {5};
  auto expect = [&](Code code, const std::vector<std::string>& words,
                    const std::vector<ShapeType>& shapes, int rank = 2,
                    int units = 5) { Expect<ops::Svdf>(code, words, shapes, 2, rank, units, 4); };
  const Code shape = Code::kInvalidShape;
  expect(Code::kOk, {"fits"}, {x, state, feature, time, b});
  expect(Code::kOk, {"the shorter state"}, {x, {30, 2}, feature, time});
  expect(Code::kOk, {"no state"}, {x, {}, feature, time});
  expect(Code::kInvalidArgument, {"rank 0", "must be positive"}, {x, state, feature, time}, 0);
  expect(Code::kInvalidArgument, {"num_units -5", "must be positive"}, {x, state, feature, time}, 2,
         -5);
  expect(shape, {"input 0", "rank 1", "rank 2 is expected"}, {{3}, state, feature, time});
  expect(shape, {"input 1", "[40,2] is expected, or [30,2]"}, {x, {20, 2}, feature, time});
  expect(shape, {"input 2", "f32[3,10]", "[3,12]", "rank 3 and num_units 4"},
         {x, state, feature, time}, 3, 4);
  expect(shape, {"input 3", "f32[4,9]", "[4,10]"}, {x, state, feature, {4, 9}});
  expect(shape, {"input 4", "it has 10 elements, [5] are expected"},
         {x, state, feature, time, {10}});
}

}  // namespace
}  // namespace tim::vx::test
