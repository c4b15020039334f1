// Conv2d: convolution in two dimensions, also depthwise.  Source: ONNX Conv-11;
// tf.nn.depthwise_conv2d.
#include "tim/vx/ops/conv2d.h"

#include <algorithm>
#include <string>

#include "tim/vx/weighted_sum.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct Conv2dAttrs {
  std::array<uint32_t, 2> stride = {1, 1};
  std::array<uint32_t, 2> dilation = {1, 1};
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 4> pad = {0, 0, 0, 0};  // left, right, top, bottom; used by AUTO and NONE
  int32_t multiplier = 0;                      // depthwise when positive
  int32_t weights = 0;                         // kept for Clone, as ksize
  std::array<uint32_t, 2> ksize = {0, 0};
  DataLayout input_layout = DataLayout::WHCN;  // read by layout inference alone, as kernel_layout
  DataLayout kernel_layout = DataLayout::WHIcOc;
  TIMCL_FIELDS(stride, dilation, padding, pad, multiplier, weights, ksize, input_layout,
               kernel_layout)
};

Window WindowOf(const OpView& op, size_t d) {
  const auto& a = op.attrs<Conv2dAttrs>();
  return MakeWindow(op.in(0).shape()[d], op.in(1).shape()[d], a.stride[d], a.dilation[d], a.padding,
                    a.pad[2 * d], a.pad[2 * d + 1]);
}

/// How channels meet: output channel o reads the `used` input channels from o / group * used on.
struct Channels {
  int64_t out, group, used, per_slice;
};

Channels ChannelsOf(const OpView& op) {
  const int64_t multiplier = op.attrs<Conv2dAttrs>().multiplier;
  const Shape &x = op.in(0).shape(), &w = op.in(1).shape();
  if (multiplier > 0) return {x[2] * multiplier, multiplier, 1, 1};
  return {w[3], w[3], std::min(x[2], w[2]), w[2]};
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<Conv2dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 4, 4));
  TIMCL_TRY(op.CheckRank(1, 4, 4));
  TIMCL_TRY(weighted_sum::CheckChannels(op, a.multiplier > 0 ? 2 : 3));
  if (a.stride[0] == 0 || a.stride[1] == 0) {
    return op.Error(Code::kInvalidArgument, "attribute stride [" + to_string(a.stride[0]) + "," +
                                                to_string(a.stride[1]) + "] must be positive");
  }
  if (a.multiplier < 0) {
    return op.Error(Code::kInvalidArgument,
                    "attribute multiplier " + to_string(a.multiplier) + " is negative");
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const TensorView x = op.in(0), w = op.in(1);
  const int64_t multiplier = op.attrs<Conv2dAttrs>().multiplier;
  const Channels channels = ChannelsOf(op);
  const std::string both = op.in_label(0) + " and " + op.in_label(1);
  if (multiplier > 0) {
    if (w.shape()[2] * w.shape()[3] != channels.out) {
      return op.Error(Code::kInvalidShape, both + " do not fit: multiplier " +
                                               to_string(multiplier) + " asks for " +
                                               to_string(channels.out) + " kernel slices, not " +
                                               to_string(w.shape()[2] * w.shape()[3]));
    }
  } else if (w.shape()[2] < x.shape()[2]) {
    return op.Error(Code::kInvalidShape,
                    both + " do not fit: the kernel has " + to_string(w.shape()[2]) +
                        " input channels, the input " + to_string(x.shape()[2]));
  }
  TIMCL_TRY(weighted_sum::CheckBias(op, channels.out));
  return Shapes{{WindowOf(op, 0).out(), WindowOf(op, 1).out(), channels.out, x.shape()[3]}};
}

