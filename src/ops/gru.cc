// Gated recurrent units: one step, or a sequence.  Source: tf.keras.layers.GRUCell, GRU; ONNX
// GRU-14.
#include <string>
#include <utility>
#include <vector>

#include "tim/vx/ops/grucell.h"
#include "tim/vx/ops/unidirectional_sequence_gru.h"
#include "tim/vx/recurrent.h"

namespace tim::vx::ops {

#define TIMCL_GRU_ACTIVATIONS(Class)                                                         \
  TIMCL_ENUM(Class::ActivationType, {Class::kNONE, "NONE"}, {Class::kRELU, "RELU"},          \
             {Class::kRELU6, "RELU6"}, {Class::kTANH, "TANH"}, {Class::kSIGMOID, "SIGMOID"}, \
             {Class::kHARDSIGMOID, "HARDSIGMOID"})
TIMCL_GRU_ACTIVATIONS(GRUCell);
TIMCL_GRU_ACTIVATIONS(UnidirectionalSequenceGRU);
#undef TIMCL_GRU_ACTIVATIONS

namespace {

namespace rnn = recurrent;
using rnn::How;
using rnn::Pass;
using rnn::Passes;
using Gru = UnidirectionalSequenceGRU;

struct CellAttrs {
  uint32_t num_units = 0;
  GRUCell::ActivationType activation = GRUCell::kTANH;
  GRUCell::ActivationType recurrent_activation = GRUCell::kSIGMOID;
  bool reset_after = true;
  TIMCL_FIELDS(num_units, activation, recurrent_activation, reset_after)
};
struct SequenceAttrs {
  uint32_t num_units = 0;
  Gru::ActivationType activation = Gru::kTANH;
  Gru::ActivationType recurrent_activation = Gru::kSIGMOID;
  bool reset_after = true, return_sequences = false, time_major = true;
  TIMCL_FIELDS(num_units, activation, recurrent_activation, reset_after, return_sequences,
               time_major)
};

// The gates z, r, c follow each other in each group.
enum Input : size_t { kX, kH, kWeight = 2, kRecurrent = 5, kBias = 8, kRecurrentBias = 11 };

int64_t UnitsOf(const OpView& op) { return op.in(kWeight).shape()[1]; }

Status CheckOperands(const OpView& op, uint32_t num_units, int64_t batch) {
  TIMCL_TRY(op.CheckRank(kWeight, 2, 2));
  const int64_t units = UnitsOf(op);
  if (num_units != 0 && static_cast<int64_t>(num_units) != units) {
    return op.InputError(kWeight, Code::kInvalidShape,
                         "it has " + std::to_string(units) + " units, attribute num_units says " +
                             std::to_string(num_units));
  }
  const std::string why = rnn::AsSaidBy(op, kX, kWeight);
  for (size_t g = 0; g < 3; ++g) {
    TIMCL_TRY(op.CheckShape(kWeight + g, {op.in(kX).shape()[0], units}, why));
    TIMCL_TRY(op.CheckShape(kRecurrent + g, {units, units}, why));
    TIMCL_TRY(rnn::CheckCount(op, kBias + g, {units}, why));
    TIMCL_TRY(rnn::CheckCount(op, kRecurrentBias + g, {units}, why));
  }
  return rnn::CheckCount(op, kH, {units, batch}, why);
}

/// All but the sequence.
template <class Attrs>
Pass CommonPass(const OpView& op, const Attrs& a) {
  Pass p;  // the enumerations of both classes have the same numbers
  p.cell = a.reset_after ? rnn::Cell::kGru : rnn::Cell::kGruReset;
  p.features = op.in(kX).shape()[0];
  p.units = p.state = UnitsOf(op);
  for (size_t g = 0; g < 3; ++g) {
    rnn::Gate gate;
    gate.input = rnn::Whole(op, kWeight + g);
    gate.recurrent = rnn::Whole(op, kRecurrent + g);
    gate.bias = rnn::Whole(op, kBias + g);
    gate.recurrent_bias = rnn::Whole(op, kRecurrentBias + g);
    p.gates.push_back(gate);
  }
  p.h = rnn::Whole(op, kH);
  p.activation = rnn::ActivationOf<Gru>(a.activation);
  p.recurrent_activation = rnn::ActivationOf<Gru>(a.recurrent_activation);
  p.output = {0, 0, 0, p.units};
  if (op.num_outputs() > 1) p.h_out = {1, 0, 0, p.units};
  return p;
}

Status VerifyCell(const OpView& op) {
  TIMCL_TRY(op.CheckRank(kX, 2, 2));
  return CheckOperands(op, op.attrs<CellAttrs>().num_units, op.in(kX).shape()[1]);
}
Result<Shapes> InferCell(const OpView& op) {
  const Shape h = {UnitsOf(op), op.in(kX).shape()[1]};
  return Shapes{h, h};
}
Passes PassesCell(const OpView& op) {
  Pass p = CommonPass(op, op.attrs<CellAttrs>());
  p.batch = op.in(kX).shape()[1];
  p.x = rnn::InputSequence(op, kX, true);
  return {p};
}

int64_t BatchOf(const OpView& op) { return rnn::BatchOf(op, op.attrs<SequenceAttrs>().time_major); }
Status VerifySequence(const OpView& op) {
  TIMCL_TRY(op.CheckRank(kX, 3, 3));
  return CheckOperands(op, op.attrs<SequenceAttrs>().num_units, BatchOf(op));
}
Result<Shapes> InferSequence(const OpView& op) {
  const Shape &x = op.in(kX).shape(), h = {UnitsOf(op), BatchOf(op)};
  return Shapes{op.attrs<SequenceAttrs>().return_sequences ? Shape{h[0], x[1], x[2]} : h, h};
}
Passes PassesSequence(const OpView& op) {
  const auto& a = op.attrs<SequenceAttrs>();
  Pass p = CommonPass(op, a);
  p.batch = BatchOf(op);
  p.steps = rnn::StepsOf(op, a.time_major);
  p.x = rnn::InputSequence(op, kX, a.time_major);
  if (a.return_sequences) p.output = rnn::OutputSequence(p, 0, p.units, 0, a.time_major);
  return {p};
}

struct Types {
  TensorType x = cases::F32(), weight = cases::F32(), bias = cases::F32();
  TensorType recurrent_bias = cases::F32(), state = cases::F32();
  bool constant = true;
};

void Operands(CaseBuilder& c, const Types& t, const Shape& x, int64_t units, int64_t batch) {
  rnn::AddOperand(c, t.x, x, false, 1);
  rnn::AddOperand(c, t.state, {units, batch}, false, 1);
  for (int g = 0; g < 3; ++g)
    rnn::AddOperand(c, t.weight, {x[0], units}, t.constant, rnn::WeightReach(x[0]));
  for (int g = 0; g < 3; ++g)
    rnn::AddOperand(c, t.weight, {units, units}, t.constant, rnn::WeightReach(units));
  for (const TensorType& bias : {t.bias, t.recurrent_bias}) {
    for (int g = 0; g < 3; ++g) rnn::AddOperand(c, bias, {units}, t.constant, rnn::BiasReach(bias));
  }
}

std::vector<std::pair<Types, const char*>> TypesOfCases() {
  using namespace cases;
  const TensorType i8 = Affine(DataType::INT8, {}, 1.0f / 128, 0), none;
  const TensorType u8 = Affine(DataType::UINT8, {}, 1.0f / 127, 128);
  const TensorType w8 = Affine(DataType::INT8, {}, 0.006f, 0);
  return {{{F32(), F32(), F32(), F32(), F32(), false}, "computed weights"},
          {{F32(), F32(), none, none, F32(), true}, "no biases"},
          {{F32(), F32(), none, F32(), F32(), true}, "recurrent biases alone"},
          {{F32(), F32(), F32(), none, none, true}, "input biases alone, no state"},
          {{F16(), F16(), F16(), F16(), F16(), true}, "f16"},
          {{i8, w8, I32(), I32(), i8, true}, "i8 with i32 biases"},
          {{u8, w8, I32(), I32(), none, true}, "u8 with i32 biases, no state"}};
}

void CasesCell(CaseMaker& make) {
  auto add = [&](const CellAttrs& a, const Types& t, int64_t in, int64_t units, int64_t batch,
                 const char* note, How how = How::kOnce) {
    CaseBuilder c = make.Of(a);
    Operands(c, t, {in, batch}, units, batch);
    rnn::Finish(c, note, how);
  };
  using Act = GRUCell::ActivationType;
  for (bool reset_after : {false, true}) {
    auto attrs = [&](uint32_t units) {
      return CellAttrs{units, GRUCell::kTANH, GRUCell::kSIGMOID, reset_after};
    };
    add(attrs(1), {}, 1, 1, 1, "one element");
    add(attrs(19), {}, 17, 19, 3, "odd sizes");
    for (const auto& [types, note] : TypesOfCases()) add(attrs(6), types, 5, 6, 3, note);
  }
  // Each activation in both places, with the reset gate after and before.
  const std::pair<int, int> pairs[] = {{0, 31}, {1, 0}, {3, 1}, {6, 3}, {31, 4}};
  bool after = true;
  for (const auto& [candidate, gate] : pairs) {
    add({5, static_cast<Act>(candidate), static_cast<Act>(gate), after}, {}, 3, 5, 2,
        "activations");
    after = !after;
  }
  add({9}, {}, 3, 9, 2, "types", How::kEachType);
  add({128}, {}, 128, 128, 1, "128 units", How::kBench);
}

void CasesSequence(CaseMaker& make) {
  auto add = [&](const SequenceAttrs& a, const Types& t, int64_t in, int64_t units, int64_t batch,
                 int64_t steps, const char* note, How how = How::kOnce) {
    CaseBuilder c = make.Of(a);
    Operands(c, t, rnn::SequenceShape(in, batch, steps, a.time_major), units, batch);
    rnn::Finish(c, note, how);
  };
  auto attrs = [](uint32_t units, bool after, bool sequences, bool time_major) {
    return SequenceAttrs{units, Gru::kTANH, Gru::kSIGMOID, after, sequences, time_major};
  };
  add(attrs(1, true, true, true), {}, 1, 1, 1, 1, "one element");
  for (bool after : {false, true}) {
    for (bool sequences : {false, true}) {
      for (bool time_major : {false, true})
        add(attrs(19, after, sequences, time_major), {}, 17, 19, 3, 5, "odd sizes");
    }
    for (const auto& [types, note] : TypesOfCases())
      add(attrs(0, after, true, true), types, 5, 6, 3, 4, note);
  }
  add({5, Gru::kRELU6, Gru::kHARDSIGMOID, true, true, false}, {}, 3, 5, 2, 4, "activations");
  add({5, Gru::kSIGMOID, Gru::kTANH, false, true, false}, {}, 3, 5, 2, 4, "activations");
  add(attrs(6, true, true, true), {}, 5, 6, 1, 40, "a long sequence");
  add(attrs(81, true, true, true), {}, 9, 81, 1, 5, "shared by work-groups");
  add(attrs(81, true, false, false), TypesOfCases()[5].first, 9, 81, 3, 5, "i8, the last step");
  add(attrs(9, false, true, true), {}, 3, 9, 2, 3, "types", How::kEachType);
  add(attrs(128, true, true, true), {}, 128, 128, 1, 32, "128 units, 32 steps", How::kBench);
}

#define TIMCL_GRU_INPUTS                                                           \
  "input h_state? weight_z weight_r weight_h recurrent_z recurrent_r recurrent_h " \
  "bias_z? bias_r? bias_h? recurrent_bias_z? recurrent_bias_r? recurrent_bias_h?"
#define TIMCL_GRU_TYPES "real, real, real, real, real, real, real, real, f32|f16|i32* -> real, real"
constexpr OpDef kGRUCell = {.name = "GRUCell",
                            .inputs = TIMCL_GRU_INPUTS,
                            .outputs = "output h_state_out?",
                            .types = TIMCL_GRU_TYPES,
                            .schema = &kAttrSchema<CellAttrs>,
                            .verify = VerifyCell,
                            .infer = InferCell,
                            .reference = rnn::Definition<PassesCell>::Compute,
                            .kernels = rnn::Definition<PassesCell>::kKernels,
                            .tolerance = rnn::kTolerance,
                            .cases = TIMCL_CASES(CasesCell)};

constexpr OpDef kUnidirectionalSequenceGRU = {.name = "UnidirectionalSequenceGRU",
                                              .inputs = TIMCL_GRU_INPUTS,
                                              .outputs = "output h_state_out?",
                                              .types = TIMCL_GRU_TYPES,
                                              .schema = &kAttrSchema<SequenceAttrs>,
                                              .verify = VerifySequence,
                                              .infer = InferSequence,
                                              .reference = rnn::Definition<PassesSequence>::Compute,
                                              .kernels = rnn::Definition<PassesSequence>::kKernels,
                                              .tolerance = rnn::kTolerance,
                                              .cases = TIMCL_CASES(CasesSequence)};
#undef TIMCL_GRU_INPUTS
#undef TIMCL_GRU_TYPES

}  // namespace

TIMCL_OP_CLASS_WITH(GRUCell, CellAttrs,
                    (uint32_t num_units, ActivationType activation,
                     ActivationType recurrent_activation, bool reset_after),
                    (num_units, activation, recurrent_activation, reset_after),
                    num_units_(num_units), activation_(activation),
                    recurrent_activation_(recurrent_activation), reset_after_(reset_after));
TIMCL_OP_CLASS_WITH(
    UnidirectionalSequenceGRU, SequenceAttrs,
    (uint32_t num_units, ActivationType activation, ActivationType recurrent_activation,
     bool reset_after, bool return_sequences, bool time_major),
    (num_units, activation, recurrent_activation, reset_after, return_sequences, time_major),
    num_units_(num_units), activation_(activation), recurrent_activation_(recurrent_activation),
    reset_after_(reset_after), return_sequences_(return_sequences), time_major_(time_major));

TIMCL_OPS(gru) {
  Add(kGRUCell);
  Add(kUnidirectionalSequenceGRU);
}

}  // namespace tim::vx::ops
