// What operators share that sum products of an input and a weight tensor (convolutions, fully
// connected): types, multipliers, exact accumulators, and how a sum becomes a result.
#ifndef TIM_VX_WEIGHTED_SUM_H_
#define TIM_VX_WEIGHTED_SUM_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx::weighted_sum {

// Operands of such an op: input 0, weight 1, bias 2 (may be left out), output 0.

/// OpDef::types of such an op: products of reals, or of integers with an integer weight, which may
/// be quantized per channel; a bias for either. The quantization of an integer bias is
/// informational.
#define TIMCL_WEIGHTED_SUM_TYPES                                              \
  "f32|f16, real, f32|f16 -> real; "                                          \
  "real, f32|f16, f32|f16 -> real; "                                          \
  "i8|u8|i16|u16|i4|u4, i8|u8|i16|u16|i4|u4|i8:pc|u8:pc|i16:pc|i4:pc|u4:pc, " \
  "i32|i32:pc|i64|i64:q|f32|f16 -> real"
/// kInvalidArgument unless the channels of a per-channel weight lie along dimension `channel_dim`.
TIMCL_API Status CheckChannels(const OpView& op, size_t channel_dim);
/// kInvalidShape unless the bias is left out or has `channels` elements.
TIMCL_API Status CheckBias(const OpView& op, int64_t channels);

/// For OpDef::advise: a warning where the input is quantized and its weight is float.
TIMCL_API void AdviseWeights(const OpView& op, std::vector<std::string>* warnings, size_t input,
                             size_t weight);
inline void AdviseWeights(const OpView& op, std::vector<std::string>* warnings) {
  AdviseWeights(op, warnings, 0, 1);
}

/// Input and weight are both integers: products are summed exactly.
TIMCL_API bool SumsIntegers(const OpView& op);
/// For each channel the real number that one unit of an integer sum stands for, divided by the
/// scale of an integer result unless a float bias is added before: (float)(s_x * s_w[c] / s_y).
TIMCL_API std::vector<float> Multipliers(const OpView& op, int64_t channels);

/// How a kernel sums `terms` products: the defines INTEGERS, HAS_BIAS, REAL_BIAS, ACC (type of the
/// sum), TOTAL (type of the sum and the bias).
TIMCL_API std::vector<Define> SumDefines(const OpView& op, int64_t terms);
/// The operands X, W, B (if bound), M (multipliers, if integers), Y.
TIMCL_API std::vector<Operand> SumOperands(const OpView& op, int64_t channels);

/// kUnsupported unless register tiles pay, tensors are float32 or float16, and weights and bias
/// constant.
TIMCL_API Status CheckConstantFloats(const OpView& op, const KernelRequest& request);
/// The constant bias, or zeros: `channels` numbers, each `group` of them padded with zeros to whole
/// tiles of `width`.
TIMCL_API Operand PackedBias(const OpView& op, int64_t channels, int64_t group, int64_t width);

/// A matrix product over constant float32 or float16 weights by matmul_tile.cl: `channels` rows of
/// `terms` weights, `stride` apart.
struct Matmul {
  int64_t m, n, k, images;
  int64_t channels, stride;
  /// Convolution: the weights are the rows of the result, else its columns.
  bool weights_are_rows;
};
/// kUnsupported with the reason why register tiles cannot or should not take it.
TIMCL_API Result<KernelOffer> AcceptsTile(const OpView& op, const KernelRequest& request,
                                          const Matmul& matmul);
/// Its launch, with the weights packed.
TIMCL_API Result<Launches> TileLaunch(const OpView& op, const KernelRequest& request,
                                      const Matmul& matmul);

