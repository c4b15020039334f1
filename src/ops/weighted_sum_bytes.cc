// Weighted sums of 8-bit and 16-bit tensors with constant 8-bit weights in register tiles
// (tim/vx/weighted_sum.h): which kernel and tile, and the weights as it reads them.
#include "tim/vx/weighted_sum_bytes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>

namespace tim::vx::weighted_sum {
namespace {

using std::to_string;

Status Refuse(const std::string& why) { return Status::Error(Code::kUnsupported, why); }

/// Neighbouring terms that one instruction multiplies.
int64_t TogetherOf(const OpView& op, bool dot) {
  return !dot ? 1 : IsShort(op.in(0).type()) ? 2 : 4;
}
/// Kernels see i8 values + 128 (tensor_form.h).
int32_t UnsignedZero(const TensorType& t) {
  return t.zero_point() + (t.dtype == DataType::INT8 ? 128 : 0);
}

bool HasRealBias(const OpView& op) {
  return op.in(2).present() && op.in(2).dtype() == DataType::FLOAT32;
}

int64_t BiasOf(const TensorView& bias, int64_t c) {
  return bias.dtype() == DataType::INT64 ? bias.data_as<int64_t>()[c] : bias.data_as<int32_t>()[c];
}

bool OneGroup(const Convolution& c) { return c.group == c.out_channels && c.used == c.channels; }

}  // namespace

Status CheckBytes(const OpView& op, const KernelRequest& request, int64_t channels, int64_t terms,
                  bool dot, Beside takes) {
  if (!request.caps.register_tiles_pay) return Refuse("register tiles do not pay on this device");
  if (dot && !request.caps.dot_product_u8s8)
    return Refuse("the device has no dot product of bytes");
  const bool shorts = IsShort(op.in(0).type());
  if (!IsByte(op.in(0).type()) && !(shorts && takes.shorts))
    return Refuse(std::string("only i8") + (takes.shorts ? ", i16" : "") +
                  " and u8 with one scale, not " + op.in_label(0));
  const TensorType& y = op.out(0).type();
  if (!IsByte(y) && !(IsShort(y) && takes.shorts) && y.dtype != DataType::FLOAT32)
    return Refuse("only i8, i16, u8 with one scale and f32, not " + op.out_label(0));
  const TensorView w = op.in(1), b = op.in(2);
  if (w.data() == nullptr) return Refuse("the weights are not constant");
  if (w.dtype() != DataType::INT8 && w.dtype() != DataType::UINT8)
    return Refuse("only i8 and u8 weights");
  const bool real_bias = HasRealBias(op);
  if (b.present() && (b.data() == nullptr ||
                      (b.dtype() != DataType::INT32 && !(shorts && b.dtype() == DataType::INT64) &&
                       !(takes.real_bias && real_bias))))
    return Refuse("the bias is not constant, or not an integer of the right size");
  if ((channels + 128) > std::numeric_limits<int32_t>::max() / (terms + 16))
    return Refuse("more than 2^31 - 1 packed weights");
  const int32_t zero = UnsignedZero(op.in(0).type());
  if (shorts ? zero < -32768 || zero > 32767 : zero < 0 || zero > 255)
    return Refuse("the zero point of the input is no element of it");
  if (!takes.any_weights && !Weights(w).Fit())
    return Refuse("weights minus their zero point are no bytes");
  // Sums, with the bias and without, in 32 bits, or in 64 those of shorts.
  int64_t bias = 0;
  constexpr int64_t kMostBias = int64_t{1} << 60;
  for (int64_t c = 0; b.present() && !real_bias && c < channels; ++c) {
    if (BiasOf(b, c) < -kMostBias || BiasOf(b, c) > kMostBias) return Refuse("a bias beyond 2^60");
    bias = std::max(bias, std::abs(BiasOf(b, c)));
  }
  if (shorts) return Status();
  const int64_t reach = bias + 2 * 255 * 128 * terms;
  if (reach > std::numeric_limits<int32_t>::max()) return Refuse("sums may leave 32 bits");
  // Scaled sums are converted to 32 bits before they are limited to 8.
  for (const float m : Multipliers(op, IsByte(op.out(0).type()) ? channels : 0)) {
    if (!(static_cast<double>(reach) * std::abs(m) < 1e9))
      return Refuse("results may leave 32 bits before they are limited");
  }
  return Status();
}

Channels ChannelsOf(const OpView& op, int64_t channels, int64_t terms, const Weights& weights,
                    int64_t step, bool centred) {
  Channels all;
  all.m = Multipliers(op, channels);
  const TensorType& x = op.in(0).type();
  const int64_t zero = centred ? 0 : UnsignedZero(x);
  const int64_t reach =
      std::max(x.zero_point() - LowestOf(x.dtype), HighestOf(x.dtype) - x.zero_point());
  for (int64_t c = 0; c < channels; ++c) {
    const auto [sum, magnitudes] = weights.SumsOf(c * step, terms);
    const int64_t bias = op.in(2).present() && !HasRealBias(op) ? BiasOf(op.in(2), c) : 0;
    all.bias.push_back(bias - zero * sum);
    all.most = std::max(all.most, magnitudes);
    all.reach = std::max(all.reach, magnitudes * reach + std::abs(bias));
  }
  return all;
}
int64_t LimitOf(const OpView& op, const Channels& channels, int64_t weight) {
  if (IsShort(op.in(0).type())) return std::numeric_limits<int32_t>::max() / (32768 * weight);
  constexpr int64_t kExact = int64_t{1} << 24;
  return channels.most * 255 < kExact ? std::numeric_limits<int32_t>::max()
                                      : kExact / (255 * weight);
}

Operand PaddedBias(const Channels& channels, int64_t width, const char* name) {
  if (channels.wide()) return Padded(channels.bias, width, name, "long");
  std::vector<int32_t> bias;
  for (const int64_t b : channels.bias) bias.push_back(static_cast<int32_t>(b));
  return Padded(std::move(bias), width, name, "int");
}

namespace {

/// A tile of mx pixels and nv vectors of 16 channels; `step` is what one multiplication costs, in
/// cycles. `stride` of a kernel whose pixels are neighbours in a row, 0 of one that gathers them.
struct Tile {
  int64_t mx, nv;
  double step;
  int64_t stride = 0;
  int64_t columns() const { return nv * kChannelBlock; }
};
/// Few shapes, since each is a kernel to compile. Those of 14 and 7 pixels, 13, and 8 suit rows of
/// 224, 208, and 256 pixels and what is left of them after each halving.
constexpr Tile kTiles[] = {{7, 4, 1.0},  {14, 2, 1.0},  {13, 2, 1.0},
                           {8, 2, 1.03}, {16, 1, 1.15}, {1, 4, 1.8}};
/// For registers that hold 8 vectors of 16 numbers: AVX2, NEON.
constexpr Tile kSmallTiles[] = {{6, 1, 1.0}, {5, 1, 1.02}, {4, 1, 1.1}, {1, 4, 1.8}};
constexpr int64_t kWidest = 7;  // WIDEST of conv_block8.cl

/// Multiplications of one vector of results.
int64_t StepsOf(const OpView& op, const Plane& p, const Convolution& c, bool dot) {
  return DivideUp(c.used, TogetherOf(op, dot)) * p.x.size * p.y.size;
}
Tile ChooseTile(const Plane& p, const Convolution& c, int64_t steps, const DeviceCaps& caps) {
  const int64_t taps = p.x.size * p.y.size, pixels = p.ow * p.oh;
  const bool rows =
      p.x.stride <= 2 && p.x.dilation == 1 && p.y.dilation == 1 && p.x.size <= kWidest;
  Tile best;
  double least = std::numeric_limits<double>::infinity();
  for (Tile t : caps.few_registers() ? std::span<const Tile>(kSmallTiles) : kTiles) {
    constexpr double kStore = 5, kStart = 80;  // per vector, per tile; measured
    const auto vectors = static_cast<double>(t.mx * t.nv);
    const double tile = vectors * (static_cast<double>(steps) * t.step + kStore) + kStart;
    const double groups = static_cast<double>(DivideUp(c.out_channels, t.columns()));
    const double gather = static_cast<double>(taps * DivideUp(c.used, kChannelBlock) * t.mx) * 4;
    const double in_rows = static_cast<double>(DivideUp(p.ow, t.mx) * p.oh) * groups * tile;
    const double gathered = static_cast<double>(DivideUp(pixels, t.mx)) * groups * (tile + gather);
    t.stride = rows && p.ow >= t.mx && t.mx > 1 && in_rows <= gathered ? p.x.stride : 0;
    const double cost = t.stride > 0 ? in_rows : gathered;
    if (cost < least) least = cost, best = t;
  }
  return best;
}

double FlopsOf(const OpView& op, int64_t terms) {
  return 2.0 * static_cast<double>(op.out(0).shape().count()) * static_cast<double>(terms);
}

KernelOffer Offer(bool pays, bool stores_once) {
  KernelOffer offer = {.epilogue = KernelSpec::Epilogue::kLanes};
  offer.pays_for_forms = pays;
  offer.stores_once = stores_once;
  return offer;
}

}  // namespace

template <bool kDot>
Result<KernelOffer> Bytes<kDot>::AcceptsBlocks(const OpView& op, const KernelRequest& request,
                                               const Convolution& c) {
  if (op.in(0).shape().rank() != 4 || c.transposed) return Refuse("only Conv2d and its like");
  if (!OneGroup(c)) return Refuse("several groups");
  TIMCL_TRY(CheckBytes(op, request, c.out_channels, c.used * c.axes[0].size * c.axes[1].size, kDot,
                       {.shorts = true}));
  // A last tile that moves back to end with its line stores again what is its neighbour's.
  const Plane p = PlaneOf(op, c);
  const Tile tile = ChooseTile(p, c, StepsOf(op, p, c, kDot), request.caps);
  const bool pays = std::max(c.channels, c.out_channels) >= 8;  // of 16 in a block
  return Offer(pays, (tile.stride > 0 ? p.ow : p.ow * p.oh) % tile.mx == 0);
}

template <bool kDot>
Result<Launches> Bytes<kDot>::BlocksLaunch(const OpView& op, const KernelRequest& request,
                                           const Convolution& c) {
  const Plane p = PlaneOf(op, c);
  const int64_t taps = p.x.size * p.y.size, terms = c.used * taps;
  const bool shorts = IsShort(op.in(0).type());
  const Tile tile = ChooseTile(p, c, StepsOf(op, p, c, kDot), request.caps);
  const int64_t width = tile.columns(), groups = DivideUp(c.out_channels, width);
  const Weights weights(op.in(1));
  const int64_t used = c.used, slice = c.per_slice * taps, together = TogetherOf(op, kDot);
  const auto pack = [=](auto* to, int64_t o, int64_t u, int64_t k) {
    for (int64_t i = 0; i < std::min(together, used - u); ++i)
      to[i] = weights.Byte(o * slice + (u + i) * taps + k);
  };
  const Channels channels = ChannelsOf(op, c.out_channels, terms, weights, slice);
  KernelSpec spec;
  spec.source = "conv_block8.cl";
  spec.entry = "conv_block8";
  spec.operands = {
      In(0, "X"),
      shorts && kDot
          ? PackedBlocks<int16_t>(c, width, kChannelBlock, together, together, "short", pack)
          : PackedBlocks<int8_t>(c, width, kChannelBlock, together, together, "char", pack),
      PaddedBias(channels, width), Padded(channels.m, width, "M", "float"), Out(0, "Y")};
  spec.sizes = PlaneSizes(p, c);
  spec.sizes.emplace_back("GROUPS", groups);
  spec.sizes.emplace_back("LIMIT", LimitOf(op, channels));
  spec.defines = {{"DOT", kDot},
                  {"MX", tile.mx},
                  {"NV", tile.nv},
                  {"STEP", tile.stride},
                  {"WIDEST", kWidest},
                  {"SHORTS", shorts},
                  {"WIDE", shorts && channels.wide()}};
  spec.dims = 3;
  spec.global = tile.stride > 0 ? Grid(DivideUp(p.ow, tile.mx), p.oh, groups * c.images)
                                : Grid(DivideUp(p.ow * p.oh, tile.mx), 1, groups * c.images);
  spec.flops = FlopsOf(op, terms);
  return Launches{spec};
}

namespace {

constexpr int64_t kLines = 64;
constexpr int64_t kStemRoom = 4096;  // four byte each without dot product

/// Of few shapes that fill the registers the one that computes least twice at the end of a row.
Tile StemTile(const OpView& op, const Convolution& c, const DeviceCaps& caps) {
  const int64_t ow = op.out(0).shape()[0], vectors = DivideUp(c.out_channels, kChannelBlock);
  if (caps.few_registers()) return {std::min<int64_t>(ow, ow % 6 <= ow % 5 ? 6 : 5), 1, 1.0};
  if (ow < 12) return {std::min<int64_t>(ow, 7), vectors <= 2 ? 2 : 4, 1.0};
  Tile best = {12, std::min<int64_t>(vectors, 2), 1.0};
  for (const int64_t mx : {13, 14, 16}) {
    const bool fits = mx <= ow && mx * best.nv <= 28;
    if (fits && DivideUp(ow, mx) * mx <= DivideUp(ow, best.mx) * best.mx) best.mx = mx;
  }
  return best;
}

}  // namespace

template <bool kDot>
Result<KernelOffer> Bytes<kDot>::AcceptsStem(const OpView& op, const KernelRequest& request,
                                             const Convolution& c) {
  const auto& [x, y, z] = c.axes;
  if (op.in(0).shape().rank() != 4 || c.transposed) return Refuse("only Conv2d and its like");
  if (!OneGroup(c)) return Refuse("several groups");
  if (c.channels > 4) return Refuse("more than 4 channels");
  if (c.channels * y.size > kLines)
    return Refuse("windows of more than " + to_string(kLines) + " lines");
  if (x.dilation != 1 || y.dilation != 1) return Refuse("only windows without dilation");
  if (x.stride > 2) return Refuse("only strides of 1 and 2 along the width");
  if (x.size > 16) return Refuse("the window is wider than 16 cells");
  TIMCL_TRY(CheckBytes(op, request, c.out_channels, c.used * x.size * y.size, kDot));
  if (!kDot && c.used * x.size * y.size > 514) return Refuse("sums may leave 24 bits");
  return Offer(true, op.out(0).shape()[0] % StemTile(op, c, request.caps).mx == 0);
}

template <bool kDot>
Result<Launches> Bytes<kDot>::StemLaunch(const OpView& op, const KernelRequest& request,
                                         const Convolution& c) {
  const Window &x = c.axes[0], &y = c.axes[1];
  const Shape& out = op.out(0).shape();
  const int64_t taps = x.size * y.size;
  constexpr int64_t kTogether = kDot ? 4 : 1;
  const int64_t steps = DivideUp(x.size, kTogether);  // of one line of the window
  const Tile tile = StemTile(op, c, request.caps);
  const int64_t width = tile.columns(), groups = DivideUp(c.out_channels, width);
  // A whole row, or as many tiles of it as have room.
  constexpr int64_t kRoom = kStemRoom * kTogether;
  auto pitch_of = [&](int64_t tiles) {
    return (tiles * tile.mx - 1) * x.stride + steps * kTogether;
  };
  const int64_t tiles = DivideUp(out[0], tile.mx);
  int64_t together = tiles;
  while (together > 1 && c.used * y.size * pitch_of(together) > kRoom) --together;
  together = DivideUp(tiles, DivideUp(tiles, together));
  const Weights weights(op.in(1));
  std::vector<int8_t> packed(
      static_cast<size_t>(groups * width * c.used * y.size * steps * kTogether));
  for (int64_t o = 0; o < c.out_channels; ++o) {
    for (int64_t line = 0; line < c.used * y.size; ++line) {
      for (int64_t k = 0; k < x.size; ++k) {
        const int64_t step = (o / width * c.used * y.size + line) * steps + k / kTogether;
        packed[static_cast<size_t>((step * width + o % width) * kTogether + k % kTogether)] =
            static_cast<int8_t>(weights[o * c.per_slice * taps + line * x.size + k]);
      }
    }
  }
  const Channels channels =
      ChannelsOf(op, c.out_channels, c.used * taps, weights, c.per_slice * taps);
  KernelSpec spec;
  spec.source = "conv_stem8.cl";
  spec.entry = "conv_stem8";
  spec.operands = {In(0, "X"), Data(packed, "W", "char"), PaddedBias(channels, width),
                   Padded(channels.m, width, "M", "float"), Out(0, "Y")};
  spec.sizes = {{"IW", x.in},
                {"IH", y.in},
                {"IC", c.channels},
                {"OW", out[0]},
                {"OH", out[1]},
                {"OC", c.out_channels},
                {"KW", x.size},
                {"KH", y.size},
                {"STRIDE_Y", y.stride},
                {"LEFT", x.front},
                {"TOP", y.front},
                {"GROUPS", groups},
                {"CELLS", op.in(0).shape().count()},
                {"TILES", together},
                {"PITCH", pitch_of(together)}};
  spec.defines = {{"DOT", kDot},   {"MX", tile.mx},
                  {"NV", tile.nv}, {"STEP", x.stride},
                  {"ROOM", kRoom}, {"FLIP", op.in(0).dtype() == DataType::INT8 ? 128 : 0}};
  spec.dims = 3;
  spec.global = Grid(DivideUp(tiles, together), out[1], groups * c.images);
  spec.flops = FlopsOf(op, c.used * taps);
  return Launches{spec};
}

template <bool kDot>
Result<KernelOffer> Bytes<kDot>::AcceptsDepthwise(const OpView& op, const KernelRequest& request,
                                                  const Convolution& c) {
  const auto& [x, y, z] = c.axes;
  if (op.in(0).shape().rank() != 4 || c.transposed) return Refuse("only Conv2d and its like");
  if (c.group != 1 || c.used != 1 || c.out_channels != c.channels)
    return Refuse("not one output channel for each input channel");
  if (x.stride != y.stride || x.stride > 2) return Refuse("only strides of 1 and 2, both alike");
  if (x.dilation != 1 || y.dilation != 1) return Refuse("only windows without dilation");
  if (x.size > 7 || y.size > 7) return Refuse("the window is larger than 7x7");
  TIMCL_TRY(CheckBytes(op, request, c.out_channels, x.size * y.size, kDot));
  return Offer(c.channels >= 8, true);
}

template <bool kDot>
Result<Launches> Bytes<kDot>::DepthwiseLaunch(const OpView& op, const KernelRequest&,
                                              const Convolution& c) {
  const Window &x = c.axes[0], &y = c.axes[1];
  const Shape& out = op.out(0).shape();
  const int64_t blocks = DivideUp(c.channels, kChannelBlock), taps = x.size * y.size;
  const int64_t rows = x.size <= 3 ? 4 : 2;  // measured
  const Weights weights(op.in(1));
  auto weight_of = [&](int64_t o, int64_t k) { return weights[o * c.per_slice * taps + k]; };
  Operand packed;
  if (kDot) {
    // As depthwise_block8.cl names them.
    const int64_t apart = x.size <= 3 ? 2 : 4, phases = apart / x.stride;
    const int64_t uses = (apart - x.stride + x.size + 3) / 4;
    std::vector<int8_t> bytes(
        static_cast<size_t>(blocks * y.size * phases * uses * kChannelBlock * 4));
    for (int64_t o = 0; o < c.channels; ++o) {
      for (int64_t k = 0; k < taps; ++k) {
        for (int64_t phase = 0; phase < phases; ++phase) {
          const int64_t row = (o / kChannelBlock * y.size + k / x.size) * phases + phase;
          const int64_t cell = k % x.size + phase * x.stride;
          const int64_t vector = row * uses + cell / 4;
          bytes[static_cast<size_t>((vector * kChannelBlock + o % kChannelBlock) * 4 + cell % 4)] =
              static_cast<int8_t>(weight_of(o, k));
        }
      }
    }
    packed = Data(bytes, "W", "int");
  } else {
    std::vector<float> reals(static_cast<size_t>(blocks * taps * kChannelBlock));
    for (int64_t o = 0; o < c.channels; ++o) {
      for (int64_t k = 0; k < taps; ++k) {
        reals[static_cast<size_t>((o / kChannelBlock * taps + k) * kChannelBlock +
                                  o % kChannelBlock)] = static_cast<float>(weight_of(o, k));
      }
    }
    packed = Data(reals, "W", "float");
  }
  const Channels channels = ChannelsOf(op, c.channels, taps, weights, c.per_slice * taps);
  KernelSpec spec;
  spec.source = "depthwise_block8.cl";
  spec.entry = "depthwise_block8";
  spec.operands = {In(0, "X"), packed, PaddedBias(channels, kChannelBlock),
                   Padded(channels.m, kChannelBlock, "M", "float"), Out(0, "Y")};
  spec.sizes = {{"IW", x.in},       {"IH", y.in},      {"OW", out[0]},  {"OH", out[1]},
                {"BLOCKS", blocks}, {"LEFT", x.front}, {"TOP", y.front}};
  spec.defines = {{"DOT", kDot}, {"MY", rows}, {"STEP", x.stride}, {"KW", x.size}, {"KH", y.size}};
  spec.dims = 2;
  spec.global = Grid(DivideUp(out[1], rows), blocks * c.images);
  spec.flops = FlopsOf(op, taps);
  return Launches{spec};
}

ByteTile ByteTile::Of(int64_t m, int64_t n, const DeviceCaps& caps) {
  const int64_t vectors = DivideUp(n, 16);
  if (caps.few_registers()) {
    if (m == 1) return {1, vectors <= 2 ? 2 : 4};
    return {m <= 4 ? 4 : 6, 1};
  }
  // One row has one product per weight that is read: many sums at once hide the memory's latency.
  if (m == 1) return {1, vectors <= 2 ? 2 : vectors <= 4 ? 4 : 8};
  if (m <= 4) return {4, vectors <= 2 ? 2 : 6};
  return vectors <= 2 ? ByteTile{12, 2} : ByteTile{6, 4};
}

template <bool kDot>
Result<KernelOffer> Bytes<kDot>::AcceptsMatmul(const OpView& op, const KernelRequest& request,
                                               const Matmul& p) {
  TIMCL_TRY(CheckBytes(op, request, p.channels, p.k, kDot, {.shorts = true, .real_bias = true}));
  return Offer(false, p.n % 16 == 0);
}

template <bool kDot>
Result<Launches> Bytes<kDot>::MatmulLaunch(const OpView& op, const KernelRequest& request,
                                           const Matmul& p) {
  const auto tile = ByteTile::Of(p.m, p.n, request.caps);
  const int64_t width = tile.columns(), groups = DivideUp(p.n, width);
  const bool shorts = IsShort(op.in(0).type());
  const int64_t together = TogetherOf(op, kDot), steps = DivideUp(p.k, together);
  const Weights weights(op.in(1));
  const Channels channels = ChannelsOf(op, p.n, p.k, weights, p.stride);
  // The column of the product that is computed as this one; -1: none.
  const int64_t columns = p.n, terms = p.k, stride = p.stride;
  const auto source = [=](int64_t column) {
    const int64_t vector = column / 16 * 16;
    const int64_t n = std::max<int64_t>(std::min(vector, columns - 16), 0) + column % 16;
    return vector >= columns || n >= columns ? -1 : n;
  };
  const auto pack = [=](auto* packed) {
    // A few steps of all columns at a time, so that what is written in strides stays in the cache.
    constexpr int64_t kSteps = 16;
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t begin = 0; begin < steps; begin += kSteps) {
        const int64_t end = std::min((begin + kSteps) * together, terms);
        for (int64_t column = 0; column < width; ++column) {
          const int64_t n = source(group * width + column);
          auto* to = packed + ((group * steps + begin) * width + column) * together;
          for (int64_t k = begin * together; n >= 0 && k < end; to += width * together) {
            for (int64_t i = 0; i < together && k < end; ++i, ++k)
              to[i] = weights.Byte(n * stride + k);
          }
        }
      }
    }
  };
  Channels columnwise = channels;
  columnwise.bias.assign(static_cast<size_t>(groups * width), 0);
  std::vector<float> m(columnwise.bias.size()), real_bias(m.size());
  for (int64_t column = 0; column < groups * width; ++column) {
    const int64_t n = source(column);
    if (n < 0) continue;
    columnwise.bias[static_cast<size_t>(column)] = channels.bias[static_cast<size_t>(n)];
    m[static_cast<size_t>(column)] = channels.m[static_cast<size_t>(n)];
    if (HasRealBias(op)) real_bias[static_cast<size_t>(column)] = op.in(2).data_as<float>()[n];
  }
  const int64_t count = groups * width * steps * together;
  KernelSpec spec;
  spec.source = "matmul8.cl";
  spec.entry = "matmul8";
  spec.operands = {In(0, "X"),
                   shorts && kDot ? PackedData<int16_t>(count, "W", "short", pack)
                                  : PackedData<int8_t>(count, "W", "char", pack),
                   PaddedBias(columnwise, width), Data(m, "M8", "float"), Out(0, "Y")};
  if (HasRealBias(op)) spec.operands.insert(spec.operands.end() - 1, Data(real_bias, "R", "float"));
  spec.sizes = {{"M", p.m}, {"N", p.n}, {"K", p.k}, {"LIMIT", LimitOf(op, channels)}};
  spec.defines = {{"DOT", kDot},
                  {"SHORTS", shorts},
                  {"WIDE", shorts && channels.wide()},
                  {"MR", tile.rows},
                  {"NV", tile.vectors},
                  {"REAL_BIAS", HasRealBias(op)},
                  {"FLIP", op.in(0).dtype() == DataType::INT8 ? 128 : 0}};
  spec.dims = 2;
  spec.global = Grid(DivideUp(p.m, tile.rows), groups);
  spec.flops = FlopsOf(op, p.k);
  return Launches{spec};
}

template struct Bytes<false>;
template struct Bytes<true>;

}  // namespace tim::vx::weighted_sum
