// Logical operations on two operands with broadcasting, one row each.
#include "tim/vx/ops/logical.h"

#include <vector>

#include "tim/vx/op_def.h"
#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

using P = const float*;
using Int = int64_t;

void Cases(CaseMaker& make) {
  using namespace cases;
  const TensorType truth = Plain(DataType::BOOL8);
  auto add = [&](const Shape& x, const Shape& y, const char* note) {
    make.Of(NoAttrs{})
        .In(Plain(DataType::BOOL8, x))
        .Values({1, 0, 0, 1, 1})
        .In(Plain(DataType::BOOL8, y))
        .Values({0, 1, 1})
        .Out(truth)
        .Note(note);
  };
  add({1}, {1}, "one element");
  add({33, 31}, {33, 31}, "same shape, beyond one work-group");
  add({19, 17, 3}, {1}, "a scalar");
  add({5, 1, 3}, {1, 7}, "both repeat");
  // Any number but 0 is true.
  make.Of(NoAttrs{})
      .In(Plain(DataType::BOOL8, {7, 3}))
      .Values({-7, 0, 3, 100, -100})
      .In(Plain(DataType::BOOL8, {7, 3}))
      .Values({0, -1, 2})
      .Out(truth)
      .Note("types")
      .EachType();
  make.Of(NoAttrs{})
      .In(Plain(DataType::BOOL8, {256, 256, 16}), 0, 1)
      .In(Plain(DataType::BOOL8, {256, 256, 16}), 0, 1)
      .Out(truth)
      .Note("one million elements")
      .Bench();
}

TIMCL_POINTWISE(
    LogicalAnd, NoAttrs, "input0 input1", Tolerance::Exact(),
    Pointwise("(x != 0.0f && y != 0.0f) ? 1.0f : 0.0f",
              []<class T>(T x, T y, T, P) { return x != T(0) && y != T(0) ? T(1) : T(0); })
        .Integer("(long)(x != 0 && y != 0)",
                 [](Int x, Int y, Int, P) { return x != 0 && y != 0 ? Int{1} : Int{0}; })
        .ScalarOnly()
        .On("logical* -> logical")
        .Cases(Cases));

TIMCL_POINTWISE(
    LogicalOr, NoAttrs, "input0 input1", Tolerance::Exact(),
    Pointwise("(x != 0.0f || y != 0.0f) ? 1.0f : 0.0f",
              []<class T>(T x, T y, T, P) { return x != T(0) || y != T(0) ? T(1) : T(0); })
        .Integer("(long)(x != 0 || y != 0)",
                 [](Int x, Int y, Int, P) { return x != 0 || y != 0 ? Int{1} : Int{0}; })
        .ScalarOnly()
        .On("logical* -> logical")
        .Cases(Cases));

}  // namespace

TIMCL_PLAIN_OP_CLASS(LogicalAnd);
TIMCL_PLAIN_OP_CLASS(LogicalOr);

TIMCL_OPS(logical) {
  Add(kLogicalAnd);
  Add(kLogicalOr);
}

}  // namespace tim::vx::ops
