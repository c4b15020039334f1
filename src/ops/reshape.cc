// Reshape: the same elements in the same order under another shape.  Source: ONNX Reshape-14.
#include "tim/vx/ops/reshape.h"

#include <string>

#include "tim/vx/strided_view.h"

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
                                                  to_string(d) + " of " + op.in_label(0) +
                                                  ", which has none");
    }
    open += target[d] == -1;
  }
  if (open > 1) {
    return op.Error(Code::kInvalidArgument,
                    "attribute target_shape leaves " + to_string(open) + " extents open");
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
                    op.in_label(0) + " has " + to_string(x.count()) +
                        " elements and cannot become " +
                        Shape(op.attrs<ReshapeAttrs>().target_shape).ToString());
  }
  return Shapes{y};
}

void Cases(CaseMaker& make) {
  using namespace cases;
  // The last dimension stays, which quantization by channel goes along.
  make.Of(ReshapeAttrs{{5, 7, -1}}).In(F32({7, 5, 3})).Note("types").EachType();
  make.Of(ReshapeAttrs{}).In(F32({1, 1, 1})).Note("empty target");
  make.Of(ReshapeAttrs{{6, 0, -1}}).In(F32({4, 5, 3, 2})).Note("a copied and an open extent");
  make.Of(ReshapeAttrs{{-1}}).In(F32({4, 5, 3, 2})).Note("flat");
  for (const TensorType& t : DeclaredTypes(make.def(), 0, {20, 30})) {
    make.Of(ReshapeAttrs{{10, 60}}).In(t).Out(F32()).Note("to f32");
    make.Of(ReshapeAttrs{{10, 60}}).In(t).Out(Plain(DataType::INT64)).Note("to i64");
  }
  make.Of(ReshapeAttrs{{-1}}).In(F32({256, 256, 16})).Note("one million elements").Bench();
}

constexpr OpDef kReshape = {
    .name = "Reshape",
    .types =
        "copyable -> copyable|u32:q; i8:pc|u8:pc|i16:pc|i32:pc|i4:pc|u4:pc|i8:apc|u8:apc -> ==0",
    .schema = &kAttrSchema<ReshapeAttrs>,
    .verify = Verify,
    .infer = Infer,
    .reference = CopyOp::Reference,
    .kernels = CopyOp::kKernels,
    .layout = LayoutRule::Canonical(),  // the order of the elements is what stays
    .moves_nothing = true,
    .tolerance = Tolerance::Exact(),
    .cases = TIMCL_CASES(Cases)};

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
