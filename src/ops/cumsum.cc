// CumSum: running sum along one axis.  Source: ONNX CumSum-14.
#include "tim/vx/ops/cumsum.h"

#include <string>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

struct CumSumAttrs {
  int32_t axis = 0;        // [-rank, rank), 0 = fastest
  bool exclusive = false;  // leaves the element itself out
  bool reverse = false;    // from the far end
  TIMCL_FIELDS(axis, exclusive, reverse)
};

Status Verify(const OpView& op) { return op.CheckAxis(op.attrs<CumSumAttrs>().axis); }

Shape::Lines LinesOf(const OpView& op) {
  return op.in(0).shape().SplitAt(op.Axis(op.attrs<CumSumAttrs>().axis));
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto& a = op.attrs<CumSumAttrs>();
  const auto [outer, n, inner] = LinesOf(op);
  return ref::Compute(op, [&, n = n, inner = inner](auto zero) {
    for (int64_t line = 0; line < ins[0].count() / n; ++line) {
      const int64_t base = line / inner * n * inner + line % inner;
      auto sum = zero;
      for (int64_t k = 0; k < n; ++k) {
        const int64_t at = base + (a.reverse ? n - 1 - k : k) * inner;
        const auto x = ins[0].As<decltype(zero)>(at);
        outs[0].Put(at, a.exclusive ? sum : sum + x);
        sum += x;
      }
    }
  });
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  const auto& a = op.attrs<CumSumAttrs>();
  const auto [outer, n, inner] = LinesOf(op);
  return Launches{{.source = "cumsum.cl",
                   .entry = "cumsum",
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"LENGTH", n}, {"INNER", inner}, {"LINES", outer * inner}},
                   .defines = {{"EXCLUSIVE", a.exclusive}, {"REVERSE", a.reverse}},
                   .global = Grid(outer * inner),
                   .local = {16, 1, 1}}};
}
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Advise(const OpView& op, std::vector<std::string>* warnings) {
  if (!op.attrs<CumSumAttrs>().exclusive || LinesOf(op).n > 1) return;
  warnings->push_back(op.label() + ": exclusive sums along one element of " + op.in_label(0) +
                      " are all 0");
}

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(CumSumAttrs{}).In(F32({1})).Note("one element");
  for (int32_t axis : {0, 1, 2, -1, -3}) make.Of(CumSumAttrs{axis}).In(F32({7, 5, 3})).Note("axes");
  for (bool exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      const CumSumAttrs a = {1, exclusive, reverse};
      make.Of(a).In(F32({19, 4, 1, 2, 3})).Note("attributes, rank 5");
      make.Of(a).In(I32({5, 9}), -2e9, 2e9).Note("i32 saturates, sums above 2^24 are exact");
    }
  }
  make.Of(CumSumAttrs{}).In(F32({1001, 3})).Note("long lines");
  make.Of(CumSumAttrs{}).In(F32({21, 5})).Note("types").EachType();
  make.Of(CumSumAttrs{1, true, true}).In(F32({21, 5})).Note("types, across").EachType();
  make.Of(CumSumAttrs{0}).In(F32({128, 1024})).Note("1024 lines of 128").Bench();
  make.Of(CumSumAttrs{1}).In(F32({1024, 128})).Note("1024 columns of 128").Bench();
}

constexpr OpDef kCumSum = {.name = "CumSum",
                           .types = "number -> number; u32 -> u32",
                           .schema = &kAttrSchema<CumSumAttrs>,
                           .verify = Verify,
                           .infer = ShapeOfInput,
                           .reference = Reference,
                           .kernels = kKernels,
                           .layout = LayoutRule::FollowsAxis("axis"),
                           .tolerance = Tolerance::Sum(),
                           .cases = TIMCL_CASES(Cases),
                           .advise = Advise};

}  // namespace

TIMCL_OP_CLASS_WITH(CumSum, CumSumAttrs, (int32_t axis, int32_t exclusive, int32_t reverse),
                    (axis, exclusive != 0, reverse != 0), axis_(axis), exclusive_(exclusive),
                    reverse_(reverse));
#ifndef TIMCL_OP_FILE_AS_PLUGIN
void CumSum::OnBindInputPostProc(const std::shared_ptr<Tensor>& tensor, int32_t) {
  if (axis_ < 0 && tensor) axis_ += static_cast<int32_t>(tensor->GetShape().size());
}
#endif

TIMCL_OPS(cumsum) { Add(kCumSum); }

}  // namespace tim::vx::ops
