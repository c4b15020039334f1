// Normalisation of lines by their own statistics.  Source: ONNX LayerNormalization-17,
// InstanceNormalization-6, LpNormalization-1.
#include <cmath>
#include <vector>

#include "tim/vx/fold_rule.h"
#include "tim/vx/lines.h"
#include "tim/vx/ops/instancenormalization.h"
#include "tim/vx/ops/l2normalization.h"
#include "tim/vx/ops/layernormalization.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct L2Attrs {
  int32_t axis = 0;  // [-rank, rank), 0 = fastest
  TIMCL_FIELDS(axis)
};
struct LayerAttrs {
  int32_t axis = 0;
  float eps = 1e-5f;
  TIMCL_FIELDS(axis, eps)
};
struct InstanceAttrs {
  float eps = 1e-5f;
  DataLayout input_layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(eps, input_layout)
};

enum Input : size_t { kInput, kBeta, kGamma };
enum Kind { kL2, kLayer, kInstance };

/// kInvalidShape unless beta and gamma have `n` elements, one for each `what`.
Status CheckParameters(const OpView& op, int64_t n, const std::string& what) {
  for (size_t i : {kBeta, kGamma}) {
    if (op.in(i).shape().count() == n) continue;
    return op.InputError(i, Code::kInvalidShape,
                         "must have " + to_string(n) + " elements, one for each " + what + " of " +
                             op.in_label(kInput));
  }
  return Status();
}

/// The launch for lines along an axis, with `channels` parameters for whole lines.
Launches Normalize(const KernelRequest& request, Kind kind, const Shape::Lines& lines,
                   int64_t channels, float eps) {
  const bool across = lines.inner > 1;
  const int64_t lanes = RunLength(request.caps);
  const int64_t items = lines.outer * (across ? DivideUp(lines.inner, lanes) : 1);
  std::vector<Operand> operands = {In(kInput, "X")};
  if (kind != kL2) {
    operands.push_back(In(kBeta, "B"));
    operands.push_back(In(kGamma, "G"));
  }
  operands.push_back(Out(0, "Y"));
  return Launches{
      {.source = "normalize.cl",
       .entry = "normalize_lines",
       .operands = operands,
       .sizes =
           {{"LENGTH", lines.n}, {"INNER", lines.inner}, {"CHANNELS", channels}, {"ITEMS", items}},
       .reals = {{"EPS", eps}},
       .defines = {{"KIND", static_cast<int>(kind)}, {"LANES", lanes}, {"ACROSS", across}},
       .global = Grid(items),
       .local = {16, 1, 1},
       .float_math = true}};
}

/// The same for vectors (lines16.clh).
Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request,
                                   const Shape::Lines& lines, bool by_position) {
  for (size_t i = kBeta; by_position && i <= kGamma; ++i) {
    if (!IsWide(op.in(i)))
      return Status::Error(Code::kUnsupported, "not of a type for vectors: " + op.in(i).label());
  }
  return lines::AcceptsVectors(op, request, lines);
}
Launches NormalizeVectors(const KernelRequest& request, Kind kind, const Shape::Lines& lines,
                          int64_t channels, float eps) {
  KernelSpec spec = lines::VectorLaunch(request, "normalize16", lines);
  if (kind != kL2)
    spec.operands.insert(spec.operands.begin() + 1, {In(kBeta, "B"), In(kGamma, "G")});
  spec.sizes.insert(spec.sizes.begin() + 2, {"CHANNELS", channels});
  spec.reals = {{"EPS", eps}};
  spec.defines.emplace_back("KIND", static_cast<int>(kind));
  return {spec};
}

/// Mean and 1 / sqrt(population variance + eps) of n elements, `step` apart.
struct Statistics {
  double mean, factor;
};
Statistics StatisticsOf(const ref::Input& x, int64_t base, int64_t n, int64_t step, double eps) {
  double sum = 0, squares = 0;
  for (int64_t k = 0; k < n; ++k) sum += x.At(base + k * step);
  const double mean = sum / static_cast<double>(n);
  for (int64_t k = 0; k < n; ++k) {
    const double apart = x.At(base + k * step) - mean;
    squares += apart * apart;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(n) + eps)};
}

// The order of the sums, the root and the division differ.
constexpr Tolerance kTolerance = Tolerance::Ulp(16, 1, 2e-5);

