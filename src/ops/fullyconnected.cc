// FullyConnected: matrix product with a weight matrix and a bias.  Source: ONNX Gemm-13,
// tf.keras.layers.Dense.
#include "tim/vx/ops/fullyconnected.h"

#include <cmath>
#include <string>
#include <utility>
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
  p.weights = op.in(1).data() != nullptr, p.bf16 = bf16;
  if (weighted_sum::SumsIntegers(op)) p.scale = weighted_sum::Multipliers(op, 1)[0];
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
Result<KernelOffer> AcceptsDots(const OpView& op, const KernelRequest& request) {
  return ProductOf(op, false).AcceptsDots(op, request);
}
Result<Launches> Dots(const OpView& op, const KernelRequest& request) {
  return ProductOf(op, false).LaunchDots(op, request);
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
// Weights that are computed, or no bytes: packed in each Run.
template <bool kDot>
Result<KernelOffer> AcceptsProduct(const OpView& op, const KernelRequest& request) {
  return ProductOf(op, false).AcceptsBytes(op, request, kDot);
}
template <bool kDot>
Result<Launches> ProductTile(const OpView& op, const KernelRequest& request) {
  return ProductOf(op, false).LaunchBytes(op, request, kDot);
}
Result<KernelOffer> AcceptsShorts(const OpView& op, const KernelRequest& request) {
  return ProductOf(op, false).AcceptsShorts(op, request);
}
Result<Launches> ShortTiles(const OpView& op, const KernelRequest& request) {
  return ProductOf(op, false).LaunchShorts(op, request);
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
    {"dots", AcceptsDots, Dots},
    {"tile dot", AcceptsBytes<true>, BytesTile<true>},
    {"tile bytes", AcceptsBytes<false>, BytesTile<false>},
    {"product dot", AcceptsProduct<true>, ProductTile<true>},
    {"product bytes", AcceptsProduct<false>, ProductTile<false>},
    {"tile shorts", AcceptsShorts, ShortTiles},
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

/// Weights and biases that are computed, of several rows, channels and terms around the edges of
/// vectors, tiles and blocks.
void ComputedCases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](int64_t terms, int64_t batch, int64_t channels, const TensorType& type,
                 bool has_bias, bool fixed_weights, bool fixed_bias, const std::string& note) {
    auto shaped = [&](const Shape& shape) { return TensorType{type.dtype, shape, {}}; };
    CaseBuilder c = make.Of(FullyConnectedAttrs{0, 0});
    c.In(shaped({terms, batch}), -3, 3);
    c.Input({shaped({terms, channels}), fixed_weights, -1, 1});
    if (has_bias) c.Input({shaped({channels}), fixed_bias, -2, 2});
    c.Out(shaped({})).Note(note);
  };
  for (const TensorType& type : {F32(), F16()}) {
    for (const int64_t batch : {1, 3, 7, 40}) {
      add(134, batch, 37, type, true, false, false, "computed weights and bias");
      add(256, batch, 17, type, true, false, true, "computed weights");
      add(131, batch, 70, type, true, true, false, "computed bias");
    }
    for (const int64_t batch : {1, 4, 33})
      add(1050, batch, 83, type, true, false, false, "computed weights and bias, long sums");
    add(517, 34, 64, type, false, false, false, "computed weights, no bias");
    add(37, 35, 5, type, true, false, false, "computed weights, few channels");
    add(1, 90, 70, type, true, false, false, "computed weights, one term");
  }
  for (const int64_t terms : {15, 16, 17, 31, 32, 33})
    add(terms, 5, 83, F32(), true, false, false, "computed weights and bias, around a vector");
  add(1050, 130, 83, F32(), true, true, false, "computed bias, long sums");
  add(1, 90, 70, F32(), true, false, true, "computed weights, one term");
  for (const int64_t batch : {1, 4, 16, 64}) {
    for (const TensorType& type : {F32(), F16()}) {
      make.Of(FullyConnectedAttrs{0, 0})
          .In({type.dtype, {1024, batch}, {}}, -3, 3)
          .In({type.dtype, {1024, 1000}, {}}, -1, 1)
          .In({type.dtype, {1000}, {}}, -1, 1)
          .Note("computed weights")
          .Bench();
    }
  }
}

/// The same of integers, and weights of 16 bits.
void ComputedIntegerCases(CaseMaker& make) {
  using namespace cases;
  constexpr DataType kNone = DataType::UNKNOWN, kInt = DataType::INT32, kLong = DataType::INT64;
  auto add = [&](int64_t terms, int64_t batch, int64_t channels, const TensorType& x,
                 const TensorType& w, DataType bias, bool fixed, const std::string& note) {
    // Results that neither vanish nor all saturate.
    const float unit = x.dtype == DataType::INT16 ? 0.0003f : 0.03f;
    CaseBuilder c = make.Of(FullyConnectedAttrs{0, 0});
    c.In({x.dtype, {terms, batch}, x.quant}, -3, 3);
    c.Input({{w.dtype, {terms, channels}, w.quant}, fixed, -1, 1});
    const double reach = x.dtype == DataType::INT16 ? 3e7 : 3000;
    if (bias != kNone) c.In(Plain(bias, {channels}), -reach, reach);
    c.Out(Affine(x.dtype, {}, unit * std::sqrt(static_cast<float>(terms)), 3)).Note(note);
  };
  const TensorType x8 = Affine(DataType::UINT8, {}, 0.026f, 121),
                   xi8 = Affine(DataType::INT8, {}, 0.027f, -9),
                   w8 = Affine(DataType::UINT8, {}, 0.009f, 112),
                   wi8 = Affine(DataType::INT8, {}, 0.008f, 0),
                   x16 = Affine(DataType::INT16, {}, 0.0001f, 401),
                   w16 = Affine(DataType::INT16, {}, 0.00004f, -33);
  for (const int64_t batch : {1, 3, 40}) {
    for (const DataType bias : {kNone, kInt}) {
      add(70, batch, 37, x8, w8, bias, false, "u8, computed weights");
      add(130, batch, 17, xi8, wi8, bias, false, "i8, computed weights");
      add(1050, batch, 70, xi8, w8, bias, false, "i8 by u8, computed weights, long sums");
      add(70, batch, 37, x16, w16, bias, false, "i16, computed weights");
      add(70, batch, 16, x16, w8, bias, false, "i16 by u8, computed weights");
    }
    add(1050, batch, 70, x16, w16, kLong, true, "i16, constant weights, long sums");
    add(70, batch, 37, x16, w16, kNone, true, "i16, constant weights");
  }
  make.Of(FullyConnectedAttrs{0, 0})
      .In(Affine(DataType::INT8, {130, 9}, 0.027f, -9))
      .In(Affine(DataType::INT8, {130, 21}, 0.008f, 0))
      .In(Plain(kInt, {21}))
      .Values({-2147483648.0, 2147483647.0, 5})
      .Out(Affine(DataType::INT8, {}, 4000.0f, 3))
      .Note("i8, computed weights, biases at the limits");
  for (const auto& [x, w] : {std::pair{x8, wi8}, std::pair{x16, w16}}) {
    make.Of(FullyConnectedAttrs{0, 0})
        .In({x.dtype, {1024, 64}, x.quant}, -3, 3)
        .In({w.dtype, {1024, 1000}, w.quant}, -1, 1)
        .In(Plain(kInt, {1000}), -3000, 3000)
        .Out(Affine(x.dtype, {}, x.dtype == DataType::INT16 ? 0.01f : 1.0f, 3))
        .Note("computed weights")
        .Bench();
  }
}

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
  ComputedCases(make);
  ComputedIntegerCases(make);
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
