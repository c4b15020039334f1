// Activation functions, one row each. All of them pass a NaN on, but for Sign, whose result is -1,
// 0 or 1.
#include "tim/vx/ops/activations.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

using pointwise::UnaryCases;
using P = const float*;
using Int = int64_t;

struct AlphaAttrs {
  float alpha = 1.0f;
  TIMCL_FIELDS(alpha)
};
struct LeakyAttrs {
  float alpha = 0.01f;
  TIMCL_FIELDS(alpha)
};
struct HardSigmoidAttrs {
  float alpha = 0.2f;
  float beta = 0.5f;
  TIMCL_FIELDS(alpha, beta)
};
struct LinearAttrs {
  float a = 1.0f;
  float b = 0.0f;
  TIMCL_FIELDS(a, b)
};
struct GeluAttrs {
  bool approximate = true;
  TIMCL_FIELDS(approximate)
};
struct SeluAttrs {
  float alpha = 1.67326f;
  float gamma = 1.0507f;
  TIMCL_FIELDS(alpha, gamma)
};
struct PreluAttrs {
  int32_t axis = 0;
  TIMCL_FIELDS(axis)
};

void PlainCases(CaseMaker& make) { UnaryCases(make, {MakeAttrs(NoAttrs{})}); }
void WideCases(CaseMaker& make) { UnaryCases(make, {MakeAttrs(NoAttrs{})}, {-9, 9}); }
/// Also around the limits of the vector forms and the steps of their tables, and far beyond.
void SaturatingCases(CaseMaker& make) {
  WideCases(make);
  const double inf = std::numeric_limits<double>::infinity();
  make.Of(NoAttrs{})
      .In(cases::F32({37}))
      .Values({-inf,   -3e38,  -104, -89.1, -88.9, -88.5, -87.4,  -87.2,  -40,    -17,
               -9.2,   -9.05,  -8.1, -7.9,  -7.8,  -7.7,  -0.376, -0.374, -0.126, -0.124,
               -1e-20, -1e-40, 0,    -0.0,  1e-40, 1e-20, 0.011,  0.124,  0.126,  1,
               7.7,    7.8,    9.2,  17,    89,    3e38,  inf})
      .Note("limits, tiny and large numbers");
}

// Where a result tends to 0, the exponential leaves the range of float32 before the result does.
constexpr double kTiny = 1e-36;

TIMCL_POINTWISE(Relu, NoAttrs, "input", Tolerance::Exact(),
                Pointwise("AT_LEAST(x, 0.0f)", []<class T>(T x, T, T, P) {
                  return AtLeast(x, T(0));
                }).Integer("max(x, 0L)", [](Int x, Int, Int, P) {
                    return std::max<Int>(x, 0);
                  }).Cases(PlainCases));

TIMCL_POINTWISE(
    Relu1, NoAttrs, "input", Tolerance::Exact(),
    Pointwise("AT_MOST(AT_LEAST(x, -1.0f), 1.0f)", []<class T>(T x, T, T, P) {
      return AtMost(AtLeast(x, T(-1)), T(1));
    }).Integer("clamp(x, -1L, 1L)", [](Int x, Int, Int, P) {
        return std::clamp<Int>(x, -1, 1);
      }).Cases(PlainCases));

TIMCL_POINTWISE(
    Relu6, NoAttrs, "input", Tolerance::Exact(),
    Pointwise("AT_MOST(AT_LEAST(x, 0.0f), 6.0f)", []<class T>(T x, T, T, P) {
      return AtMost(AtLeast(x, T(0)), T(6));
    }).Integer("clamp(x, 0L, 6L)", [](Int x, Int, Int, P) {
        return std::clamp<Int>(x, 0, 6);
      }).Cases(WideCases));

TIMCL_POINTWISE(Tanh, NoAttrs, "input", Tolerance::Ulp(6, 1),
                Pointwise("TANH(x)", []<class T>(T x, T, T, P) {
                  return std::tanh(x);
                }).Cases(SaturatingCases));

TIMCL_POINTWISE(Sigmoid, NoAttrs, "input", Tolerance::Ulp(8, 1, kTiny),
                Pointwise("SIGMOID(x)", []<class T>(T x, T, T, P) {
                  return T(1) / (T(1) + std::exp(-x));
                }).Cases(SaturatingCases));

