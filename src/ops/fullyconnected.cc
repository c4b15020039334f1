// FullyConnected: matrix product with a weight matrix and a bias.  Source: ONNX Gemm-13,
// tf.keras.layers.Dense.
#include "tim/vx/ops/fullyconnected.h"

#include <string>
#include <vector>

#include "tim/vx/weighted_sum.h"

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

weighted_sum::Matmul MatmulOf(const OpView& op) {
  const Sizes s = SizesOf(op);
  return {s.batch, s.channels, s.terms, 1, s.channels, s.terms, false};
}
Result<KernelOffer> AcceptsTile(const OpView& op, const KernelRequest& request) {
  return weighted_sum::AcceptsTile(op, request, MatmulOf(op));
}
Result<Launches> RegisterTile(const OpView& op, const KernelRequest&) {
  return weighted_sum::TileLaunch(op, MatmulOf(op));
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
    {"tile", AcceptsTile, RegisterTile},
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using Q = Quantization;
  const TensorType f32 = {DataType::FLOAT32, {}, Q()}, f16 = {DataType::FLOAT16, {}, Q()};
  const TensorType u8 = {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 0.026f, 121)};
  const TensorType i8 = {DataType::INT8, {}, Q(QuantType::ASYMMETRIC, 0.027f, -9)};
  const TensorType i8_dfp = {DataType::INT8, {}, Q(QuantType::DYNAMIC_FIXED_POINT, int8_t{5})};
  const TensorType i16 = {DataType::INT16, {}, Q(QuantType::ASYMMETRIC, 0.0002f, 0)};
  const TensorType w_u8 = {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 0.009f, 112)};
  const TensorType w_i8 = {DataType::INT8, {}, Q(QuantType::ASYMMETRIC, 0.008f, 0)};
  const TensorType w_i16 = {DataType::INT16, {}, Q(QuantType::ASYMMETRIC, 0.00004f, 0)};
  const TensorType y_u8 = {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 0.081f, 133)};
  const TensorType y_i8 = {DataType::INT8, {}, Q(QuantType::ASYMMETRIC, 0.083f, 5)};
  const TensorType y_i16 = {DataType::INT16, {}, Q(QuantType::ASYMMETRIC, 0.0007f, 0)};
  struct Form {
    FullyConnectedAttrs attrs;
    Shape x, w;
    const char* note;
    Shape declared = {};
  };
  const DataType none = DataType::UNKNOWN, bias32 = DataType::INT32;
  auto add = [&](const Form& f, const TensorType& x, const TensorType& w, const TensorType& y,
                 bool constant, DataType bias, const std::string& note) {
    Case c;
    c.attrs = MakeAttrs(f.attrs);
    c.inputs = {{x, false, -3, 3}, {w, constant, -1, 1}};
    c.inputs[0].type.shape = f.x;
    c.inputs[1].type.shape = f.w;
    if (bias != none) {
      const bool integer = IsInteger(bias);
      c.inputs.push_back({{bias, {f.w[f.w.rank() - 1]}, Q()},
                          constant,
                          integer ? -3000.0 : -2.0,
                          integer ? 3000.0 : 2.0});
    }
    c.outputs = {y};
    c.outputs[0].shape = f.declared;
    c.note = note;
    make.Add(c);
  };
  auto per_channel = [](DataType d, const Shape& w) {
    std::vector<float> scales;
    for (int64_t c = 0; c < w[w.rank() - 1]; ++c) {
      scales.push_back(0.004f + 0.0007f * static_cast<float>(c % 5));
    }
    return TensorType{d,
                      {},
                      Q(QuantType::SYMMETRIC_PER_CHANNEL, static_cast<int32_t>(w.rank()) - 1,
                        scales, std::vector<int32_t>(scales.size(), 0))};
  };
  const Form forms[] = {
      {{0, 1}, {1}, {1, 1}, "one element"},
      {{0, 0}, {7, 3}, {7, 5}, "a batch"},
      {{2, 5}, {4, 3, 2, 3}, {24, 5}, "three dimensions are summed over"},
      {{1, 5}, {4, 3, 2, 3}, {12, 5}, "two dimensions stay", {5, 2, 3}},
      {{2, 9}, {3, 3, 4, 2}, {3, 3, 4, 9}, "a weight of rank 4"},
      {{0, 37}, {133, 1}, {133, 37}, "a vector"},
      {{0, 70}, {65, 19}, {65, 70}, "beyond any tile"},
      {{0, 70}, {65, 3}, {65, 70}, "a batch of 3"},
      {{0, 5}, {8, 6}, {8, 5}, "declared flat", {30}},
  };
  for (const Form& f : forms) {
    add(f, f32, f32, f32, true, DataType::FLOAT32, f.note);
    add(f, u8, w_u8, y_u8, true, bias32, f.note);
    add(f, i8, per_channel(DataType::INT8, f.w), y_i8, true, bias32, f.note);
  }
  const Form& f = forms[5];
  for (const Form& g : {forms[2], forms[6]}) {
    add(g, f32, f32, f32, false, DataType::FLOAT32, "computed weight and bias");
    add(g, f32, f32, f32, false, none, "computed weight, no bias");
    add(g, u8, w_u8, y_u8, false, bias32, "u8, computed weight and bias");
  }
  add(f, f32, f32, f32, true, DataType::FLOAT16, "f16 bias");
  add(f, f16, f16, f16, true, DataType::FLOAT16, "f16");
  add(f, f16, f16, f32, true, DataType::FLOAT32, "f16 to f32");
  add(f, f32, f32, y_u8, true, DataType::FLOAT32, "f32 to u8");
  add(f, f32, w_i8, f32, true, DataType::FLOAT32, "f32 with an i8 weight");
  add(f, u8, w_u8, y_u8, true, none, "u8, no bias");
  add(f, u8, w_u8, f32, true, bias32, "u8 to f32");
  add(f, u8, w_u8, f16, true, bias32, "u8 to f16");
  add(f, u8, w_u8, y_u8, true, DataType::FLOAT32, "u8 with an f32 bias");
  add(f, u8, per_channel(DataType::UINT8, f.w), y_u8, true, bias32, "u8, u8 per channel");
  add(f, i8, w_i8, y_i8, true, bias32, "i8");
  add(f, i8_dfp, i8_dfp, y_i8, true, bias32, "i8 dynamic fixed point");
  add(f, i16, w_i16, y_i16, true, DataType::INT64, "i16, i64 bias");
  add(f, i16, w_i8, y_i16, true, bias32, "i16 with an i8 weight");
  add(f, i16, per_channel(DataType::INT16, f.w), y_i16, true, none, "i16, i16 per channel");
  Case c;
  c.attrs = MakeAttrs(FullyConnectedAttrs{0, 1000});
  c.inputs = {{{DataType::FLOAT32, {1024, 1}, Q()}, false, -3, 3},
              {{DataType::FLOAT32, {1024, 1000}, Q()}, true, -1, 1},
              {{DataType::FLOAT32, {1000}, Q()}, true, -1, 1}};
  c.outputs = {f32};
  c.note = "1024 to 1000";
  c.bench = true;
  make.Add(c);
  c.inputs[0].type.shape = {1024, 64};
  c.note = "1024 to 1000, batch 64";
  make.Add(c);
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

TIMCL_OPS(fullyconnected) { Add(kFullyConnected); }

}  // namespace tim::vx::ops
