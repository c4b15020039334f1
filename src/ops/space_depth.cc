// DepthToSpace and SpaceToDepth: blocks of cells and channels.  Source: ONNX DepthToSpace-13,
// SpaceToDepth-13; tf.nn.space_to_depth.
#include <string>

#include "tim/vx/ops/depth2space.h"
#include "tim/vx/ops/space2depth.h"
#include "tim/vx/strided_move.h"

namespace tim::vx::ops {

TIMCL_ENUM(DepthToSpace::depth2space_mode, {DepthToSpace::DCR_mode, "DCR"},
           {DepthToSpace::CRD_mode, "CRD"});

namespace {

using std::to_string;

struct DepthAttrs {
  int32_t block_size = 1;
  DepthToSpace::depth2space_mode mode = DepthToSpace::DCR_mode;
  DataLayout layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(block_size, mode, layout)
};
struct SpaceAttrs {
  std::vector<int> block_size;  // along width and height
  DataLayout layout = DataLayout::WHCN;
  TIMCL_FIELDS(block_size, layout)
};

/// The side with few large channels: {w * bx, h * by, c} cells of n images.
struct Sizes {
  int64_t w, h, c, n, bx, by;
};

// --------------------------------------------------------------------------------- DepthToSpace

Status DepthVerify(const OpView& op) {
  TIMCL_TRY(op.CheckRank(0, 3, 4));
  const int64_t b = op.attrs<DepthAttrs>().block_size;
  if (b <= 0) {
    return op.Error(Code::kInvalidArgument,
                    "attribute block_size is " + to_string(b) + ", it must be positive");
  }
  if (op.in(0).shape()[2] % (b * b) != 0) {
    return op.InputError(0, Code::kInvalidShape,
                         "its " + to_string(op.in(0).shape()[2]) +
                             " channels are no multiple of block_size * block_size, " +
                             to_string(b * b));
  }
  return Status();
}

Sizes DepthSizes(const OpView& op) {
  const Shape& x = op.in(0).shape();
  const int64_t b = op.attrs<DepthAttrs>().block_size;
  return {x[0], x[1], x[2] / (b * b), x.dim(3), b, b};
}

Result<Shapes> DepthInfer(const OpView& op) {
  const int64_t b = op.attrs<DepthAttrs>().block_size;
  Shape y = op.in(0).shape();
  y[0] *= b, y[1] *= b, y[2] /= b * b;
  return Shapes{y};
}

Status DepthReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Sizes s = DepthSizes(op);
  const bool dcr = op.attrs<DepthAttrs>().mode == DepthToSpace::DCR_mode;
  const int64_t b = s.bx, ow = s.w * b, oh = s.h * b;
  for (int64_t i = 0; i < outs[0].count(); ++i) {
    const int64_t x = i % ow, y = i / ow % oh, c = i / (ow * oh) % s.c, n = i / (ow * oh * s.c);
    const int64_t in_block = (y % b) * b + x % b;
    const int64_t from = dcr ? in_block * s.c + c : c * b * b + in_block;
    ref::Copy(outs[0], i, ins[0], x / b + s.w * (y / b + s.h * (from + b * b * s.c * n)));
  }
  return Status();
}

Result<Launches> DepthGeneral(const OpView& op, const KernelRequest& request) {
  const Sizes s = DepthSizes(op);
  const int64_t b = s.bx, ow = s.w * b, plane = ow * s.h * b;
  const StridedMove::Digit c = {s.c, plane}, bx = {b, 1}, by = {b, ow};
  StridedMove move;
  move.scatter = true;
  move.digits = {{s.w, b}, {s.h, ow * b}};
  if (op.attrs<DepthAttrs>().mode == DepthToSpace::DCR_mode) {
    move.digits.insert(move.digits.end(), {c, bx, by});
  } else {
    move.digits.insert(move.digits.end(), {bx, by, c});
  }
  move.digits.push_back({s.n, plane * s.c});
  return Launches{StridedMoveLaunch(request, move)};
}
constexpr KernelCandidate kDepthKernels[] = {
    {"general", nullptr, DepthGeneral, {KernelSpec::Epilogue::kScalar}}};

void DepthCases(CaseMaker& make) {
  using namespace cases;
  for (auto mode : {DepthToSpace::DCR_mode, DepthToSpace::CRD_mode}) {
    make.Of(DepthAttrs{1, mode}).In(F32({1, 1, 1, 1})).Note("one element");
    make.Of(DepthAttrs{1, mode}).In(F32({5, 3, 2, 2})).Note("blocks of one");
    make.Of(DepthAttrs{2, mode}).In(F32({5, 3, 12, 2})).Note("blocks of 2");
    make.Of(DepthAttrs{3, mode, DataLayout::CWHN}).In(F32({2, 1, 18, 2})).Note("blocks of 3");
    make.Of(DepthAttrs{2, mode}).In(F32({37, 2, 4})).Note("rank 3");
    make.Of(DepthAttrs{4, mode}).In(F32({1, 1, 16, 3})).Note("single cells");
    make.Of(DepthAttrs{2, mode}).In(F32({3, 2, 8, 1})).Note("types").EachType();
  }
  make.Of(DepthAttrs{2}).In(F32({56, 56, 64, 1})).Note("64 channels to 16").Bench();
}

constexpr OpDef kDepthToSpace = {.name = "DepthToSpace",
                                 .types = "copyable -> copyable",
                                 .schema = &kAttrSchema<DepthAttrs>,
                                 .verify = DepthVerify,
                                 .infer = DepthInfer,
                                 .reference = DepthReference,
                                 .kernels = kDepthKernels,
                                 .layout = LayoutRule::Fixed("layout"),
                                 .tolerance = Tolerance::Exact(),
                                 .cases = TIMCL_CASES(DepthCases)};

// --------------------------------------------------------------------------------- SpaceToDepth

Status SpaceVerify(const OpView& op) {
  TIMCL_TRY(op.CheckRank(0, 3, 4));
  const auto& block = op.attrs<SpaceAttrs>().block_size;
  if (block.size() != 2 || block[0] <= 0 || block[1] <= 0) {
    return op.Error(Code::kInvalidArgument, "attribute " + op.any_attrs().Map().ToText() +
                                                ": block_size must have two positive entries");
  }
  for (size_t d : {0, 1}) {
    const int64_t extent = op.in(0).shape()[d];
    if (extent % block[d] == 0) continue;
    return op.InputError(0, Code::kInvalidShape,
                         "dimension " + to_string(d) + ", " + to_string(extent) +
                             ", is no multiple of block_size " + to_string(block[d]));
  }
  return Status();
}

Sizes SpaceSizes(const OpView& op) {
  const Shape& x = op.in(0).shape();
  const auto& block = op.attrs<SpaceAttrs>().block_size;
  return {x[0] / block[0], x[1] / block[1], x[2], x.dim(3), block[0], block[1]};
}

Result<Shapes> SpaceInfer(const OpView& op) {
  const Sizes s = SpaceSizes(op);
  Shape y = op.in(0).shape();
  y[0] = s.w, y[1] = s.h, y[2] = s.c * s.bx * s.by;
  return Shapes{y};
}

Status SpaceReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Sizes s = SpaceSizes(op);
  const int64_t iw = s.w * s.bx, ih = s.h * s.by;
  for (int64_t i = 0; i < ins[0].count(); ++i) {
    const int64_t x = i % iw, y = i / iw % ih, c = i / (iw * ih) % s.c, n = i / (iw * ih * s.c);
    const int64_t to = ((y % s.by) * s.bx + x % s.bx) * s.c + c;
    const int64_t channels = s.c * s.bx * s.by;
    ref::Copy(outs[0], x / s.bx + s.w * (y / s.by + s.h * (to + channels * n)), ins[0], i);
  }
  return Status();
}