/// The reference's part: one result from its products. Float results are summed in double and
/// rounded before the bias is added in float; integer results take the steps of the kernel.
class TIMCL_API Finish {
 public:
  Finish(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs, int64_t channels);
  /// Calls products(add), which calls add(i, k) for input element i and weight element k of each
  /// product, in the kernel's order; then stores result `at` of channel c.
  template <class Products>
  void Store(int64_t at, int64_t c, Products products) {
    if (integers_) {
      int64_t sum = 0;
      products([&](int64_t i, int64_t k) {
        sum += (ins_[0].Raw(i) - zero_x_) * (ins_[1].Raw(k) - zero_w_);
      });
      StoreInteger(at, c, sum);
    } else if (float_steps_) {
      float sum = 0;
      products([&](int64_t i, int64_t k) { sum += ins_[0].Float(i) * ins_[1].Float(k); });
      StoreReal(at, c, sum);
    } else {
      double sum = 0;
      products([&](int64_t i, int64_t k) { sum += ins_[0].At(i) * ins_[1].At(k); });
      StoreReal(at, c, static_cast<float>(sum));
    }
  }

 private:
  void StoreInteger(int64_t at, int64_t c, int64_t sum);
  void StoreReal(int64_t at, int64_t c, float sum);
  const ref::Inputs& ins_;
  ref::Outputs& outs_;
  bool integers_, float_steps_, has_bias_, real_bias_;
  int64_t zero_x_, zero_w_;
  std::vector<float> multipliers_;
};

/// Shapes and attributes of test cases.
struct CaseForm {
  AnyAttrs attrs;
  Shape x, w;
  int64_t channels;     // of the result, and elements of the bias
  int32_t channel_dim;  // of the weight
  std::string note;
  Shape declared = {};  // the result's shape, {} = inferred
};
/// A case of that form in float32, one in uint8, one in int8 with a weight per channel.
TIMCL_API void FormCases(CaseMaker& make, const CaseForm& form);
/// The one in float32: around the edges of register tiles.
TIMCL_API void FloatCase(CaseMaker& make, const CaseForm& form);
/// That one, one in float16, and two of integers, u8 with weights that minus their zero point have
/// 9 bits, and i16 with i8 weights per channel and a bias of 64 bits: around the edges of the tiles
/// of conv_window.cl.
TIMCL_API void WindowCases(CaseMaker& make, const CaseForm& form);
/// Cases of that form in all types. `brief`: those alone in which one form's code differs from
/// another's.
TIMCL_API void TypeCases(CaseMaker& make, const CaseForm& form, bool brief = false);
/// A case of that form in float16, one of int16 with an int8 weight per channel.
TIMCL_API void StorageCases(CaseMaker& make, const CaseForm& form);
/// Two of int16 and int8 whose sums are as large as can be: beyond 32 bits from 520 terms on, with
/// a zero point from 260.
TIMCL_API void WideSumCase(CaseMaker& make, const CaseForm& form);
/// The types of StorageCases for the benchmarks.
TIMCL_API void StorageBenchCases(CaseMaker& make, const CaseForm& form);
/// A case for the benchmarks, in float32.
TIMCL_API void BenchCase(CaseMaker& make, const CaseForm& form);

// Convolutions over the leading axes of an input {W[, H[, D]], C, N}.

