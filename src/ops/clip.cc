// Clip: limits values to a range. Source: ONNX Clip-13, with min and max as attributes.
#include "tim/vx/ops/clip.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

using P = const float*;
using Int = int64_t;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct ClipAttrs {
  float min = -kInfinity;
  float max = kInfinity;
  TIMCL_FIELDS(min, max)
};

Status Check(const OpView& op) {
  const auto& a = op.attrs<ClipAttrs>();
  if (a.min <= a.max) return Status();  // false for NaN
  return op.Error(Code::kInvalidArgument,
                  "attributes " + op.any_attrs().Map().ToText() + " are not a range");
}

/// The whole number nearest to a limit, halves to even.
Int Limit(float f) { return Saturated(std::rint(f)); }

void Cases(CaseMaker& make) {
  pointwise::UnaryCases(make,
                        {MakeAttrs(ClipAttrs{-1.5f, 2.25f}), MakeAttrs(ClipAttrs{0.0f, kInfinity}),
                         MakeAttrs(ClipAttrs{-kInfinity, 0.5f}), MakeAttrs(ClipAttrs{})},
                        {-9, 9});
}

// Rounding is monotonic: a whole number limited and then rounded is the same as limited to rounded
// limits.
TIMCL_POINTWISE(Clip, ClipAttrs, "input", Tolerance::Exact(),
                Pointwise("AT_MOST(AT_LEAST(x, p0), p1)",
                          []<class T>(T x, T, T, P p) {
                            return AtMost(AtLeast(x, T(p[0])), T(p[1]));
                          })
                    .Integer("min(max(x, convert_long_sat_rte(p0)), convert_long_sat_rte(p1))",
                             [](Int x, Int, Int, P p) {
                               return std::min(std::max(x, Limit(p[0])), Limit(p[1]));
                             })
                    .Checked(Check)
                    .Cases(Cases));

}  // namespace

TIMCL_OP_CLASS_WITH(Clip, ClipAttrs, (float min, float max), (min, max), min_(min), max_(max));

TIMCL_OPS(clip) { Add(kClip); }

}  // namespace tim::vx::ops