Result<Launches> SpaceGeneral(const OpView& op, const KernelRequest& request) {
  const Sizes s = SpaceSizes(op);
  const int64_t iw = s.w * s.bx, plane = iw * s.h * s.by;
  StridedMove move;
  move.digits = {{s.w, s.bx}, {s.h, iw * s.by}, {s.c, plane},
                 {s.bx, 1},   {s.by, iw},       {s.n, plane * s.c}};
  return Launches{StridedMoveLaunch(request, move)};
}
constexpr KernelCandidate kSpaceKernels[] = {
    {"general", nullptr, SpaceGeneral, {KernelSpec::Epilogue::kScalar}}};

void SpaceCases(CaseMaker& make) {
  using namespace cases;
  make.Of(SpaceAttrs{{1, 1}}).In(F32({1, 1, 1, 1})).Note("one element");
  make.Of(SpaceAttrs{{1, 1}}).In(F32({5, 3, 2, 2})).Note("blocks of one");
  make.Of(SpaceAttrs{{2, 2}}).In(F32({10, 6, 3, 2})).Note("blocks of 2");
  make.Of(SpaceAttrs{{3, 2}, DataLayout::CWHN}).In(F32({9, 4, 2, 2})).Note("blocks of 3 and 2");
  make.Of(SpaceAttrs{{1, 5}}).In(F32({37, 5, 2})).Note("rank 3");
  make.Of(SpaceAttrs{{4, 4}}).In(F32({4, 4, 3, 2})).Note("one block");
  make.Of(SpaceAttrs{{2, 2}}).In(F32({6, 4, 2, 1})).Note("types").EachType();
  make.Of(SpaceAttrs{{2, 2}}).In(F32({112, 112, 16, 1})).Note("16 channels to 64").Bench();
}

constexpr OpDef kSpaceToDepth = {.name = "SpaceToDepth",
                                 .types = "copyable -> copyable",
                                 .schema = &kAttrSchema<SpaceAttrs>,
                                 .verify = SpaceVerify,
                                 .infer = SpaceInfer,
                                 .reference = SpaceReference,
                                 .kernels = kSpaceKernels,
                                 .layout = LayoutRule::Fixed("layout"),
                                 .tolerance = Tolerance::Exact(),
                                 .cases = TIMCL_CASES(SpaceCases)};

}  // namespace

TIMCL_OP_CLASS_WITH(DepthToSpace, DepthAttrs,
                    (int block_size, depth2space_mode mode, DataLayout layout),
                    (block_size, mode, layout), block_size_(block_size), mode_(mode));
TIMCL_OP_CLASS_WITH(SpaceToDepth, SpaceAttrs, (std::vector<int> block_size, DataLayout layout),
                    (block_size, layout), block_size_(block_size));
#ifndef TIMCL_OP_FILE_AS_PLUGIN
DepthToSpace::DepthToSpace(Graph* graph, int block_size, DataLayout layout)
    : DepthToSpace(graph, block_size, DCR_mode, layout) {}
#endif

TIMCL_OPS(space_depth) {
  Add(kDepthToSpace);
  Add(kSpaceToDepth);
}

}  // namespace tim::vx::ops
