// Softmax along one axis.  Source: ONNX Softmax-13; NNAPI SOFTMAX (beta).
#include "tim/vx/ops/softmax.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tim/vx/op_def.h"
#include "tim/vx/testing.h"

namespace tim::vx::ops {
namespace {

struct SoftmaxAttrs {
  float beta = 1.0f;
  int32_t axis = 0;  // [-rank, rank), 0 = fastest
  TIMCL_FIELDS(beta, axis)
};

Status Verify(const OpView& op) {
  const TensorView operands[] = {op.in(0), op.out(0)};
  for (const TensorView& t : operands) {
    const DataType d = t.dtype();
    const bool known = d == DataType::FLOAT32 || d == DataType::FLOAT16 || d == DataType::INT8 ||
                       d == DataType::UINT8 || d == DataType::INT16 || d == DataType::UINT16;
    if (!known || t.type().per_channel()) {
      return op
          .Error(Code::kInvalidType, (&t == operands ? "input 0 'input' " : "output 0 ") +
                                         t.label() +
                                         ": one of f32 f16 i8 u8 i16 u16, quantized per tensor or "
                                         "not at all, is expected")
          .AtTensor(t.name());
    }
  }
  return op.CheckAxis(op.attrs<SoftmaxAttrs>().axis);
}

Result<Shapes> Infer(const OpView& op) { return Shapes{op.in(0).shape()}; }

Shape::Lines LinesOf(const OpView& op) {
  return op.in(0).shape().SplitAt(op.Axis(op.attrs<SoftmaxAttrs>().axis));
}

// In float32, step by step: callers compare results bit by bit.
Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  constexpr float kLog2E = 1.44269504f;
  const float beta = op.attrs<SoftmaxAttrs>().beta;
  const auto [outer, n, inner] = LinesOf(op);
  std::vector<float> e(static_cast<size_t>(n));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t base = o * n * inner + i;
      float most = -std::numeric_limits<float>::infinity();
      for (int64_t k = 0; k < n; ++k) most = std::fmax(most, ins[0].Float(base + k * inner));
      float sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        const float scaled = (ins[0].Float(base + k * inner) - most) * beta;
        sum += e[static_cast<size_t>(k)] = std::exp2(scaled * kLog2E);
      }
      const float inverse = 1.0f / sum;
      for (int64_t k = 0; k < n; ++k) {
        outs[0].Set(base + k * inner, e[static_cast<size_t>(k)] * inverse);
      }
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const DeviceCaps&) {
  const auto [outer, n, inner] = LinesOf(op);
  if (op.in(0).type().count() > INT32_MAX) {
    return Status::Error(Code::kUnsupported, "more than 2^31 - 1 elements");
  }
  KernelSpec spec;
  spec.source = "softmax.cl";
  spec.entry = "softmax";
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"LENGTH", n}, {"INNER", inner}, {"LINES", outer * inner}};
  spec.reals = {{"BETA", op.attrs<SoftmaxAttrs>().beta}};
  spec.global = {static_cast<size_t>(outer * inner), 1, 1};
  spec.local = {16, 1, 1};
  spec.float_math = true;
  spec.epilogue = KernelSpec::Epilogue::kScalar;
  return Launches{spec};
}

void Cases(CaseMaker& make) {
  using Q = Quantization;
  auto add = [&](float beta, int32_t axis, const TensorType& x, const TensorType& y,
                 const char* note, double reach = 5, bool bench = false) {
    Case c;
    c.attrs = MakeAttrs(SoftmaxAttrs{beta, axis});
    c.inputs = {{x, false, -reach, reach}};
    c.outputs = {y};
    c.outputs[0].shape = {};
    c.note = note;
    c.bench = bench;
    make.Add(c);
  };
  auto f32 = [](const Shape& s) { return TensorType{DataType::FLOAT32, s, Q()}; };
  const TensorType u8 = {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 1.0f / 256, 0)};
  const TensorType i8 = {DataType::INT8, {}, Q(QuantType::ASYMMETRIC, 1.0f / 256, -128)};
  const TensorType i16 = {DataType::INT16, {}, Q(QuantType::DYNAMIC_FIXED_POINT, int8_t{15})};
  add(1, 0, f32({1}), f32({}), "one element");
  add(1, 0, f32({10, 3}), f32({}), "fastest axis");
  for (int32_t axis : {0, 1, 2, 3, -1, -4}) add(0.5f, axis, f32({7, 5, 3, 2}), f32({}), "axes");
  add(-1.5f, 1, f32({19, 4, 1, 2, 3}), f32({}), "negative beta, rank 5");
  add(1, 0, f32({1001, 2}), f32({}), "long lines", 20);
  for (const TensorType& t : StandardTypes({21, 5})) {
    add(1, 0, t, t, "types");
    add(1, 1, t, f32({}), "to f32");
    add(1, 0, t, u8, "to u8");
  }
  add(1, 0, StandardTypes({21, 5})[3], i8, "i8 to i8");
  add(2, 0, f32({21, 5}), i16, "f32 to i16");
  add(1, 0, {DataType::UINT8, {21, 5}, Q(QuantType::ASYMMETRIC, 0.1f, 128)},
      {DataType::FLOAT16, {}, Q()}, "u8 to f16", 12);
  add(1, 0, f32({1000, 1}), f32({}), "1000 classes", 5, true);
  add(1, 0, f32({128, 1024}), f32({}), "1024 lines of 128", 5, true);
}

const OpDef kSoftmax = {.name = "Softmax",
                        .schema = &kAttrSchema<SoftmaxAttrs>,
                        .verify = Verify,
                        .infer = Infer,
                        .reference = Reference,
                        .kernels = {{"general", General}},
                        // exp2 of OpenCL is good to 3 ulp, twice; sum and product add one each.
                        .tolerance = Tolerance::Ulp(8, 1),
                        .cases = Cases};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Softmax::Softmax(Graph* graph, float beta, int32_t axis)
    : BuiltinOp(graph, kSoftmax, MakeAttrs(SoftmaxAttrs{beta, axis})), beta_(beta), axis_(axis) {}
std::shared_ptr<Operation> Softmax::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<SoftmaxAttrs>(*this);
  return graph->CreateOperation<Softmax>(a.beta, a.axis);
}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(softmax) { Add(kSoftmax); }

}  // namespace tim::vx::ops
