// Unstack: one tensor for each element of an axis.  Source: tf.unstack.
#include "tim/vx/ops/unstack.h"

#include <string>

#include "tim/vx/strided_view.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct UnstackAttrs {
  int32_t axis = 0;         // [-rank, rank), 0 = fastest
  uint32_t output_num = 0;  // 0: as many as are bound
  TIMCL_FIELDS(axis, output_num)
};

Status Verify(const OpView& op) {
  const auto& a = op.attrs<UnstackAttrs>();
  TIMCL_TRY(op.CheckAxis(a.axis));
  if (a.output_num != 0 && a.output_num != op.num_outputs()) {
    return op.Error(Code::kInvalidGraph, to_string(op.num_outputs()) +
                                             " outputs are bound, attribute output_num says " +
                                             to_string(a.output_num));
  }
  const int64_t extent = op.in(0).shape()[op.Axis(a.axis)];
  if (extent != static_cast<int64_t>(op.num_outputs())) {
    return op.Error(Code::kInvalidArgument, "dimension " + to_string(op.Axis(a.axis)) + " of " +
                                                op.in_label(0) + " has " + to_string(extent) +
                                                " elements for " + to_string(op.num_outputs()) +
                                                " outputs");
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  std::vector<int64_t> y = op.in(0).shape().dims();
  y.erase(y.begin() + static_cast<std::ptrdiff_t>(op.Axis(op.attrs<UnstackAttrs>().axis)));
  if (y.empty()) y = {1};
  return Shapes(op.num_outputs(), Shape(y));
}

Result<std::vector<StridedView>> ViewsOf(const OpView& op) {
  const size_t axis = op.Axis(op.attrs<UnstackAttrs>().axis);
  StridedView view = strided_view::Whole(op.in(0).shape());
  view.extent[axis] = 1;
  std::vector<StridedView> views;
  for (size_t k = 0; k < op.num_outputs(); ++k, view.start += view.stride[axis])
    views.push_back(view);
  return views;
}
using Op = ViewsOp<ViewsOf>;

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(UnstackAttrs{0, 1}).In(F32({1})).Note("one element");
  make.Of(UnstackAttrs{0, 3}).In(F32({3})).Out(F32()).Out(F32()).Out(F32()).Note("scalars");
  for (int32_t axis : {0, 1, 2, -1}) {
    Shape s = {5, 4, 17};
    s[axis < 0 ? 2 : static_cast<size_t>(axis)] = 2;
    make.Of(UnstackAttrs{axis, 2}).In(F32(s)).Out(F32()).Out(F32()).Note("axes");
  }
  make.Of(UnstackAttrs{1, 2}).In(F32({300, 2, 3})).Out(F32()).Out(F32()).Note("longer lines");
  make.Of(UnstackAttrs{1, 2}).In(F32({7, 2})).Out(F32()).Out(F32()).Note("types").EachType();
  make.Of(UnstackAttrs{2, 2}).In(F32({512, 256, 2})).Out(F32()).Out(F32()).Note("planes").Bench();
}

constexpr OpDef kUnstack = {.name = "Unstack",
                            .outputs = "output*",
                            .types = "copyable -> copyable*",
                            .schema = &kAttrSchema<UnstackAttrs>,
                            .verify = Verify,
                            .infer = Infer,
                            .reference = Op::Reference,
                            .kernels = Op::kKernels,
                            .layout = LayoutRule::FollowsAxis("axis").Drops(),
                            .tolerance = Tolerance::Exact(),
                            .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Unstack, UnstackAttrs, (int32_t axis, uint32_t output_num), (axis, output_num),
                    axis_(axis), output_num_(output_num));

TIMCL_OPS(unstack) { Add(kUnstack); }

}  // namespace tim::vx::ops
