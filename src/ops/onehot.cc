// OneHot: indices as vectors that are on in one place.  Source: ONNX OneHot-11, tf.one_hot.
#include "tim/vx/ops/onehot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct OneHotAttrs {
  int32_t depth = 1;
  float on_value = 1;
  float off_value = 0;
  int32_t axis = 0;  // [0, rank]: where the new dimension stands; -1 = 0
  TIMCL_FIELDS(depth, on_value, off_value, axis)
};

size_t AxisOf(const OpView& op) {
  return static_cast<size_t>(std::max(op.attrs<OneHotAttrs>().axis, 0));
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<OneHotAttrs>();
  if (a.depth <= 0)
    return op.Error(Code::kInvalidArgument, "depth " + to_string(a.depth) + " is not positive");
  if (a.axis >= -1 && AxisOf(op) <= op.in(0).shape().rank()) return Status();
  return op.Error(Code::kInvalidArgument, "axis " + to_string(a.axis) + " is outside [-1, " +
                                              to_string(op.in(0).shape().rank()) + "] of " +
                                              op.in_label(0));
}

Result<Shapes> Infer(const OpView& op) {
  const Shape& x = op.in(0).shape();
  Shape y;
  for (size_t d = 0; d <= x.rank(); ++d) {
    if (d == AxisOf(op)) y.push_back(op.attrs<OneHotAttrs>().depth);
    if (d < x.rank()) y.push_back(x[d]);
  }
  return Shapes{y};
}

int64_t InnerOf(const OpView& op) {
  int64_t inner = 1;
  for (size_t d = 0; d < AxisOf(op); ++d) inner *= op.in(0).shape()[d];
  return inner;
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto& a = op.attrs<OneHotAttrs>();
  const int64_t inner = InnerOf(op);
  for (int64_t p = 0; p < ins[0].count() * a.depth; ++p) {
    const int64_t i = p % inner, d = p / inner % a.depth, o = p / inner / a.depth;
    const double x = ins[0].At(o * inner + i);  // trunc(NaN) equals nothing
    outs[0].Set(p, std::trunc(x) == static_cast<double>(d) ? a.on_value : a.off_value);
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const auto& a = op.attrs<OneHotAttrs>();
  const int64_t run = RunLength(request.caps), count = op.out(0).shape().count();
  std::vector<int32_t> table;
  for (int64_t d : {InnerOf(op), int64_t{a.depth}}) AppendDivision(d, &table);
  const TensorType& x = op.in(0).type();
  return Launches{{.source = "onehot.cl",
                   .entry = "onehot",
                   .operands = {In(0, "X"), Out(0, "Y"), Data(table, "T", "int")},
                   .sizes = {{"COUNT", count}},
                   .reals = {{"ON", a.on_value}, {"OFF", a.off_value}},
                   .defines = {{"RUN", run}, {"WHOLE", IsInteger(x.dtype) && !x.quantized()}},
                   .global = Grid(DivideUp(count, run)),
                   .local = {64, 1, 1},
                   .float_math = true}};
}
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(OneHotAttrs{1}).In(I32({1}), -1, 1).Out(F32()).Note("one element");
  for (int32_t axis : {-1, 0, 1, 2, 3})
    make.Of(OneHotAttrs{5, 1, 0, axis}).In(I32({7, 3, 2}), -2, 6).Out(F32()).Note("axes");
  make.Of(OneHotAttrs{4, 2.5f, -1.5f, 1}).In(I32({19, 2}), 0, 3).Out(I32()).Note("rounded values");
  make.Of(OneHotAttrs{4, 300, -300})
      .In(I32({9}), 0, 3)
      .Out(Plain(DataType::UINT8))
      .Note("saturated values");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  make.Of(OneHotAttrs{3, 3, 0.5f})
      .In(F32({16}))
      .Values({0, 0.9, 1, 1.999, -0.5, -1, 2.5, 3, nan, inf, -inf, 1e20})
      .Note("whole parts");
  make.Of(OneHotAttrs{4, 1.5f, -0.75f, 1}).In(F32({9}), 0, 4).Note("types").EachType();
  make.Of(OneHotAttrs{1000}).In(I32({1024}), 0, 999).Out(F32()).Note("1000 classes").Bench();
}

constexpr OpDef kOneHot = {.name = "OneHot",
                           .types = "number -> number",
                           .schema = &kAttrSchema<OneHotAttrs>,
                           .verify = Verify,
                           .infer = Infer,
                           .reference = Reference,
                           .kernels = kKernels,
                           .tolerance = Tolerance::Exact(),
                           .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(OneHot, OneHotAttrs,
                    (int32_t depth, float on_value, float off_value, int32_t axis),
                    (depth, on_value, off_value, axis), depth_(depth), on_value_(on_value),
                    off_value_(off_value), axis_(axis));

TIMCL_OPS(onehot) { Add(kOneHot); }

}  // namespace tim::vx::ops
