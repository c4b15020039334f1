// Split: cuts a tensor into parts along one axis.  Source: ONNX Split-13.
#include "tim/vx/ops/split.h"

#include <string>

#include "tim/vx/strided_view.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct SplitAttrs {
  uint32_t axis = 0;             // 0 = fastest
  std::vector<uint32_t> slices;  // extents of the parts; empty: equal ones
  TIMCL_FIELDS(axis, slices)
};

/// Extent of part k along the axis.
int64_t PartOf(const OpView& op, size_t k) {
  const auto& a = op.attrs<SplitAttrs>();
  return a.slices.empty() ? op.in(0).shape()[a.axis] / static_cast<int64_t>(op.num_outputs())
                          : a.slices[k];
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<SplitAttrs>();
  TIMCL_TRY(op.CheckAxis(a.axis));
  if (!a.slices.empty() && a.slices.size() != op.num_outputs()) {
    return op.Error(Code::kInvalidGraph, to_string(op.num_outputs()) +
                                             " outputs are bound, attribute slices has " +
                                             to_string(a.slices.size()) + " entries");
  }
  int64_t sum = 0;
  for (size_t k = 0; k < op.num_outputs(); ++k) {
    if (PartOf(op, k) < 1) {
      return op.Error(Code::kInvalidArgument, "part " + to_string(k) + " of " + op.in_label(0) +
                                                  " along dimension " + to_string(a.axis) +
                                                  " is empty");
    }
    sum += PartOf(op, k);
  }
  if (sum != op.in(0).shape()[a.axis]) {
    return op.Error(Code::kInvalidArgument,
                    to_string(op.num_outputs()) + " parts of " + op.in_label(0) +
                        " have extents that add up to " + to_string(sum) + ", dimension " +
                        to_string(a.axis) + " has " + to_string(op.in(0).shape()[a.axis]));
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  Shapes shapes;
  for (size_t k = 0; k < op.num_outputs(); ++k) {
    shapes.push_back(op.in(0).shape());
    shapes.back()[op.attrs<SplitAttrs>().axis] = PartOf(op, k);
  }
  return shapes;
}

/// The view behind each part.
Result<std::vector<StridedView>> ViewsOf(const OpView& op) {
  const size_t axis = op.attrs<SplitAttrs>().axis;
  std::vector<StridedView> views;
  int64_t first = 0;
  for (size_t k = 0; k < op.num_outputs(); ++k) {
    StridedView view = strided_view::Whole(op.in(0).shape());
    view.extent[axis] = PartOf(op, k);
    view.start = first * view.stride[axis];
    first += view.extent[axis];
    views.push_back(view);
  }
  return views;
}
using Op = ViewsOp<ViewsOf>;

std::optional<Pieces> PiecesOf(const OpView& op) {
  Pieces pieces = {false, op.attrs<SplitAttrs>().axis, {0}};
  for (size_t k = 0; k + 1 < op.num_outputs(); ++k)
    pieces.first.push_back(pieces.first.back() + PartOf(op, k));
  return pieces;
}

/// In blocks: parts that begin with a block.
Result<KernelOffer> AcceptsBlocks(const OpView& op, const KernelRequest&) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (op.attrs<SplitAttrs>().axis != 2) return refuse("not along channels");
  for (size_t k = 0; k + 1 < op.num_outputs(); ++k) {
    if (PartOf(op, k) % kChannelBlock != 0)
      return refuse("parts that end within a block of channels");
  }
  return KernelOffer{};
}
Result<Launches> Blocks(const OpView& op, const KernelRequest& request) {
  Launches launches;
  int64_t first = 0;
  for (size_t k = 0; k < op.num_outputs(); ++k) {
    StridedView view = strided_view::Whole(InForm(op.in(0).type(), request.in).shape);
    view.extent[3] = DivideUp(PartOf(op, k), kChannelBlock);
    view.start = first * view.stride[3];
    first += view.extent[3];
    launches.push_back(strided_view::Launch(view, request, k));
  }
  return launches;
}
constexpr KernelCandidate kKernels[] = {
    Op::kKernels[0],
    {"blocks", AcceptsBlocks, Blocks, {}, false, TensorForm::kBlocked, TensorForm::kBlocked}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(SplitAttrs{0, {1}}).In(F32({1})).Note("one element");
  make.Of(SplitAttrs{0, {}}).In(F32({7})).Note("one part");
  for (uint32_t axis : {0u, 1u, 2u, 3u}) {
    Shape s = {5, 3, 2, 7};
    s[axis] = 8;
    make.Of(SplitAttrs{axis, {3, 1, 4}}).In(F32(s)).Out(F32()).Out(F32()).Out(F32()).Note("axes");
    make.Of(SplitAttrs{axis, {}}).In(F32(s)).Out(F32()).Out(F32()).Note("equal parts");
  }
  make.Of(SplitAttrs{1, {2, 5}})
      .In(F32({300, 7}))
      .Out(F32())
      .Out(F32())
      .Note("beyond a work-group");
  make.Of(SplitAttrs{4, {1, 2}}).In(F32({2, 1, 3, 1, 3, 2})).Out(F32()).Out(F32()).Note("rank 6");
  make.Of(SplitAttrs{2, {16, 32, 5}})
      .In(F32({3, 2, 53, 2}))
      .Out(F32())
      .Out(F32())
      .Out(F32())
      .Note("whole blocks of channels before others");
  make.Of(SplitAttrs{1, {3, 2}}).In(F32({7, 5, 3})).Out(F32()).Out(F32()).Note("types").EachType();
  make.Of(SplitAttrs{0, {2, 5}})
      .In(U8({7, 3}))
      .Out(I8())
      .Out(F32({15}))
      .Note("two types; a declared shape does not count");
  make.Of(SplitAttrs{2, {}})
      .In(F32({56, 56, 64, 1}))
      .Out(F32())
      .Out(F32())
      .Note("channels")
      .Bench();
}

constexpr OpDef kSplit = {.name = "Split",
                          .outputs = "output*",
                          .types = "copyable -> copyable*",
                          .schema = &kAttrSchema<SplitAttrs>,
                          .verify = Verify,
                          .infer = Infer,
                          .reference = Op::Reference,
                          .kernels = kKernels,
                          .layout = LayoutRule::FollowsAxis("axis"),
                          .declared = Declared::kOverwritten,
                          .pieces = PiecesOf,
                          .tolerance = Tolerance::Exact(),
                          .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Split, SplitAttrs, (uint32_t axis, std::vector<uint32_t> slices),
                    (axis, slices), axis_(axis), slices_(slices));

TIMCL_OPS(split) { Add(kSplit); }

}  // namespace tim::vx::ops
