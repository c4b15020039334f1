// What convolutions share (tim/vx/weighted_sum.h): shapes, reference, launches.
#include <algorithm>
#include <string>

#include "tim/vx/weighted_sum.h"

namespace tim::vx::weighted_sum {
namespace {

using std::to_string;

/// The input cell that a tap of the window at position o reads; -1 outside the input.
int64_t CellOf(const Window& w, bool transposed, int64_t o, int64_t tap) {
  int64_t at = o * w.stride + tap * w.dilation - w.front;
  if (transposed) {
    const int64_t reached = o + w.front - tap;  // at * stride + tap - front == o, solved for at
    at = reached % w.stride == 0 ? reached / w.stride : -1;
  }
  return at >= 0 && at < w.in ? at : -1;
}

int64_t TapsOf(const Convolution& c) { return c.axes[0].size * c.axes[1].size * c.axes[2].size; }

/// 1x1 windows that move by 1 and cover the input exactly: a matrix product over its pixels.
bool IsPointwise(const OpView& op, const Convolution& c) {
  const std::array<int64_t, 3> positions = PositionsOf(op);
  for (size_t d = 0; d < 3; ++d) {
    const Window& w = c.axes[d];
    if (w.size != 1 || w.stride != 1 || w.front != 0 || positions[d] != w.in) return false;
  }
  return true;
}

Matmul MatmulOf(const Convolution& c) {
  const int64_t pixels = c.axes[0].in * c.axes[1].in * c.axes[2].in;
  return {c.out_channels, pixels, c.used, c.images, c.out_channels, c.per_slice, true};
}

}  // namespace

Convolution PlainConvolution(const OpView& op) {
  const Shape &x = op.in(0).shape(), &w = op.in(1).shape();
  const size_t c = x.rank() - 2;
  Convolution conv;
  conv.channels = x[c], conv.images = x[c + 1];
  conv.out_channels = conv.group = w[c + 1];
  conv.used = x[c], conv.per_slice = w[c];
  return conv;
}

Convolution DepthwiseConvolution(const OpView& op, int64_t multiplier) {
  Convolution conv = PlainConvolution(op);
  conv.out_channels = conv.channels * multiplier;
  conv.group = multiplier;
  conv.used = conv.per_slice = 1;
  return conv;
}

Status CheckStride(const OpView& op, const std::array<uint32_t, 2>& stride) {
  if (stride[0] > 0 && stride[1] > 0) return Status();
  return op.Error(Code::kInvalidArgument, "attribute stride [" + to_string(stride[0]) + "," +
                                              to_string(stride[1]) + "] must be positive");
}

Status CheckGroup(const OpView& op, int64_t group) {
  const Shape &x = op.in(0).shape(), &w = op.in(1).shape();
  const int64_t channels = x[x.rank() - 2], slices = w[w.rank() - 1];
  if (group > 0 && channels % group == 0 && slices % group == 0) return Status();
  return op.Error(Code::kInvalidArgument, "attribute group " + to_string(group) +
                                              " must divide the " + to_string(channels) +
                                              " channels of " + op.in_label(0) + " and the " +
                                              to_string(slices) + " slices of " + op.in_label(1));
}

Convolution TransposedConvolution(const OpView& op, int64_t out_channels, int64_t group) {
  const Shape& w = op.in(1).shape();
  const size_t c = w.rank() - 2;
  Convolution conv = PlainConvolution(op);
  conv.transposed = true;
  // A depthwise kernel may have its channels along either dimension.
  const int64_t slices = group > 1 ? w[c] * w[c + 1] : w[c + 1];
  conv.out_channels = conv.group = out_channels > 0 ? out_channels : slices;
  if (group > 1) conv.group = conv.used = conv.per_slice = 1;
  return conv;
}

Status CheckTransposed(const OpView& op, const Convolution& c, int64_t group) {
  const Shape& w = op.in(1).shape();
  const size_t last = w.rank() - 1;
  if (group == 1) return CheckChannels(op, last);
  if (group != c.out_channels || group != c.channels) {
    return op.Error(Code::kInvalidArgument,
                    "attribute group " + to_string(group) +
                        " must be 1, or the number of channels of the output, " +
                        to_string(c.out_channels) + ", and of " + op.in_label(0));
  }
  if (w[last] != 1 && w[last - 1] != 1) {
    return op.InputError(1, Code::kInvalidShape,
                         "its dimension " + to_string(last - 1) + " or " + to_string(last) +
                             " must be 1 where each channel is a group");
  }
  return CheckChannels(op, w[last] == 1 ? last - 1 : last);
}

int64_t TransposedOut(const Window& w, int64_t output_padding) {
  return (w.in - 1) * w.stride + w.size - w.front - w.rear + output_padding;
}
int64_t SharedCut(const Window& w, int64_t output_padding, int64_t declared) {
  return std::max<int64_t>(TransposedOut(w, output_padding) - declared, 0) / 2;
}

Result<Shapes> ConvolutionShapes(const OpView& op, const Convolution& c,
                                 std::vector<int64_t> extents) {
  const Shape& w = op.in(1).shape();
  const std::string both = op.in_label(0) + " and " + op.in_label(1) + " do not fit: ";
  if (c.per_slice < c.used) {
    const std::string needed = to_string(c.used);
    return op.Error(Code::kInvalidShape,
                    both + "the kernel has " + to_string(c.per_slice) + " input channels, " +
                        (c.used == c.channels ? "the input " + needed : needed + " are needed"));
  }
  const int64_t slices = w.count() / (TapsOf(c) * c.per_slice);
  if (slices < c.out_channels) {
    return op.Error(Code::kInvalidShape, both + "the kernel has " + to_string(slices) +
                                             " slices for " + to_string(c.out_channels) +
                                             " output channels");
  }
  TIMCL_TRY(CheckBias(op, c.out_channels));
  extents.push_back(c.out_channels);
  extents.push_back(c.images);
  return Shapes{Shape(std::move(extents))};
}

Status CheckConvolutionOutput(const OpView& op, const Convolution& c) {
  const Shape& y = op.out(0).shape();
  if (y[y.rank() - 2] == c.out_channels && y[y.rank() - 1] == c.images) return Status();
  return op.OutputError(0, Code::kInvalidShape,
                        "it must have " + to_string(c.out_channels) + " channels and " +
                            to_string(c.images) + " images");
}

Status ConvolutionReference(const OpView& op, const Convolution& c, const ref::Inputs& ins,
                            ref::Outputs& outs) {
  const auto& [wx, wy, wz] = c.axes;
  const std::array<int64_t, 3> n = PositionsOf(op);
  Finish finish(op, ins, outs, c.out_channels);
  for (int64_t at = 0; at < outs[0].count(); ++at) {
    const int64_t ox = at % n[0], oy = at / n[0] % n[1], oz = at / (n[0] * n[1]) % n[2];
    const int64_t plane = at / (n[0] * n[1] * n[2]);
    const int64_t o = plane % c.out_channels, image = plane / c.out_channels;
    finish.Store(at, o, [&](auto add) {
      for (int64_t u = 0; u < c.used; ++u) {
        const int64_t channel = image * c.channels + o / c.group * c.used + u;
        for (int64_t k = 0; k < TapsOf(c); ++k) {
          const int64_t ix = CellOf(wx, c.transposed, ox, k % wx.size);
          const int64_t iy = CellOf(wy, c.transposed, oy, k / wx.size % wy.size);
          const int64_t iz = CellOf(wz, c.transposed, oz, k / (wx.size * wy.size));
          if (ix < 0 || iy < 0 || iz < 0) continue;
          add(((channel * wz.in + iz) * wy.in + iy) * wx.in + ix,
              (o * c.per_slice + u) * TapsOf(c) + k);
        }
      }
    });
  }
  return Status();
}

Result<KernelOffer> AcceptsPixels(const OpView& op, const KernelRequest& request,
                                  const Convolution& c) {
  if (!IsPointwise(op, c) || c.group != c.out_channels || c.used != c.channels) {
    return Status::Error(Code::kUnsupported,
                         "only windows of one cell, stride 1, without padding or groups");
  }
  return AcceptsTile(op, request, MatmulOf(c));
}
Result<Launches> PixelsLaunch(const OpView& op, const KernelRequest& request,
                              const Convolution& c) {
  return TileLaunch(op, request, MatmulOf(c));
}

Result<Launches> ConvolutionLaunch(const OpView& op, const KernelRequest& request,
                                   const Convolution& c) {
  auto [ax, ay, az] = c.axes;
  auto [ow, oh, od] = PositionsOf(op);
  const bool depth = op.in(0).shape().rank() == 5;
  if (IsPointwise(op, c)) {
    // Pixels are independent: one long line has fewer ends.
    ow = ax.in *= ay.in * az.in;
    oh = od = ay.in = az.in = 1;
  }
  constexpr int64_t kLanes = 8;
  const bool one_group = c.group == c.out_channels && c.out_channels >= 4;
  const int64_t together = one_group || c.group % 8 == 0 ? 8 : 1;
  // Neighbours in a work-item are as far apart as the taps that they share.
  const int64_t apart = c.transposed ? ax.stride : 1;
  const int64_t across = DivideUp(DivideUp(ow, apart), kLanes) * apart;
  const int64_t tiles = across * oh * od * DivideUp(c.out_channels, together) * c.images;
  const int64_t terms = c.used * TapsOf(c);
  KernelSpec spec;
  spec.source = c.transposed ? "deconv2d.cl" : "conv2d.cl";
  spec.entry = c.transposed ? "deconv2d" : "conv2d";
  spec.operands = SumOperands(op, c.out_channels);
  spec.sizes = {{"IW", ax.in},      {"IH", ay.in},   {"IC", c.channels},    {"C", c.used},
                {"GROUP", c.group}, {"KW", ax.size}, {"KH", ay.size},       {"KC", c.per_slice},
                {"OW", ow},         {"OH", oh},      {"OC", c.out_channels}};
  auto size = [&](const char* name, int64_t value) { spec.sizes.emplace_back(name, value); };
  size("STRIDE_X", ax.stride), size("STRIDE_Y", ay.stride);
  if (!c.transposed) size("DILATION_X", ax.dilation), size("DILATION_Y", ay.dilation);
  size("LEFT", ax.front), size("TOP", ay.front), size("TILES", tiles);
  if (depth) {
    size("ID", az.in), size("KD", az.size), size("OD", od);
    size("STRIDE_Z", az.stride), size("DILATION_Z", az.dilation), size("FRONT", az.front);
  }
  spec.defines = SumDefines(op, terms);
  spec.defines.emplace_back("OT", together);
  if (!SumsIntegers(op)) {
    const DataType d = op.in(0).dtype();
    spec.defines.emplace_back("KIND", d == DataType::FLOAT32 ? 1 : d == DataType::FLOAT16 ? 2 : 0);
  }
  spec.defines.emplace_back("CHANNELS_FIRST", request.caps.is_cpu);
  const int64_t step = c.transposed ? 1 : ax.stride;
  spec.defines.emplace_back("STEP", step <= 2 ? step : 0);
  if (depth) spec.defines.emplace_back("DEPTH", 1);
  spec.global = Grid(tiles);
  spec.local = {32, 1, 1};
  const int64_t unused = c.transposed ? ax.stride * ay.stride : 1;  // taps per tap that counts
  spec.flops = 2.0 * static_cast<double>(op.out(0).shape().count()) * static_cast<double>(terms) /
               static_cast<double>(unused);
  return Launches{spec};
}

}  // namespace tim::vx::weighted_sum
