// Space2Batch and Batch2Space: blocks of cells and images.  Source: tf.space_to_batch_nd,
// tf.batch_to_space.
#include <string>

#include "tim/vx/ops/batch2space.h"
#include "tim/vx/ops/space2batch.h"
#include "tim/vx/strided_move.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct Space2BatchAttrs {
  std::vector<int> block_size;           // along width and height
  std::vector<int> pad;                  // left, right, top, bottom
  DataLayout layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(block_size, pad, layout)
};
struct Batch2SpaceAttrs {
  std::vector<int> block_size;
  std::vector<int> crop;
  DataLayout layout = DataLayout::WHCN;
  TIMCL_FIELDS(block_size, crop, layout)
};

/// kInvalidArgument unless each axis has a positive block and two borders that are not negative.
Status CheckBlocks(const OpView& op, const std::vector<int>& block,
                   const std::vector<int>& border) {
  TIMCL_TRY(op.CheckRank(0, 3, 4));
  const size_t axes = op.in(0).shape().rank() - 2;
  bool valid = block.size() >= axes && border.size() >= 2 * axes;
  for (size_t d = 0; valid && d < axes; ++d) {
    valid = block[d] > 0 && border[2 * d] >= 0 && border[2 * d + 1] >= 0;
  }
  if (valid) return Status();
  return op.Error(Code::kInvalidArgument,
                  "attributes " + op.any_attrs().Map().ToText() + ": " + op.in_label(0) +
                      " needs a positive block and two borders, not negative, along " +
                      to_string(axes) + " dimensions");
}

/// Both sides: `n` images of w * h cells, of which the borders are not stored, in blocks of bx * by
/// cells; and n * bx * by images of w / bx * h / by cells.
struct Sizes {
  int64_t w, h, c, n, bx, by, left, right, top, bottom;
  int64_t stored_w() const { return w - left - right; }
  int64_t stored_h() const { return h - top - bottom; }
  /// What leads from the order of the side with many images to the other one.
  StridedMove Move(bool scatter) const {
    const int64_t sw = stored_w(), plane = sw * stored_h();
    StridedMove move;
    move.scatter = scatter;
    move.digits = {{w / bx, bx, {bx, 0}},
                   {h / by, by * sw, {0, by}},
                   {c, plane},
                   {n, plane * c},
                   {bx, 1, {1, 0}},
                   {by, sw, {0, 1}}};
    move.start = -left - top * sw;
    if (left + right > 0) move.bounds[0] = {-left, sw};
    if (top + bottom > 0) move.bounds[1] = {-top, stored_h()};
    return move;
  }
};
/// Of the op whose input or, for Batch2Space, result has the extents w and h.
Sizes SizesOf(const OpView& op, const std::vector<int>& block, const std::vector<int>& border) {
  const Shape& x = op.in(0).shape();
  const bool flat = x.rank() == 3;
  Sizes s = {};
  s.w = x[0], s.h = flat ? 1 : x[1], s.c = x[x.rank() - 2], s.n = x[x.rank() - 1];
  s.bx = block[0], s.by = flat ? 1 : block[1];
  s.left = border[0], s.right = border[1];
  if (!flat) s.top = border[2], s.bottom = border[3];
  return s;
}

// ---------------------------------------------------------------------------------- Space2Batch

Sizes SpaceSizes(const OpView& op) {
  const auto& a = op.attrs<Space2BatchAttrs>();
  Sizes s = SizesOf(op, a.block_size, a.pad);
  s.w += s.left + s.right, s.h += s.top + s.bottom;
  return s;
}

Status SpaceVerify(const OpView& op) {
  const auto& a = op.attrs<Space2BatchAttrs>();
  TIMCL_TRY(CheckBlocks(op, a.block_size, a.pad));
  const Sizes s = SpaceSizes(op);
  if (s.bx * s.by > 0xffffffff / s.n) {
    return op.InputError(0, Code::kInvalidShape,
                         "its " + to_string(s.n) + " images become " + to_string(s.bx * s.by) +
                             " times as many, more than an extent can be");
  }
  if (s.w % s.bx == 0 && s.h % s.by == 0) return Status();
  const bool width = s.w % s.bx != 0;
  return op.InputError(0, Code::kInvalidShape,
                       std::string("padded dimension ") + (width ? "0, " : "1, ") +
                           to_string(width ? s.w : s.h) + ", is no multiple of block_size " +
                           to_string(width ? s.bx : s.by));
}