/// A declared output shape may have other extents, but not other channels or images.
Status CheckOutput(const OpView& op, const Channels& channels) {
  const Shape& y = op.out(0).shape();
  if (y[2] == channels.out && y[3] == op.in(0).shape()[3]) return Status();
  return op.OutputError(0, Code::kInvalidShape,
                        "it must have " + to_string(channels.out) + " channels and " +
                            to_string(op.in(0).shape()[3]) + " images");
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Window ax = WindowOf(op, 0), ay = WindowOf(op, 1);
  const Channels channels = ChannelsOf(op);
  TIMCL_TRY(CheckOutput(op, channels));
  const Shape &x = op.in(0).shape(), &y = op.out(0).shape();
  weighted_sum::Finish finish(op, ins, outs, channels.out);
  int64_t at = 0;
  for (int64_t n = 0; n < y[3]; ++n) {
    for (int64_t o = 0; o < y[2]; ++o) {
      for (int64_t oy = 0; oy < y[1]; ++oy) {
        for (int64_t ox = 0; ox < y[0]; ++ox) {
          finish.Store(at++, o, [&](auto add) {
            for (int64_t c = 0; c < channels.used; ++c) {
              const int64_t channel = o / channels.group * channels.used + c;
              for (int64_t j = 0; j < ay.size; ++j) {
                for (int64_t i = 0; i < ax.size; ++i) {
                  const int64_t iy = oy * ay.stride + j * ay.dilation - ay.front;
                  const int64_t ix = ox * ax.stride + i * ax.dilation - ax.front;
                  if (iy < 0 || iy >= x[1] || ix < 0 || ix >= x[0]) continue;
                  add(((n * x[2] + channel) * x[1] + iy) * x[0] + ix,
                      ((o * channels.per_slice + c) * ay.size + j) * ax.size + i);
                }
              }
            }
          });
        }
      }
    }
  }
  return Status();
}

/// 1x1 windows that move by 1 and cover the input exactly: a matrix product over its pixels.
bool IsPointwise(const OpView& op, const Window& ax, const Window& ay) {
  const Shape& y = op.out(0).shape();
  return ax.size == 1 && ay.size == 1 && ax.stride == 1 && ay.stride == 1 && ax.front == 0 &&
         ay.front == 0 && y[0] == ax.in && y[1] == ay.in;
}

weighted_sum::Matmul MatmulOf(const OpView& op) {
  const Channels channels = ChannelsOf(op);
  const Shape& x = op.in(0).shape();
  return {channels.out, x[0] * x[1], channels.used, x[3], channels.out, channels.per_slice, true};
}

Result<KernelOffer> AcceptsTile(const OpView& op, const KernelRequest& request) {
  const Channels channels = ChannelsOf(op);
  TIMCL_TRY(CheckOutput(op, channels));
  if (!IsPointwise(op, WindowOf(op, 0), WindowOf(op, 1)) || channels.group != channels.out) {
    return Status::Error(Code::kUnsupported, "only 1x1 convolutions of stride 1 without padding");
  }
  return weighted_sum::AcceptsTile(op, request, MatmulOf(op));
}
Result<Launches> RegisterTile(const OpView& op, const KernelRequest&) {
  return weighted_sum::TileLaunch(op, MatmulOf(op));
}

Result<KernelOffer> AcceptsGeneral(const OpView& op, const KernelRequest&) {
  TIMCL_TRY(CheckOutput(op, ChannelsOf(op)));
  return KernelOffer{KernelSpec::Epilogue::kScalar};
}
Result<Launches> General(const OpView& op, const KernelRequest& request) {
  Window ax = WindowOf(op, 0), ay = WindowOf(op, 1);
  const Channels channels = ChannelsOf(op);
  const Shape &x = op.in(0).shape(), &y = op.out(0).shape();
  int64_t ow = y[0], oh = y[1];
  if (IsPointwise(op, ax, ay)) {
    // Pixels are independent: one long line has fewer ends.
    ow = ax.in *= ay.in;
    oh = ay.in = 1;
  }
  constexpr int64_t kLanes = 8;
  const int64_t together = channels.group == channels.out && channels.out >= 4 ? 8 : 1;
  const int64_t tiles = DivideUp(ow, kLanes) * oh * DivideUp(channels.out, together) * y[3];
  const int64_t terms = channels.used * ax.size * ay.size;
  KernelSpec spec;
  spec.source = "conv2d.cl";
  spec.entry = "conv2d";
  spec.operands = weighted_sum::SumOperands(op, channels.out);
  spec.sizes = {{"IW", ax.in},
                {"IH", ay.in},
                {"IC", x[2]},
                {"C", channels.used},
                {"GROUP", channels.group},
                {"KW", ax.size},
                {"KH", ay.size},
                {"KC", channels.per_slice},
                {"OW", ow},
                {"OH", oh},
                {"OC", channels.out},
                {"STRIDE_X", ax.stride},
                {"STRIDE_Y", ay.stride},
                {"DILATION_X", ax.dilation},
                {"DILATION_Y", ay.dilation},
                {"LEFT", ax.front},
                {"TOP", ay.front},
                {"TILES", tiles}};
  spec.defines = weighted_sum::SumDefines(op, terms);
  spec.defines.emplace_back("OT", together);
  if (!weighted_sum::SumsIntegers(op)) {
    const DataType d = op.in(0).dtype();
    spec.defines.emplace_back("KIND", d == DataType::FLOAT32 ? 1 : d == DataType::FLOAT16 ? 2 : 0);
  }
  spec.defines.emplace_back("CHANNELS_FIRST", request.caps.is_cpu);
  spec.defines.emplace_back("STEP", ax.stride <= 2 ? ax.stride : 0);
  spec.global = Grid(tiles);
  spec.local = {32, 1, 1};
  spec.flops = 2.0 * static_cast<double>(op.out(0).shape().count()) * static_cast<double>(terms);
  return Launches{spec};
}

