// Arithmetic on two operands with broadcasting, one row each. Unquantized integers are exact and
// saturate. A NaN in either operand of Minimum and Maximum is the result.
#include "tim/vx/ops/elementwise.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tim/vx/fold_rule.h"
#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

using pointwise::BinaryCases;
using P = const float*;
using Int = int64_t;

struct ScaleAttrs {
  float scale = 1.0f;
  TIMCL_FIELDS(scale)
};

void Cases(CaseMaker& make) { BinaryCases(make, {MakeAttrs(NoAttrs{})}); }

/// Integer sums and products that leave the range of i32.
template <class Attrs>
void SaturatingCases(CaseMaker& make, Attrs attrs) {
  const double top = 2147483647.0, bottom = -2147483648.0;
  make.Of(attrs)
      .In(cases::I32({5, 4}))
      .Values({top, bottom, 16777217, 2000000000, -3})
      .In(cases::I32({5, 4}))
      .Values({top, bottom, 1, -1})
      .Note("saturating");
}

TIMCL_POINTWISE(Minimum, NoAttrs, "input0 input1", Tolerance::Exact(),
                Pointwise("(x != x) ? x : (x < y) ? x : y", []<class T>(T x, T y, T, P) {
                  return std::isnan(x) || x < y ? x : y;
                }).Integer("min(x, y)", [](Int x, Int y, Int, P) {
                    return std::min(x, y);
                  }).Cases(Cases));

TIMCL_POINTWISE(Maximum, NoAttrs, "input0 input1", Tolerance::Exact(),
                Pointwise("(x != x) ? x : (x > y) ? x : y", []<class T>(T x, T y, T, P) {
                  return std::isnan(x) || x > y ? x : y;
                }).Integer("max(x, y)", [](Int x, Int y, Int, P) {
                    return std::max(x, y);
                  }).Cases(Cases));

TIMCL_POINTWISE(Add, NoAttrs, "input0 input1", Tolerance::Exact(),
                Pointwise("x + y", []<class T>(T x, T y, T, P) {
                  return x + y;
                }).Integer("x + y", [](Int x, Int y, Int, P) {
                    return x + y;
                  }).Cases([](CaseMaker& make) {
                  Cases(make);
                  SaturatingCases(make, NoAttrs{});
                }));

TIMCL_POINTWISE(Sub, NoAttrs, "input0 input1", Tolerance::Exact(),
                Pointwise("x - y", []<class T>(T x, T y, T, P) {
                  return x - y;
                }).Integer("x - y", [](Int x, Int y, Int, P) {
                    return x - y;
                  }).Cases([](CaseMaker& make) {
                  Cases(make);
                  SaturatingCases(make, NoAttrs{});
                }));

// Integers with a scale: three float32 steps, then rounded and saturated.
Int ScaledProduct(Int x, Int y, Int, P p) {
  if (p[0] == 1.0f) return x * y;
  return Saturated(std::rint(static_cast<float>(x) * static_cast<float>(y) * p[0]));
}

TIMCL_POINTWISE(Multiply, ScaleAttrs, "input0 input1", Tolerance::Ulp(2, 0),
                Pointwise("x * y * p0", []<class T>(T x, T y, T, P p) { return x * y * p[0]; })
                    .Integer("(p0 == 1.0f) ? x * y"
                             " : convert_long_sat_rte((float)x * (float)y * p0)",
                             ScaledProduct)
                    .Cases([](CaseMaker& make) {
                      BinaryCases(make, {MakeAttrs(ScaleAttrs{}), MakeAttrs(ScaleAttrs{0.37f})});
                      SaturatingCases(make, ScaleAttrs{});
                      SaturatingCases(make, ScaleAttrs{0.25f});
                    }));

TIMCL_POINTWISE(
    Div, ScaleAttrs, "input0 input1", Tolerance::Ulp(4, 1),
    Pointwise("x / y * p0", []<class T>(T x, T y, T, P p) {
      return x / y * p[0];
    }).Cases([](CaseMaker& make) {
      BinaryCases(make, {MakeAttrs(ScaleAttrs{}), MakeAttrs(ScaleAttrs{2.5f})}, {-4, 4, 0.3, 4});
      // Zeros among the divisors: infinities, which saturate where quantized.
      BinaryCases(make, {MakeAttrs(ScaleAttrs{})}, {1, 4, -1, 1});
    }));

