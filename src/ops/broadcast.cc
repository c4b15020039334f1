// Broadcast: repeats a tensor to a shape.  Source: ONNX Expand-13; StableHLO broadcast_in_dim.
#include "tim/vx/ops/broadcast.h"

#include <string>

#include "tim/vx/strided_view.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct BroadcastAttrs {
  std::vector<int64_t> shape;       // 0 = fastest
  std::vector<int32_t> dimensions;  // empty: 0, 1, 2, ...
  TIMCL_FIELDS(shape, dimensions)
};

/// The dimension of the result that dimension d of the input becomes.
size_t TargetOf(const OpView& op, size_t d) {
  const auto& a = op.attrs<BroadcastAttrs>();
  if (a.dimensions.empty()) return d;
  const int64_t t = a.dimensions[d];
  return static_cast<size_t>(t < 0 ? t + static_cast<int64_t>(a.shape.size()) : t);
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<BroadcastAttrs>();
  for (int64_t extent : a.shape) {
    if (extent < 1)
      return op.Error(Code::kInvalidArgument,
                      "attribute shape has the extent " + to_string(extent));
  }
  if (a.dimensions.empty()) return Status();
  const size_t rank = op.in(0).shape().rank();
  bool valid = a.dimensions.size() == rank;
  std::vector<bool> seen(a.shape.size(), false);
  for (size_t d = 0; d < rank && valid; ++d) {
    const size_t t = TargetOf(op, d);
    valid = t < seen.size() && !seen[t];
    if (valid) seen[t] = true;
  }
  if (valid) return Status();
  return op.Error(Code::kInvalidArgument, "attributes " + op.any_attrs().Map().ToText() +
                                              " do not give each dimension of " + op.in_label(0) +
                                              " one of the shape");
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<BroadcastAttrs>();
  const Shape& x = op.in(0).shape();
  Shape y(a.shape);
  for (size_t d = 0; d < x.rank(); ++d) {
    const size_t t = TargetOf(op, d);
    if (t >= y.rank()) y.push_back(1);
    if (y[t] == 1 && a.dimensions.empty()) y[t] = x[d];
    if (x[d] != 1 && x[d] != y[t]) {
      return op.Error(Code::kInvalidShape, op.in_label(0) +
                                               " does not broadcast to attribute shape " +
                                               Shape(a.shape).ToString() + ": dimension " +
                                               to_string(d) + " (counted from the fastest) is " +
                                               to_string(x[d]) + ", not 1 or " + to_string(y[t]));
    }
  }
  if (y.empty()) y = {1};
  return Shapes{y};
}

Result<StridedView> ViewOf(const OpView& op) {
  const Shape& x = op.in(0).shape();
  const std::vector<int64_t> strides = strided_view::StridesOf(x);
  StridedView view;
  for (int64_t extent : op.out(0).shape().dims()) view.Append(extent, 0);
  for (size_t d = 0; d < x.rank(); ++d) {
    if (x[d] != 1) view.stride[TargetOf(op, d)] = strides[d];
  }
  return view;
}
using Op = ViewOp<ViewOf>;

void Cases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](std::vector<int64_t> shape, std::vector<int32_t> dimensions, const Shape& x,
                 const char* note) {
    make.Of(BroadcastAttrs{std::move(shape), std::move(dimensions)}).In(F32(x)).Note(note);
  };
  add({1}, {}, {1}, "one element");
  add({33, 31}, {}, {1}, "a scalar, beyond a work-group");
  add({7, 5, 3}, {}, {7, 1, 3}, "a dimension of 1");
  add({7, 5, 3}, {}, {7}, "missing dimensions");
  add({1, 5}, {}, {7, 1, 3}, "extents of 1 in the shape");
  add({7, 5, 3}, {1}, {5}, "the second dimension");
  add({7, 5, 3}, {0, -1}, {7, 3}, "the first and the last");
  add({7, 5, 3}, {2, 0}, {3, 7}, "another order");
  add({7, 5, 3}, {1, 2}, {1, 3}, "one of them of 1");
  add({2, 3, 2, 2, 3, 2}, {}, {2, 1, 2, 1, 3, 1}, "rank 6");
  make.Of(BroadcastAttrs{{7, 5}, {}}).In(F32({1, 5})).Note("types").EachType();
  make.Of(BroadcastAttrs{{56, 56, 64}, {2}}).In(F32({64})).Note("one value per channel").Bench();
}

constexpr OpDef kBroadcast = {.name = "Broadcast",
                              .types = "copyable -> copyable",
                              .schema = &kAttrSchema<BroadcastAttrs>,
                              .verify = Verify,
                              .infer = Infer,
                              .reference = Op::Reference,
                              .kernels = Op::kKernels,
                              .tolerance = Tolerance::Exact(),
                              .cases = TIMCL_CASES(Cases)};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Broadcast::Broadcast(Graph* graph, const std::vector<uint32_t>& shape,
                     const std::vector<int32_t>& dimensions)
    : BuiltinOp(graph, kBroadcast,
                MakeAttrs(BroadcastAttrs{{shape.begin(), shape.end()}, dimensions})),
      shape_(shape),
      dimensions_(dimensions) {}
Broadcast::Broadcast(Graph* graph, const std::vector<int32_t>& shape,
                     const std::vector<int32_t>& dimensions)
    : BuiltinOp(graph, kBroadcast,
                MakeAttrs(BroadcastAttrs{{shape.begin(), shape.end()}, dimensions})),
      shape_(shape.begin(), shape.end()),
      dimensions_(dimensions) {}
std::shared_ptr<Operation> Broadcast::Clone(std::shared_ptr<Graph>& graph) const {
  // Through int32_t, which keeps what is no extent: an error then, in the clone as in this one.
  return graph->CreateOperation<Broadcast>(std::vector<int32_t>(shape_.begin(), shape_.end()),
                                           dimensions_);
}
#endif

TIMCL_OPS(broadcast) { Add(kBroadcast); }

}  // namespace tim::vx::ops