/// A convolution, or a transposed one: the gradient of a convolution, which adds each input cell
/// times the kernel to the output, `stride` apart.
struct Convolution {
  /// Along W, H, D; an axis that the op lacks has one cell.
  std::array<Window, 3> axes = {};
  int64_t channels = 1, images = 1;  // of the input
  int64_t out_channels = 1;
  /// Output channel o reads the `used` input channels from o / group * used on. Its slice of the
  /// kernel has `per_slice` of them, of which the first count.
  int64_t group = 1, used = 1, per_slice = 1;
  bool transposed = false;
};
/// Several images and channels; windows are still to be set.
TIMCL_API Convolution PlainConvolution(const OpView& op);
/// Depthwise with `multiplier` output channels for each input channel.
TIMCL_API Convolution DepthwiseConvolution(const OpView& op, int64_t multiplier);
/// kInvalidArgument unless `group` is positive and divides the channels of the input and the
/// slices of the kernel, along the dimensions before the last and the last.
TIMCL_API Status CheckGroup(const OpView& op, int64_t group);
/// A transposed convolution with as many output channels as `out_channels` says, or the kernel has
/// where that is 0; with `group` one input channel for each output channel. Windows are still to be
/// set.
TIMCL_API Convolution TransposedConvolution(const OpView& op, int64_t out_channels, int64_t group);
/// kInvalidArgument unless `group` is 1 or the number of output channels and of input channels, and
/// the channels of a per-channel kernel lie where the output channels do.
TIMCL_API Status CheckTransposed(const OpView& op, const Convolution& c, int64_t group);
/// Results along W, H, D.
inline std::array<int64_t, 3> PositionsOf(const OpView& op) {
  const Shape& y = op.out(0).shape();
  std::array<int64_t, 3> n = {1, 1, 1};
  for (size_t d = 0; d + 2 < y.rank(); ++d) n[d] = y[d];
  return n;
}
/// The positions of a transposed window.
TIMCL_API int64_t TransposedOut(const Window& w, int64_t output_padding);
/// A front pad (PadType::SAME): half of what a declared extent cuts off a window without pads.
TIMCL_API int64_t SharedCut(const Window& w, int64_t output_padding, int64_t declared);
/// Checks the kernel's slices and channels and the bias; then {extents, out_channels, images}.
TIMCL_API Result<Shapes> ConvolutionShapes(const OpView& op, const Convolution& c,
                                           std::vector<int64_t> extents);
/// A declared output shape may have other extents, but not other channels or images.
TIMCL_API Status CheckConvolutionOutput(const OpView& op, const Convolution& c);
TIMCL_API Status ConvolutionReference(const OpView& op, const Convolution& c,
                                      const ref::Inputs& ins, ref::Outputs& outs);
TIMCL_API Result<KernelOffer> AcceptsPixels(const OpView& op, const KernelRequest& request,
                                            const Convolution& c);
TIMCL_API Result<Launches> PixelsLaunch(const OpView& op, const KernelRequest& request,
                                        const Convolution& c);
/// Register tiles over any window, groups, transposed ones: fp32 or half with constant weights.
TIMCL_API Result<KernelOffer> AcceptsWindow(const OpView& op, const KernelRequest& request,
                                            const Convolution& c);
TIMCL_API Result<Launches> WindowLaunch(const OpView& op, const KernelRequest& request,
                                        const Convolution& c);
TIMCL_API Result<Launches> ConvolutionLaunch(const OpView& op, const KernelRequest& request,
                                             const Convolution& c);

// The same over blocks of 16 channels (tensor_form.h), fp32 or half with constant weights, where
// register tiles pay. From blocks to blocks unless said otherwise.

/// Any window, one group.
TIMCL_API Result<KernelOffer> AcceptsBlocks(const OpView& op, const KernelRequest& request,
                                            const Convolution& c);
TIMCL_API Result<Launches> BlocksLaunch(const OpView& op, const KernelRequest& request,
                                        const Convolution& c);
/// The same with factors rounded to bfloat16 (KernelCandidate::bf16).
TIMCL_API Result<KernelOffer> AcceptsBf16Blocks(const OpView& op, const KernelRequest& request,
                                                const Convolution& c);
TIMCL_API Result<Launches> Bf16BlocksLaunch(const OpView& op, const KernelRequest& request,
                                            const Convolution& c);
/// Up to four plain channels to blocks.
TIMCL_API Result<KernelOffer> AcceptsStem(const OpView& op, const KernelRequest& request,
                                          const Convolution& c);
TIMCL_API Result<Launches> StemLaunch(const OpView& op, const KernelRequest& request,
                                      const Convolution& c);
/// Each channel by itself.
TIMCL_API Result<KernelOffer> AcceptsDepthwise(const OpView& op, const KernelRequest& request,
                                               const Convolution& c);