constexpr KernelCandidate kKernels[] = {{"tile", AcceptsTile, RegisterTile},
                                        {"general", AcceptsGeneral, General}};

weighted_sum::CaseForm Form(const Conv2dAttrs& a, const Shape& x, const Shape& w, const char* note,
                            const Shape& declared = {}) {
  const bool depthwise = a.multiplier > 0;
  return {MakeAttrs(a),      x,    w,       depthwise ? x[2] * a.multiplier : w[3],
          depthwise ? 2 : 3, note, declared};
}

void Cases(CaseMaker& make) {
  auto add = [&](const Conv2dAttrs& a, const Shape& x, const Shape& w, const char* note,
                 const Shape& declared = {}) {
    weighted_sum::FormCases(make, Form(a, x, w, note, declared));
  };
  Conv2dAttrs a;
  add(a, {1, 1, 1, 1}, {1, 1, 1, 1}, "one element");
  add(a, {7, 5, 3, 2}, {1, 1, 3, 5}, "pixels alone");
  add(a, {31, 17, 37, 2}, {1, 1, 37, 53}, "pixels alone, beyond any tile");
  add(a, {4, 4, 150, 2}, {1, 1, 150, 9}, "pixels alone, 16 of them");
  add(a, {7, 7, 67, 1}, {1, 1, 70, 21}, "pixels alone, 49 of them, a kernel of more channels");
  a.padding = PadType::VALID;
  add(a, {9, 7, 3, 2}, {3, 3, 3, 5}, "valid");
  // The two forms differ in what the kernel's code depends on, and share the rest of it.
  weighted_sum::TypeCases(make, Form(a, {9, 7, 3, 2}, {3, 3, 3, 5}, ""));
  a.pad = {2, 1, 1, 3};
  add(a, {9, 7, 2, 1}, {3, 2, 2, 3}, "valid in spite of pads");
  a.padding = PadType::SAME;
  add(a, {19, 6, 2, 2}, {4, 3, 2, 6}, "same, even window");
  a.stride = {2, 3};
  add(a, {20, 11, 2, 1}, {5, 3, 2, 4}, "same, strides");
  a.dilation = {3, 2};
  add(a, {20, 11, 2, 1}, {3, 3, 2, 4}, "same, strides, dilation");
  a = {};
  a.pad = {2, 1, 0, 3};
  add(a, {10, 6, 2, 2}, {3, 3, 2, 9}, "explicit pads");
  a.padding = PadType::NONE;
  a.stride = {3, 1};
  a.dilation = {0, 2};
  add(a, {27, 6, 2, 1}, {3, 3, 2, 2}, "explicit pads, strides, dilation 0");
  a = {};
  a.padding = PadType::VALID;
  add(a, {12, 6, 2, 1}, {3, 3, 4, 5}, "a kernel with more channels than the input");
  add(a, {12, 6, 2, 1}, {3, 3, 2, 5}, "fewer positions than there are", {7, 3, 5, 1});
  add(a, {12, 6, 2, 1}, {3, 3, 2, 5}, "positions beyond the input", {13, 7, 5, 1});
  add(a, {2, 2, 2, 1}, {3, 4, 2, 5}, "a window larger than the input", {2, 1, 5, 1});
  add(a, {70, 5, 17, 1}, {3, 3, 17, 13}, "beyond any tile");
  a.multiplier = 1;
  add(a, {11, 7, 5, 2}, {3, 3, 5, 1}, "depthwise");
  a.padding = PadType::SAME;
  a.multiplier = 3;
  a.stride = {2, 2};
  add(a, {11, 7, 2, 2}, {3, 3, 6, 1}, "depthwise, three of each");
  weighted_sum::TypeCases(make, Form(a, {11, 7, 2, 2}, {3, 3, 6, 1}, ""), /*brief=*/true);
  a = {};
  weighted_sum::BenchCase(make, Form(a, {28, 28, 128, 1}, {1, 1, 128, 256}, "1x1"));
  a.padding = PadType::SAME;
  weighted_sum::BenchCase(make, Form(a, {56, 56, 64, 1}, {3, 3, 64, 64}, "3x3"));
  make.Of(a)
      .In(cases::U8({56, 56, 64, 1}), -3, 3)
      .Const(cases::Affine(DataType::UINT8, {3, 3, 64, 64}, 0.009f, 112), -1, 1)
      .Const(cases::I32({64}))
      .Out(cases::Affine(DataType::UINT8, {}, 0.081f, 133))
      .Note("3x3, u8")
      .Bench();
  a.multiplier = 1;
  weighted_sum::BenchCase(make, Form(a, {56, 56, 96, 1}, {3, 3, 96, 1}, "3x3 depthwise"));
}