// ------------------------------------------------------------------------------ L2Normalization

Shape::Lines L2Lines(const OpView& op) {
  return op.in(kInput).shape().SplitAt(op.Axis(op.attrs<L2Attrs>().axis));
}
Status L2Verify(const OpView& op) { return op.CheckAxis(op.attrs<L2Attrs>().axis); }

Status L2Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto [outer, n, inner] = L2Lines(op);
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t base = line / inner * n * inner + line % inner;
    double squares = 0;
    for (int64_t k = 0; k < n; ++k) squares += std::pow(ins[0].At(base + k * inner), 2);
    for (int64_t k = 0; k < n; ++k) {
      outs[0].Set(base + k * inner, ins[0].At(base + k * inner) / std::sqrt(squares));
    }
  }
  return Status();
}

Result<Launches> L2General(const OpView& op, const KernelRequest& request) {
  return Normalize(request, kL2, L2Lines(op), 1, 0);
}
Result<KernelOffer> L2AcceptsVectors(const OpView& op, const KernelRequest& request) {
  return AcceptsVectors(op, request, L2Lines(op), false);
}
Result<Launches> L2Vectors(const OpView& op, const KernelRequest& request) {
  return NormalizeVectors(request, kL2, L2Lines(op), 1, 0);
}
constexpr KernelCandidate kL2Kernels[] = {
    {"vectors", L2AcceptsVectors, L2Vectors},
    {"general", nullptr, L2General, {KernelSpec::Epilogue::kScalar}}};

void L2Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(L2Attrs{0}).In(F32({1})).Note("one element");
  for (int32_t axis : {0, 1, 2, 3, -1, -4}) {
    make.Of(L2Attrs{axis}).In(F32({19, 5, 3, 2})).Note("axes");
  }
  make.Of(L2Attrs{1}).In(F32({33, 7, 2})).Note("beyond a vector");
  make.Of(L2Attrs{2}).In(F32({2, 1, 3, 1, 2, 2})).Note("rank 6");
  make.Of(L2Attrs{0}).In(F32({130, 33})).Note("several vectors");
  make.Of(L2Attrs{0}).In(F32({64, 3})).Note("four vectors");
  make.Of(L2Attrs{1}).In(F32({16, 5, 3})).Note("sixteen lines at once");
  make.Of(L2Attrs{0}).In(F32({5, 3})).Values({0, 0, 0, 0, 0, 1, -2}).Note("a line of zeros");
  make.Of(L2Attrs{0}).In(F32({21, 5})).Note("types").EachType();
  make.Of(L2Attrs{1}).In(F32({21, 5})).Note("types, across").EachType();
  make.Of(L2Attrs{2}).In(F32({56, 56, 64, 1})).Note("64 channels").Bench();
}

constexpr OpDef kL2Normalization = {.name = "L2Normalization",
                                    .types = "number -> number",
                                    .schema = &kAttrSchema<L2Attrs>,
                                    .verify = L2Verify,
                                    .infer = ShapeOfInput,
                                    .reference = L2Reference,
                                    .kernels = kL2Kernels,
                                    .layout = LayoutRule::FollowsAxis("axis"),
                                    .tolerance = kTolerance,
                                    .cases = TIMCL_CASES(L2Cases)};

// --------------------------------------------------------------------------- LayerNormalization

Shape::Lines LayerLines(const OpView& op) {
  return op.in(kInput).shape().SplitAt(op.Axis(op.attrs<LayerAttrs>().axis));
}
Status LayerVerify(const OpView& op) {
  TIMCL_TRY(op.CheckAxis(op.attrs<LayerAttrs>().axis));
  return CheckParameters(
      op, LayerLines(op).n,
      "position of dimension " + to_string(op.Axis(op.attrs<LayerAttrs>().axis)));
}

Status LayerReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto [outer, n, inner] = LayerLines(op);
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t base = line / inner * n * inner + line % inner;
    const Statistics s = StatisticsOf(ins[kInput], base, n, inner, op.attrs<LayerAttrs>().eps);
    for (int64_t k = 0; k < n; ++k) {
      const double unit = (ins[kInput].At(base + k * inner) - s.mean) * s.factor;
      outs[0].Set(base + k * inner, ins[kGamma].At(k) * unit + ins[kBeta].At(k));
    }
  }
  return Status();
}