TIMCL_POINTWISE(Pow, NoAttrs, "input0 input1", Tolerance::Ulp(18, 1),
                Pointwise("pow(x, y)", []<class T>(T x, T y, T, P) {
                  return std::pow(x, y);
                }).Cases([](CaseMaker& make) {
                  BinaryCases(make, {MakeAttrs(NoAttrs{})}, {0.1, 3, -2, 3});
                }));

TIMCL_POINTWISE(FloorDiv, NoAttrs, "input0 input1", Tolerance::Exact(),
                Pointwise("floor(x / y)", []<class T>(T x, T y, T, P) {
                  // The quotient is float32 whatever the result: one step decides.
                  return T(std::floor(static_cast<float>(x) / static_cast<float>(y)));
                }).Cases([](CaseMaker& make) {
                  BinaryCases(make, {MakeAttrs(NoAttrs{})}, {-9, 9, 0.3, 4});
                }));

/// What becomes of the other operand where one is a constant: f(element) is its scale and its
/// shift.
template <class F>
std::optional<ChannelAffine> AffineBy(const OpView& op, F f) {
  const size_t constant = op.in(0).is_const() ? 0 : 1;
  const TensorView x = op.in(1 - constant);
  const bool real = x.dtype() == DataType::FLOAT32 || x.dtype() == DataType::FLOAT16;
  if (x.is_const() || !real || op.out(0).dtype() != x.dtype()) return std::nullopt;
  const auto c = ChannelConstantOf(op.in(constant), x.shape());
  if (!c) return std::nullopt;
  ChannelAffine a;
  a.input = 1 - constant, a.axis = c->axis;
  for (const double v : c->values) {
    const auto [scale, shift] = f(v);
    a.scale.push_back(scale), a.shift.push_back(shift);
  }
  return a;
}
constexpr FoldRule kAddFolds = {
    .affine =
        [](const OpView& op) { return AffineBy(op, [](double v) { return std::pair(1.0, v); }); },
    .adds = true};
constexpr FoldRule kSubFolds = {.affine = [](const OpView& op) {
  const bool from = op.in(0).is_const();
  return AffineBy(op, [=](double v) { return from ? std::pair(-1.0, v) : std::pair(1.0, -v); });
}};
constexpr FoldRule kMultiplyFolds = {.affine = [](const OpView& op) {
  const double scale = op.attrs<ScaleAttrs>().scale;
  return AffineBy(op, [=](double v) { return std::pair(v * scale, 0.0); });
}};
// By powers of two, of which quotients and products are the same numbers.
constexpr FoldRule kDivFolds = {.affine = [](const OpView& op) -> std::optional<ChannelAffine> {
  if (op.in(0).is_const() || op.attrs<ScaleAttrs>().scale != 1.0f) return std::nullopt;
  auto a = AffineBy(op, [](double v) { return std::pair(1.0 / v, 0.0); });
  if (!a) return std::nullopt;
  for (const double scale : a->scale) {
    int exponent = 0;
    if (std::fabs(std::frexp(scale, &exponent)) != 0.5) return std::nullopt;
  }
  return a;
}};

}  // namespace

TIMCL_PLAIN_OP_CLASS(Minimum);
TIMCL_PLAIN_OP_CLASS(Maximum);
TIMCL_PLAIN_OP_CLASS(Add);
TIMCL_PLAIN_OP_CLASS(Sub);
TIMCL_PLAIN_OP_CLASS(Pow);
TIMCL_PLAIN_OP_CLASS(FloorDiv);
TIMCL_OP_CLASS(Multiply, ScaleAttrs, (float scale), (scale));
TIMCL_OP_CLASS(Div, ScaleAttrs, (float scale), (scale));

TIMCL_OPS(elementwise) {
  for (const OpDef* def :
       {&kMinimum, &kMaximum, &kAdd, &kSub, &kPow, &kFloorDiv, &kMultiply, &kDiv}) {
    Add(*def);
  }
  AddFoldRule(kAdd, &kAddFolds);
  AddFoldRule(kSub, &kSubFolds);
  AddFoldRule(kMultiply, &kMultiplyFolds);
  AddFoldRule(kDiv, &kDivFolds);
}

}  // namespace tim::vx::ops