Result<Shapes> SpaceInfer(const OpView& op) {
  const Sizes s = SpaceSizes(op);
  Shape y = {s.w / s.bx};
  if (op.in(0).shape().rank() == 4) y.push_back(s.h / s.by);
  y.push_back(s.c);
  y.push_back(s.n * s.bx * s.by);
  return Shapes{y};
}

Status SpaceReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Sizes s = SpaceSizes(op);
  const int64_t ow = s.w / s.bx, oh = s.h / s.by, iw = s.stored_w(), ih = s.stored_h();
  for (int64_t i = 0; i < outs[0].count(); ++i) {
    const int64_t image = i / (ow * oh * s.c), c = i / (ow * oh) % s.c;
    const int64_t n = image % s.n, in_block = image / s.n;
    const int64_t x = i % ow * s.bx + in_block % s.bx - s.left;
    const int64_t y = i / ow % oh * s.by + in_block / s.bx - s.top;
    if (x < 0 || x >= iw || y < 0 || y >= ih) {
      outs[0].Set(i, 0);
    } else {
      ref::Copy(outs[0], i, ins[0], x + iw * (y + ih * (c + s.c * n)));
    }
  }
  return Status();
}

Result<Launches> SpaceGeneral(const OpView& op, const KernelRequest& request) {
  return Launches{StridedMoveLaunch(request, SpaceSizes(op).Move(false))};
}
constexpr KernelCandidate kSpaceKernels[] = {
    {"general", nullptr, SpaceGeneral, {KernelSpec::Epilogue::kScalar}}};

void SpaceCases(CaseMaker& make) {
  using namespace cases;
  using A = Space2BatchAttrs;
  make.Of(A{{1, 1}, {0, 0, 0, 0}}).In(F32({1, 1, 1, 1})).Note("one element");
  make.Of(A{{2, 2}, {0, 0, 0, 0}}).In(F32({10, 6, 3, 2})).Note("blocks of 2");
  make.Of(A{{3, 2}, {1, 1, 0, 1}, DataLayout::CWHN}).In(F32({7, 5, 2, 2})).Note("padding");
  make.Of(A{{1, 3}, {2, 0, 4, 4}}).In(F32({37, 1, 2, 1})).Note("more padding than cells");
  make.Of(A{{2, 1}, {3, 4, 0, 0}}).In(F32({35, 2, 2, 1})).Note("runs that begin outside");
  make.Of(A{{2, 2}, {1, 2}}).In(F32({7, 3, 2})).Note("rank 3");
  make.Of(A{{2, 2}, {1, 1, 1, 0}}).In(F32({6, 3, 2, 1})).Note("types").EachType();
  make.Of(A{{2, 2}, {1, 1, 1, 1}}).In(F32({54, 54, 64, 1})).Note("64 channels").Bench();
}

constexpr OpDef kSpace2Batch = {.name = "Space2Batch",
                                .types = "copyable -> copyable",
                                .schema = &kAttrSchema<Space2BatchAttrs>,
                                .verify = SpaceVerify,
                                .infer = SpaceInfer,
                                .reference = SpaceReference,
                                .kernels = kSpaceKernels,
                                .layout = LayoutRule::Fixed("layout"),
                                .tolerance = Tolerance::Exact(),
                                .cases = TIMCL_CASES(SpaceCases)};

// ---------------------------------------------------------------------------------- Batch2Space

Sizes BatchSizes(const OpView& op) {
  const auto& a = op.attrs<Batch2SpaceAttrs>();
  Sizes s = SizesOf(op, a.block_size, a.crop);
  s.w *= s.bx, s.h *= s.by, s.n /= s.bx * s.by;
  return s;
}