TIMCL_API Result<Launches> DepthwiseLaunch(const OpView& op, const KernelRequest& request,
                                           const Convolution& c);
/// Windows of 3x3 with stride 1 by Winograd's method, where it is faster than the two above. Its
/// rounding errors are one to two times those of a sum in float (root of the mean square). A NaN or
/// an infinity spreads to the other results of a tile of 4x4 pixels.
TIMCL_API Result<KernelOffer> AcceptsWinograd(const OpView& op, const KernelRequest& request,
                                              const Convolution& c);
TIMCL_API Result<Launches> WinogradLaunches(const OpView& op, const KernelRequest& request,
                                            const Convolution& c);

/// Sums of products of quantized tensors with constant 8-bit weights, where register tiles pay:
/// exact, with instructions of AVX-512 VNNI (kDot) or without. Convolutions yield blocks of
/// channels and read them unless said otherwise. Inputs of 8 bits, and, where said, 16 bits
/// (vpdpwssd instead of vpdpbusd, int instead of float); results likewise, or float32.
template <bool kDot>
struct TIMCL_API Bytes {
  /// Any window, one group. 16 bits, too.
  static Result<KernelOffer> AcceptsBlocks(const OpView& op, const KernelRequest& request,
                                           const Convolution& c);
  static Result<Launches> BlocksLaunch(const OpView& op, const KernelRequest& request,
                                       const Convolution& c);
  /// Up to four plain channels.
  static Result<KernelOffer> AcceptsStem(const OpView& op, const KernelRequest& request,
                                         const Convolution& c);
  static Result<Launches> StemLaunch(const OpView& op, const KernelRequest& request,
                                     const Convolution& c);
  /// Each channel by itself.
  static Result<KernelOffer> AcceptsDepthwise(const OpView& op, const KernelRequest& request,
                                              const Convolution& c);
  static Result<Launches> DepthwiseLaunch(const OpView& op, const KernelRequest& request,
                                          const Convolution& c);
  /// AcceptsWindow() of such tensors, plain ones. 16 bits, too.
  static Result<KernelOffer> AcceptsWindow(const OpView& op, const KernelRequest& request,
                                           const Convolution& c);
  static Result<Launches> WindowLaunch(const OpView& op, const KernelRequest& request,
                                       const Convolution& c);
  /// Plain matrices; the weights are the columns of the result. 16 bits, too.
  static Result<KernelOffer> AcceptsMatmul(const OpView& op, const KernelRequest& request,
                                           const Matmul& matmul);
  static Result<Launches> MatmulLaunch(const OpView& op, const KernelRequest& request,
                                       const Matmul& matmul);
};
extern template struct Bytes<false>;
extern template struct Bytes<true>;

/// kInvalidArgument unless both strides are positive.
TIMCL_API Status CheckStride(const OpView& op, const std::array<uint32_t, 2>& stride);
/// Sets the window of each axis by attributes with an entry, or two pads, per axis.
template <class Attrs>
void SetWindows(const OpView& op, const Attrs& a, Convolution* c) {
  const Shape &x = op.in(0).shape(), &w = op.in(1).shape();
  for (size_t d = 0; d < a.stride.size(); ++d) {
    c->axes[d] = MakeWindow(x[d], w[d], a.stride[d], a.dilation[d], a.padding, a.pad[2 * d],
                            a.pad[2 * d + 1]);
  }
}

