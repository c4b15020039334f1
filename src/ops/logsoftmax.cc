// LogSoftmax along one axis.  Source: ONNX LogSoftmax-13; TIM-VX (beta).
#include "tim/vx/ops/logsoftmax.h"

#include <cmath>
#include <limits>

#include "tim/vx/lines.h"

namespace tim::vx::ops {
namespace {

struct LogSoftmaxAttrs {
  int32_t axis = 0;  // [-rank, rank), 0 = fastest
  float beta = 1.0f;
  TIMCL_FIELDS(axis, beta)
};

Status Verify(const OpView& op) { return op.CheckAxis(op.attrs<LogSoftmaxAttrs>().axis); }

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const float beta = op.attrs<LogSoftmaxAttrs>().beta;
  const auto [outer, n, inner] = lines::LinesOf<LogSoftmaxAttrs>(op);
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t base = line / inner * n * inner + line % inner, step = inner;
    auto scaled = [&, base, step](int64_t k) { return beta * ins[0].Float(base + k * step); };
    float most = -std::numeric_limits<float>::infinity();
    for (int64_t k = 0; k < n; ++k) most = scaled(k) > most ? scaled(k) : most;
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += std::exp(static_cast<double>(scaled(k) - most));
    for (int64_t k = 0; k < n; ++k)
      outs[0].Set(base + k * step, static_cast<double>(scaled(k) - most) - std::log(sum));
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  return lines::LineLaunch<LogSoftmaxAttrs>(op, "logsoftmax");
}
Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request) {
  return lines::AcceptsVectors(op, request, lines::LinesOf<LogSoftmaxAttrs>(op));
}
Result<Launches> Vectors(const OpView& op, const KernelRequest& request) {
  return lines::SoftmaxLaunch<LogSoftmaxAttrs>(op, request, true);
}
constexpr KernelCandidate kKernels[] = {
    {"vectors", AcceptsVectors, Vectors},
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  using A = LogSoftmaxAttrs;
  make.Of(A{0, 1}).In(F32({1})).Note("one element");
  make.Of(A{0, 1}).In(F32({10, 3})).Note("fastest axis");
  for (int32_t axis : {0, 1, 2, 3, -1, -4})
    make.Of(A{axis, 0.5f}).In(F32({7, 5, 3, 2})).Note("axes");
  make.Of(A{1, -1.5f}).In(F32({19, 4, 1, 2, 3}), -90, 90).Note("negative beta, rank 5");
  make.Of(A{0, 1}).In(F32({1001, 2}), -20, 20).Note("long lines");
  const double inf = std::numeric_limits<double>::infinity();
  make.Of(A{0, 1})
      .In(F32({8, 3}))
      .Values({1, 2, 3, -inf, 5, 0, 2, 1, 1, std::numeric_limits<double>::quiet_NaN(), 0, 0})
      .Note("infinity, NaN");
  for (int64_t n : {15, 16, 17, 63, 64, 65, 130})
    make.Of(A{0, 0.7f}).In(F32({n, 33}), -9, 9).Note("around a vector");
  for (int64_t inner : {15, 16, 17, 37})
    make.Of(A{1, -0.7f}).In(F32({inner, 6, 3}), -9, 9).Note("around a vector, across");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int32_t axis : {0, 1}) {
    make.Of(A{axis, 1})
        .In(F32({20, 16}))
        .Values({1, nan, 3, 2, -1, inf, 0, 5, 2, -inf, 3, 4, -2, 1, 6, 2, 2, -inf, 1, 0, -inf})
        .Note("infinities, NaN");
  }
  make.Of(A{0, 0}).In(F32({20, 18}), -9, 9).Note("a beta of 0");
  make.Of(A{0, 1}).In(F32({16385, 1})).Note("longer than there is room for");
  make.Of(A{0, 1}).In(F32({21, 5})).Note("types").EachType();
  make.Of(A{1, 1}).In(F32({21, 5})).Note("types, across").EachType();
  make.Of(A{0, 1}).In(F32({1000, 64})).Note("1000 classes").Bench();
}

constexpr OpDef kLogSoftmax = {.name = "LogSoftmax",
                               .types = "real -> real",
                               .schema = &kAttrSchema<LogSoftmaxAttrs>,
                               .verify = Verify,
                               .infer = ShapeOfInput,
                               .reference = Reference,
                               .kernels = kKernels,
                               .layout = LayoutRule::FollowsAxis("axis"),
                               // log and exp of OpenCL are good to 3 ulp; the sum adds a few.
                               .tolerance = Tolerance::Ulp(16, 1, 2e-6),
                               .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(LogSoftmax, LogSoftmaxAttrs, (int32_t axis, float beta), (axis, beta),
                    axis_(axis), beta_(beta));

TIMCL_OPS(logsoftmax) { Add(kLogSoftmax); }

}  // namespace tim::vx::ops
