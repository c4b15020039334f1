// BatchNorm: normalisation by given statistics, per channel.  Source: ONNX BatchNormalization-15.
#include "tim/vx/ops/batchnorm.h"

#include <cmath>

#include "tim/vx/fold_rule.h"
#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct BatchNormAttrs {
  float eps = 1e-5f;
  DataLayout input_layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(eps, input_layout)
};

enum Input : size_t { kInput, kMean, kVariance, kGamma, kBeta };

/// Lines along the channels, which are the last dimension but one.
Shape::Lines LinesOf(const OpView& op) {
  const Shape& x = op.in(kInput).shape();
  return x.SplitAt(x.rank() - 2);
}

Status Verify(const OpView& op) {
  const Shape& x = op.in(kInput).shape();
  if (x.rank() < 2) {
    return op.InputError(kInput, Code::kInvalidShape,
                         "it needs channels and images: two dimensions or more");
  }
  for (size_t i : {kMean, kVariance, kGamma, kBeta}) {
    if (op.in(i).shape().count() == LinesOf(op).n) continue;
    return op.InputError(i, Code::kInvalidShape,
                         "must have " + to_string(LinesOf(op).n) +
                             " elements, one for each channel of " + op.in_label(kInput));
  }
  return Status();
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const double eps = op.attrs<BatchNormAttrs>().eps;
  const auto [images, channels, cells] = LinesOf(op);
  for (int64_t i = 0; i < images * channels * cells; ++i) {
    const int64_t c = i / cells % channels;
    const double apart = ins[kInput].At(i) - ins[kMean].At(c);
    outs[0].Set(
        i, ins[kGamma].At(c) * apart / std::sqrt(ins[kVariance].At(c) + eps) + ins[kBeta].At(c));
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const auto [images, channels, cells] = LinesOf(op);
  const int64_t run = RunLength(request.caps);
  const bool by_element = cells == 1;  // the channels are the fastest dimension that counts
  const int64_t length = by_element ? channels : cells;
  const int64_t lines = by_element ? images : images * channels;
  const int64_t items = DivideUp(length, run) * lines;
  return Launches{{.source = "batchnorm.cl",
                   .entry = "batchnorm",
                   .operands = {In(kInput, "X"), In(kMean, "M"), In(kVariance, "V"),
                                In(kGamma, "G"), In(kBeta, "B"), Out(0, "Y")},
                   .sizes = {{"LENGTH", length}, {"CHANNELS", channels}, {"ITEMS", items}},
                   .reals = {{"EPS", op.attrs<BatchNormAttrs>().eps}},
                   .defines = {{"RUN", run}, {"BY_ELEMENT", by_element}},
                   .global = Grid(items),
                   .local = {64, 1, 1}}};
}
std::optional<ChannelAffine> Affine(const OpView& op) {
  if (op.in(kInput).dtype() != DataType::FLOAT32 || op.out(0).dtype() != DataType::FLOAT32)
    return std::nullopt;
  for (size_t i : {kMean, kVariance, kGamma, kBeta}) {
    if (!op.in(i).is_const() || op.in(i).dtype() != DataType::FLOAT32) return std::nullopt;
  }
  ChannelAffine a;
  a.axis = op.in(kInput).shape().rank() - 2;
  const double eps = op.attrs<BatchNormAttrs>().eps;
  for (int64_t c = 0; c < LinesOf(op).n; ++c) {
    const auto at = [&](size_t i) { return static_cast<double>(op.in(i).data_as<float>()[c]); };
    a.scale.push_back(at(kGamma) / std::sqrt(at(kVariance) + eps));
    a.shift.push_back(at(kBeta) - at(kMean) * a.scale.back());
  }
  return a;
}
constexpr FoldRule kFolds = {.affine = Affine};

constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](const Shape& x, int64_t c, float eps, bool constant, const char* note,
                 bool bench = false) {
    CaseBuilder of = make.Of(BatchNormAttrs{eps});
    of.In(F32(x)).Note(note);
    for (size_t i : {kMean, kVariance, kGamma, kBeta}) {
      const double lo = i == kVariance ? 0.1 : -2;
      if (constant) {
        of.Const(F32({c}), lo, 2);
      } else {
        of.In(F32({c}), lo, 2);
      }
    }
    if (bench) of.Bench();
  };
  add({1, 1}, 1, 1e-5f, true, "one element");
  add({19, 3}, 19, 1e-3f, true, "rank 2");
  add({7, 5, 3}, 5, 1e-5f, true, "rank 3");
  add({7, 5, 3, 2}, 3, 0.5f, true, "rank 4");
  add({33, 2, 3, 2}, 3, 1e-5f, false, "computed parameters");
  add({1, 1, 37, 2}, 37, 1e-5f, true, "no cells");
  add({5, 2, 3, 4, 2}, 4, 1e-5f, true, "rank 5");
  make.Of(BatchNormAttrs{1e-3f, DataLayout::CWHN})
      .In(F32({3, 2, 4, 2}))
      .In(F32({1, 1, 4, 1}))
      .In(F32({4}), 0.1, 2)
      .In(F32({1, 1, 4, 1}))
      .In(F32({4, 1}))
      .Note("parameters of other ranks; the layout does not matter");
  make.Of(BatchNormAttrs{1e-5f})
      .In(F32({21, 4, 2}))
      .In(F32({4}))
      .In(F32({4}), 0.1, 2)
      .In(F32({4}))
      .In(F32({4}))
      .Note("types")
      .EachType();
  add({56, 56, 64, 1}, 64, 1e-5f, true, "64 channels", true);
}

constexpr OpDef kBatchNorm = {.name = "BatchNorm",
                              .inputs = "input mean variance gamma beta",
                              .types = "real, f32|f16, f32|f16, f32|f16, f32|f16 -> real",
                              .schema = &kAttrSchema<BatchNormAttrs>,
                              .verify = Verify,
                              .infer = ShapeOfInput,
                              .reference = Reference,
                              .kernels = kKernels,
                              .layout = LayoutRule::Fixed("input_layout"),
                              // The sum with beta may cancel.
                              .tolerance = Tolerance::Ulp(8, 1, 1e-5),
                              .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(BatchNorm, BatchNormAttrs, (float eps, DataLayout input_layout),
                    (eps, input_layout), eps_(eps));

TIMCL_OPS(batchnorm) {
  Add(kBatchNorm);
  AddFoldRule(kBatchNorm, &kFolds);
}

}  // namespace tim::vx::ops
