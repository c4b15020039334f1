// A point-wise operator is one row: TIMCL_POINTWISE(Name, attributes, operands, tolerance, rule).
// Checks, broadcasting, reference and kernel are the same for all of them and live behind this
// header, which serves operators outside of the library too.
#ifndef TIM_VX_POINTWISE_H_
#define TIM_VX_POINTWISE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx {

/// An expression in OpenCL C and the same in C++. The C++ twin is a generic callable
/// `T f(T x, T y, T z, const float* p)`: called with double for float results, with float for
/// integer results, where it must take the very steps of the kernel. p0..p3 of the expression and
/// p[0..3] are the fields of the attribute struct in their order.
struct Pointwise : PointwiseRule {
  using Params = const float*;
  using Int = int64_t;
  template <class F>
  constexpr Pointwise(const char* text, F f) : in_double(f) {
    expression = text;
    in_float = f;
  }
  /// The exact form where every operand is an unquantized integer: over `long`, and over int64_t.
  template <class F>
  constexpr Pointwise Integer(const char* text, F f) const {
    Pointwise r = *this;
    r.int_expression = text, r.in_integer = f;
    return r;
  }
  /// Element types as in OpDef::types, where they are not "number* -> number".
  constexpr Pointwise On(const char* t) const {
    Pointwise r = *this;
    r.types = t;
    return r;
  }
  /// The expression is not valid for vectors of float.
  constexpr Pointwise ScalarOnly() const {
    Pointwise r = *this;
    r.scalar_only = true;
    return r;
  }
  /// Checks that go beyond types and shapes.
  constexpr Pointwise Checked(Status (*f)(const OpView&)) const {
    Pointwise r = *this;
    r.check = f;
    return r;
  }
  /// The shape by which an input takes part in broadcasting, where it is not the tensor's own.
  constexpr Pointwise Aligned(Shape (*f)(const OpView&, size_t input)) const {
    Pointwise r = *this;
    r.align = f;
    return r;
  }
  /// The attributes that name a dimension.
  constexpr Pointwise Axes(const char* names) const {
    Pointwise r = *this;
    r.axes = names;
    return r;
  }
  constexpr Pointwise Cases(void (*f)(CaseMaker&)) const {
    Pointwise r = *this;
    r.cases = TIMCL_CASES(f);
    return r;
  }
  template <class Attrs>
  constexpr Pointwise For() const {
    Pointwise r = *this;
    r.params = [](const OpView& op, float p[4]) {
      size_t n = 0;
      std::apply(
          [&](const auto&... f) { ((n < 4 ? void(p[n++] = static_cast<float>(f)) : void()), ...); },
          op.attrs<Attrs>().Fields());
    };
    return r;
  }

  double (*in_double)(double, double, double, Params);
  Int (*in_integer)(Int, Int, Int, Params) = nullptr;
  const char* types = "number* -> number";
  const char* axes = "";
  Status (*check)(const OpView&) = nullptr;
  Shape (*align)(const OpView&, size_t input) = nullptr;
  void (*cases)(CaseMaker&) = nullptr;
};

/// Limits that keep a NaN, as the macros AT_LEAST and AT_MOST of kernels do; std::fmax and
/// std::fmin would drop it.
template <class T>
T AtLeast(T x, T lowest) {
  return x < lowest ? lowest : x;
}
template <class T>
T AtMost(T x, T highest) {
  return x > highest ? highest : x;
}

// The functions of such an OpDef. They expect def().pointwise to be a Pointwise.
namespace pointwise {

TIMCL_API Status Verify(const OpView& op);
/// The common shape of all inputs, by broadcasting.
TIMCL_API Result<Shapes> Infer(const OpView& op);
TIMCL_API Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs);
/// Sixteen elements per work-item, where nothing is broadcast: pointwise16.cl, for CPUs.
TIMCL_API Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request);
TIMCL_API Result<Launches> Vectors(const OpView& op, const KernelRequest& request);
/// The general kernel, pointwise.cl.
TIMCL_API Result<KernelOffer> AcceptsGeneral(const OpView& op, const KernelRequest& request);
TIMCL_API Result<Launches> General(const OpView& op, const KernelRequest& request);
/// Elements correspond wherever they lie, so that the kernel serves every form.
inline constexpr KernelCandidate kKernels[] = {{"vectors", AcceptsVectors, Vectors},
                                               {"pointwise", AcceptsGeneral, General},
                                               {"vectors in blocks",
                                                AcceptsVectors,
                                                Vectors,
                                                {},
                                                false,
                                                TensorForm::kBlocked,
                                                TensorForm::kBlocked}};
/// Truth values are no vectors of float: the general kernel alone.
constexpr KernelList KernelsOf(const Pointwise& rule) {
  const std::string_view types = rule.types, truth = "-> logical";
  const bool is_truth =
      types.size() > truth.size() && types.substr(types.size() - truth.size()) == truth;
  return is_truth ? KernelList(kKernels + 1, 1) : KernelList(kKernels);
}

/// The definition of a point-wise op.
constexpr OpDef DefinitionOf(const char* name, const AttrSchema* schema, const char* operands,
                             Tolerance tolerance, const Pointwise* rule) {
  OpDef def;
  def.name = name;
  def.inputs = operands;
  def.types = rule->types;
  def.schema = schema;
  def.verify = Verify;
  def.infer = Infer;
  def.reference = Reference;
  def.kernels = KernelsOf(*rule);
  def.pointwise = rule;
  def.layout = LayoutRule::FollowsAxis(rule->axes);
  def.tolerance = tolerance;
  def.cases = rule->cases;
  return def;
}

/// Values and encodings that each op of one or two inputs is tested with, drawn from [lo, hi].
struct CaseRange {
  double lo = -4, hi = 4;
  /// Second input; it stays away from 0 for divisors.
  double lo2 = -4, hi2 = 4;
};
TIMCL_API void UnaryCases(CaseMaker& make, const std::vector<AnyAttrs>& attrs,
                          const CaseRange& range = {});
TIMCL_API void BinaryCases(CaseMaker& make, const std::vector<AnyAttrs>& attrs,
                           const CaseRange& range = {});

}  // namespace pointwise
}  // namespace tim::vx

/// Defines kName, the OpDef of a point-wise operator, from a Pointwise.
#define TIMCL_POINTWISE(Name, Attrs, operands, tolerance, ...)               \
  constexpr ::tim::vx::Pointwise k##Name##Rule = (__VA_ARGS__).For<Attrs>(); \
  constexpr ::tim::vx::OpDef k##Name = ::tim::vx::pointwise::DefinitionOf(   \
      #Name, &::tim::vx::kAttrSchema<Attrs>, operands, tolerance, &k##Name##Rule)

#endif  // TIM_VX_POINTWISE_H_
