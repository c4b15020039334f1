// Dropout: a scale, as inference leaves of it.  Source: TIM-VX Dropout.
#include "tim/vx/ops/dropout.h"

#include "tim/vx/op_def.h"
#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

struct DropoutAttrs {
  float ratio = 1.0f;
  TIMCL_FIELDS(ratio)
};

TIMCL_POINTWISE(
    Dropout, DropoutAttrs, "input", Tolerance::Ulp(1),
    Pointwise("p0 * x", []<class T>(T x, T, T, const float* p) {
      return p[0] * x;
    }).Cases([](CaseMaker& make) {
      pointwise::UnaryCases(make, {MakeAttrs(DropoutAttrs{0.7f}), MakeAttrs(DropoutAttrs{-1.5f})});
    }));

}  // namespace

TIMCL_OP_CLASS_WITH(Dropout, DropoutAttrs, (float ratio), (ratio), ratio_(ratio));

TIMCL_OPS(dropout) { Add(kDropout); }

}  // namespace tim::vx::ops