Result<Launches> LayerGeneral(const OpView& op, const KernelRequest& request) {
  return Normalize(request, kLayer, LayerLines(op), 1, op.attrs<LayerAttrs>().eps);
}
Result<KernelOffer> LayerAcceptsVectors(const OpView& op, const KernelRequest& request) {
  return AcceptsVectors(op, request, LayerLines(op), true);
}
Result<Launches> LayerVectors(const OpView& op, const KernelRequest& request) {
  return NormalizeVectors(request, kLayer, LayerLines(op), 1, op.attrs<LayerAttrs>().eps);
}
constexpr KernelCandidate kLayerKernels[] = {
    {"vectors", LayerAcceptsVectors, LayerVectors},
    {"general", nullptr, LayerGeneral, {KernelSpec::Epilogue::kScalar}}};

void LayerCases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](int32_t axis, float eps, const Shape& x, const Shape& p, bool constant,
                 const char* note) {
    CaseBuilder of = make.Of(LayerAttrs{axis, eps});
    of.In(F32(x)).Note(note);
    for (size_t i : {kBeta, kGamma}) {
      (void)i;
      if (constant) {
        of.Const(F32(p), -2, 2);
      } else {
        of.In(F32(p), -2, 2);
      }
    }
  };
  add(0, 1e-5f, {1}, {1}, true, "one element");
  for (int32_t axis : {0, 1, 2, 3, -2}) {
    const int64_t n[] = {19, 5, 3, 2};
    add(axis, 1e-3f, {19, 5, 3, 2}, {n[axis < 0 ? axis + 4 : axis]}, axis % 2 == 0, "axes");
  }
  add(2, 0.5f, {33, 2, 7, 2}, {1, 1, 7, 1}, true, "parameters of full rank");
  for (int64_t n : {16, 17, 63, 64, 65, 100, 129})
    add(0, 1e-5f, {n, 33}, {n}, n % 2 == 0, "around a vector");
  add(1, 1e-5f, {37, 5, 2}, {5}, true, "more than two vectors across");
  add(0, 1e-5f, {16385, 1}, {16385}, true, "longer than there is room for");
  add(1, 1e-5f, {16, 1025}, {1025}, true, "longer than there is room for");
  for (int32_t axis : {0, 1}) {
    make.Of(LayerAttrs{axis, 1e-5f})
        .In(F32({21, 21}))
        .In(F32({21}), -2, 2)
        .In(F32({21}), -2, 2)
        .Note("types")
        .EachType();
  }
  for (const Shape& x : {Shape{768, 128}, Shape{1024, 1024}}) {
    make.Of(LayerAttrs{0, 1e-5f})
        .In(F32(x))
        .Const(F32({x[0]}))
        .Const(F32({x[0]}))
        .Note("long lines")
        .Bench();
  }
}

constexpr OpDef kLayerNormalization = {.name = "LayerNormalization",
                                       .inputs = "input beta gamma",
                                       .types = "real, f32|f16, f32|f16 -> real",
                                       .schema = &kAttrSchema<LayerAttrs>,
                                       .verify = LayerVerify,
                                       .infer = ShapeOfInput,
                                       .reference = LayerReference,
                                       .kernels = kLayerKernels,
                                       .layout = LayoutRule::FollowsAxis("axis").Data(1),
                                       .tolerance = kTolerance,
                                       .cases = TIMCL_CASES(LayerCases)};

// ------------------------------------------------------------------------ InstanceNormalization

/// Channels are the last dimension but one; the cells of a channel are a line.
Shape::Lines ChannelsOf(const OpView& op) {
  const Shape& x = op.in(kInput).shape();
  return x.SplitAt(x.rank() - 2);
}
Status InstanceVerify(const OpView& op) {
  if (op.in(kInput).shape().rank() < 2) {
    return op.InputError(kInput, Code::kInvalidShape,
                         "it needs channels and images: two dimensions or more");
  }
  return CheckParameters(op, ChannelsOf(op).n, "channel");
}

