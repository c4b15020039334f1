// Concat: joins tensors along one axis.  Source: ONNX Concat-13.
#include "tim/vx/ops/concat.h"

#include <string>

#include "tim/vx/strided_move.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct ConcatAttrs {
  uint32_t axis = 0;      // 0 = fastest
  int32_t input_cnt = 0;  // 0: as many as are bound
  TIMCL_FIELDS(axis, input_cnt)
};

Status Verify(const OpView& op) {
  const auto& a = op.attrs<ConcatAttrs>();
  TIMCL_TRY(join::CheckInputCount(op, a.input_cnt));
  return op.CheckAxis(a.axis);
}

Result<Shapes> Infer(const OpView& op) {
  const size_t axis = op.attrs<ConcatAttrs>().axis;
  Shape y = op.in(0).shape();
  for (size_t k = 1; k < op.num_inputs(); ++k) {
    const Shape& x = op.in(k).shape();
    const std::string both = op.in_label(0) + " and " + op.in_label(k);
    if (x.rank() != y.rank()) return op.Error(Code::kInvalidShape, both + " differ in rank");
    for (size_t d = 0; d < y.rank(); ++d) {
      if (d == axis) {
        y[d] += x[d];
      } else if (x[d] != y[d]) {
        return op.Error(Code::kInvalidShape, both + " do not join along dimension " +
                                                 to_string(axis) + ": dimension " + to_string(d) +
                                                 " (counted from the fastest) is " +
                                                 to_string(y[d]) + " against " + to_string(x[d]));
      }
    }
  }
  return Shapes{y};
}

join::Part PartOf(const OpView& op, size_t k) {
  const size_t axis = op.attrs<ConcatAttrs>().axis;
  const auto lines = op.out(0).shape().SplitAt(axis);
  join::Part part = {op.in(k).shape()[axis] * lines.inner, 0, lines.n * lines.inner};
  for (size_t j = 0; j < k; ++j) part.start += op.in(j).shape()[axis] * lines.inner;
  return part;
}
using Op = JoinOp<PartOf>;

std::optional<Pieces> PiecesOf(const OpView& op) {
  Pieces pieces = {true, op.attrs<ConcatAttrs>().axis, {0}};
  for (size_t k = 0; k + 1 < op.num_inputs(); ++k)
    pieces.first.push_back(pieces.first.back() + op.in(k).shape()[pieces.axis]);
  return pieces;
}

/// In blocks: channels lie behind each other where every part but the last has whole blocks.
Result<KernelOffer> AcceptsBlocks(const OpView& op, const KernelRequest&) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (op.attrs<ConcatAttrs>().axis != 2) return refuse("not along channels");
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    if (op.in(k).is_const()) return refuse("a constant is plain");
    if (k + 1 < op.num_inputs() && op.in(k).shape()[2] % kChannelBlock != 0)
      return refuse("parts that end within a block of channels");
  }
  return KernelOffer{};
}
Result<Launches> Blocks(const OpView& op, const KernelRequest& request) {
  Launches launches;
  const int64_t all = InForm(op.out(0).type(), request.out).count() / op.out(0).shape()[3];
  join::Part part = {0, 0, all};
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    const int64_t count = InForm(op.in(k).type(), request.in).count();
    part.length = count / op.in(k).shape()[3];
    launches.push_back(join::Launch(request, count, k, part));
    part.start += part.length;
  }
  return launches;
}
constexpr KernelCandidate kKernels[] = {
    Op::kKernels[0],
    {"blocks", AcceptsBlocks, Blocks, {}, false, TensorForm::kBlocked, TensorForm::kBlocked}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(ConcatAttrs{0, 2}).In(F32({1})).In(F32({1})).Note("single elements");
  make.Of(ConcatAttrs{0, 1}).In(F32({7})).Note("one input");
  for (uint32_t axis : {0u, 1u, 2u, 3u}) {
    auto shape = [&](int64_t n) {
      Shape s = {5, 3, 2, 7};
      s[axis] = n;
      return F32(s);
    };
    make.Of(ConcatAttrs{axis, 3}).In(shape(3)).In(shape(1)).In(shape(4)).Note("axes");
  }
  make.Of(ConcatAttrs{1}).In(F32({300, 2})).In(F32({300, 5})).Note("beyond a work-group");
  make.Of(ConcatAttrs{0}).In(F32({17, 5})).In(F32({33, 5})).Note("one more than whole runs");
  make.Of(ConcatAttrs{0}).In(F32({5, 3})).In(F32({16, 3})).Note("a whole run at the end");
  make.Of(ConcatAttrs{4}).In(F32({2, 1, 3, 1, 2, 2})).In(F32({2, 1, 3, 1, 1, 2})).Note("rank 6");
  make.Of(ConcatAttrs{2})
      .In(F32({3, 2, 16, 2}))
      .In(F32({3, 2, 48, 2}))
      .In(F32({3, 2, 5, 2}))
      .Note("whole blocks of channels before others");
  make.Of(ConcatAttrs{1}).In(F32({7, 5, 3})).In(F32({7, 2, 3})).Note("types").EachType();
  make.Of(ConcatAttrs{0})
      .In(Plain(DataType::INT32, {4, 6}))
      .In(Plain(DataType::INT8, {2, 6}))
      .Out(Plain(DataType::INT16))
      .Note("plain integers of several types");
  make.Of(ConcatAttrs{2, 2})
      .In(F32({56, 56, 64, 1}))
      .In(F32({56, 56, 64, 1}))
      .Note("channels")
      .Bench();
}

constexpr OpDef kConcat = {.name = "Concat",
                           .inputs = "input*",
                           .types = "copyable* -> copyable",
                           .schema = &kAttrSchema<ConcatAttrs>,
                           .verify = Verify,
                           .infer = Infer,
                           .reference = Op::Reference,
                           .kernels = kKernels,
                           .layout = LayoutRule::FollowsAxis("axis"),
                           .declared = Declared::kMustMatch,
                           .pieces = PiecesOf,
                           .tolerance = Tolerance::Exact(),
                           .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Concat, ConcatAttrs, (uint32_t axis, int input_cnt), (axis, input_cnt),
                    axis_(axis), input_cnt_(input_cnt));

TIMCL_OPS(concat) { Add(kConcat); }

}  // namespace tim::vx::ops
