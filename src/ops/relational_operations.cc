// Comparisons of two operands with broadcasting, one row each.
#include "tim/vx/ops/relational_operations.h"

#include <limits>
#include <vector>

#include "tim/vx/op_def.h"
#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

using P = const float*;
using Int = int64_t;

constexpr const char* kTypes = "number|bool* -> logical";

void Cases(CaseMaker& make) {
  using namespace cases;
  const TensorType to_bool = Plain(DataType::BOOL8);
  // Neighbours in the two lists meet in every pair, equal ones too.
  const std::vector<double> some = {-1, 0, 0.5, 1, 2, -2.5, 3}, others = {0.5, 1, -1, 0, 2};
  auto add = [&](const TensorType& x, const TensorType& y, const TensorType& r, const char* note) {
    make.Of(NoAttrs{}).In(x).Values(some).In(y).Values(others).Out(r).Note(note);
  };
  add(F32({1}), F32({1}), to_bool, "one element");
  add(F32({33, 31}), F32({33, 31}), to_bool, "same shape, beyond one work-group");
  add(F32({19, 17, 3}), F32({1}), to_bool, "a scalar");
  add(F32({5, 1, 3}), F32({1, 7}), to_bool, "both repeat");
  add(F32({5, 1, 3, 1, 2, 1}), F32({1, 4, 1, 3, 1, 2}), to_bool, "six separate dimensions");
  make.Of(NoAttrs{})
      .In(F32({7, 5}))
      .Values(some)
      .In(F32({7, 5}))
      .Values(others)
      .Out(to_bool)
      .Note("types")
      .EachType();
  add(U8({7, 5}), I8({7, 5}), to_bool, "two quantizations");
  add(F32({7, 5}), U8({7, 5}), to_bool, "float and quantized");
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  make.Of(NoAttrs{})
      .In(F32({5}))
      .Values({0.0, -0.0, inf, -inf, nan})
      .In(F32({1, 5}))
      .Values({-0.0, 0.0, inf, -inf, nan})
      .Out(to_bool)
      .Note("zeros, infinities, NaN");
  // float32 cannot tell these apart.
  make.Of(NoAttrs{})
      .In(I32({4}))
      .Values({16777217, 2147483647, -2147483648.0, -16777217})
      .In(I32({1, 4}))
      .Values({16777216, 2147483646, -2147483647.0, -16777217})
      .Out(to_bool)
      .Note("large integers");
  make.Of(NoAttrs{})
      .In(F32({256, 256, 16}))
      .In(F32({1, 1, 16}))
      .Out(to_bool)
      .Note("one million elements, one value per channel")
      .Bench();
}

template <class F, class I>
constexpr Pointwise Relation(const char* text, F f, const char* int_text, I i) {
  return Pointwise(text, f).Integer(int_text, i).ScalarOnly().On(kTypes).Cases(Cases);
}

// Expression and its twins of one relation.
#define TIMCL_RELATION(Name, sign)                                                                 \
  TIMCL_POINTWISE(                                                                                 \
      Name, NoAttrs, "input0 input1", Tolerance::Exact(),                                          \
      Relation(                                                                                    \
          "(x " #sign " y) ? 1.0f : 0.0f",                                                         \
          []<class T>(T x, T y, T, P) { return x sign y ? T(1) : T(0); }, "(long)(x " #sign " y)", \
          [](Int x, Int y, Int, P) { return x sign y ? Int{1} : Int{0}; }))
TIMCL_RELATION(Greater, >);
TIMCL_RELATION(GreaterOrEqual, >=);
TIMCL_RELATION(Less, <);
TIMCL_RELATION(LessOrEqual, <=);
TIMCL_RELATION(NotEqual, !=);
TIMCL_RELATION(Equal, ==);
#undef TIMCL_RELATION

}  // namespace

TIMCL_PLAIN_OP_CLASS(Greater);
TIMCL_PLAIN_OP_CLASS(GreaterOrEqual);
TIMCL_PLAIN_OP_CLASS(Less);
TIMCL_PLAIN_OP_CLASS(LessOrEqual);
TIMCL_PLAIN_OP_CLASS(NotEqual);
TIMCL_PLAIN_OP_CLASS(Equal);

TIMCL_OPS(relational_operations) {
  for (const OpDef* def :
       {&kGreater, &kGreaterOrEqual, &kLess, &kLessOrEqual, &kNotEqual, &kEqual}) {
    Add(*def);
  }
}

}  // namespace tim::vx::ops
