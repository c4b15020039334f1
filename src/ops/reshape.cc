// Reshape: the same elements in the same order under another shape.  Source: ONNX Reshape-14.
#include "tim/vx/ops/reshape.h"

#include <string>

#include "tim/vx/op_def.h"
#include "tim/vx/testing.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct ReshapeAttrs {
  /// 0 copies the input's extent at that index, one -1 is inferred; empty stands for {1}.
  std::vector<int64_t> target_shape;
  TIMCL_FIELDS(target_shape)
};

Status Verify(const OpView& op) {
  const auto& target = op.attrs<ReshapeAttrs>().target_shape;
  size_t open = 0;
  for (size_t d = 0; d < target.size(); ++d) {
    if (target[d] < -1) {
      return op.Error(Code::kInvalidArgument,
                      "attribute target_shape has the extent " + to_string(target[d]));
    }
    if (target[d] == 0 && d >= op.in(0).shape().rank()) {
      return op.Error(Code::kInvalidArgument, "attribute target_shape copies dimension " +
                                                  to_string(d) + " of input 0 'input' " +
                                                  op.in(0).label() + ", which has none");
    }
    open += target[d] == -1;
  }
  if (open > 1) {
    return op.Error(Code::kInvalidArgument,
                    "attribute target_shape leaves " + to_string(open) + " extents open");
  }
  const TensorView operands[] = {op.in(0), op.out(0)};
  for (const TensorView& t : operands) {
    if (BitsOf(t.dtype()) != 4 && !t.type().per_channel()) continue;
    if (SameEncoding(operands[0].type(), operands[1].type())) continue;
    return op
        .Error(Code::kInvalidType, (&t == operands ? "input 0 'input' " : "output 0 ") + t.label() +
                                       ": 4-bit and per-channel tensors are not converted")
        .AtTensor(t.name());
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const Shape& x = op.in(0).shape();
  Shape y(op.attrs<ReshapeAttrs>().target_shape);
  if (y.empty()) y = {1};
  int64_t known = 1;
  size_t open = y.rank();
  for (size_t d = 0; d < y.rank(); ++d) {
    if (y[d] == 0) y[d] = x[d];
    if (y[d] == -1) {
      open = d;
    } else if (__builtin_mul_overflow(known, y[d], &known)) {
      return op.Error(Code::kInvalidShape, "attribute target_shape has too many elements");
    }
  }
  if (open < y.rank()) y[open] = x.count() / known;
  if (known * (open < y.rank() ? y[open] : 1) != x.count()) {
    return op.Error(Code::kInvalidShape,
                    "input 0 'input' " + op.in(0).label() + " has " + to_string(x.count()) +
                        " elements and cannot become " +
                        Shape(op.attrs<ReshapeAttrs>().target_shape).ToString());
  }
  return Shapes{y};
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const bool same = SameEncoding(op.in(0).type(), op.out(0).type());
  const bool whole =
      IsInteger(op.in(0).dtype()) && !op.in(0).type().quantized() && !op.out(0).type().quantized();
  for (int64_t i = 0; i < ins[0].count(); ++i) {
    if (IsInteger(op.in(0).dtype()) && (same || whole)) {
      outs[0].SetRaw(i, ins[0].Raw(i));
    } else {
      outs[0].Set(i, ins[0].At(i));
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const DeviceCaps&) {
  const int64_t count = op.out(0).type().count();
  if (count > INT32_MAX) {
    return Status::Error(Code::kUnsupported, "more than 2^31 - 1 elements");
  }
  KernelSpec spec;
  spec.source = "copy.cl";
  spec.entry = "copy";
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"N", count}};
  spec.global = {static_cast<size_t>(count), 1, 1};
  spec.local = {256, 1, 1};
  spec.epilogue = KernelSpec::Epilogue::kScalar;
  return Launches{spec};
}

void Cases(CaseMaker& make) {
  auto add = [&](std::vector<int64_t> target, TensorType x, TensorType y, const Shape& shape,
                 const char* note) {
    Case c;
    c.attrs = MakeAttrs(ReshapeAttrs{std::move(target)});
    x.shape = shape;
    c.inputs = {{x, false, -4, 4}};
    c.outputs = {y};
    c.outputs[0].shape = {};
    c.note = note;
    make.Add(c);
  };
  const auto types = StandardTypes({});
  add({}, types[0], types[0], {1, 1, 1}, "empty target");
  add({6, 0, -1}, types[0], types[0], {4, 5, 3, 2}, "a copied and an open extent");
  add({-1}, types[0], types[0], {4, 5, 3, 2}, "flat");
  for (const TensorType& t : types) {
    add({35, -1}, t, t, {7, 5, 3}, "types");
    add({35, -1}, t, types[0], {7, 5, 3}, "to f32");
    add({35, -1}, types[3], t, {7, 5, 3}, "from i8");
  }
  for (DataType d : {DataType::INT32, DataType::UINT32, DataType::INT64, DataType::BOOL8}) {
    const TensorType plain = {d, {}, Quantization()};
    add({10, 60}, plain, plain, {20, 30}, "plain integers");
    add({10, 60}, plain, {DataType::INT64, {}, Quantization()}, {20, 30}, "to i64");
  }
}

const OpDef kReshape = {.name = "Reshape",
                        .schema = &kAttrSchema<ReshapeAttrs>,
                        .verify = Verify,
                        .infer = Infer,
                        .reference = Reference,
                        .kernels = {{"copy", General}},
                        .moves_nothing = true,
                        .tolerance = Tolerance::Exact(),
                        .cases = Cases};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
namespace {
AnyAttrs FromExtents(const std::vector<uint32_t>& target_shape) {
  ReshapeAttrs a;
  for (uint32_t extent : target_shape) {
    a.target_shape.push_back(extent == 0xFFFFFFFFu ? -1 : int64_t{extent});
  }
  return MakeAttrs(std::move(a));
}
}  // namespace

Reshape::Reshape(Graph* graph, const std::vector<uint32_t>& target_shape)
    : Operation(graph, kReshape, FromExtents(target_shape)) {}
std::shared_ptr<Operation> Reshape::Clone(std::shared_ptr<Graph>& graph) const {
  std::vector<uint32_t> target_shape;  // -1 becomes 0xFFFFFFFF again
  for (int64_t extent : AttrsOf<ReshapeAttrs>(*this).target_shape) {
    target_shape.push_back(static_cast<uint32_t>(extent));
  }
  return graph->CreateOperation<Reshape>(target_shape);
}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(reshape) { Add(kReshape); }

}  // namespace tim::vx::ops
