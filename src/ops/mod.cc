// Mod: the remainder of a division.  Source: ONNX Mod-13.
#include "tim/vx/ops/mod.h"

#include <cmath>

#include "tim/vx/op_def.h"
#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

using P = const float*;
using Int = int64_t;

struct ModAttrs {
  int32_t fmod = 0;
  TIMCL_FIELDS(fmod)
};

/// p0 is not 0 for the fmod of C.
void Params(const OpView& op, float p[4]) {
  const bool floats = !IsInteger(op.in(0).dtype()) || !IsInteger(op.in(1).dtype());
  p[0] = floats || op.attrs<ModAttrs>().fmod != 0 ? 1.0f : 0.0f;
}

Int IntegerMod(Int x, Int y, Int, P p) {
  if (y == 0) return 0;
  const Int r = x % y;
  return p[0] == 0 && r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

void Cases(CaseMaker& make) {
  using namespace cases;
  for (int32_t fmod : {0, 1}) {
    pointwise::BinaryCases(make, {MakeAttrs(ModAttrs{fmod})}, {-9, 9, 0.3, 4});
    for (const TensorType& t : {I32({5, 4}), U8({5, 4}), I8({5, 4}), I16({5, 4})}) {
      make.Of(ModAttrs{fmod})
          .In(t)
          .Values({-4, 3, 4, -3, 1, -2, 2})
          .In(t)
          .Values({2, -3, 3, -2, 0})
          .Note("signs, and zeros among the divisors");
    }
    make.Of(ModAttrs{fmod})
        .In(I32({2}))
        .Values({2147483647, -2147483648.0})
        .In(I32({1, 3}))
        .Values({16777217, -1, 2147483647})
        .Note("large integers");
  }
}

constexpr Pointwise ModRule() {
  Pointwise rule =
      // The quotient is float32 whatever the result: one step decides.
      Pointwise("(p0 != 0.0f) ? fmod(x, y) : x - y * floor(x / y)",
                []<class T>(T x, T y, T, P p) {
                  if (p[0] != 0) return std::fmod(x, y);
                  const auto a = static_cast<float>(x), b = static_cast<float>(y);
                  return T(a - b * std::floor(a / b));
                })
          .Integer(
              "(y == 0) ? 0L : (p0 == 0.0f && x % y != 0 && (x % y < 0) != (y < 0))"
              " ? x % y + y : x % y",
              IntegerMod)
          .Cases(Cases);
  rule.params = Params;
  return rule;
}
constexpr Pointwise kModRule = ModRule();
// Where the result is a float, the product may be fused with the subtraction, which cancels.
constexpr OpDef kMod = pointwise::DefinitionOf("Mod", &kAttrSchema<ModAttrs>, "input0 input1",
                                               Tolerance::Ulp(2, 0, 2e-6), &kModRule);

}  // namespace

TIMCL_OP_CLASS_WITH(Mod, ModAttrs, (int32_t fmod), (fmod), fmod_(fmod));

TIMCL_OPS(mod) { Add(kMod); }

}  // namespace tim::vx::ops
