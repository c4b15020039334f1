// A point-wise operator is one row: TIMCL_POINTWISE(name, attributes, operands, tolerance, rule).
// Checks, broadcasting, reference and kernel are the same for all of them and live behind this
// header, which serves operators outside of the library too.
#ifndef TIM_VX_POINTWISE_H_
#define TIM_VX_POINTWISE_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "tim/vx/op_def.h"
#include "tim/vx/testing.h"

namespace tim::vx {

/// An expression in OpenCL C and the same in C++. The C++ twin is a generic callable
/// `T f(T x, T y, T z, const float* p)`: called with double for float results, with float for
/// integer results, where it must take the very steps of the kernel. p0..p3 of the expression and
/// p[0..3] are the fields of the attribute struct in their order.
struct Pointwise : PointwiseRule {
  using Params = const float*;
  using Int = int64_t;
  enum class Domain {
    kNumbers,  // f32 f16, 8 and 16-bit integers quantized or not, i32
    kAll,      // also bool u32 i64
    kLogical,  // bool, i8
  };

  template <class F>
  constexpr Pointwise(const char* text, F f) : in_double(f), in_float(f) {
    expression = text;
  }
  /// The exact form where every operand is an unquantized integer: over `long`, and over int64_t.
  template <class F>
  constexpr Pointwise Integer(const char* text, F f) const {
    Pointwise r = *this;
    r.int_expression = text, r.in_integer = f;
    return r;
  }
  constexpr Pointwise On(Domain d) const {
    Pointwise r = *this;
    r.domain = d;
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
  constexpr Pointwise Cases(void (*f)(CaseMaker&)) const {
    Pointwise r = *this;
    r.cases = f;
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
  float (*in_float)(float, float, float, Params);
  Int (*in_integer)(Int, Int, Int, Params) = nullptr;
  Domain domain = Domain::kNumbers;
  Status (*check)(const OpView&) = nullptr;
  Shape (*align)(const OpView&, size_t input) = nullptr;
  void (*cases)(CaseMaker&) = nullptr;
};

struct NoAttrs {
  TIMCL_FIELDS()
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
TIMCL_API Result<Launches> Vectors(const OpView& op, const DeviceCaps& caps);
/// The general kernel, pointwise.cl.
TIMCL_API Result<Launches> General(const OpView& op, const DeviceCaps& caps);

/// kInvalidType unless t is one of the domain's types. `what` is "input 0 'x'", say.
TIMCL_API Status CheckType(const OpView& op, const TensorView& t, const char* what,
                           Pointwise::Domain domain);

/// Values and encodings that each op of one or two inputs is tested with, drawn from [lo, hi].
struct CaseRange {
  double lo = -4, hi = 4;
  /// Second input; it stays away from 0 for divisors.
  double lo2 = -4, hi2 = 4;
  bool integers = true;  // also i32
};
TIMCL_API void UnaryCases(CaseMaker& make, const std::vector<AnyAttrs>& attrs,
                          const CaseRange& range = {});
TIMCL_API void BinaryCases(CaseMaker& make, const std::vector<AnyAttrs>& attrs,
                           const CaseRange& range = {});

}  // namespace pointwise
}  // namespace tim::vx

/// Defines kName, the OpDef of a point-wise operator, from a Pointwise. Order of the initializers:
/// that of OpDef.
#define TIMCL_POINTWISE(name, Attrs, operands, tolerance, ...)                                    \
  constexpr ::tim::vx::Pointwise k##name##Rule = (__VA_ARGS__).For<Attrs>();                      \
  constinit const ::tim::vx::OpDef k##name = {                                                    \
      #name,                                                                                      \
      operands,                                                                                   \
      "output",                                                                                   \
      &::tim::vx::kAttrSchema<Attrs>,                                                             \
      ::tim::vx::pointwise::Verify,                                                               \
      ::tim::vx::pointwise::Infer,                                                                \
      ::tim::vx::pointwise::Reference,                                                            \
      {{"vectors", ::tim::vx::pointwise::Vectors}, {"pointwise", ::tim::vx::pointwise::General}}, \
      &k##name##Rule,                                                                             \
      nullptr,                                                                                    \
      ::tim::vx::Declared::kTrusted,                                                              \
      false,                                                                                      \
      tolerance,                                                                                  \
      k##name##Rule.cases}

/// Constructor and Clone of an operator class without attributes.
#define TIMCL_PLAIN_OP_CLASS(Name)                                              \
  Name::Name(Graph* graph) : BuiltinOp(graph, k##Name, MakeAttrs(NoAttrs{})) {} \
  std::shared_ptr<Operation> Name::Clone(std::shared_ptr<Graph>& graph) const { \
    return graph->CreateOperation<Name>();                                      \
  }                                                                             \
  static_assert(true, "takes the semicolon")

#endif  // TIM_VX_POINTWISE_H_
