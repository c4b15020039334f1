// ShuffleChannel: channels of several groups take turns.  Source: NNAPI CHANNEL_SHUFFLE.
#include "tim/vx/ops/shuffle_channel.h"

#include <string>

#include "tim/vx/strided_move.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct ShuffleAttrs {
  int32_t num_groups = 1;
  int32_t index_axis = 0;  // [-rank, rank), 0 = fastest
  TIMCL_FIELDS(num_groups, index_axis)
};

Shape::Lines LinesOf(const OpView& op) {
  return op.in(0).shape().SplitAt(op.Axis(op.attrs<ShuffleAttrs>().index_axis));
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<ShuffleAttrs>();
  TIMCL_TRY(op.CheckAxis(a.index_axis));
  if (a.num_groups <= 0) {
    return op.Error(Code::kInvalidArgument,
                    "attribute num_groups is " + to_string(a.num_groups) + ", it must be positive");
  }
  if (LinesOf(op).n % a.num_groups == 0) return Status();
  return op.InputError(0, Code::kInvalidShape,
                       "dimension " + to_string(op.Axis(a.index_axis)) + ", " +
                           to_string(LinesOf(op).n) + ", is no multiple of num_groups " +
                           to_string(a.num_groups));
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto [outer, n, inner] = LinesOf(op);
  const int64_t groups = op.attrs<ShuffleAttrs>().num_groups, size = n / groups;
  for (int64_t i = 0; i < outer * n * inner; ++i) {
    const int64_t at = i / inner % n, k = at / groups, g = at % groups;
    ref::Copy(outs[0], i, ins[0], i + (g * size + k - at) * inner);
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const auto [outer, n, inner] = LinesOf(op);
  const int64_t groups = op.attrs<ShuffleAttrs>().num_groups, size = n / groups;
  StridedMove move;
  // By the side whose second digit is the longer one, in case there is nothing below the axis.
  move.scatter = size > groups;
  const StridedMove::Digit group = {groups, move.scatter ? inner : size * inner};
  const StridedMove::Digit member = {size, move.scatter ? groups * inner : inner};
  move.digits = {
      {inner, 1}, move.scatter ? member : group, move.scatter ? group : member, {outer, n * inner}};
  return Launches{StridedMoveLaunch(request, move)};
}
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(ShuffleAttrs{1, 0}).In(F32({1})).Note("one element");
  make.Of(ShuffleAttrs{2, 0}).In(F32({40})).Note("long groups");
  make.Of(ShuffleAttrs{20, 0}).In(F32({40, 3})).Note("short groups");
  for (int32_t axis : {0, 1, 2, 3, -2}) {
    make.Of(ShuffleAttrs{3, axis}).In(F32({6, 9, 12, 3})).Note("axes");
    make.Of(ShuffleAttrs{axis == 3 ? 3 : 1, axis}).In(F32({6, 9, 12, 3})).Note("identity");
  }
  make.Of(ShuffleAttrs{2, 1}).In(F32({5, 6, 2})).Note("types").EachType();
  make.Of(ShuffleAttrs{4, 2}).In(F32({28, 28, 240, 1})).Note("240 channels").Bench();
}

constexpr OpDef kShuffleChannel = {.name = "ShuffleChannel",
                                   .types = "copyable -> copyable",
                                   .schema = &kAttrSchema<ShuffleAttrs>,
                                   .verify = Verify,
                                   .infer = ShapeOfInput,
                                   .reference = Reference,
                                   .kernels = kKernels,
                                   .layout = LayoutRule::FollowsAxis("index_axis"),
                                   .tolerance = Tolerance::Exact(),
                                   .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(ShuffleChannel, ShuffleAttrs, (int32_t num_groups, int32_t index_axis),
                    (num_groups, index_axis), num_groups_(num_groups), index_axis_(index_axis));

TIMCL_OPS(shuffle_channel) { Add(kShuffleChannel); }

}  // namespace tim::vx::ops