Status InstanceReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto [images, channels, cells] = ChannelsOf(op);
  for (int64_t line = 0; line < images * channels; ++line) {
    const int64_t c = line % channels;
    const Statistics s =
        StatisticsOf(ins[kInput], line * cells, cells, 1, op.attrs<InstanceAttrs>().eps);
    for (int64_t i = line * cells; i < (line + 1) * cells; ++i) {
      const double unit = (ins[kInput].At(i) - s.mean) * s.factor;
      outs[0].Set(i, ins[kGamma].At(c) * unit + ins[kBeta].At(c));
    }
  }
  return Status();
}

/// The cells of each channel.
Shape::Lines InstanceLines(const OpView& op) {
  const auto [images, channels, cells] = ChannelsOf(op);
  return {images * channels, cells, 1};
}
Result<KernelOffer> InstanceAcceptsVectors(const OpView& op, const KernelRequest& request) {
  return AcceptsVectors(op, request, InstanceLines(op), false);
}
Result<Launches> InstanceVectors(const OpView& op, const KernelRequest& request) {
  return NormalizeVectors(request, kInstance, InstanceLines(op), ChannelsOf(op).n,
                          op.attrs<InstanceAttrs>().eps);
}
Result<Launches> InstanceGeneral(const OpView& op, const KernelRequest& request) {
  return Normalize(request, kInstance, InstanceLines(op), ChannelsOf(op).n,
                   op.attrs<InstanceAttrs>().eps);
}
constexpr KernelCandidate kInstanceKernels[] = {
    {"vectors", InstanceAcceptsVectors, InstanceVectors},
    {"general", nullptr, InstanceGeneral, {KernelSpec::Epilogue::kScalar}}};

void InstanceCases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](const Shape& x, const Shape& p, const InstanceAttrs& a, const char* note) {
    make.Of(a).In(F32(x)).Const(F32(p), -2, 2).Const(F32(p), -2, 2).Note(note);
  };
  add({1, 1}, {1}, {}, "one element");
  add({7, 5, 3}, {5}, {}, "rank 3");
  add({7, 5, 3, 2}, {3}, {1e-3f, DataLayout::CWHN}, "rank 4; the layout does not matter");
  add({9, 3, 4, 2}, {1, 1, 4, 1}, {0.5f}, "parameters of full rank");
  add({5, 2, 3, 4, 2}, {4}, {}, "rank 5");
  add({13, 11, 5, 2}, {5}, {}, "several vectors");
  make.Of(InstanceAttrs{})
      .In(F32({40, 4, 3, 2}))
      .In(F32({3}))
      .In(F32({3}))
      .Note("computed parameters");
  make.Of(InstanceAttrs{}).In(F32({21, 3, 2})).In(F32({3})).In(F32({3})).Note("types").EachType();
  make.Of(InstanceAttrs{})
      .In(F32({56, 56, 64, 1}))
      .Const(F32({64}))
      .Const(F32({64}))
      .Note("64 channels")
      .Bench();
}

constexpr OpDef kInstanceNormalization = {.name = "InstanceNormalization",
                                          .inputs = "input beta gamma",
                                          .types = "number, f32|f16, f32|f16 -> number",
                                          .schema = &kAttrSchema<InstanceAttrs>,
                                          .verify = InstanceVerify,
                                          .infer = ShapeOfInput,
                                          .reference = InstanceReference,
                                          .kernels = kInstanceKernels,
                                          .layout = LayoutRule::Fixed("input_layout"),
                                          .tolerance = kTolerance,
                                          .cases = TIMCL_CASES(InstanceCases)};

constexpr FoldRule kFolds = {.loads_once = ",vectors,"};

}  // namespace

TIMCL_OP_CLASS_WITH(L2Normalization, L2Attrs, (int32_t axis), (axis), axis_(axis));
TIMCL_OP_CLASS_WITH(LayerNormalization, LayerAttrs, (int32_t axis, float eps), (axis, eps),
                    axis_(axis), eps_(eps));
TIMCL_OP_CLASS_WITH(InstanceNormalization, InstanceAttrs, (float eps, DataLayout input_layout),
                    (eps, input_layout), eps_(eps));

TIMCL_OPS(normalization) {
  for (const OpDef* def : {&kL2Normalization, &kLayerNormalization, &kInstanceNormalization}) {
    Add(*def);
    AddFoldRule(*def, &kFolds);
  }
}

}  // namespace tim::vx::ops
