// Softmax along one axis.  Source: ONNX Softmax-13; NNAPI SOFTMAX (beta).
#include "tim/vx/ops/softmax.h"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tim/vx/fold_rule.h"
#include "tim/vx/lines.h"

namespace tim::vx::ops {
namespace {

struct SoftmaxAttrs {
  float beta = 1.0f;
  int32_t axis = 0;  // [-rank, rank), 0 = fastest
  TIMCL_FIELDS(beta, axis)
};

Status Verify(const OpView& op) { return op.CheckAxis(op.attrs<SoftmaxAttrs>().axis); }

// In float32, step by step, since callers compare results bit by bit; but for the sum, whose error
// would grow with its length.
Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  constexpr float kLog2E = 1.44269504f;
  const float beta = op.attrs<SoftmaxAttrs>().beta;
  const auto [outer, n, inner] = lines::LinesOf<SoftmaxAttrs>(op);
  std::vector<float> e(static_cast<size_t>(n));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t base = o * n * inner + i;
      float most = -std::numeric_limits<float>::infinity();
      for (int64_t k = 0; k < n; ++k) {
        const float x = ins[0].Float(base + k * inner);
        if (x > most) most = x;  // a NaN reaches every result through the sum
      }
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        const float scaled = (ins[0].Float(base + k * inner) - most) * beta;
        sum += e[static_cast<size_t>(k)] = std::exp2(scaled * kLog2E);
      }
      const auto inverse = static_cast<float>(1.0 / sum);
      for (int64_t k = 0; k < n; ++k) {
        outs[0].Set(base + k * inner, e[static_cast<size_t>(k)] * inverse);
      }
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  return lines::LineLaunch<SoftmaxAttrs>(op, "softmax");
}
Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request) {
  // Times 0, the -inf beside a short line would be NaN.
  if (!(op.attrs<SoftmaxAttrs>().beta > 0))
    return Status::Error(Code::kUnsupported, "beta is not positive");
  return lines::AcceptsVectors(op, request, lines::LinesOf<SoftmaxAttrs>(op));
}
Result<Launches> Vectors(const OpView& op, const KernelRequest& request) {
  return lines::SoftmaxLaunch<SoftmaxAttrs>(op, request, false);
}
constexpr KernelCandidate kKernels[] = {
    {"vectors", AcceptsVectors, Vectors},
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(SoftmaxAttrs{1, 0}).In(F32({1})).Note("one element");
  make.Of(SoftmaxAttrs{1, 0}).In(F32({10, 3})).Note("fastest axis");
  for (int32_t axis : {0, 1, 2, 3, -1, -4})
    make.Of(SoftmaxAttrs{0.5f, axis}).In(F32({7, 5, 3, 2})).Note("axes");
  make.Of(SoftmaxAttrs{-1.5f, 1}).In(F32({19, 4, 1, 2, 3})).Note("negative beta, rank 5");
  for (int32_t axis : {0, 1})
    make.Of(SoftmaxAttrs{0, axis}).In(F32({20, 18}), -9, 9).Note("a beta of 0");
  make.Of(SoftmaxAttrs{1, 0}).In(F32({1001, 2}), -20, 20).Note("long lines");
  make.Of(SoftmaxAttrs{1, 0}).In(F32({16385, 1})).Note("longer than there is room for");
  for (int64_t n : {15, 16, 17, 63, 64, 65, 130})
    make.Of(SoftmaxAttrs{0.7f, 0}).In(F32({n, 33}), -9, 9).Note("around a vector");
  for (int64_t inner : {15, 16, 17, 37})
    make.Of(SoftmaxAttrs{1, 1}).In(F32({inner, 6, 3}), -9, 9).Note("around a vector, across");
  make.Of(SoftmaxAttrs{1, 0}).In(F32({20, 3}), -200, 0).Note("results that vanish");
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (int32_t axis : {0, 1}) {
    make.Of(SoftmaxAttrs{1, axis})
        .In(F32({20, 16}))
        .Values({1, nan, 3, 2, -1, inf, 0, 5, 2, -inf, 3, 4, -2, 1, 6, 2, 2, -inf, 1, 0, -inf})
        .Note("infinities, NaN");
  }
  make.Of(SoftmaxAttrs{1, 0}).In(F32({21, 5})).Note("types").EachType();
  make.Of(SoftmaxAttrs{1, 1}).In(F32({21, 5})).Note("types, across").EachType();
  for (const TensorType& t : DeclaredTypes(make.def(), 0, {21, 5})) {
    make.Of(SoftmaxAttrs{1, 0})
        .In(t)
        .Out(Affine(DataType::UINT8, {}, 1.0f / 256, 0))
        .Note("the range of results");
  }
  make.Of(SoftmaxAttrs{2, 0}).In(F32({21, 5})).Out(Fixed(DataType::INT16, {}, 15)).Note("to i16");
  make.Of(SoftmaxAttrs{1, 0}).In(F32({1000, 1})).Note("1000 classes").Bench();
  make.Of(SoftmaxAttrs{1, 0}).In(F32({128, 1024})).Note("1024 lines of 128").Bench();
  make.Of(SoftmaxAttrs{1, 0}).In(F32({128, 128, 12})).Note("attention").Bench();
  make.Of(SoftmaxAttrs{1, 0}).In(F32({1024, 1024})).Note("one million").Bench();
  make.Of(SoftmaxAttrs{1, 0}).In(F16({1024, 1024})).Note("one million, f16").Bench();
  make.Of(SoftmaxAttrs{1, 2}).In(F32({32, 32, 1024})).Note("one million, across").Bench();
}

constexpr OpDef kSoftmax = {.name = "Softmax",
                            .types = "real -> real",
                            .schema = &kAttrSchema<SoftmaxAttrs>,
                            .verify = Verify,
                            .infer = ShapeOfInput,
                            .reference = Reference,
                            .kernels = kKernels,
                            .layout = LayoutRule::FollowsAxis("axis"),
                            // exp2 of OpenCL is good to 3 ulp, twice. Vectors have 0 for subnormal
                            // results.
                            .tolerance = Tolerance::Ulp(8, 1, 1.2e-38),
                            .cases = TIMCL_CASES(Cases)};

// Attention (attention.cc) goes by rows of scores.
constexpr FoldRule kFolds = {
    .loads_once = ",vectors,",
    .attention = [](const OpView& op, double scale, bool columns) -> std::optional<OtherOp> {
      const auto& a = op.attrs<SoftmaxAttrs>();
      if (op.Axis(a.axis) != 0) return std::nullopt;
      return OtherOp{"Attention",
                     {{"scale", scale}, {"beta", double{a.beta}}, {"key_turned", columns}}};
    }};

}  // namespace

TIMCL_OP_CLASS_WITH(Softmax, SoftmaxAttrs, (float beta, int32_t axis), (beta, axis), beta_(beta),
                    axis_(axis));

TIMCL_OPS(softmax) {
  Add(kSoftmax);
  AddFoldRule(kSoftmax, &kFolds);
}

}  // namespace tim::vx::ops
