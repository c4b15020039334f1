// Slice: takes a range of each dimension.  Source: tf.slice; ONNX Slice-13 (step).
#include "tim/vx/ops/slice.h"

#include <string>

#include "tim/vx/strided_view.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct SliceAttrs {
  uint32_t dims = 0;  // 0 = rank of the input
  std::vector<int32_t> start;
  std::vector<int32_t> length;
  std::vector<int32_t> step;  // empty: 1
  TIMCL_FIELDS(dims, start, length, step)
  int64_t StepOf(size_t d) const { return step.empty() ? 1 : step[d]; }
};

Status Verify(const OpView& op) {
  const auto& a = op.attrs<SliceAttrs>();
  const Shape& x = op.in(0).shape();
  const size_t rank = x.rank();
  auto bad = [&](const std::string& why) {
    return op.Error(Code::kInvalidArgument, why + " " + op.in_label(0));
  };
  if (a.dims != 0 && a.dims != rank)
    return bad("attribute dims is " + to_string(a.dims) + " for the " + to_string(rank) +
               " dimensions of");
  if (a.start.size() != rank || a.length.size() != rank ||
      (!a.step.empty() && a.step.size() != rank)) {
    return bad("attributes start, length and step have " + to_string(a.start.size()) + ", " +
               to_string(a.length.size()) + " and " + to_string(a.step.size()) +
               " entries, not one for each dimension of");
  }
  for (size_t d = 0; d < rank; ++d) {
    if (a.start[d] < 0 || a.start[d] >= x[d])
      return bad("attribute start is " + to_string(a.start[d]) + " for the " + to_string(x[d]) +
                 " elements along dimension " + to_string(d) + " of");
    if (a.StepOf(d) < 1)
      return bad("attribute step is " + to_string(a.StepOf(d)) +
                 ", not a positive number, for dimension " + to_string(d) + " of");
  }
  return Status();
}

std::vector<Cut> CutsOf(const OpView& op) {
  const auto& a = op.attrs<SliceAttrs>();
  std::vector<Cut> cuts;
  for (size_t d = 0; d < a.start.size(); ++d) cuts.push_back({d, a.start[d], a.StepOf(d)});
  return cuts;
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<SliceAttrs>();
  const Shape& x = op.in(0).shape();
  Shape y;
  for (size_t d = 0; d < x.rank(); ++d) {
    const int64_t length = a.length[d];
    // Where the output's shape is declared it says how much is taken.
    if (op.out(0).shape().empty() && (length < 1 || a.start[d] + length > x[d])) {
      return op.Error(Code::kInvalidShape,
                      to_string(length) + " elements from " + to_string(a.start[d]) +
                          " on are no part of dimension " + to_string(d) + " of " + op.in_label(0));
    }
    y.push_back(length < 1 ? 0 : DivideUp(length, a.StepOf(d)));
  }
  return Shapes{y};
}

Result<StridedView> ViewOf(const OpView& op) { return strided_view::Slice(op, CutsOf(op)); }
using Op = ViewOp<ViewOf>;

/// A range of one dimension alone; of the outermost one with others than one element where that
/// is all of every dimension.
std::optional<Pieces> PiecesOf(const OpView& op) {
  const auto& a = op.attrs<SliceAttrs>();
  const Shape &x = op.in(0).shape(), &y = op.out(0).shape();
  std::optional<Pieces> pieces;
  if (x.rank() != y.rank()) return pieces;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (a.StepOf(d) != 1 || (y[d] != x[d] && pieces)) return std::nullopt;
    if (y[d] != x[d]) pieces = Pieces{false, d, {a.start[d]}};
  }
  return pieces;
}

/// In blocks: channels from the beginning of a block on.
Result<KernelOffer> AcceptsBlocks(const OpView& op, const KernelRequest&) {
  const std::optional<Pieces> pieces = PiecesOf(op);
  if (pieces && pieces->axis == 2 && pieces->first[0] % kChannelBlock == 0) return KernelOffer{};
  return Status::Error(Code::kUnsupported, "not a range of channels from a whole block on");
}
Result<Launches> Blocks(const OpView& op, const KernelRequest& request) {
  StridedView view = strided_view::Whole(InForm(op.in(0).type(), request.in).shape);
  view.extent[3] = DivideUp(op.out(0).shape()[2], kChannelBlock);
  view.start = PiecesOf(op)->first[0] / kChannelBlock * view.stride[3];
  return Launches{strided_view::Launch(view, request)};
}
constexpr KernelCandidate kKernels[] = {
    Op::kKernels[0],
    {"blocks", AcceptsBlocks, Blocks, {}, false, TensorForm::kBlocked, TensorForm::kBlocked}};

