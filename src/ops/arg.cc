// ArgMin, ArgMax: where the extreme of each line is.  Source: ONNX ArgMin-13, ArgMax-13.
#include "tim/vx/ops/arg.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tim/vx/lines.h"
#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

struct ArgAttrs {
  int32_t axis = 0;  // [-rank, rank), 0 = fastest
  TIMCL_FIELDS(axis)
};

Status Verify(const OpView& op) { return op.CheckAxis(op.attrs<ArgAttrs>().axis); }

Shape::Lines LinesOf(const OpView& op) {
  return op.in(0).shape().SplitAt(op.Axis(op.attrs<ArgAttrs>().axis));
}

Result<Shapes> Infer(const OpView& op) {
  Shape y;
  for (size_t d = 0; d < op.in(0).shape().rank(); ++d) {
    if (d != op.Axis(op.attrs<ArgAttrs>().axis)) y.push_back(op.in(0).shape()[d]);
  }
  if (y.empty()) y.push_back(1);
  return Shapes{y};
}

template <bool largest>
Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto [outer, n, inner] = LinesOf(op);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t base = o * n * inner + i;
      int64_t at = 0;
      for (int64_t k = 1; k < n; ++k) {
        const double v = ins[0].At(base + k * inner), best = ins[0].At(base + at * inner);
        if ((largest ? v > best : v < best) || (std::isnan(v) && !std::isnan(best))) at = k;
      }
      outs[0].SetRaw(o * inner + i, at);
    }
  }
  return Status();
}

template <bool largest>
Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const auto [outer, n, inner] = LinesOf(op);
  const int64_t run = request.caps.is_cpu && inner >= 16 ? 16 : 1;
  const int64_t across = DivideUp(inner, run), items = outer * across;
  return Launches{{.source = "arg.cl",
                   .entry = "arg",
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"N", n}, {"INNER", inner}, {"ACROSS", across}, {"ITEMS", items}},
                   .defines = {{"SMALLEST", !largest},
                               {"WHOLE", IsInteger(op.in(0).dtype())},
                               {"RUN", run},
                               {"LANES", inner == 1 && n > 16 ? 16 : 1}},
                   .global = Grid(items),
                   .local = {16, 1, 1},
                   .float_math = true}};
}

Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const std::string& why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  if (!IsWide(op.in(0))) return refuse("not of a type for vectors: " + op.in(0).label());
  const Shape::Lines lines = LinesOf(op);
  if ((lines.inner > 1 ? lines.inner : lines.n) < 16) return refuse("too narrow for vectors");
  return KernelOffer{};
}
template <bool largest>
Result<Launches> Vectors(const OpView& op, const KernelRequest& request) {
  const Shape::Lines lines = LinesOf(op);
  KernelSpec spec = lines::VectorLaunch(request, "arg16", lines, lines.inner > 1 ? 4 : 1);
  spec.defines.emplace_back("SMALLEST", !largest);
  spec.defines.emplace_back("WHOLE", IsInteger(op.in(0).dtype()));
  return Launches{spec};
}
template <bool largest>
constexpr KernelCandidate kKernels[] = {{"vectors", AcceptsVectors, Vectors<largest>},
                                        {"general", nullptr, General<largest>}};

