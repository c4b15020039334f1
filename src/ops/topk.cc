// Topk: the largest elements of each line, sorted.  Source: ONNX TopK-11.
#include "tim/vx/ops/topk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

struct TopkAttrs {
  uint32_t k = 1;
  int32_t axis = 0;  // [-rank, rank), 0 = fastest
  TIMCL_FIELDS(k, axis)
};

Shape::Lines LinesOf(const OpView& op) {
  return op.in(0).shape().SplitAt(op.Axis(op.attrs<TopkAttrs>().axis));
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<TopkAttrs>();
  TIMCL_TRY(op.CheckAxis(a.axis));
  const int64_t n = LinesOf(op).n;
  if (a.k >= 1 && a.k <= n) return Status();
  return op.Error(Code::kInvalidArgument, "k is " + std::to_string(a.k) + ", but must be in [1, " +
                                              std::to_string(n) + "], the extent of " +
                                              op.in_label(0) + " along axis " +
                                              std::to_string(a.axis));
}

Result<Shapes> Infer(const OpView& op) {
  Shape y = op.in(0).shape();
  y[op.Axis(op.attrs<TopkAttrs>().axis)] = op.attrs<TopkAttrs>().k;
  return Shapes{y, y};
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto [outer, n, inner] = LinesOf(op);
  const int64_t kept = op.attrs<TopkAttrs>().k;
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t base = o * n * inner + i, step = inner;
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&, base, step](int64_t a, int64_t b) {
        const double x = ins[0].At(base + a * step), y = ins[0].At(base + b * step);
        return x > y || (std::isnan(x) && !std::isnan(y));
      });
      for (int64_t k = 0; k < kept; ++k) {
        const int64_t from = order[static_cast<size_t>(k)], to = (o * kept + k) * inner + i;
        ref::Copy(outs[0], to, ins[0], base + from * inner);
        outs[1].SetRaw(to, from);
      }
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  const auto [outer, n, inner] = LinesOf(op);
  return Launches{{.source = "topk.cl",
                   .entry = "topk",
                   .operands = {In(0, "X"), Out(0, "Y"), Out(1, "I")},
                   .sizes = {{"N", n},
                             {"INNER", inner},
                             {"K", op.attrs<TopkAttrs>().k},
                             {"LINES", outer * inner}},
                   .defines = {{"WHOLE", IsInteger(op.in(0).dtype())}},
                   .global = Grid(outer * inner),
                   .local = {outer * inner >= 64 ? size_t{16} : size_t{1}, 1, 1}}};
}
constexpr KernelCandidate kKernels[] = {{"general", nullptr, General}};

void Cases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](const TopkAttrs& a, const TensorType& x, const char* note) {
    make.Of(a).In(x).Out({x.dtype, {}, x.quant}).Out(I32()).Note(note);
  };
  add({1, 0}, F32({1}), "one element");
  add({1, 0}, F32({37}), "the largest");
  add({37, 0}, F32({37, 2}), "all of them");
  for (int32_t axis : {0, 1, 2, 3, -1, -4}) add({2, axis}, F32({7, 5, 3, 2}), "axes");
  add({5, 1}, F32({3, 100, 2}), "long lines");
  add({9, 0}, I32({40, 3}), "whole numbers");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  make.Of(TopkAttrs{9, 0})
      .In(F32({20, 5}))
      .Values({1, 2, 2, 1, 0, 0, -inf, inf, inf, -inf, nan, nan, 3})
      .Out(F32())
      .Out(I32())
      .Note("ties, infinities, NaN");
  make.Of(TopkAttrs{30, 0}).In(U8({50, 3}), 0, 0.3).Out(U8()).Out(I32()).Note("ties");
  make.Of(TopkAttrs{5, 0}).In(F32({17, 3})).Note("types").EachType();
  make.Of(TopkAttrs{5, 0}).In(F32({1000, 64})).Out(F32()).Out(I32()).Note("5 of 1000").Bench();
}

constexpr OpDef kTopk = {.name = "Topk",
                         .outputs = "output_values output_indices",
                         .types = "number -> number, i32",
                         .schema = &kAttrSchema<TopkAttrs>,
                         .verify = Verify,
                         .infer = Infer,
                         .reference = Reference,
                         .kernels = kKernels,
                         .layout = LayoutRule::FollowsAxis("axis"),
                         .tolerance = Tolerance::Exact(),
                         .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Topk, TopkAttrs, (uint32_t k, int32_t axis), (k, axis), k_(k), axis_(axis));

TIMCL_OPS(topk) { Add(kTopk); }

}  // namespace tim::vx::ops
