// RNNCell: one step of a simple recurrent network, composed of other operators.  Source: TIM-VX
// RNNCell; tf.keras.layers.SimpleRNNCell.
#include "tim/vx/ops/rnn_cell.h"

#include <cmath>
#include <vector>

#include "tim/vx/weighted_sum.h"

namespace tim::vx::ops {

TIMCL_ENUM(RNNCell::ActivationType, {RNNCell::kNONE, "NONE"}, {RNNCell::kRELU, "RELU"},
           {RNNCell::kRELU1, "RELU1"}, {RNNCell::kRELU6, "RELU6"}, {RNNCell::kTANH, "TANH"},
           {RNNCell::kSIGMOID, "SIGMOID"}, {RNNCell::kHARDSIGMOID, "HARDSIGMOID"});

namespace {

struct RNNCellAttrs {
  RNNCell::ActivationType activation = RNNCell::kTANH;  // kept, not used: it is always tanh
  TIMCL_FIELDS(activation)
};

// The names in the original say the reverse of 3 and 4.
enum Input : size_t { kInput, kWeight, kBias, kState, kRecurrent };

Status Verify(const OpView& op) {
  for (size_t i : {kInput, kWeight, kState, kRecurrent}) TIMCL_TRY(op.CheckRank(i, 2, 2));
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const Shape &x = op.in(kInput).shape(), &w = op.in(kWeight).shape();
  const int64_t units = w[1], batch = x[1];
  const std::string why = "as " + op.in_label(kInput) + " and " + op.in_label(kWeight) + " say";
  TIMCL_TRY(op.CheckShape(kWeight, {x[0], units}, why));
  TIMCL_TRY(op.CheckShape(kState, {units, batch}, why));
  TIMCL_TRY(op.CheckShape(kRecurrent, {units, units}, why));
  if (op.in(kBias).present() && op.in(kBias).shape().count() != units)
    return op.InputError(kBias, Code::kInvalidShape,
                         "must have " + std::to_string(units) + " elements");
  return Shapes{{units, batch}, {units, batch}};
}

// Unit counts come from the weights here, so that FullyConnected's own attribute stays open.
Status Expand(ExpandBuilder& b) {
  const TensorType f32 = {DataType::FLOAT32, {}, Quantization()};
  const AttrMap axis0 = {{"axis", int64_t{0}}};
  std::vector<ExpandBuilder::Value> of_input = {b.in(kInput), b.in(kWeight)};
  if (b.op().in(kBias).present()) of_input.push_back(b.in(kBias));
  const auto driven = b.Add("FullyConnected", axis0, of_input, f32);
  const auto recalled = b.Add("FullyConnected", axis0, {b.in(kState), b.in(kRecurrent)}, f32);
  b.AddTo(0, "Tanh", {}, {b.Add("Add", {}, {driven, recalled}, f32)});
  // The new state is what the output holds, after its rounding.
  b.AddTo(1, "DataConvert", {}, {b.out(0)});
  return Status();
}

/// One result of a matrix product, rounded to float32.
float Row(const ref::Input& x, const ref::Input& w, int64_t terms, int64_t batch, int64_t unit) {
  double sum = 0;
  for (int64_t k = 0; k < terms; ++k) sum += x.At(batch * terms + k) * w.At(unit * terms + k);
  return static_cast<float>(sum);
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const TensorType &x = op.in(kInput).type(), &w = op.in(kWeight).type();
  const int64_t units = w.shape[1], batch = x.shape[1];
  // The state is a copy of what the output holds, so each result passes through the output's type.
  const TensorType cell_type = {op.out(0).dtype(), {1}, op.out(0).type().quant};
  int64_t cell = 0;
  ref::Output to_cell(&cell, cell_type);
  const ref::Input from_cell(&cell, cell_type);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t u = 0; u < units; ++u) {
      float driven = Row(ins[kInput], ins[kWeight], x.shape[0], b, u);
      if (ins[kBias].present()) {
        const float scale = IsInteger(ins[kBias].type().dtype)
                                ? x.scale() * w.scale(w.per_channel() ? static_cast<size_t>(u) : 0)
                                : 1.0f;
        driven += IsInteger(ins[kBias].type().dtype) ? static_cast<float>(ins[kBias].Raw(u)) * scale
                                                     : ins[kBias].Float(u);
      }
      const float recalled = Row(ins[kState], ins[kRecurrent], units, b, u);
      const int64_t at = b * units + u;
      to_cell.Set(0, std::tanh(static_cast<double>(driven + recalled)));
      outs[0].Set(at, from_cell.At(0));
      outs[1].Set(at, from_cell.At(0));
    }
  }
  return Status();
}