TIMCL_POINTWISE(Swish, NoAttrs, "input", Tolerance::Ulp(8, 1, kTiny),
                Pointwise("x * SIGMOID(x)", []<class T>(T x, T, T, P) {
                  return x / (T(1) + std::exp(-x));
                }).Cases(WideCases));

// Times the float32 nearest to 1/6 in place of a division, which not every device rounds correctly.
TIMCL_POINTWISE(
    HardSwish, NoAttrs, "input", Tolerance::Ulp(3, 0),
    Pointwise("x * AT_MOST(AT_LEAST(x + 3.0f, 0.0f), 6.0f) * 0x1.555556p-3f", []<class T>(T x, T, T,
                                                                                          P) {
      return x * AtMost(AtLeast(x + T(3), T(0)), T(6)) * T(0x1.555556p-3f);
    }).Cases(PlainCases));

TIMCL_POINTWISE(Mish, NoAttrs, "input", Tolerance::Ulp(16, 1, kTiny),
                Pointwise("x * TANH_LOG1P_EXP(x)", []<class T>(T x, T, T, P) {
                  return x * std::tanh(std::log1p(std::exp(x)));
                }).Cases(WideCases));

// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), where nothing overflows.
TIMCL_POINTWISE(SoftRelu, NoAttrs, "input", Tolerance::Ulp(6, 1, kTiny),
                Pointwise("AT_LEAST(x, 0.0f) + LOG1P_OF_UNIT(EXP(-fabs(x)))", []<class T>(T x, T, T,
                                                                                          P) {
                  return AtLeast(x, T(0)) + std::log1p(std::exp(-std::fabs(x)));
                }).Cases(WideCases));

TIMCL_POINTWISE(
    Sign, NoAttrs, "input", Tolerance::Exact(),
    Pointwise("sign(x)", []<class T>(T x, T, T, P) {
      return T(x > T(0)) - T(x < T(0));
    }).Integer("clamp(x, -1L, 1L)", [](Int x, Int, Int, P) {
        return Int(x > 0) - Int(x < 0);
      }).Cases(PlainCases));

TIMCL_POINTWISE(SoftSign, NoAttrs, "input", Tolerance::Ulp(4, 1),
                Pointwise("x / (1.0f + fabs(x))", []<class T>(T x, T, T, P) {
                  return x / (T(1) + std::fabs(x));
                }).Cases(PlainCases));

TIMCL_POINTWISE(Elu, AlphaAttrs, "input", Tolerance::Ulp(6, 1),
                Pointwise("(x > 0.0f) ? x : p0 * EXPM1(x)", []<class T>(T x, T, T, P p) {
                  return x > T(0) ? x : p[0] * std::expm1(x);
                }).Cases([](CaseMaker& make) {
                  UnaryCases(make, {MakeAttrs(AlphaAttrs{}), MakeAttrs(AlphaAttrs{0.3f})});
                }));

TIMCL_POINTWISE(
    HardSigmoid, HardSigmoidAttrs, "input", Tolerance::Ulp(2, 0, 4e-6),
    Pointwise("AT_MOST(AT_LEAST(p0 * x + p1, 0.0f), 1.0f)", []<class T>(T x, T, T, P p) {
      return AtMost(AtLeast(p[0] * x + p[1], T(0)), T(1));
    }).Cases([](CaseMaker& make) {
      UnaryCases(make, {MakeAttrs(HardSigmoidAttrs{}), MakeAttrs(HardSigmoidAttrs{0.31f, 0.42f})});
    }));

TIMCL_POINTWISE(LeakyRelu, LeakyAttrs, "input", Tolerance::Exact(),
                Pointwise("(x > 0.0f) ? x : p0 * x", []<class T>(T x, T, T, P p) {
                  return x > T(0) ? x : p[0] * x;
                }).Cases([](CaseMaker& make) {
                  UnaryCases(make, {MakeAttrs(LeakyAttrs{0.1f}), MakeAttrs(LeakyAttrs{0.25f})});
                }));

TIMCL_POINTWISE(
    Linear, LinearAttrs, "input", Tolerance::Ulp(2, 0, 4e-6),
    Pointwise("p0 * x + p1", []<class T>(T x, T, T, P p) {
      return p[0] * x + p[1];
    }).Cases([](CaseMaker& make) {
      UnaryCases(make, {MakeAttrs(LinearAttrs{1.7f, -0.3f}), MakeAttrs(LinearAttrs{-0.4f, 0.0f})});
    }));