/// A convolution in two dimensions as the kernels see it. 1x1 windows that move by 1 and cover the
/// input are one long line of pixels.
struct Plane {
  Window x, y;
  int64_t ow, oh;
};
inline Plane PlaneOf(const OpView& op, const Convolution& c) {
  const Shape& out = op.out(0).shape();
  Plane p = {c.axes[0], c.axes[1], out[0], out[1]};
  auto pixel = [](const Window& w, int64_t n) {
    return w.size == 1 && w.stride == 1 && w.front == 0 && n == w.in;
  };
  if (pixel(p.x, p.ow) && pixel(p.y, p.oh)) {
    p.ow = p.x.in *= p.y.in;
    p.oh = p.y.in = 1;
  }
  return p;
}
/// Constant weights in two dimensions as tiles of `width` output channels read them: [groups of
/// `width`][blocks of `block` input channels][taps][steps][width][elements], a step being
/// `together` neighbours of a block, the last one's perhaps fewer. Calls step(to, o, u, k) for the
/// `elements` elements of output channel o, input channels u and on, and tap k. `block` is a
/// multiple of `together`.
template <class T, class Step>
Operand PackedBlocks(const Convolution& c, int64_t width, int64_t block, int64_t together,
                     int64_t elements, std::string element, Step step) {
  const int64_t taps = c.axes[0].size * c.axes[1].size, used = c.used, outs = c.out_channels;
  // Block by block, so that what is written in strides stays in the cache.
  const auto pack = [=](T* to) {
    for (int64_t group = 0; group < outs; group += width) {
      for (int64_t first = 0; first < used; first += block) {
        const int64_t last = std::min(first + block, used);
        const int64_t steps = DivideUp(last - first, together);
        for (int64_t o = group; o < std::min(group + width, outs); ++o) {
          for (int64_t s = 0; s < steps; ++s) {
            for (int64_t k = 0; k < taps; ++k) {
              step(to + ((k * steps + s) * width + o - group) * elements, o, first + s * together,
                   k);
            }
          }
        }
        to += taps * steps * width * elements;
      }
    }
  };
  return PackedData<T>(DivideUp(outs, width) * width * DivideUp(used, together) * taps * elements,
                       "W", std::move(element), pack);
}

/// The sizes that kernels over blocks take: those of the plane, its windows and its channels.
inline std::vector<std::pair<std::string, int64_t>> PlaneSizes(const Plane& p,
                                                               const Convolution& c) {
  return {{"IW", p.x.in},
          {"IH", p.y.in},
          {"IC", c.used},
          {"OW", p.ow},
          {"OH", p.oh},
          {"OC", c.out_channels},
          {"KW", p.x.size},
          {"KH", p.y.size},
          {"STRIDE_X", p.x.stride},
          {"STRIDE_Y", p.y.stride},
          {"DILATION_X", p.x.dilation},
          {"DILATION_Y", p.y.dilation},
          {"LEFT", p.x.front},
          {"TOP", p.y.front}};
}

