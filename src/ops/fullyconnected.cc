// FullyConnected: matrix product with a weight matrix and a bias.  Source: ONNX Gemm-13,
// tf.keras.layers.Dense.
#include "tim/vx/ops/fullyconnected.h"

#include <string>
#include <vector>

#include "tim/vx/matrix_product.h"
#include "tim/vx/weighted_sum.h"
#include "tim/vx/window_folds.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct FullyConnectedAttrs {
  uint32_t axis = 0;     // dimensions 0..axis of the input are summed over
  uint32_t weights = 0;  // output channels where the caller knows; the weight tensor decides
  TIMCL_FIELDS(axis, weights)
};

struct Sizes {
  int64_t terms, channels, batch;
};

Sizes SizesOf(const OpView& op) {
  const Shape &x = op.in(0).shape(), &w = op.in(1).shape();
  Sizes s = {1, w[w.rank() - 1], 1};
  for (size_t d = 0; d < x.rank(); ++d) {
    (d <= op.attrs<FullyConnectedAttrs>().axis ? s.terms : s.batch) *= x[d];
  }
  return s;
}

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckAxis(op.attrs<FullyConnectedAttrs>().axis));
  if (op.in(1).shape().rank() == 0) {
    return op.InputError(1, Code::kInvalidShape, "it must have a dimension");
  }
  return weighted_sum::CheckChannels(op, op.in(1).shape().rank() - 1);
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<FullyConnectedAttrs>();
  const TensorView x = op.in(0), w = op.in(1);
  const Sizes s = SizesOf(op);
  if (w.shape().count() != s.terms * s.channels) {
    return op.Error(Code::kInvalidShape, op.in_label(0) + " and " + op.in_label(1) +
                                             " do not fit: dimensions 0 to " + to_string(a.axis) +
                                             " of the input are " + to_string(s.terms) +
                                             " elements, a row of the weight " +
                                             to_string(w.shape().count() / s.channels));
  }
  TIMCL_TRY(weighted_sum::CheckBias(op, s.channels));
  Shape y = {s.channels};
  if (w.is_const()) {
    for (size_t d = a.axis + 1; d < x.shape().rank(); ++d) y.push_back(x.shape()[d]);
  } else {
    y.push_back(s.batch);
  }
  return Shapes{y};
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Sizes s = SizesOf(op);
  weighted_sum::Finish finish(op, ins, outs, s.channels);
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t o = 0; o < s.channels; ++o) {
      finish.Store(b * s.channels + o, o, [&](auto add) {
        for (int64_t k = 0; k < s.terms; ++k) add(b * s.terms + k, o * s.terms + k);
      });
    }
  }
  return Status();
}

MatrixProduct ProductOf(const OpView& op, bool bf16) {
  const Sizes s = SizesOf(op);
  MatrixProduct p;
  p.m = s.batch, p.n = s.channels, p.k = s.terms;
  p.a_m = s.terms, p.b_n = s.terms;
  p.weights = true, p.bf16 = bf16;
  return p;
}
std::optional<ChannelWeights> Weights(const OpView& op) {
  if (!HasFloatConstants(op)) return std::nullopt;
  const Sizes s = SizesOf(op);
  ChannelWeights w;
  w.channels = w.group = s.channels;
  w.in_axis = op.attrs<FullyConnectedAttrs>().axis;
  w.per_slice = w.used = op.in(0).shape()[w.in_axis];
  w.taps = s.terms / w.used;
  w.inside = true;
  return w;
}
constexpr FoldRule kFolds = {.weights = Weights};

template <bool kBf16>
Result<KernelOffer> AcceptsTile(const OpView& op, const KernelRequest& request) {
  return ProductOf(op, kBf16).Accepts(op, request);
}
template <bool kBf16>
Result<Launches> RegisterTile(const OpView& op, const KernelRequest& request) {
  return ProductOf(op, kBf16).Launch(op, request);
}

weighted_sum::Matmul MatmulOf(const OpView& op) {
  const Sizes s = SizesOf(op);
  return {s.batch, s.channels, s.terms, 1, s.channels, s.terms, false};
}
template <bool kDot>
Result<KernelOffer> AcceptsBytes(const OpView& op, const KernelRequest& request) {
  return weighted_sum::Bytes<kDot>::AcceptsMatmul(op, request, MatmulOf(op));
}
template <bool kDot>
Result<Launches> BytesTile(const OpView& op, const KernelRequest& request) {
  return weighted_sum::Bytes<kDot>::MatmulLaunch(op, request, MatmulOf(op));
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  const Sizes s = SizesOf(op);
  // Float products that become integers are summed in the order of the reference.
  const bool in_order = !weighted_sum::SumsIntegers(op) && IsInteger(op.out(0).dtype());
  KernelSpec spec = {.source = "fully_connected.cl",
                     .entry = "fully_connected",
                     .operands = weighted_sum::SumOperands(op, s.channels),
                     .sizes = {{"K", s.terms}, {"OC", s.channels}, {"BATCH", s.batch}},
                     .defines = weighted_sum::SumDefines(op, s.terms),
                     .dims = 2,
                     .global = Grid(s.channels, s.batch),
                     .local = {32, 1, 1}};
  spec.defines.emplace_back("LANES", in_order ? 1 : 8);
  spec.flops = 2.0 * static_cast<double>(s.terms) * static_cast<double>(s.channels * s.batch);
  return Launches{spec};
}

