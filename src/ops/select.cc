// Select: takes each element from one of two operands.  Source: ONNX Where-16.
#include "tim/vx/ops/select.h"

#include <limits>
#include <vector>

#include "tim/vx/op_def.h"
#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

using P = const float*;
using Int = int64_t;

void Cases(CaseMaker& make) {
  using namespace cases;
  const std::vector<double> truths = {1, 0, 0, 1, 1};
  auto condition = [](const Shape& s) { return Plain(DataType::BOOL8, s); };
  auto add = [&](const TensorType& c, const TensorType& x, const TensorType& y, const TensorType& r,
                 const char* note) {
    make.Of(NoAttrs{}).In(c).Values(truths).In(x).In(y).Out(r).Note(note);
  };
  add(condition({1}), F32({1}), F32({1}), F32(), "one element");
  add(condition({33, 31}), F32({33, 31}), F32({33, 31}), F32(), "beyond one work-group");
  add(condition({19, 1, 3}), F32({19, 17, 3}), F32({1}), F32(), "a scalar");
  add(condition({1}), F32({19, 17}), F32({19, 17}), F32(), "one condition for all");
  add(condition({5, 1, 3}), F32({1, 7}), F32({5, 7, 1}), F32(), "all three repeat");
  add(condition({5, 1, 3, 1, 2, 1}), F32({1, 4, 1, 3, 1, 2}), F32({5, 4, 1, 1, 2, 2}), F32(),
      "six separate dimensions");
  make.Of(NoAttrs{})
      .In(condition({7, 5}))
      .Values({-2, 0, 0, 3, 1})
      .In(F32({7, 5}))
      .In(F32({7, 1}))
      .Out(F32())
      .Note("types")
      .EachType();
  add(condition({7, 5}), U8({7, 5}), F32({7, 5}), Affine(DataType::INT8, {}, 0.05f, 3),
      "u8 or f32 to i8");
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  make.Of(NoAttrs{})
      .In(condition({2, 1}))
      .Values({1, 0})
      .In(F32({1, 5}))
      .Values({nan, 1, inf, -0.0, -inf})
      .In(F32({1, 5}))
      .Values({2, nan, -inf, nan, 0.0})
      .Out(F32())
      .Note("what is not taken does not matter");
  make.Of(NoAttrs{})
      .In(condition({2, 1}))
      .Values({1, 0})
      .In(I32({1, 3}))
      .Values({16777217, 2147483647, -16777219})
      .In(I32({1, 3}))
      .Values({-2147483648.0, 16777219, 3})
      .Out(I32())
      .Note("large integers");
  make.Of(NoAttrs{})
      .In(condition({256, 256, 16}), 0, 1)
      .In(F32({256, 256, 16}))
      .In(F32({256, 256, 16}))
      .Out(F32())
      .Note("one million elements")
      .Bench();
}

TIMCL_POINTWISE(
    Select, NoAttrs, "condition x y", Tolerance::Exact(),
    Pointwise("(x != 0.0f) ? y : z", []<class T>(T x, T y, T z, P) { return x != T(0) ? y : z; })
        .Integer("(x != 0) ? y : z", [](Int x, Int y, Int z, P) { return x != 0 ? y : z; })
        .On("bool|i8|u8|i16, number, number -> number; bool|i8|u8|i16, bool, bool -> bool")
        .Cases(Cases));

}  // namespace

TIMCL_PLAIN_OP_CLASS(Select);

TIMCL_OPS(select) { Add(kSelect); }

}  // namespace tim::vx::ops