Status BatchVerify(const OpView& op) {
  const auto& a = op.attrs<Batch2SpaceAttrs>();
  TIMCL_TRY(CheckBlocks(op, a.block_size, a.crop));
  const Sizes s = BatchSizes(op);
  const Shape& x = op.in(0).shape();
  const int64_t images = x[x.rank() - 1];
  if (images != s.n * s.bx * s.by) {
    return op.InputError(0, Code::kInvalidShape,
                         "its " + to_string(images) + " images are no multiple of the " +
                             to_string(s.bx * s.by) + " cells of a block");
  }
  if (s.stored_w() > 0 && s.stored_h() > 0) return Status();
  const bool width = s.stored_w() <= 0;
  return op.InputError(0, Code::kInvalidShape,
                       "crop leaves nothing of the " + to_string(width ? s.w : s.h) +
                           " cells along dimension " + (width ? "0" : "1"));
}

Result<Shapes> BatchInfer(const OpView& op) {
  const Sizes s = BatchSizes(op);
  Shape y = {s.stored_w()};
  if (op.in(0).shape().rank() == 4) y.push_back(s.stored_h());
  y.push_back(s.c);
  y.push_back(s.n);
  return Shapes{y};
}

Status BatchReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Sizes s = BatchSizes(op);
  const int64_t iw = s.w / s.bx, ih = s.h / s.by, ow = s.stored_w(), oh = s.stored_h();
  for (int64_t i = 0; i < outs[0].count(); ++i) {
    const int64_t x = i % ow + s.left, y = i / ow % oh + s.top;
    const int64_t c = i / (ow * oh) % s.c, n = i / (ow * oh * s.c);
    const int64_t image = ((y % s.by) * s.bx + x % s.bx) * s.n + n;
    ref::Copy(outs[0], i, ins[0], x / s.bx + iw * (y / s.by + ih * (c + s.c * image)));
  }
  return Status();
}

Result<Launches> BatchGeneral(const OpView& op, const KernelRequest& request) {
  return Launches{StridedMoveLaunch(request, BatchSizes(op).Move(true))};
}
constexpr KernelCandidate kBatchKernels[] = {
    {"general", nullptr, BatchGeneral, {KernelSpec::Epilogue::kScalar}}};

void BatchCases(CaseMaker& make) {
  using namespace cases;
  using A = Batch2SpaceAttrs;
  make.Of(A{{1, 1}, {0, 0, 0, 0}}).In(F32({1, 1, 1, 1})).Note("one element");
  make.Of(A{{2, 2}, {0, 0, 0, 0}}).In(F32({5, 3, 3, 8})).Note("blocks of 2");
  make.Of(A{{3, 2}, {1, 1, 0, 1}, DataLayout::CWHN}).In(F32({7, 5, 2, 12})).Note("cropping");
  make.Of(A{{1, 3}, {2, 0, 4, 3}}).In(F32({37, 3, 2, 3})).Note("whole blocks cut off");
  make.Of(A{{2, 1}, {3, 4, 0, 0}}).In(F32({35, 2, 2, 2})).Note("runs that begin outside");
  make.Of(A{{2, 2}, {1, 2}}).In(F32({7, 3, 4})).Note("rank 3");
  make.Of(A{{2, 2}, {1, 1, 1, 0}}).In(F32({6, 3, 2, 4})).Note("types").EachType();
  make.Of(A{{2, 2}, {1, 1, 1, 1}}).In(F32({28, 28, 64, 4})).Note("64 channels").Bench();
}

constexpr OpDef kBatch2Space = {.name = "Batch2Space",
                                .types = "copyable -> copyable",
                                .schema = &kAttrSchema<Batch2SpaceAttrs>,
                                .verify = BatchVerify,
                                .infer = BatchInfer,
                                .reference = BatchReference,
                                .kernels = kBatchKernels,
                                .layout = LayoutRule::Fixed("layout"),
                                .tolerance = Tolerance::Exact(),
                                .cases = TIMCL_CASES(BatchCases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Space2Batch, Space2BatchAttrs,
                    (const std::vector<int>& block_size, const std::vector<int>& pad,
                     DataLayout layout),
                    (block_size, pad, layout), block_size_(block_size), pad_(pad));
TIMCL_OP_CLASS_WITH(Batch2Space, Batch2SpaceAttrs,
                    (const std::vector<int>& block_size, const std::vector<int>& crop,
                     DataLayout layout),
                    (block_size, crop, layout), block_size_(block_size), crop_(crop));

TIMCL_OPS(space_batch) {
  Add(kSpace2Batch);
  Add(kBatch2Space);
}

}  // namespace tim::vx::ops
