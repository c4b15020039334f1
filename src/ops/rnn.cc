// Simple recurrent networks over a sequence, in one or two directions, with the operands of NNAPI
// or of ONNX.  Source: NNAPI UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN; ONNX RNN-14.
#include <string>
#include <vector>

#include "tim/vx/ops/bidirectional_sequence_rnn.h"
#include "tim/vx/ops/bidirectional_sequence_rnn_ext.h"
#include "tim/vx/ops/unidirectional_sequence_rnn.h"
#include "tim/vx/ops/unidirectional_sequence_rnn_ext.h"
#include "tim/vx/recurrent.h"

namespace tim::vx::ops {

#define TIMCL_RNN_ACTIVATIONS(Class)                                                     \
  TIMCL_ENUM(Class::ActivationType, {Class::kNONE, "NONE"}, {Class::kRELU, "RELU"},      \
             {Class::kRELU1, "RELU1"}, {Class::kRELU6, "RELU6"}, {Class::kTANH, "TANH"}, \
             {Class::kSIGMOID, "SIGMOID"}, {Class::kHARDSIGMOID, "HARDSIGMOID"})
TIMCL_RNN_ACTIVATIONS(UnidirectionalSequenceRnn);
TIMCL_RNN_ACTIVATIONS(BidirectionalSequenceRnn);
#undef TIMCL_RNN_ACTIVATIONS

namespace {

namespace rnn = recurrent;
using rnn::How;
using rnn::Pass;
using rnn::Passes;
using Uni = UnidirectionalSequenceRnn;
using Bi = BidirectionalSequenceRnn;

struct UnidirectionalAttrs {
  Uni::ActivationType act_type = Uni::kTANH;
  bool time_major = false;
  TIMCL_FIELDS(act_type, time_major)
};
struct BidirectionalAttrs {
  Bi::ActivationType act_type = Bi::kTANH;
  bool time_major = false, merge_outputs = false;
  TIMCL_FIELDS(act_type, time_major, merge_outputs)
};
struct UnidirectionalExtAttrs {
  Uni::ActivationType act_type = Uni::kTANH;
  TIMCL_FIELDS(act_type)
};
struct BidirectionalExtAttrs {
  Bi::ActivationType act_type = Bi::kTANH;
  TIMCL_FIELDS(act_type)
};

/// Both enumerations have the same numbers.
rnn::Activation ActivationOf(int act_type) {
  if (act_type == Uni::kRELU1) return rnn::Activation::kRelu1;
  return rnn::ActivationOf<Uni>(act_type);
}

// ------------------------------------------------------------------ operands as NNAPI has them

/// The five operands of one direction, from input `first` on.
Status CheckDirection(const OpView& op, size_t first, int64_t batch) {
  TIMCL_TRY(op.CheckRank(first, 2, 2));
  const int64_t units = op.in(first).shape()[1];
  const std::string why = rnn::AsSaidBy(op, 0, first);
  TIMCL_TRY(op.CheckShape(first, {op.in(0).shape()[0], units}, why));
  TIMCL_TRY(op.CheckShape(first + 1, {units, units}, why));
  TIMCL_TRY(rnn::CheckCount(op, first + 2, {units}, why));
  TIMCL_TRY(rnn::CheckCount(op, first + 3, {units}, why));
  return rnn::CheckCount(op, first + 4, {units, batch}, why);
}

Pass DirectionOf(const OpView& op, size_t first, bool time_major, int act_type) {
  Pass p;
  p.steps = rnn::StepsOf(op, time_major);
  p.batch = rnn::BatchOf(op, time_major);
  p.features = op.in(0).shape()[0];
  p.units = p.state = op.in(first).shape()[1];
  p.x = rnn::InputSequence(op, 0, time_major);
  p.gates.resize(1);
  p.gates[0].input = rnn::Whole(op, first);
  p.gates[0].recurrent = rnn::Whole(op, first + 1);
  p.gates[0].bias = rnn::Whole(op, first + 2);
  p.gates[0].recurrent_bias = rnn::Whole(op, first + 3);
  p.h = rnn::Whole(op, first + 4);
  p.activation = ActivationOf(act_type);
  return p;
}

/// Where a pass stores: `length` units per entry, of which its own begin at `offset`.
void StoreInto(Pass* p, bool time_major, int state, int sequence, int64_t length, int64_t offset) {
  p->h_out = {state, offset, 0, length};
  p->output = rnn::OutputSequence(*p, sequence, length, offset, time_major);
}

Shape SequenceShape(const OpView& op, int64_t units) {
  const Shape& x = op.in(0).shape();
  return {units, x[1], x[2]};
}

Status VerifyUni(const OpView& op) {
  TIMCL_TRY(op.CheckRank(0, 3, 3));
  return CheckDirection(op, 1, rnn::BatchOf(op, op.attrs<UnidirectionalAttrs>().time_major));
}
Result<Shapes> InferUni(const OpView& op) {
  const int64_t units = op.in(1).shape()[1];
  return Shapes{{units, rnn::BatchOf(op, op.attrs<UnidirectionalAttrs>().time_major)},
                SequenceShape(op, units)};
}
Passes PassesUni(const OpView& op) {
  const auto& a = op.attrs<UnidirectionalAttrs>();
  Pass p = DirectionOf(op, 1, a.time_major, a.act_type);
  StoreInto(&p, a.time_major, 0, 1, p.units, 0);
  return {p};
}

constexpr size_t kForward = 1, kBackward = 6, kAux = 11;  // inputs of BidirectionalSequenceRnn

Status VerifyBi(const OpView& op) {
  const auto& a = op.attrs<BidirectionalAttrs>();
  TIMCL_TRY(op.CheckRank(0, 3, 3));
  const int64_t batch = rnn::BatchOf(op, a.time_major);
  for (size_t first : {kForward, kBackward}) TIMCL_TRY(CheckDirection(op, first, batch));
  const size_t outputs = a.merge_outputs ? 2 : 4;
  if (op.num_outputs() != outputs) {
    return op.Error(Code::kInvalidGraph,
                    std::to_string(op.num_outputs()) + " outputs are bound, " +
                        std::to_string(outputs) + " expected where merge_outputs is " +
                        (a.merge_outputs ? "true: state, output"
                                         : "false: fw_state, bw_state, fw_output, bw_output"));
  }
  const TensorView aux = op.in(kAux);
  for (size_t i : {kAux + 1, kAux + 2}) {
    if (op.in(i).present() == aux.present()) continue;
    return op.Error(Code::kInvalidGraph,
                    "aux_input goes with a weight for each direction: inputs 11, 12 and 13 are "
                    "bound together or left out together");
  }
  if (!aux.present()) return Status();
  TIMCL_TRY(op.CheckRank(kAux, 3, 3));
  const int64_t features = aux.shape()[0];
  TIMCL_TRY(op.CheckShape(kAux, {features, op.in(0).shape()[1], op.in(0).shape()[2]},
                          "of the same sequence as " + op.in_label(0)));
  for (size_t k : {size_t{0}, size_t{1}}) {
    const size_t weight = k == 0 ? kForward : kBackward;
    TIMCL_TRY(op.CheckShape(kAux + 1 + k, {features, op.in(weight).shape()[1]},
                            rnn::AsSaidBy(op, kAux, weight)));
  }
  return Status();
}
Result<Shapes> InferBi(const OpView& op) {
  const auto& a = op.attrs<BidirectionalAttrs>();
  const int64_t fw = op.in(kForward).shape()[1], bw = op.in(kBackward).shape()[1];
  const int64_t batch = rnn::BatchOf(op, a.time_major);
  if (a.merge_outputs) return Shapes{{fw + bw, batch}, SequenceShape(op, fw + bw)};
  return Shapes{{fw, batch}, {bw, batch}, SequenceShape(op, fw), SequenceShape(op, bw)};
}
Passes PassesBi(const OpView& op) {
  const auto& a = op.attrs<BidirectionalAttrs>();
  Pass fw = DirectionOf(op, kForward, a.time_major, a.act_type);
  Pass bw = DirectionOf(op, kBackward, a.time_major, a.act_type);
  fw.aux = bw.aux = rnn::InputSequence(op, kAux, a.time_major);
  if (fw.aux.present()) fw.aux_features = bw.aux_features = op.in(kAux).shape()[0];
  fw.gates[0].aux = rnn::Whole(op, kAux + 1);
  bw.gates[0].aux = rnn::Whole(op, kAux + 2);
  if (a.merge_outputs) {
    StoreInto(&fw, a.time_major, 0, 1, fw.units + bw.units, 0);
    StoreInto(&bw, a.time_major, 0, 1, fw.units + bw.units, fw.units);
  } else {
    StoreInto(&fw, a.time_major, 0, 2, fw.units, 0);
    StoreInto(&bw, a.time_major, 1, 3, bw.units, 0);
  }
  bw.x = rnn::Backward(bw.x, bw.steps);
  bw.aux = rnn::Backward(bw.aux, bw.steps);
  bw.output = rnn::Backward(bw.output, bw.steps);
  return {fw, bw};
}

// ------------------------------------------------------------------- operands as ONNX has them

enum Ext : size_t { kX, kW, kR, kB, kH };

Status VerifyExt(const OpView& op, int64_t directions) {
  TIMCL_TRY(op.CheckRank(kX, 3, 3));
  TIMCL_TRY(op.CheckRank(kW, 3, 3));
  const int64_t units = op.in(kW).shape()[1], batch = op.in(kX).shape()[1];
  const std::string why = rnn::AsSaidBy(op, kX, kW);
  TIMCL_TRY(op.CheckShape(kW, {op.in(kX).shape()[0], units, directions}, why));
  TIMCL_TRY(op.CheckShape(kR, {units, units, directions}, why));
  TIMCL_TRY(rnn::CheckCount(op, kB, {2 * units, directions}, why));
  return rnn::CheckCount(op, kH, {units, batch, directions}, why);
}
Result<Shapes> InferExt(const OpView& op, int64_t directions) {
  const Shape& x = op.in(kX).shape();
  const int64_t units = op.in(kW).shape()[1];
  return Shapes{{units, x[1], directions}, {units, x[1], directions, x[2]}};
}
Passes PassesExt(const OpView& op, int64_t directions, int act_type) {
  const Shape& x = op.in(kX).shape();
  const int64_t units = op.in(kW).shape()[1];
  Passes passes;
  for (int64_t d = 0; d < directions; ++d) {
    auto part = [&](size_t input, int64_t offset) {
      rnn::Part whole = rnn::Whole(op, input);
      if (whole.present()) whole.offset = offset;
      return whole;
    };
    Pass p;
    p.steps = x[2], p.batch = x[1], p.features = x[0];
    p.units = p.state = units;
    p.x = rnn::InputSequence(op, kX, true);
    p.gates.resize(1);
    p.gates[0].input = part(kW, d * x[0] * units);
    p.gates[0].recurrent = part(kR, d * units * units);
    p.gates[0].bias = part(kB, d * 2 * units);
    p.gates[0].recurrent_bias = part(kB, d * 2 * units + units);
    p.h = part(kH, d * units * p.batch);
    p.activation = ActivationOf(act_type);
    p.h_out = {0, d * units * p.batch, 0, units};
    p.output = {1, d * units * p.batch, directions * units * p.batch, units};
    if (d == 1) {
      p.x = rnn::Backward(p.x, p.steps);
      p.output = rnn::Backward(p.output, p.steps);
    }
    passes.push_back(p);
  }
  return passes;
}

Status VerifyUniExt(const OpView& op) { return VerifyExt(op, 1); }
Result<Shapes> InferUniExt(const OpView& op) { return InferExt(op, 1); }
Passes PassesUniExt(const OpView& op) {
  return PassesExt(op, 1, op.attrs<UnidirectionalExtAttrs>().act_type);
}
Status VerifyBiExt(const OpView& op) { return VerifyExt(op, 2); }
Result<Shapes> InferBiExt(const OpView& op) { return InferExt(op, 2); }
Passes PassesBiExt(const OpView& op) {
  return PassesExt(op, 2, op.attrs<BidirectionalExtAttrs>().act_type);
}

// -------------------------------------------------------------------------------------- cases

/// The types of a case; a dtype UNKNOWN leaves the operand out.
struct Types {
  TensorType x = cases::F32(), weight = cases::F32(), bias = cases::F32(), state = cases::F32();
  bool constant = true;
};

void Direction(CaseBuilder& c, const Types& t, int64_t in, int64_t units, int64_t batch) {
  rnn::AddOperand(c, t.weight, {in, units}, t.constant, rnn::WeightReach(in));
  rnn::AddOperand(c, t.weight, {units, units}, t.constant, rnn::WeightReach(units));
  rnn::AddOperand(c, t.bias, {units}, t.constant, rnn::BiasReach(t.bias));
  rnn::AddOperand(c, t.bias, {units}, t.constant, rnn::BiasReach(t.bias));
  rnn::AddOperand(c, t.state, {units, batch}, false, 1);
}

TensorType None() { return TensorType(); }

std::vector<std::pair<Types, const char*>> TypesOfCases() {
  using namespace cases;
  const TensorType i8 = Affine(DataType::INT8, {}, 1.0f / 128, 0);
  const TensorType u8 = Affine(DataType::UINT8, {}, 1.0f / 127, 128);
  const TensorType w8 = Affine(DataType::INT8, {}, 0.006f, 0);
  return {{{F32(), F32(), F32(), F32(), false}, "computed weights"},
          {{F32(), F32(), None(), F32(), true}, "no biases"},
          {{F32(), F32(), F32(), None(), true}, "no state"},
          {{F16(), F16(), F16(), F16(), true}, "f16"},
          {{i8, w8, I32(), i8, true}, "i8 with i32 biases"},
          {{u8, w8, I32(), None(), true}, "u8 with i32 biases, no state"}};
}

void CasesUni(CaseMaker& make) {
  using namespace cases;
  auto add = [&](const UnidirectionalAttrs& a, const Types& t, int64_t in, int64_t units,
                 int64_t batch, int64_t steps, const char* note, How how = How::kOnce) {
    CaseBuilder c = make.Of(a);
    rnn::AddOperand(c, t.x, rnn::SequenceShape(in, batch, steps, a.time_major), false, 1);
    Direction(c, t, in, units, batch);
    rnn::Finish(c, note, how);
  };
  add({}, {}, 1, 1, 1, 1, "one element");
  for (bool time_major : {false, true}) {
    for (int act : {0, 1, 2, 3, 4, 6, 31}) {
      add({static_cast<Uni::ActivationType>(act), time_major}, {}, 3, 5, 2, 4, "activations");
    }
    add({Uni::kTANH, time_major}, {}, 17, 19, 3, 7, "odd sizes");
  }
  for (const auto& [types, note] : TypesOfCases()) add({Uni::kTANH, true}, types, 5, 6, 3, 4, note);
  add({Uni::kTANH, true}, {}, 5, 6, 1, 40, "a long sequence");
  add({Uni::kTANH, false}, {}, 9, 131, 1, 5, "shared by work-groups");
  add({Uni::kTANH, true}, TypesOfCases()[4].first, 9, 131, 3, 5, "i8");
  CaseBuilder mixed = make.Of(UnidirectionalAttrs{Uni::kSIGMOID, true});
  rnn::AddOperand(mixed, F32(), {5, 2, 3}, false, 1);
  Direction(mixed, {}, 5, 9, 2);
  mixed.Out(F16()).Out(Affine(DataType::UINT8, {}, 1.0f / 256, 0)).Note("f16 state, u8 output");
  add({Uni::kTANH, false}, {}, 3, 9, 2, 3, "types", How::kEachType);
  add({Uni::kTANH, true}, {}, 128, 128, 1, 32, "128 units, 32 steps", How::kBench);
}

void CasesBi(CaseMaker& make) {
  using namespace cases;
  struct Form {
    int64_t in, fw, bw, batch, steps, aux = 0;
  };
  auto add = [&](const BidirectionalAttrs& a, const Types& t, const Form& f, const char* note,
                 How how = How::kOnce) {
    CaseBuilder c = make.Of(a);
    auto sequence = [&](int64_t n) {
      return rnn::SequenceShape(n, f.batch, f.steps, a.time_major);
    };
    rnn::AddOperand(c, t.x, sequence(f.in), false, 1);
    Direction(c, t, f.in, f.fw, f.batch);
    Direction(c, t, f.in, f.bw, f.batch);
    if (f.aux != 0) {
      rnn::AddOperand(c, t.x, sequence(f.aux), false, 1);
      rnn::AddOperand(c, t.weight, {f.aux, f.fw}, t.constant, 0.5);
      rnn::AddOperand(c, t.weight, {f.aux, f.bw}, t.constant, 0.5);
    }
    rnn::Finish(c, note, how);
  };
  for (bool time_major : {false, true}) {
    add({Bi::kTANH, time_major, false}, {}, {3, 5, 4, 2, 4}, "two numbers of units");
    add({Bi::kSIGMOID, time_major, false}, {}, {3, 5, 4, 2, 4, 9}, "aux input");
    add({Bi::kHARDSIGMOID, time_major, false}, {}, {17, 9, 19, 3, 5}, "odd sizes");
  }
  for (int act : {0, 1, 2, 3})
    add({static_cast<Bi::ActivationType>(act), true, false}, {}, {3, 4, 4, 1, 2}, "others");
  for (const auto& [types, note] : TypesOfCases())
    add({Bi::kTANH, true, false}, types, {5, 6, 6, 3, 4}, note);
  add({Bi::kTANH, false, false}, {}, {3, 6, 6, 2, 3}, "types", How::kEachType);
  add({Bi::kTANH, true, false}, {}, {64, 64, 64, 1, 32}, "64 units, 32 steps", How::kBench);
  // With merged outputs there are two of them, which a CaseBuilder cannot say.
  for (bool time_major : {false, true}) {
    for (const TensorType& y : {F32(), Affine(DataType::INT8, {}, 1.0f / 128, 0)}) {
      const int64_t in = 3, batch = 2, steps = 5;
      Case c;
      c.attrs = MakeAttrs(BidirectionalAttrs{Bi::kTANH, time_major, true});
      c.inputs = {{F32(rnn::SequenceShape(in, batch, steps, time_major))}};
      for (int64_t units : {4, 7}) {
        for (const Shape& shape : {Shape{in, units}, Shape{units, units}, Shape{units},
                                   Shape{units}, Shape{units, batch}}) {
          c.inputs.push_back({F32(shape), shape.rank() == 2 && shape[1] == units, -0.6, 0.6, {}});
        }
      }
      c.outputs = {F32(), y};
      c.note = "merged outputs";
      make.Add(c);
    }
  }
}

/// Cases of an op with the operands of ONNX.
template <class Attrs>
void CasesExt(CaseMaker& make, int64_t directions) {
  using namespace cases;
  using Act = decltype(Attrs::act_type);
  auto add = [&](int act, const Types& t, int64_t in, int64_t units, int64_t batch, int64_t steps,
                 const char* note, How how = How::kOnce) {
    CaseBuilder c = make.Of(Attrs{static_cast<Act>(act)});
    rnn::AddOperand(c, t.x, {in, batch, steps}, false, 1);
    rnn::AddOperand(c, t.weight, {in, units, directions}, t.constant, rnn::WeightReach(in));
    rnn::AddOperand(c, t.weight, {units, units, directions}, t.constant, rnn::WeightReach(units));
    rnn::AddOperand(c, t.bias, {2 * units, directions}, t.constant, rnn::BiasReach(t.bias));
    rnn::AddOperand(c, t.state, {units, batch, directions}, false, 1);
    rnn::Finish(c, note, how);
  };
  add(Uni::kTANH, {}, 1, 1, 1, 1, "one element");
  for (int act : {0, 1, 2, 3, 4, 6, 31}) add(act, {}, 3, 5, 2, 4, "activations");
  add(Uni::kTANH, {}, 17, 19, 3, 5, "odd sizes");
  for (const auto& [types, note] : TypesOfCases()) add(Uni::kTANH, types, 5, 6, 3, 4, note);
  add(Uni::kTANH, {}, 3, 9, 2, 3, "types", How::kEachType);
  add(Uni::kTANH, {}, 64, 64, 1, 32, "64 units, 32 steps", How::kBench);
}
void CasesUniExt(CaseMaker& make) { CasesExt<UnidirectionalExtAttrs>(make, 1); }
void CasesBiExt(CaseMaker& make) { CasesExt<BidirectionalExtAttrs>(make, 2); }

#define TIMCL_RNN_DIRECTION "real, real, f32|f16|i32, f32|f16|i32, real, "
constexpr OpDef kUnidirectionalSequenceRnn = {
    .name = "UnidirectionalSequenceRnn",
    .inputs = "input weight_i weight_h bias_i? bias_h? h_state?",
    .outputs = "h_state_out output",
    .types = "real, real, real, f32|f16|i32, f32|f16|i32, real -> real, real",
    .schema = &kAttrSchema<UnidirectionalAttrs>,
    .verify = VerifyUni,
    .infer = InferUni,
    .reference = rnn::Definition<PassesUni>::Compute,
    .kernels = rnn::Definition<PassesUni>::kKernels,
    .tolerance = rnn::kTolerance,
    .cases = TIMCL_CASES(CasesUni)};

constexpr OpDef kBidirectionalSequenceRnn = {
    .name = "BidirectionalSequenceRnn",
    .inputs =
        "input fw_weight_i fw_weight_h fw_bias_i? fw_bias_h? fw_h_state? "
        "bw_weight_i bw_weight_h bw_bias_i? bw_bias_h? bw_h_state? "
        "aux_input? fw_aux_weight? bw_aux_weight?",
    .outputs = "fw_h_state_out bw_h_state_out fw_output? bw_output?",
    .types = "real, " TIMCL_RNN_DIRECTION TIMCL_RNN_DIRECTION "real, real, real -> real*",
    .schema = &kAttrSchema<BidirectionalAttrs>,
    .verify = VerifyBi,
    .infer = InferBi,
    .reference = rnn::Definition<PassesBi>::Compute,
    .kernels = rnn::Definition<PassesBi>::kKernels,
    .tolerance = rnn::kTolerance,
    .cases = TIMCL_CASES(CasesBi)};
#undef TIMCL_RNN_DIRECTION

constexpr OpDef kUnidirectionalSequenceRnnExt = {
    .name = "UnidirectionalSequenceRnnExt",
    .inputs = "input weight recurrent bias? h_state?",
    .outputs = "h_state_out output",
    .types = "real, real, real, f32|f16|i32, real -> real, real",
    .schema = &kAttrSchema<UnidirectionalExtAttrs>,
    .verify = VerifyUniExt,
    .infer = InferUniExt,
    .reference = rnn::Definition<PassesUniExt>::Compute,
    .kernels = rnn::Definition<PassesUniExt>::kKernels,
    .tolerance = rnn::kTolerance,
    .cases = TIMCL_CASES(CasesUniExt)};

constexpr OpDef kBidirectionalSequenceRnnExt = {
    .name = "BidirectionalSequenceRnnExt",
    .inputs = "input weight recurrent bias? h_state?",
    .outputs = "h_state_out output",
    .types = "real, real, real, f32|f16|i32, real -> real, real",
    .schema = &kAttrSchema<BidirectionalExtAttrs>,
    .verify = VerifyBiExt,
    .infer = InferBiExt,
    .reference = rnn::Definition<PassesBiExt>::Compute,
    .kernels = rnn::Definition<PassesBiExt>::kKernels,
    .tolerance = rnn::kTolerance,
    .cases = TIMCL_CASES(CasesBiExt)};

}  // namespace

TIMCL_OP_CLASS_WITH(UnidirectionalSequenceRnn, UnidirectionalAttrs,
                    (ActivationType act_type, bool time_major), (act_type, time_major),
                    act_type_(act_type), time_major_(time_major));
TIMCL_OP_CLASS_WITH(BidirectionalSequenceRnn, BidirectionalAttrs,
                    (ActivationType act_type, bool time_major, bool merge_outputs),
                    (act_type, time_major, merge_outputs), act_type_(act_type),
                    time_major_(time_major), merge_outputs_(merge_outputs));
TIMCL_OP_CLASS_WITH(UnidirectionalSequenceRnnExt, UnidirectionalExtAttrs,
                    (tim::vx::ops::UnidirectionalSequenceRnn::ActivationType act_type), (act_type),
                    act_type_(act_type));
TIMCL_OP_CLASS_WITH(BidirectionalSequenceRnnExt, BidirectionalExtAttrs,
                    (tim::vx::ops::BidirectionalSequenceRnn::ActivationType act_type), (act_type),
                    act_type_(act_type));

TIMCL_OPS(rnn) {
  Add(kUnidirectionalSequenceRnn);
  Add(kBidirectionalSequenceRnn);
  Add(kUnidirectionalSequenceRnnExt);
  Add(kBidirectionalSequenceRnnExt);
}

}  // namespace tim::vx::ops
