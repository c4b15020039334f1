// GatherElements: elements of a tensor by their index along one axis.  Source: ONNX
// GatherElements-13; TIM-VX (flat positions beside the axis).
#include "tim/vx/ops/gather_elements.h"

#include <algorithm>
#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

struct GatherElementsAttrs {
  int32_t axis = 0;  // [-rank, rank), 0 = fastest
  TIMCL_FIELDS(axis)
};

Shape::Lines LinesOf(const OpView& op, size_t input) {
  return op.in(input).shape().SplitAt(op.Axis(op.attrs<GatherElementsAttrs>().axis));
}

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckAxis(op.attrs<GatherElementsAttrs>().axis));
  const size_t rank = op.in(0).shape().rank();
  TIMCL_TRY(op.CheckRank(1, rank, rank));
  const Shape::Lines x = LinesOf(op, 0), indices = LinesOf(op, 1);
  if (indices.inner <= x.inner && indices.outer <= x.outer) return Status();
  return op.InputError(1, Code::kInvalidShape,
                       "has more elements below or above axis " +
                           std::to_string(op.attrs<GatherElementsAttrs>().axis) + " than " +
                           op.in_label(0));
}

Result<Shapes> Infer(const OpView& op) { return Shapes{op.in(1).shape()}; }

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Shape::Lines x = LinesOf(op, 0), indices = LinesOf(op, 1);
  for (int64_t p = 0; p < ins[1].count(); ++p) {
    const int64_t i = p % indices.inner, o = p / indices.inner / indices.n;
    int64_t c = ins[1].Raw(p);
    if (c < 0) c += x.n;
    c = std::clamp<int64_t>(c, 0, x.n - 1);
    ref::Copy(outs[0], p, ins[0], (o * x.n + c) * x.inner + i);
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const Shape::Lines x = LinesOf(op, 0), indices = LinesOf(op, 1);
  const int64_t run = RunLength(request.caps), count = op.in(1).shape().count();
  std::vector<int32_t> table;
  for (int64_t d : {indices.inner, indices.n}) AppendDivision(d, &table);
  return Launches{{.source = "gather_elements.cl",
                   .entry = "gather_elements",
                   .operands = {In(0, "X"), In(1, "I"), Out(0, "Y"), Data(table, "T", "int")},
                   .sizes = {{"COUNT", count}, {"NX", x.n}, {"INX", x.inner}},
                   .defines = {{"RUN", run}},
                   .global = Grid(DivideUp(count, run)),
                   .local = {64, 1, 1}}};
}
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  using A = GatherElementsAttrs;
  make.Of(A{0}).In(F32({1})).In(I32({1}), 0, 0).Note("one element");
  for (int32_t axis : {0, 1, 2, -1, -3})
    make.Of(A{axis}).In(F32({5, 7, 3})).In(I32({5, 7, 3}), -3, 2).Note("axes");
  make.Of(A{1}).In(F32({5, 7, 3})).In(I32({4, 9, 2}), -7, 6).Note("smaller indices");
  make.Of(A{1}).In(F32({6, 4, 3, 2})).In(I32({6, 5, 2, 1}), -4, 3).Note("smaller above");
  make.Of(A{2}).In(F32({6, 4, 3})).In(I32({5, 3, 4}), -3, 2).Note("paired by flat position");
  make.Of(A{0})
      .In(F32({9, 3}))
      .In(I32({5, 3}))
      .Values({-1, -9, -10, 9, 2147483647})
      .Note("beyond the ends");
  make.Of(A{1}).In(F32({33, 5})).In(I32({33, 4}), 0, 4).Note("types").EachType();
  make.Of(A{1}).In(F32({256, 1024})).In(I32({256, 1024}), 0, 1023).Note("a matrix").Bench();
}

constexpr OpDef kGatherElements = {.name = "GatherElements",
                                   .inputs = "input indices",
                                   .types = "copyable, i32 -> copyable",
                                   .schema = &kAttrSchema<GatherElementsAttrs>,
                                   .verify = Verify,
                                   .infer = Infer,
                                   .reference = Reference,
                                   .kernels = kKernels,
                                   .tolerance = Tolerance::Exact(),
                                   .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(GatherElements, GatherElementsAttrs, (int axis), (axis), axis_(axis));

TIMCL_OPS(gather_elements) { Add(kGatherElements); }

}  // namespace tim::vx::ops