void Advise(const OpView& op, std::vector<std::string>* warnings) {
  weighted_sum::AdviseWeights(op, warnings, kInput, kWeight);
  weighted_sum::AdviseWeights(op, warnings, kState, kRecurrent);
}

void Cases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](int64_t in, int64_t units, int64_t batch, const TensorType& x, const TensorType& y,
                 const TensorType& state, bool constant, DataType bias, const char* note,
                 RNNCell::ActivationType activation = RNNCell::kTANH, bool float_weights = false) {
    const TensorType w = float_weights ? F32() : x;
    CaseBuilder c = make.Of(RNNCellAttrs{activation});
    auto operand = [&](TensorType t, const Shape& shape, bool fixed, double reach) {
      const bool bound = t.dtype != DataType::UNKNOWN;
      if (bound) t.shape = shape;
      c.Input({t, bound && fixed, -reach, reach});
    };
    operand(x, {in, batch}, false, 1);
    operand(w, {in, units}, constant, 0.7);
    operand(Plain(bias), {units}, constant, IsInteger(bias) ? 1500 : 0.5);
    operand(x, {units, batch}, false, 1);
    operand(w, {units, units}, constant, 0.7);
    c.Out(y).Out(state).Note(note);
  };
  const TensorType u8 = Affine(DataType::UINT8, {}, 0.02f, 121);
  const TensorType i8 = Affine(DataType::INT8, {}, 1.0f / 128, 0);
  const TensorType y_u8 = Affine(DataType::UINT8, {}, 1.0f / 127, 128);
  const DataType real = DataType::FLOAT32;
  add(1, 1, 1, F32(), F32(), F32(), true, real, "one unit");
  add(3, 4, 2, F32(), F32(), F32(), true, real, "four units");
  add(5, 17, 3, F32(), F32(), F32(), true, real, "17 units");
  add(5, 6, 3, F32(), F32(), F32(), false, real, "computed weights");
  add(5, 6, 3, F32(), F32(), F32(), true, DataType::UNKNOWN, "no bias");
  add(5, 6, 3, F32(), F32(), F32(), true, real, "the activation does not matter", RNNCell::kRELU);
  add(5, 6, 3, F32(), F32(), y_u8, true, real, "u8 state");
  add(5, 6, 3, F32(), i8, F32(), true, real, "i8 output, f32 state");
  add(5, 6, 3, F16(), F16(), F16(), true, DataType::FLOAT16, "f16");
  add(5, 6, 3, u8, y_u8, y_u8, true, DataType::INT32, "u8");
  add(5, 6, 3, u8, F32(), F16(), false, DataType::INT32, "u8 to f32 and f16");
  add(5, 6, 3, i8, i8, i8, true, DataType::INT32, "i8");
  add(5, 6, 3, u8, y_u8, y_u8, true, real, "u8 with f32 weights", RNNCell::kTANH, true);
}

constexpr OpDef kRNNCell = {
    .name = "RNNCell",
    .inputs = "input weight bias? state recurrent",
    .outputs = "output state_out",
    .types =
        "f32|f16, real, f32|f16, f32|f16, real -> real, real; "
        "real, f32|f16, f32|f16, real, f32|f16 -> real, real; "
        "i8|u8|i16|u16, i8|u8|i16|u16|i8:pc|u8:pc|i16:pc, i32|i32:pc|i64|f32|f16, "
        "i8|u8|i16|u16, i8|u8|i16|u16|i8:pc|u8:pc|i16:pc -> real, real",
    .schema = &kAttrSchema<RNNCellAttrs>,
    .verify = Verify,
    .infer = Infer,
    .reference = Reference,
    .expand = Expand,
    .layout = LayoutRule::Canonical(),
    // tanh of OpenCL is good to 5 ulp, of sums that differ by a few.
    .tolerance = {16, 1e-6, 1, true},
    .cases = TIMCL_CASES(Cases),
    .advise = Advise};

}  // namespace

TIMCL_OP_CLASS_WITH(RNNCell, RNNCellAttrs, (ActivationType activation), (activation),
                    activation_(activation));

TIMCL_OPS(rnn_cell) { Add(kRNNCell); }

}  // namespace tim::vx::ops
