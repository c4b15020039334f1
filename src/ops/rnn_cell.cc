// RNNCell: one step of a simple recurrent network, composed of other operators.  Source: TIM-VX
// RNNCell; tf.keras.layers.SimpleRNNCell.
#include "tim/vx/ops/rnn_cell.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tim/vx/op_def.h"
#include "tim/vx/testing.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

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
  struct Expected {
    size_t input;
    const char* name;
    Shape shape;
  };
  const Expected expected[] = {{kWeight, "weight", {x[0], units}},
                               {kState, "state", {units, batch}},
                               {kRecurrent, "recurrent", {units, units}}};
  for (const auto& [input, name, shape] : expected) {
    if (op.in(input).shape() == shape) continue;
    return op
        .Error(Code::kInvalidShape, "input " + to_string(input) + " '" + name + "' " +
                                        op.in(input).label() + " must be " + shape.ToString() +
                                        ", as input 0 'input' is " + op.in(kInput).label() +
                                        " and input 1 'weight' is " + op.in(kWeight).label())
        .AtTensor(op.in(input).name());
  }
  if (op.in(kBias).present() && op.in(kBias).shape().count() != units) {
    return op.Error(Code::kInvalidShape, "input 2 'bias' " + op.in(kBias).label() + " must have " +
                                             to_string(units) + " elements");
  }
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
  b.AddTo(1, "DataConvert", {}, {b.op().out(0).id()});
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

void Cases(CaseMaker& make) {
  using Q = Quantization;
  const TensorType f32 = {DataType::FLOAT32, {}, Q()}, f16 = {DataType::FLOAT16, {}, Q()};
  const TensorType u8 = {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 0.02f, 121)};
  const TensorType i8 = {DataType::INT8, {}, Q(QuantType::ASYMMETRIC, 1.0f / 128, 0)};
  const TensorType y_u8 = {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 1.0f / 127, 128)};
  auto add = [&](int64_t in, int64_t units, int64_t batch, const TensorType& x, const TensorType& y,
                 const TensorType& state, bool constant, DataType bias, const char* note,
                 RNNCell::ActivationType activation = RNNCell::kTANH) {
    Case c;
    c.attrs = MakeAttrs(RNNCellAttrs{activation});
    auto operand = [&](TensorType t, const Shape& shape, bool fixed, double reach) {
      t.shape = shape;
      c.inputs.push_back({t, fixed, -reach, reach});
    };
    operand(x, {in, batch}, false, 1);
    operand(x, {in, units}, constant, 0.7);
    operand({bias, {}, Q()}, {units}, constant, IsInteger(bias) ? 1500 : 0.5);
    if (bias == DataType::UNKNOWN) c.inputs.back().type = {};
    operand(x, {units, batch}, false, 1);
    operand(x, {units, units}, constant, 0.7);
    c.outputs = {y, state};
    c.note = note;
    make.Add(c);
  };
  const DataType real = DataType::FLOAT32;
  add(1, 1, 1, f32, f32, f32, true, real, "one unit");
  add(3, 4, 2, f32, f32, f32, true, real, "four units");
  add(5, 17, 3, f32, f32, f32, true, real, "17 units");
  add(5, 6, 3, f32, f32, f32, false, real, "computed weights");
  add(5, 6, 3, f32, f32, f32, true, DataType::UNKNOWN, "no bias");
  add(5, 6, 3, f32, f32, f32, true, real, "the activation does not matter", RNNCell::kRELU);
  add(5, 6, 3, f32, f32, y_u8, true, real, "u8 state");
  add(5, 6, 3, f32, i8, f32, true, real, "i8 output, f32 state");
  add(5, 6, 3, f16, f16, f16, true, DataType::FLOAT16, "f16");
  add(5, 6, 3, u8, y_u8, y_u8, true, DataType::INT32, "u8");
  add(5, 6, 3, u8, f32, f16, false, DataType::INT32, "u8 to f32 and f16");
  add(5, 6, 3, i8, i8, i8, true, DataType::INT32, "i8");
}

const OpDef kRNNCell = {.name = "RNNCell",
                        .inputs = "input weight bias? state recurrent",
                        .outputs = "output state_out",
                        .schema = &kAttrSchema<RNNCellAttrs>,
                        .verify = Verify,
                        .infer = Infer,
                        .reference = Reference,
                        .expand = Expand,
                        // tanh of OpenCL is good to 5 ulp, of sums that differ by a few.
                        .tolerance = {16, 1e-6, 1, true},
                        .cases = Cases};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
RNNCell::RNNCell(Graph* graph, ActivationType activation)
    : Operation(graph, kRNNCell, MakeAttrs(RNNCellAttrs{activation})), activation_(activation) {}
std::shared_ptr<Operation> RNNCell::Clone(std::shared_ptr<Graph>& graph) const {
  return graph->CreateOperation<RNNCell>(AttrsOf<RNNCellAttrs>(*this).activation);
}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(rnn_cell) { Add(kRNNCell); }

}  // namespace tim::vx::ops