/// Shapes, reference and kernels of an op that kOf describes. Ops whose positions are not those of
/// the windows infer by themselves.
template <Convolution (*kOf)(const OpView&)>
struct ConvolutionOp {
  static Result<Shapes> Infer(const OpView& op) {
    const Convolution c = kOf(op);
    std::vector<int64_t> extents;
    for (size_t d = 0; d + 2 < op.in(0).shape().rank(); ++d) extents.push_back(c.axes[d].out());
    return ConvolutionShapes(op, c, std::move(extents));
  }
  static Status CheckOutputs(const OpView& op) { return CheckConvolutionOutput(op, kOf(op)); }
  static Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
    return ConvolutionReference(op, kOf(op), ins, outs);
  }
  static Result<KernelOffer> AcceptsTile(const OpView& op, const KernelRequest& request) {
    return AcceptsPixels(op, request, kOf(op));
  }
  static Result<Launches> Tile(const OpView& op, const KernelRequest& request) {
    return PixelsLaunch(op, request, kOf(op));
  }
  static Result<Launches> General(const OpView& op, const KernelRequest& request) {
    return ConvolutionLaunch(op, request, kOf(op));
  }
  /// A candidate of the functions above.
  template <Result<KernelOffer> (*kAccepts)(const OpView&, const KernelRequest&,
                                            const Convolution&)>
  static Result<KernelOffer> Accepts(const OpView& op, const KernelRequest& request) {
    return kAccepts(op, request, kOf(op));
  }
  template <Result<Launches> (*kMake)(const OpView&, const KernelRequest&, const Convolution&)>
  static Result<Launches> Make(const OpView& op, const KernelRequest& request) {
    return kMake(op, request, kOf(op));
  }
  static constexpr TensorForm kPlain = TensorForm::kPlain, kBlocked = TensorForm::kBlocked;
  using Dot = Bytes<true>;
  using NoDot = Bytes<false>;
  template <auto kAccepts, auto kMake>
  static constexpr KernelCandidate Bytewise(const char* name, TensorForm in) {
    return {name, Accepts<kAccepts>, Make<kMake>, {}, false, in, kBlocked};
  }
  static constexpr KernelCandidate kKernels[] = {
      {"tile", AcceptsTile, Tile},
      {"window", Accepts<AcceptsWindow>, Make<WindowLaunch>},
      {"window dot", Accepts<Dot::AcceptsWindow>, Make<Dot::WindowLaunch>},
      {"window bytes", Accepts<NoDot::AcceptsWindow>, Make<NoDot::WindowLaunch>},
      {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};
  /// Of ops in two dimensions.
  static constexpr KernelCandidate kPlaneKernels[] = {
      kKernels[0],
      kKernels[1],
      kKernels[2],
      kKernels[3],
      kKernels[4],
      {"depthwise",
       Accepts<AcceptsDepthwise>,
       Make<DepthwiseLaunch>,
       {},
       false,
       kBlocked,
       kBlocked},
      {"stem", Accepts<AcceptsStem>, Make<StemLaunch>, {}, false, kPlain, kBlocked},
      {"winograd",
       Accepts<AcceptsWinograd>,
       Make<WinogradLaunches>,
       {},
       false,
       kBlocked,
       kBlocked,
       12},
      {"blocks bf16",
       Accepts<AcceptsBf16Blocks>,
       Make<Bf16BlocksLaunch>,
       {},
       false,
       kBlocked,
       kBlocked,
       0,
       /*bf16=*/true},
      {"blocks", Accepts<AcceptsBlocks>, Make<BlocksLaunch>, {}, false, kBlocked, kBlocked},
      Bytewise<Dot::AcceptsDepthwise, Dot::DepthwiseLaunch>("depthwise dot", kBlocked),
      Bytewise<Dot::AcceptsStem, Dot::StemLaunch>("stem dot", kPlain),
      Bytewise<Dot::AcceptsBlocks, Dot::BlocksLaunch>("blocks dot", kBlocked),
      Bytewise<NoDot::AcceptsDepthwise, NoDot::DepthwiseLaunch>("depthwise bytes", kBlocked),
      Bytewise<NoDot::AcceptsStem, NoDot::StemLaunch>("stem bytes", kPlain),
      Bytewise<NoDot::AcceptsBlocks, NoDot::BlocksLaunch>("blocks bytes", kBlocked)};

  /// The definition; `special` says what this op alone has: name, schema, verify, cases, infer
  /// where positions are not those of the windows, and kernels other than kKernels.
  static constexpr OpDef Define(OpDef special) {
    special.inputs = "input kernel bias?";
    special.types = TIMCL_WEIGHTED_SUM_TYPES;
    if (special.infer == nullptr) special.infer = Infer;
    special.check_outputs = CheckOutputs;
    special.reference = Reference;
    if (special.kernels.empty()) special.kernels = kKernels;
    special.layout = LayoutRule::Fixed("input_layout kernel_layout");
    special.declared = Declared::kExtentWins;
    special.tolerance = Tolerance::Sum();
    special.advise = AdviseWeights;
    return special;
  }
};

}  // namespace tim::vx::weighted_sum
#endif  // TIM_VX_WEIGHTED_SUM_H_