constexpr KernelCandidate kKernels[] = {
    {.name = "tile bf16", .accepts = AcceptsTile<true>, .make = RegisterTile<true>, .bf16 = true},
    {"tile", AcceptsTile<false>, RegisterTile<false>},
    {"tile dot", AcceptsBytes<true>, BytesTile<true>},
    {"tile bytes", AcceptsBytes<false>, BytesTile<false>},
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  auto form = [](const FullyConnectedAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    const auto last = static_cast<int32_t>(w.rank()) - 1;
    return weighted_sum::CaseForm{MakeAttrs(a), x, w, w[w.rank() - 1], last, note, declared};
  };
  const weighted_sum::CaseForm forms[] = {
      form({0, 1}, {1}, {1, 1}, "one element"),
      form({0, 0}, {7, 3}, {7, 5}, "a batch"),
      form({2, 5}, {4, 3, 2, 3}, {24, 5}, "three dimensions are summed over"),
      form({1, 5}, {4, 3, 2, 3}, {12, 5}, "two dimensions stay", {5, 2, 3}),
      form({2, 9}, {3, 3, 4, 2}, {3, 3, 4, 9}, "a weight of rank 4"),
      form({0, 37}, {133, 1}, {133, 37}, "a vector"),
      form({0, 70}, {65, 19}, {65, 70}, "beyond any tile"),
      form({0, 70}, {65, 3}, {65, 70}, "a batch of 3"),
      form({0, 10}, {133, 2}, {133, 10}, "less than a vector"),
      form({0, 33}, {1101, 70}, {1101, 33}, "long sums"),
      form({0, 5}, {8, 6}, {8, 5}, "declared flat", {30}),
  };
  for (const auto& f : forms) weighted_sum::FormCases(make, f);
  for (size_t i = 5; i < 10; ++i) weighted_sum::StorageCases(make, forms[i]);
  weighted_sum::WideSumCase(make, form({0, 21}, {1100, 9}, {1100, 21}, "sums beyond 32 bits"));
  weighted_sum::TypeCases(make, forms[2]);
  weighted_sum::TypeCases(make, forms[6], /*brief=*/true);
  for (int64_t batch : {1, 64}) {
    const auto f = form({0, 1000}, {1024, batch}, {1024, 1000}, "1024 to 1000");
    weighted_sum::BenchCase(make, f);
    weighted_sum::StorageBenchCases(make, f);
  }
  const int64_t products[][3] = {
      {512, 512, 512}, {1024, 1024, 1024}, {128, 768, 768}, {128, 768, 3072}, {128, 3072, 768}};
  for (const auto& [batch, terms, channels] : products) {
    weighted_sum::BenchCase(make, form({0, static_cast<uint32_t>(channels)}, {terms, batch},
                                       {terms, channels}, "products of matrices"));
  }
}

void Advise(const OpView& op, std::vector<std::string>* warnings) {
  weighted_sum::AdviseWeights(op, warnings);
  const uint32_t weights = op.attrs<FullyConnectedAttrs>().weights;
  if (weights == 0 || weights == SizesOf(op).channels) return;
  warnings->push_back(op.label() + ": attribute weights " + to_string(weights) + " contradicts " +
                      op.in_label(1) + ", whose last dimension counts");
}

constexpr OpDef kFullyConnected = {.name = "FullyConnected",
                                   .inputs = "input weight bias?",
                                   .types = TIMCL_WEIGHTED_SUM_TYPES,
                                   .schema = &kAttrSchema<FullyConnectedAttrs>,
                                   .verify = Verify,
                                   .infer = Infer,
                                   .reference = Reference,
                                   .kernels = kKernels,
                                   // Dimensions are summed over in the order of the weights.
                                   .layout = LayoutRule::Canonical(),
                                   .tolerance = Tolerance::Sum(),
                                   .cases = TIMCL_CASES(Cases),
                                   .advise = Advise};

}  // namespace

TIMCL_OP_CLASS_WITH(FullyConnected, FullyConnectedAttrs, (uint32_t axis, uint32_t weights),
                    (axis, weights), axis_(axis), weights_(weights));
#ifndef TIMCL_OP_FILE_AS_PLUGIN
FullyConnected::FullyConnected(Graph* graph, uint32_t axis) : FullyConnected(graph, axis, 0) {}
// The original replaces a float16 bias here; these kernels read it as it is.
void FullyConnected::OnBindInputPostProc(const std::shared_ptr<Tensor>&, int32_t) {}
#endif

TIMCL_OPS(fullyconnected) {
  Add(kFullyConnected);
  AddFoldRule(kFullyConnected, &kFolds);
}

}  // namespace tim::vx::ops