void Cases(CaseMaker& make) {
  using namespace cases;
  const TensorType index = I32();
  auto add = [&](int32_t axis, const TensorType& x, const TensorType& y, const char* note) {
    make.Of(ArgAttrs{axis}).In(x).Out(y).Note(note);
  };
  add(0, F32({1}), index, "one element");
  add(0, F32({77}), index, "one line");
  for (int32_t axis : {0, 1, 2, 3, -1, -4}) add(axis, F32({19, 5, 3, 2}), index, "axes");
  add(1, F32({35, 9, 2}), index, "beyond a run");
  add(0, F32({300, 3}), Plain(DataType::UINT8), "saturated");
  add(1, F32({19, 300}), Plain(DataType::INT8), "saturated, across");
  add(0, I32({40, 3}), Plain(DataType::INT16), "i16 indices");
  for (int64_t n : {15, 16, 17, 31, 32, 79, 80, 81, 95, 96, 130, 150}) {
    make.Of(ArgAttrs{0}).In(U8({n, 3}), 0, 0.2).Out(index).Note("around vectors, ties");
    make.Of(ArgAttrs{1}).In(U8({n, 7, 2}), 0, 0.2).Out(index).Note("around vectors, across, ties");
  }
  for (int64_t n : {16, 37, 100}) {
    make.Of(ArgAttrs{0}).In(F32({n, 777})).Out(index).Note("many lines");
    make.Of(ArgAttrs{1}).In(F32({130, n, 21})).Out(index).Note("many lines, across");
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> values[] = {
      {1, 2, 2, 1, 0, 0, -inf, inf, inf, -inf, nan, nan, 3},
      {1, 2, 2, -inf, 1, 0, -1, inf, -2, 1, -inf, 0.5, inf},
      {0, -0.0, 0, 0, -0.0},
      {-inf},
      {inf},
      {nan},
      {3, 1, 2, -1, 1, 4, 0, 2,  -4,  1, 2, 1, 3, 2, 1, -4, 2, 4, nan, 1, 0, -2, 3, 1,
       0, 2, 1, 4,  2, 1, 3, -4, nan, 2, 0, 1, 2, 4, 3, 1,  1, 2, 0,   4, 1, 2,  3}};
  for (const std::vector<double>& v : values) {
    make.Of(ArgAttrs{0}).In(F32({20, 20})).Values(v).Out(index).Note("ties, infinities, NaN");
    make.Of(ArgAttrs{1}).In(F32({20, 20})).Values(v).Out(index).Note("the same across");
    make.Of(ArgAttrs{0}).In(F32({150, 20})).Values(v).Out(index).Note("the same of long lines");
  }
  for (int32_t axis : {0, 1})
    make.Of(ArgAttrs{axis}).In(U8({37, 21}), 0, 0.2).Out(index).Note("ties");
  make.Of(ArgAttrs{0}).In(F32({37, 5})).Note("types").EachType();
  make.Of(ArgAttrs{1}).In(F32({37, 5})).Note("types, across").EachType();
  make.Of(ArgAttrs{0}).In(F32({1000, 128})).Out(index).Note("1000 classes").Bench();
  make.Of(ArgAttrs{2}).In(F32({128, 128, 21})).Out(index).Note("segmentation").Bench();
  make.Of(ArgAttrs{1}).In(F32({4096, 300})).Out(index).Note("300 classes").Bench();
  make.Of(ArgAttrs{0}).In(F32({21, 16384})).Out(index).Note("segmentation, NHWC").Bench();
  make.Of(ArgAttrs{0}).In(F32({10, 16384})).Out(index).Note("10 classes").Bench();
  make.Of(ArgAttrs{2}).In(U8({128, 128, 21})).Out(index).Note("segmentation, bytes").Bench();
}

template <bool largest>
constexpr OpDef Definition(const char* name) {
  OpDef def;
  def.name = name;
  def.types = "number -> i32|i16|u8|i8|u16|u32|i64";
  def.schema = &kAttrSchema<ArgAttrs>;
  def.verify = Verify;
  def.infer = Infer;
  def.reference = Reference<largest>;
  def.kernels = kKernels<largest>;
  def.layout = LayoutRule::FollowsAxis("axis").Drops();
  def.tolerance = Tolerance::Exact();
  def.cases = TIMCL_CASES(Cases);
  return def;
}
constexpr OpDef kArgMin = Definition<false>("ArgMin");
constexpr OpDef kArgMax = Definition<true>("ArgMax");

}  // namespace

TIMCL_OP_CLASS_WITH(ArgMin, ArgAttrs, (int32_t axis), (axis), axis_(axis));
TIMCL_OP_CLASS_WITH(ArgMax, ArgAttrs, (int32_t axis), (axis), axis_(axis));

TIMCL_OPS(arg) {
  Add(kArgMin);
  Add(kArgMax);
}

}  // namespace tim::vx::ops