// The tanh form as x * sigmoid(2u), and the erf form by erfc: neither cancels where the result
// tends to 0. 1.5957691 = 2 sqrt(2 / pi).
TIMCL_POINTWISE(Gelu, GeluAttrs, "input", Tolerance::Ulp(24, 1, 1e-7),
                Pointwise("(p0 != 0.0f) ? x * SIGMOID(1.5957691f * (x + 0.044715f * x * x * x))"
                          " : GELU(x)",
                          []<class T>(T x, T, T, P p) {
                            return p[0] != 0 ? x / (T(1) + std::exp(T(-1.5957691f) *
                                                                    (x + T(0.044715f) * x * x * x)))
                                             : T(0.5) * x * std::erfc(T(-0.70710678f) * x);
                          })
                    .Cases([](CaseMaker& make) {
                      UnaryCases(make, {MakeAttrs(GeluAttrs{true}), MakeAttrs(GeluAttrs{false})});
                    }));

TIMCL_POINTWISE(Selu, SeluAttrs, "input", Tolerance::Ulp(6, 1),
                Pointwise("(x > 0.0f) ? p1 * x : p1 * (p0 * EXPM1(x))", []<class T>(T x, T, T,
                                                                                    P p) {
                  return x > T(0) ? p[1] * x : p[1] * (p[0] * std::expm1(x));
                }).Cases([](CaseMaker& make) {
                  UnaryCases(make, {MakeAttrs(SeluAttrs{}), MakeAttrs(SeluAttrs{1.2f, 0.8f})});
                }));

Status CheckCelu(const OpView& op) {
  const float alpha = op.attrs<AlphaAttrs>().alpha;
  if (alpha != 0 && std::isfinite(alpha)) return Status();
  return op.Error(Code::kInvalidArgument, "attribute " + op.any_attrs().Map().ToText() +
                                              " must be a finite number other than 0");
}

TIMCL_POINTWISE(Celu, AlphaAttrs, "input", Tolerance::Ulp(8, 1),
                Pointwise("(x >= 0.0f) ? x : p0 * EXPM1(x / p0)",
                          []<class T>(T x, T, T, P p) {
                            return x >= T(0) ? x : p[0] * std::expm1(x / p[0]);
                          })
                    .Checked(CheckCelu)
                    .Cases([](CaseMaker& make) {
                      UnaryCases(make, {MakeAttrs(AlphaAttrs{}), MakeAttrs(AlphaAttrs{0.7f})});
                      // Its exponential grows as far as infinity.
                      make.Of(AlphaAttrs{-0.5f})
                          .In(cases::F32({37}))
                          .Values({-1, -10, -43.9, -44.1, -44.3, -60, -100, -3e38, 0, 1})
                          .Note("a negative alpha");
                    }));

/// A slope with one extent other than 1, equal to the data's along `axis`, goes along `axis`.
Shape PreluShape(const OpView& op, size_t input) {
  const Shape& shape = op.in(input).shape();
  if (input == 0) return shape;
  const Shape& data = op.in(0).shape();
  const size_t axis = op.Axis(op.attrs<PreluAttrs>().axis);
  if (std::count_if(shape.dims().begin(), shape.dims().end(), [](int64_t d) { return d != 1; }) !=
          1 ||
      shape.count() != data[axis]) {
    return shape;
  }
  std::vector<int64_t> along(axis + 1, 1);
  along[axis] = shape.count();
  return Shape(along);
}

Status CheckPrelu(const OpView& op) {
  TIMCL_TRY(op.CheckAxis(op.attrs<PreluAttrs>().axis));
  const Shape& data = op.in(0).shape();
  const Shape slope = PreluShape(op, 1);
  for (size_t d = 0; d < slope.rank(); ++d) {
    if (slope[d] == 1 || slope[d] == data.dim(d)) continue;
    return op.Error(Code::kInvalidShape,
                    op.in_label(1) + " does not broadcast to " + op.in_label(0) + ": dimension " +
                        std::to_string(d) + " (counted from the fastest) is " +
                        std::to_string(slope[d]) + " against " + std::to_string(data.dim(d)));
  }
  return Status();
}

