// LocalResponseNormalization: division by a power of the neighbours' energy.  Source: NNAPI
// LOCAL_RESPONSE_NORMALIZATION.
#include "tim/vx/ops/localresponsenormalization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tim/vx/lines.h"

namespace tim::vx::ops {
namespace {

struct LrnAttrs {
  uint32_t size = 1;
  float alpha = 1, beta = 0.5f, bias = 1;
  int32_t axis = 0;  // [-rank, rank), 0 = fastest
  TIMCL_FIELDS(size, alpha, beta, bias, axis)
  int64_t front() const { return (int64_t{size} - 1) / 2; }  // neighbours before the element
  int64_t rear() const { return int64_t{size} / 2; }
};

Status Verify(const OpView& op) {
  if (op.attrs<LrnAttrs>().size == 0) {
    return op.Error(Code::kInvalidArgument, "attribute size is 0, the window must have an element");
  }
  return op.CheckAxis(op.attrs<LrnAttrs>().axis);
}

Shape::Lines LinesOf(const OpView& op) {
  return op.in(0).shape().SplitAt(op.Axis(op.attrs<LrnAttrs>().axis));
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto& a = op.attrs<LrnAttrs>();
  const auto [outer, n, inner] = LinesOf(op);
  for (int64_t i = 0; i < outer * n * inner; ++i) {
    const int64_t k = i / inner % n;
    double squares = 0;
    for (int64_t j = std::max<int64_t>(k - a.front(), 0); j <= std::min(k + a.rear(), n - 1); ++j) {
      squares += std::pow(ins[0].At(i + (j - k) * inner), 2);
    }
    outs[0].Set(i, ins[0].At(i) / std::pow(a.bias + a.alpha * squares, double{a.beta}));
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const auto& a = op.attrs<LrnAttrs>();
  const auto [outer, n, inner] = LinesOf(op);
  const int64_t lanes = RunLength(request.caps);
  const int64_t items = outer * DivideUp(n * inner, lanes);
  return Launches{{.source = "local_response.cl",
                   .entry = "local_response",
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"LENGTH", n * inner},
                             {"INNER", inner},
                             {"FRONT", std::min(a.front(), n - 1)},
                             {"REAR", std::min(a.rear(), n - 1)},
                             {"ITEMS", items}},
                   .reals = {{"ALPHA", a.alpha}, {"BETA", a.beta}, {"BIAS", a.bias}},
                   .defines = {{"LANES", lanes}},
                   .global = Grid(items),
                   .local = {64, 1, 1},
                   .float_math = true}};
}

Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const std::string& why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.is_cpu) return refuse("not a CPU");
  for (const TensorView& t : {op.in(0), op.out(0)}) {
    if (!IsWide(t)) return refuse("not of a type for vectors: " + t.label());
  }
  // The powers' error grows with it.
  if (!(std::fabs(op.attrs<LrnAttrs>().beta) <= 16)) return refuse("beta is beyond 16");
  if (op.in(0).shape().count() < 16) return refuse("less than a vector");
  return KernelOffer{KernelSpec::Epilogue::kLanes};
}
Result<Launches> Vectors(const OpView& op, const KernelRequest& request) {
  const auto& a = op.attrs<LrnAttrs>();
  const auto [outer, n, inner] = LinesOf(op);
  const int64_t count = outer * n * inner, vectors = DivideUp(count, 16);
  const int64_t run = 16 * lines::RunOf(request, vectors, 16);
  return Launches{{.source = "local_response16.cl",
                   .entry = "local_response16",
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"COUNT", count},
                             {"LENGTH", n * inner},
                             {"INNER", inner},
                             {"FRONT", std::min(a.front(), n - 1)},
                             {"REAR", std::min(a.rear(), n - 1)},
                             {"RUN", run}},
                   .reals = {{"ALPHA", a.alpha}, {"BETA", a.beta}, {"BIAS", a.bias}},
                   .global = Grid(DivideUp(count, run)),
                   .float_math = true}};
}
constexpr KernelCandidate kKernels[] = {
    {"vectors", AcceptsVectors, Vectors},
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(LrnAttrs{1, 1, 0.5f, 1, 0}).In(F32({1})).Note("one element");
  for (int32_t axis : {0, 1, 2, 3, -2}) {
    make.Of(LrnAttrs{3, 0.5f, 0.75f, 2, axis}).In(F32({19, 5, 3, 2})).Note("axes");
  }
  for (float beta : {0.0f, 0.5f, 0.75f, 1.0f, 2.25f}) {
    make.Of(LrnAttrs{3, 0.5f, beta, 2, 1}).In(F32({7, 9, 2})).Note("powers");
  }
  for (uint32_t size : {2u, 4u, 5u, 1000000u}) {
    make.Of(LrnAttrs{size, 0.25f, 0.5f, 1, 1}).In(F32({7, 9, 2})).Note("windows");
    make.Of(LrnAttrs{size, 0.25f, 1.5f, 0.5f, 0}).In(F32({37, 2})).Note("windows");
  }
  make.Of(LrnAttrs{5, 1e-4f, 0.75f, 1, 2}).In(F32({4, 3, 9, 2}), -30, 30).Note("as in AlexNet");
  make.Of(LrnAttrs{3, 1, 0.5f, 1, 0}).In(F32({21, 5})).Note("types").EachType();
  for (int64_t n : {15, 16, 17, 31, 33, 130}) {
    make.Of(LrnAttrs{5, 0.5f, 0.75f, 1, 0}).In(F32({n})).Note("around a vector");
    make.Of(LrnAttrs{5, 0.5f, 0.75f, 1, 0}).In(F32({n, 5})).Note("around a vector");
    make.Of(LrnAttrs{4, 0.5f, 0.75f, 1, 1}).In(F32({n, 6, 2})).Note("around a vector, across");
  }
  make.Of(LrnAttrs{3, 0.5f, 0.75f, 1, 0}).In(F32({3, 33})).Note("blocks shorter than a vector");
  make.Of(LrnAttrs{2, 0.5f, 0.75f, 1, 1}).In(F32({2, 3, 33})).Note("blocks shorter than a vector");
  make.Of(LrnAttrs{9, 0.5f, 0.75f, 1, 2}).In(F32({11, 7, 5, 3})).Note("beyond both ends");
  make.Of(LrnAttrs{5, 1e-2f, 0.75f, 1, 1}).In(F32({40, 600})).Note("several work-items");
  make.Of(LrnAttrs{5, 1e-2f, 0.75f, 1, 0}).In(F32({96, 250})).Note("several work-items");
  for (float beta : {-1.5f, 0.0f, 0.3f, 2.0f, 6.5f, 16.0f, 17.0f})
    make.Of(LrnAttrs{3, 0.5f, beta, 0.25f, 1}).In(F32({9, 7, 2})).Note("other powers");
  for (float beta : {0.1f, 0.7f, 0.9f})
    make.Of(LrnAttrs{3, 1, beta, 1e-18f, 0}).In(F32({33, 2}), -1e17, 1e17).Note("much energy");
  for (float beta : {0.6f, 1.5f})
    make.Of(LrnAttrs{1, 1, beta, 1e-18f, 0}).In(F32({33, 2}), -1e-9, 1e-9).Note("little energy");
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (float beta : {0.0f, 0.5f, 0.6f, 0.75f, 1.0f, 2.0f}) {
    make.Of(LrnAttrs{3, 0.5f, beta, 0, 0})
        .In(F32({41, 3}))
        .Values({0, 0, 0, 0, 1, -2, nan, 3, -1, 2, inf, 1, 2, -inf, 0, 0, 0, -1, 0.5})
        .Note("zeros, infinities, NaN");
    make.Of(LrnAttrs{3, -0.5f, beta, -1, 0}).In(F32({41, 3})).Note("energy below zero");
  }
  // Each vector has one element, in each of its places, whose power is the library's.
  for (double odd : {0.0, inf, nan, 1e15}) {
    make.Of(LrnAttrs{1, 1, 1.25f, 0, 0})
        .In(F32({272}))
        .Values({odd, 1, 2, 3, -1, 1, 1, 1, 1, 1, 1, 1, 1, 0.5, 1, 1, 1})
        .Note("one of sixteen");
  }
  make.Of(LrnAttrs{1, 1, 1.5f, 0, 0})
      .In(F32({16}))
      .Values({5.2e12, 6e12, -6.5e12})
      .Note("powers with a reciprocal below 2^-126");
  make.Of(LrnAttrs{3, 1, 0.6f, 1, 1}).In(F32({21, 5})).Note("types, across").EachType();
  make.Of(LrnAttrs{5, 1e-4f, 0.75f, 1, 2}).In(F32({55, 55, 96, 1})).Note("96 channels").Bench();
  make.Of(LrnAttrs{5, 1e-4f, 0.75f, 1, 0})
      .In(F32({96, 55, 55, 1}))
      .Note("96 channels, fastest")
      .Bench();
  make.Of(LrnAttrs{5, 1e-4f, 0.6f, 1, 0}).In(F32({96, 55, 55, 1})).Note("any power").Bench();
}

constexpr OpDef kLocalResponseNormalization = {.name = "LocalResponseNormalization",
                                               .types = "real -> real",
                                               .schema = &kAttrSchema<LrnAttrs>,
                                               .verify = Verify,
                                               .infer = ShapeOfInput,
                                               .reference = Reference,
                                               .kernels = kKernels,
                                               .layout = LayoutRule::FollowsAxis("axis"),
                                               // pow of OpenCL is good to 16 ulp.
                                               .tolerance = Tolerance::Ulp(32, 1),
                                               .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(LocalResponseNormalization, LrnAttrs,
                    (uint32_t size, float alpha, float beta, float bias, int32_t axis),
                    (size, alpha, beta, bias, axis), size_(size), alpha_(alpha), beta_(beta),
                    bias_(bias), axis_(axis));

TIMCL_OPS(localresponsenormalization) { Add(kLocalResponseNormalization); }

}  // namespace tim::vx::ops
