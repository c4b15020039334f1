// Reorg: the reorg layer of darknet.  Source: darknet reorg_cpu (forward).
#include "tim/vx/ops/reorg.h"

#include <string>

#include "tim/vx/strided_move.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct ReorgAttrs {
  uint32_t stride = 1;
  TIMCL_FIELDS(stride)
};

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckRank(0, 3, 4));
  const Shape& x = op.in(0).shape();
  const int64_t s = op.attrs<ReorgAttrs>().stride;
  if (s == 0) return op.Error(Code::kInvalidArgument, "attribute stride is 0");
  for (size_t d : {0, 1}) {
    if (x[d] % s == 0) continue;
    return op.InputError(0, Code::kInvalidShape,
                         "dimension " + to_string(d) + ", " + to_string(x[d]) +
                             ", is no multiple of stride " + to_string(s));
  }
  // W and H are multiples of s here, so that s * s does not overflow.
  if (x[2] % (s * s) == 0) return Status();
  return op.InputError(0, Code::kInvalidShape,
                       "its " + to_string(x[2]) + " channels are no multiple of stride * stride, " +
                           to_string(s * s));
}

Result<Shapes> Infer(const OpView& op) {
  const int64_t s = op.attrs<ReorgAttrs>().stride;
  Shape y = op.in(0).shape();
  y[0] /= s, y[1] /= s, y[2] *= s * s;
  return Shapes{y};
}

// Names as in darknet: extents of the input, k counts its channels.
Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Shape& x = op.in(0).shape();
  const int64_t s = op.attrs<ReorgAttrs>().stride, w = x[0], h = x[1], c = x[2];
  const int64_t few = c / (s * s);
  for (int64_t b = 0; b < x.dim(3); ++b) {
    for (int64_t k = 0; k < c; ++k) {
      for (int64_t j = 0; j < h; ++j) {
        for (int64_t i = 0; i < w; ++i) {
          const int64_t offset = k / few;
          const int64_t w2 = i * s + offset % s, h2 = j * s + offset / s;
          const int64_t to = i + w * (j + h * (k + c * b));
          ref::Copy(outs[0], to, ins[0], w2 + w * s * (h2 + h * s * (k % few + few * b)));
        }
      }
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const Shape& x = op.in(0).shape();
  const int64_t s = op.attrs<ReorgAttrs>().stride, w = x[0], h = x[1], few = x[2] / (s * s);
  StridedMove move;
  move.digits = {{w, s}, {h, w * s * s}, {few, w * s * h * s},
                 {s, 1}, {s, w * s},     {x.dim(3), w * h * x[2]}};
  return Launches{StridedMoveLaunch(request, move)};
}
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(ReorgAttrs{1}).In(F32({1, 1, 1, 1})).Note("one element");
  make.Of(ReorgAttrs{1}).In(F32({5, 3, 2, 2})).Note("identity");
  make.Of(ReorgAttrs{2}).In(F32({6, 4, 12, 2})).Note("stride 2");
  make.Of(ReorgAttrs{3}).In(F32({3, 6, 18})).Note("stride 3, rank 3");
  make.Of(ReorgAttrs{2}).In(F32({38, 2, 4, 1})).Note("beyond a vector");
  make.Of(ReorgAttrs{2}).In(F32({6, 4, 8, 1})).Note("types").EachType();
  make.Of(ReorgAttrs{2}).In(F32({26, 26, 64, 1})).Note("as in YOLOv2").Bench();
}

constexpr OpDef kReorg = {.name = "Reorg",
                          .types = "copyable -> copyable",
                          .schema = &kAttrSchema<ReorgAttrs>,
                          .verify = Verify,
                          .infer = Infer,
                          .reference = Reference,
                          .kernels = kKernels,
                          .tolerance = Tolerance::Exact(),
                          .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Reorg, ReorgAttrs, (const uint32_t stride), (stride), stride_(stride));

TIMCL_OPS(reorg) { Add(kReorg); }

}  // namespace tim::vx::ops