void PreluCases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](int32_t axis, const TensorType& x, const TensorType& slope, const char* note) {
    make.Of(PreluAttrs{axis}).In(x).Const(slope, -0.5, 2).Note(note);
  };
  const Shape x = {7, 5, 3};
  add(2, F32(x), F32({3}), "along the axis");
  add(-1, F32(x), F32({1, 1, 3}), "along the axis, counted from the end");
  add(1, F32(x), F32({1, 5, 1}), "both readings agree");
  add(1, F32({5, 5, 3}), F32({5}), "the axis wins over dimension 0");
  add(0, F32(x), F32(x), "one slope per element");
  add(2, F32(x), F32({1}), "one for all");
  add(0, F32({1}), F32({1}), "one element");
  add(0, F32({300, 1}), F32({300}), "beyond a work-group");
  for (const TensorType& t : DeclaredTypes(make.def(), 0, {19, 17, 3}))
    add(2, t, F32({3}), "types");
  make.Of(PreluAttrs{2}).In(F32({19, 17, 3})).Const(F32({3}), -2, 2).Note("types").EachTypeOnce();
  make.Of(PreluAttrs{2})
      .In(F32({5, 3, 19, 2}))
      .In(F32({5, 3, 19, 2}))
      .Note("one slope per element, not constant");
  make.Of(PreluAttrs{2}).In(F32({112, 112, 64, 1})).Const(F32({64}), -0.5, 2).Bench();
}

TIMCL_POINTWISE(Prelu, PreluAttrs, "input slope", Tolerance::Exact(),
                Pointwise("(x >= 0.0f) ? x : x * y",
                          []<class T>(T x, T y, T, P) { return x >= T(0) ? x : x * y; })
                    // Without a branch: Mesa 22.3 takes a comparison of two long for true there.
                    .Integer("max(x, 0L) + min(x, 0L) * y",
                             [](Int x, Int y, Int, P) { return x >= 0 ? x : x * y; })
                    .Checked(CheckPrelu)
                    .Aligned(PreluShape)
                    .Axes("axis")
                    .Cases(PreluCases));

}  // namespace

TIMCL_PLAIN_OP_CLASS(Relu);
TIMCL_PLAIN_OP_CLASS(Relu1);
TIMCL_PLAIN_OP_CLASS(Relu6);
TIMCL_PLAIN_OP_CLASS(Tanh);
TIMCL_PLAIN_OP_CLASS(Sigmoid);
TIMCL_PLAIN_OP_CLASS(Swish);
TIMCL_PLAIN_OP_CLASS(HardSwish);
TIMCL_PLAIN_OP_CLASS(Mish);
TIMCL_PLAIN_OP_CLASS(SoftRelu);
TIMCL_PLAIN_OP_CLASS(Sign);
TIMCL_PLAIN_OP_CLASS(SoftSign);

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Elu::Elu(Graph* graph) : Elu(graph, 1.0f) {}
#endif
TIMCL_OP_CLASS_WITH(Elu, AlphaAttrs, (float alpha), (alpha), alpha_(alpha));
TIMCL_OP_CLASS_WITH(Prelu, PreluAttrs, (int axis), (axis), axis_(axis));
TIMCL_OP_CLASS_WITH(HardSigmoid, HardSigmoidAttrs, (float alpha, float beta), (alpha, beta),
                    alpha_(alpha), beta_(beta));
TIMCL_OP_CLASS_WITH(LeakyRelu, LeakyAttrs, (float alpha), (alpha), alpha_(alpha));
TIMCL_OP_CLASS_WITH(Linear, LinearAttrs, (float a, float b), (a, b), a_(a), b_(b));
TIMCL_OP_CLASS(Gelu, GeluAttrs, (bool approximate), (approximate));
TIMCL_OP_CLASS_WITH(Selu, SeluAttrs, (float alpha, float gamma), (alpha, gamma), alpha_(alpha),
                    gamma_(gamma));
TIMCL_OP_CLASS_WITH(Celu, AlphaAttrs, (float alpha), (alpha), alpha_(alpha));

TIMCL_OPS(activations) {
  for (const OpDef* def : {&kRelu, &kRelu1, &kRelu6, &kTanh, &kSigmoid, &kSwish, &kHardSwish,
                           &kMish, &kSoftRelu, &kSign, &kSoftSign, &kElu, &kPrelu, &kHardSigmoid,
                           &kLeakyRelu, &kLinear, &kGelu, &kSelu, &kCelu}) {
    Add(*def);
  }
}

}  // namespace tim::vx::ops
