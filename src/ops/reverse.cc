// Reverse: turns dimensions around.  Source: tf.reverse.
#include "tim/vx/ops/reverse.h"

#include <string>

#include "tim/vx/strided_view.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct ReverseAttrs {
  std::vector<int32_t> axis;  // [-rank, rank), 0 = fastest
  TIMCL_FIELDS(axis)
};

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckAxes(op.attrs<ReverseAttrs>().axis));
  const TensorType& x = op.in(0).type();
  for (int32_t axis : op.attrs<ReverseAttrs>().axis) {
    const size_t d = op.Axis(axis);
    if (x.per_channel() && x.quant.ChannelDim() == static_cast<int32_t>(d)) {
      return op.InputError(
          0, Code::kInvalidArgument,
          "is quantized along dimension " + to_string(d) + ", which attribute axis turns around");
    }
  }
  return Status();
}

Result<StridedView> ViewOf(const OpView& op) {
  StridedView view = strided_view::Whole(op.in(0).shape());
  for (int32_t axis : op.attrs<ReverseAttrs>().axis) {
    const size_t d = op.Axis(axis);
    view.start += (view.extent[d] - 1) * view.stride[d];
    view.stride[d] = -view.stride[d];
  }
  return view;
}
using Op = ViewOp<ViewOf>;

void Cases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](std::vector<int32_t> axis, const Shape& shape, const char* note) {
    make.Of(ReverseAttrs{std::move(axis)}).In(F32(shape)).Note(note);
  };
  add({0}, {1}, "one element");
  add({0}, {41}, "a vector");
  add({}, {7, 5}, "nothing");
  add({1}, {7, 5, 3}, "one of three");
  add({0, 1, 2}, {7, 5, 3}, "all");
  add({-1, 0}, {7, 5, 3, 2}, "the outermost and the fastest");
  add({0}, {41, 30}, "beyond a work-group");
  add({0, 2, 4}, {2, 3, 4, 3, 2, 2}, "rank 6");
  make.Of(ReverseAttrs{{0}}).In(F32({7, 5})).Out(F32({7, 5})).Note("types").EachType();
  make.Of(ReverseAttrs{{0}}).In(F32({1024, 256})).Note("lines").Bench();
}

constexpr OpDef kReverse = {
    .name = "Reverse",
    .types = "copyable -> copyable; i8:pc|u8:pc|i16:pc|i32:pc|i4:pc|u4:pc|i8:apc|u8:apc -> ==0",
    .schema = &kAttrSchema<ReverseAttrs>,
    .verify = Verify,
    .infer = ShapeOfInput,
    .reference = Op::Reference,
    .kernels = Op::kKernels,
    .layout = LayoutRule::FollowsAxis("axis"),
    .tolerance = Tolerance::Exact(),
    .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Reverse, ReverseAttrs, (const std::vector<int32_t>& axis), (axis), axis_(axis));

TIMCL_OPS(reverse) { Add(kReverse); }

}  // namespace tim::vx::ops
