// Erf: the Gauss error function.  Source: ONNX Erf-13.
#include "tim/vx/ops/erf.h"

#include <cmath>

#include "tim/vx/op_def.h"
#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

// erf of OpenCL is good to 16 ulp.
TIMCL_POINTWISE(Erf, NoAttrs, "input", Tolerance::Ulp(16, 1),
                Pointwise("ERF(x)", []<class T>(T x, T, T, const float*) { return std::erf(x); })
                    .On("real -> real")
                    .Cases([](CaseMaker& make) {
                      pointwise::UnaryCases(make, {MakeAttrs(NoAttrs{})});
                    }));

}  // namespace

TIMCL_PLAIN_OP_CLASS(Erf);

TIMCL_OPS(erf) { Add(kErf); }

}  // namespace tim::vx::ops