constexpr OpDef kConv2d = {.name = "Conv2d",
                           .inputs = "input kernel bias?",
                           .types = TIMCL_WEIGHTED_SUM_TYPES,
                           .schema = &kAttrSchema<Conv2dAttrs>,
                           .verify = Verify,
                           .infer = Infer,
                           .reference = Reference,
                           .kernels = kKernels,
                           .layout = LayoutRule::Fixed("input_layout kernel_layout"),
                           .declared = Declared::kExtentWins,
                           .tolerance = Tolerance::Sum(),
                           .cases = TIMCL_CASES(Cases),
                           .advise = weighted_sum::AdviseWeights};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Conv2d::Conv2d(Graph* graph, PadType padding, const std::array<uint32_t, 2>& stride,
               const std::array<uint32_t, 2>& dilation, int32_t multiplier, DataLayout input_layout,
               DataLayout kernel_layout)
    : Conv2d(graph, 0, padding, {0, 0}, stride, dilation, {0, 0, 0, 0}, multiplier, input_layout,
             kernel_layout) {}
Conv2d::Conv2d(Graph* graph, const std::array<uint32_t, 4> pad,
               const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& dilation,
               int32_t multiplier, DataLayout input_layout, DataLayout kernel_layout)
    : Conv2d(graph, 0, PadType::AUTO, {0, 0}, stride, dilation, pad, multiplier, input_layout,
             kernel_layout) {}
Conv2d::Conv2d(Graph* graph, int32_t weights, PadType padding, const std::array<uint32_t, 2>& ksize,
               const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& dilation,
               int32_t multiplier, DataLayout input_layout, DataLayout kernel_layout)
    : Conv2d(graph, weights, padding, ksize, stride, dilation, {0, 0, 0, 0}, multiplier,
             input_layout, kernel_layout) {}
Conv2d::Conv2d(Graph* graph, int32_t weights, PadType padding, const std::array<uint32_t, 2>& ksize,
               const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& dilation,
               const std::array<uint32_t, 4>& pad, int32_t multiplier, DataLayout input_layout,
               DataLayout kernel_layout)
    : BuiltinOp(graph, kConv2d,
                MakeAttrs(Conv2dAttrs{stride, dilation, padding, pad, multiplier, weights, ksize,
                                      input_layout, kernel_layout}),
                input_layout),
      weights_(static_cast<uint32_t>(weights)),
      padding_(padding),
      ksize_(ksize),
      stride_(stride),
      dilation_(dilation),
      pad_(pad),
      multiplier_(multiplier),
      kernel_layout_(kernel_layout) {}

std::shared_ptr<Operation> Conv2d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<Conv2dAttrs>(*this);
  return graph->CreateOperation<Conv2d>(a.weights, a.padding, a.ksize, a.stride, a.dilation, a.pad,
                                        a.multiplier, a.input_layout, a.kernel_layout);
}

DataLayout Conv2d::KernelDataLayout() { return AttrsOf<Conv2dAttrs>(*this).kernel_layout; }

const std::vector<std::shared_ptr<Tensor>> Conv2d::ConstantInputsTensor() const {
  auto tensors = BuiltinOp::ConstantInputsTensor();
  if (tensors.size() > 1) tensors.resize(1);
  return tensors;
}

// The original replaces a float16 bias here; these kernels read it as it is.
void Conv2d::OnBindInputPostProc(const std::shared_ptr<Tensor>&, int32_t) {}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(conv2d) { Add(kConv2d); }

}  // namespace tim::vx::ops