void Cases(CaseMaker& make) {
  using namespace cases;
  using L = std::vector<int32_t>;
  auto add = [&](uint32_t dims, const L& start, const L& length, const L& step, const Shape& shape,
                 const char* note) {
    make.Of(SliceAttrs{dims, start, length, step}).In(F32(shape)).Note(note);
  };
  add(0, {0}, {1}, {}, {1}, "one element");
  add(0, {3}, {2}, {}, {7}, "a vector");
  add(2, {0, 0}, {7, 5}, {}, {7, 5}, "all of it");
  add(4, {1, 0, 2, 1}, {5, 5, 1, 1}, {}, {7, 5, 3, 2}, "four dimensions");
  add(0, {0, 1, 0}, {40, 2, 3}, {}, {40, 5, 3}, "whole lines");
  add(0, {3, 0}, {37, 30}, {}, {41, 30}, "parts of lines, beyond a work-group");
  add(0, {3, 1}, {16, 2}, {}, {20, 4}, "one whole run");
  add(0, {3, 1}, {17, 3}, {}, {20, 4}, "one more than whole runs");
  add(0, {1, 1}, {1024, 2}, {}, {1030, 3}, "long lines");
  add(0, {1, 1}, {1025, 2}, {}, {1030, 3}, "long lines, one more than whole runs");
  add(0, {1, 0, 0}, {6, 5, 2}, {2, 1, 3}, {7, 5, 3}, "steps");
  add(0, {0, 1, 1}, {7, 3, 1}, {3, 2, 1}, {7, 5, 3}, "steps that do not divide");
  add(0, {1, 0, 1, 0, 0, 1}, {1, 2, 2, 3, 1, 1}, {}, {2, 3, 4, 3, 2, 2}, "rank 6");
  make.Of(SliceAttrs{0, {1, 2}, {5, 2}, {}}).In(F32({7, 5})).Note("types").EachType();
  make.Of(SliceAttrs{0, {1, 2}, {6, 3}, {2, 1}}).In(I8({7, 5})).Note("i8 by steps");
  make.Of(SliceAttrs{0, {2}, {0}, {}}).In(F32({9})).Out(F32({5})).Note("a declared extent");
  make.Of(SliceAttrs{0, {2, 1}, {9, 1}, {2, 1}})
      .In(F32({9, 4}))
      .Out(F32({3, 2}))
      .Note("declared extents");
  make.Of(SliceAttrs{0, {0, 0, 16, 0}, {56, 56, 32, 1}, {}})
      .In(F32({56, 56, 64, 1}))
      .Note("channels")
      .Bench();
  add(0, {0, 0, 16, 0}, {5, 3, 17, 2}, {}, {5, 3, 35, 2}, "channels from a block on");
  make.Of(SliceAttrs{0, {4, 4, 0, 0}, {48, 48, 64, 1}, {}})
      .In(F32({56, 56, 64, 1}))
      .Note("the middle of images")
      .Bench();
}

constexpr OpDef kSlice = {.name = "Slice",
                          .types = "copyable -> copyable",
                          .schema = &kAttrSchema<SliceAttrs>,
                          .verify = Verify,
                          .infer = Infer,
                          .check_outputs = Op::CheckOutputs,
                          .reference = Op::Reference,
                          .kernels = kKernels,
                          .layout = LayoutRule::FollowsAxis("", "start length step"),
                          .declared = Declared::kExtentWins,
                          .pieces = PiecesOf,
                          .tolerance = Tolerance::Exact(),
                          .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Slice, SliceAttrs,
                    (uint32_t dims, const std::vector<int32_t>& start,
                     const std::vector<int32_t>& length, const std::vector<int32_t>& step),
                    (dims, start, length, step), dims_(dims), start_(start), length_(length),
                    step_(step));
#ifndef TIMCL_OP_FILE_AS_PLUGIN
Slice::Slice(Graph* graph, uint32_t dims, const std::vector<int32_t>& start,
             const std::vector<int32_t>& length)
    : Slice(graph, dims, start, length, {}) {}
#endif

TIMCL_OPS(slice) { Add(kSlice); }

}  // namespace tim::vx::ops
