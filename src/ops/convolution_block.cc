// Convolutions over blocks of 16 channels (tim/vx/weighted_sum.h): which kernel and tile, and the
// weights as it reads them.
#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "tim/vx/bfloat16.h"
#include "tim/vx/float16.h"
#include "tim/vx/weighted_sum.h"

namespace tim::vx::weighted_sum {
namespace {

using std::to_string;

Status Refuse(const std::string& why) { return Status::Error(Code::kUnsupported, why); }

constexpr int64_t kLine = 64;  // LINE of conv_block.cl and its like

/// What all of them need.
Status CheckBlocks(const OpView& op, const KernelRequest& request, const Convolution& c) {
  TIMCL_TRY(CheckConstantFloats(op, request));
  if (op.in(0).shape().rank() != 4 || c.transposed) return Refuse("only Conv2d and its like");
  // Whole blocks of 4 times as many weights (Winograd) are counted in int.
  if (c.out_channels + 128 > std::numeric_limits<int32_t>::max() / (c.used + 16) /
                                 (4 * std::max<int64_t>(c.axes[0].size * c.axes[1].size, 9)))
    return Refuse("more than 2^31 - 1 packed weights");
  return Status();
}

bool OneGroup(const Convolution& c) { return c.group == c.out_channels && c.used == c.channels; }

bool IsLine(const Plane& p) {
  return p.x.size == 1 && p.y.size == 1 && p.oh == 1 && p.x.stride == 1 && p.x.front == 0;
}

/// A tile of mx pixels and nv vectors of 16 channels; `step` is what a sum of one term costs per
/// vector, in cycles, measured.
struct Tile {
  int64_t mx, nv;
  double step;
  int64_t columns() const { return nv * kChannelBlock; }
};

/// Few shapes, since each is a kernel to compile; together they leave little of a tile unused
/// whatever the shape.
constexpr Tile kTiles[] = {{14, 2, 1.00}, {7, 4, 1.03}, {13, 2, 1.02}, {10, 2, 1.03},
                           {5, 4, 1.06},  {7, 2, 1.05}, {16, 1, 1.30}};

/// Those of conv_point.cl: a narrow tile is as good, so that an odd number of blocks wastes
/// nothing.
constexpr Tile kPointTiles[] = {{14, 2, 1.00}, {7, 4, 1.03}, {13, 2, 1.02},
                                {10, 2, 1.03}, {5, 4, 1.06}, {14, 1, 1.00}};

/// Where a tile's weights come from each time: those of a group of columns, beyond so many, from
/// beyond the first-level cache or, with what they meet, from beyond the second. Few pixels have
/// little to do while a weight is on its way.
enum class Weights { kNear, kFar, kFarthest };
Weights WeightsOf(const Tile& t, int64_t terms) {
  const int64_t count = terms * t.columns();
  if (count > 128 * 1024) return Weights::kFarthest;
  return t.mx < 10 && count > 24 * 1024 ? Weights::kFar : Weights::kNear;
}
/// Whether conv_block.cl takes them block of inputs by block, so that they are near: SPLIT.
bool Splits(const Tile& t, int64_t terms) {
  return t.nv == 2 && WeightsOf(t, terms) != Weights::kNear;
}

/// What conv_point.cl takes. It reads whole tiles only.
bool IsPointLine(const Plane& p, const Tile& t) {
  return IsLine(p) && p.y.in == 1 && p.y.front == 0 && p.x.in == p.ow && p.ow >= t.mx;
}
/// For registers that hold 8 vectors of 16 floats: AVX2 (16 of 8) and NEON (32 of 4).
constexpr Tile kSmallTiles[] = {{6, 1, 1.00}, {5, 1, 1.02}, {4, 1, 1.10}};

double CyclesOf(const Tile& t, const Plane& p, int64_t out_channels, int64_t terms) {
  const int64_t tiles = DivideUp(p.ow, t.mx) * p.oh * DivideUp(out_channels, t.columns());
  const int64_t vectors = t.mx * t.nv;
  constexpr double kStore = 6, kStart = 80;  // per vector, per tile
  return static_cast<double>(tiles) *
         (static_cast<double>(vectors) * (static_cast<double>(terms) * t.step + kStore) + kStart);
}

Tile ChooseTile(const Plane& p, int64_t out_channels, int64_t terms, const DeviceCaps& caps) {
  const bool point = IsPointLine(p, kPointTiles[0]);
  std::span<const Tile> tiles = kTiles;
  if (point) tiles = kPointTiles;
  if (caps.few_registers()) tiles = kSmallTiles;
  const auto cycles = [&](const Tile& t) {
    constexpr double kWait[] = {1, 1.08, 1.15};  // measured, for each of Weights
    const auto from = static_cast<size_t>(WeightsOf(t, terms));
    const double wait = !point && Splits(t, terms) ? 1 : kWait[from];
    return wait * CyclesOf(t, p, out_channels, terms);
  };
  return *std::min_element(tiles.begin(), tiles.end(),
                           [&](const Tile& a, const Tile& b) { return cycles(a) < cycles(b); });
}

/// POINT of conv_block_bf16.cl, whose tiles are the same.
bool IsPoint(const Plane& p) { return p.x.size == 1 && p.y.size == 1; }
/// One step makes two terms, but pixels are rounded first.
double Bf16CyclesOf(const Tile& t, const Plane& p, int64_t out_channels, int64_t channels) {
  constexpr double kRound = 3;  // cycles for 16 channels of a pixel
  const int64_t cells = IsPoint(p) ? t.mx : (t.mx - 1) * p.x.stride + p.x.reach();
  const int64_t tiles = DivideUp(p.ow, t.mx) * p.oh * DivideUp(out_channels, t.columns());
  return CyclesOf(t, p, out_channels, DivideUp(channels, 2) * p.x.size * p.y.size) +
         static_cast<double>(tiles * cells * p.y.size * DivideUp(channels, kChannelBlock)) * kRound;
}
Tile ChooseBf16Tile(const Plane& p, int64_t out_channels, int64_t channels) {
  return *std::min_element(std::begin(kTiles), std::end(kTiles), [&](const Tile& a, const Tile& b) {
    return Bf16CyclesOf(a, p, out_channels, channels) < Bf16CyclesOf(b, p, out_channels, channels);
  });
}

/// The weights in float, each a step of its own.
Operand PackWeights(const OpView& op, const Convolution& c, int64_t width, int64_t block) {
  const int64_t taps = c.axes[0].size * c.axes[1].size, slice = c.per_slice * taps;
  const RealValues weights(op.in(1).data(), op.in(1).dtype());
  return PackedBlocks<float>(
      c, width, block, 1, 1, "float",
      [=](float* to, int64_t o, int64_t u, int64_t k) { *to = weights[o * slice + u * taps + k]; });
}

/// Pairs of neighbouring input channels in bfloat16.
Operand PackPairs(const OpView& op, const Convolution& c, int64_t width) {
  const int64_t taps = c.axes[0].size * c.axes[1].size, slice = c.per_slice * taps, used = c.used;
  const float* const weights = op.in(1).data_as<float>();
  return PackedBlocks<int32_t>(c, width, kChannelBlock, 2, 1, "int",
                               [=](int32_t* to, int64_t o, int64_t u, int64_t k) {
                                 const float* const from = weights + o * slice + u * taps + k;
                                 *to = ToBfloat16Pair(from[0], u + 1 < used ? from[taps] : 0.0f);
                               });
}

double FlopsOf(const OpView& op, const Convolution& c) {
  return 2.0 * static_cast<double>(op.out(0).shape().count()) *
         static_cast<double>(c.used * c.axes[0].size * c.axes[1].size);
}

}  // namespace

Result<KernelOffer> AcceptsBlocks(const OpView& op, const KernelRequest& request,
                                  const Convolution& c) {
  TIMCL_TRY(CheckBlocks(op, request, c));
  if (!OneGroup(c)) return Refuse("several groups");
  const Plane p = PlaneOf(op, c);
  const bool copies = p.x.stride == p.y.stride && p.x.stride <= 2;
  if (copies && 15 * p.x.stride + (p.x.size - 1) * p.x.dilation >= kLine)
    return Refuse("the window is wider than " + to_string(kLine) + " pixels");
  KernelOffer offer = {.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
  // What costs more than a walk through the tensors; "tile" is good at lines of pixels.
  offer.pays_for_forms = !IsLine(p) && c.channels >= 8 && c.out_channels >= 8;
  return offer;
}
Result<Launches> BlocksLaunch(const OpView& op, const KernelRequest& request,
                              const Convolution& c) {
  const Plane p = PlaneOf(op, c);
  const int64_t terms = c.used * p.x.size * p.y.size;
  const Tile tile = ChooseTile(p, c.out_channels, terms, request.caps);
  const int64_t tiles = DivideUp(p.ow, tile.mx) * p.oh,
                groups = DivideUp(c.out_channels, tile.columns());
  const auto workers = static_cast<int64_t>(request.caps.compute_units);
  int64_t run = 1;
  KernelSpec spec;
  spec.operands = {In(0, "X"), PackWeights(op, c, tile.columns(), kChannelBlock),
                   PackedBias(op, c.out_channels, c.out_channels, tile.columns()), Out(0, "Y")};
  spec.defines = {{"MX", tile.mx}, {"NV", tile.nv}};
  if (IsPointLine(p, tile)) {
    // Several tiles per work-item, while enough of them are left for all cores.
    constexpr int64_t kMostTiles = 8, kLeastItems = 16;
    run = std::clamp<int64_t>(tiles / kLeastItems, 1, kMostTiles);
    spec.source = "conv_point.cl";
    spec.entry = "conv_point";
    spec.sizes = {{"PIXELS", p.ow}, {"IC", c.used}, {"OC", c.out_channels}, {"RUN", run}};
  } else {
    const bool step = p.x.stride == p.y.stride && p.x.stride <= 2;
    spec.source = "conv_block.cl";
    spec.entry = "conv_block";
    constexpr int64_t kMostTiles = 8;  // MOST
    const bool split = Splits(tile, terms);
    const int64_t parts =
        std::max(DivideUp(tiles, kMostTiles), DivideUp(8 * workers, groups * c.images));
    if (split) run = DivideUp(tiles, std::min(parts, tiles));
    spec.sizes = PlaneSizes(p, c);
    spec.sizes.emplace_back("RUN", run);
    spec.defines.emplace_back("STRIDE", step ? p.x.stride : 0);
    spec.defines.emplace_back("SPLIT", split);
  }
  spec.dims = 3;
  spec.global = Grid(DivideUp(tiles, run), groups, c.images);
  spec.flops = FlopsOf(op, c);
  return Launches{spec};
}

Result<KernelOffer> AcceptsBf16Blocks(const OpView& op, const KernelRequest& request,
                                      const Convolution& c) {
  if (!request.caps.dot_product_bf16) return Refuse("the device has no products of bfloat16");
  for (const TensorView& t : {op.in(0), op.in(1), op.in(2), op.out(0)}) {
    if (t.present() && t.dtype() != DataType::FLOAT32) return Refuse("only f32, not " + t.label());
  }
  TIMCL_ASSIGN(KernelOffer offer, AcceptsBlocks(op, request, c));
  const Plane p = PlaneOf(op, c);
  if (!IsPoint(p) && p.x.stride != p.y.stride) return Refuse("strides that differ");
  if (!IsPoint(p) && 15 * p.x.stride + p.x.reach() > kLine)
    return Refuse("the window is wider than " + to_string(kLine) + " pixels");
  // Twice as fast as "tile", which pays for a walk through the tensors.
  const int64_t least = std::min(c.channels, c.out_channels);
  offer.pays_for_forms = least >= (IsLine(p) ? 64 : 8);
  return offer;
}
Result<Launches> Bf16BlocksLaunch(const OpView& op, const KernelRequest&, const Convolution& c) {
  const Plane p = PlaneOf(op, c);
  const Tile tile = ChooseBf16Tile(p, c.out_channels, c.channels);
  KernelSpec spec;
  spec.source = "conv_block_bf16.cl";
  spec.entry = "conv_block_bf16";
  spec.operands = {In(0, "X"), PackPairs(op, c, tile.columns()),
                   PackedBias(op, c.out_channels, c.out_channels, tile.columns()), Out(0, "Y")};
  spec.sizes = PlaneSizes(p, c);
  spec.defines = {{"MX", tile.mx},
                  {"NV", tile.nv},
                  {"POINT", IsPoint(p)},
                  {"STRIDE", IsPoint(p) ? 0 : p.x.stride}};
  spec.dims = 3;
  spec.global =
      Grid(DivideUp(p.ow, tile.mx) * p.oh, DivideUp(c.out_channels, tile.columns()), c.images);
  spec.flops = FlopsOf(op, c);
  return Launches{spec};
}

Result<KernelOffer> AcceptsStem(const OpView& op, const KernelRequest& request,
                                const Convolution& c) {
  TIMCL_TRY(CheckBlocks(op, request, c));
  if (!OneGroup(c)) return Refuse("several groups");
  if (c.channels > 4) return Refuse(to_string(c.channels) + " channels are more than 4");
  const Window &x = c.axes[0], &y = c.axes[1];
  if (x.stride != y.stride || x.stride > 4) return Refuse("strides that differ, or exceed 4");
  if (15 * x.stride + (x.size - 1) * x.dilation >= kLine)
    return Refuse("the window is wider than " + to_string(kLine) + " pixels");
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
}
Result<Launches> StemLaunch(const OpView& op, const KernelRequest& request, const Convolution& c) {
  const Shape& y = op.out(0).shape();
  const Plane p = {c.axes[0], c.axes[1], y[0], y[1]};
  // Few shapes, as of kTiles.
  const Tile tile = request.caps.few_registers()      ? Tile{6, 1, 1}
                    : c.out_channels <= kChannelBlock ? Tile{16, 1, 1}
                    : p.ow <= 5                       ? Tile{5, 4, 1}
                                                      : Tile{14, 2, 1};
  KernelSpec spec;
  spec.source = "conv_stem.cl";
  spec.entry = "conv_stem";
  spec.operands = {In(0, "X"), PackWeights(op, c, tile.columns(), 1),
                   PackedBias(op, c.out_channels, c.out_channels, tile.columns()), Out(0, "Y")};
  spec.sizes = {{"IW", p.x.in},
                {"IH", p.y.in},
                {"C", c.channels},
                {"OW", p.ow},
                {"OH", p.oh},
                {"OC", c.out_channels},
                {"KW", p.x.size},
                {"KH", p.y.size},
                {"DILATION_X", p.x.dilation},
                {"DILATION_Y", p.y.dilation},
                {"LEFT", p.x.front},
                {"TOP", p.y.front}};
  spec.defines = {{"MX", tile.mx}, {"MY", 1}, {"NV", tile.nv}, {"STRIDE", p.x.stride}};
  spec.dims = 3;
  spec.global =
      Grid(DivideUp(p.ow, tile.mx) * p.oh, DivideUp(c.out_channels, tile.columns()), c.images);
  spec.flops = FlopsOf(op, c);
  return Launches{spec};
}

namespace {

/// The form of depthwise_block.cl for windows without dilation, or 0 for any.
struct Strip {
  int64_t stride = 0, mx = 7, my = 1;
};
Strip StripOf(const OpView& op, const Convolution& c, const DeviceCaps& caps) {
  const Shape& out = op.out(0).shape();
  const Window &x = c.axes[0], &y = c.axes[1];
  const int64_t beyond = (out[0] - 1) * x.stride + x.size - x.front - x.in;
  const bool square = x.size == y.size && (x.size == 3 || x.size == 5) && x.stride == y.stride &&
                      x.stride <= 2 && x.dilation == 1 && y.dilation == 1;
  Strip s;
  if (caps.few_registers()) s.mx = 3;
  // Narrow maps are one strip, of their own width.
  const int64_t narrowest = std::min<int64_t>(s.mx, 4);
  if (square && out[0] >= narrowest) s.mx = std::min(s.mx, out[0]);
  if (square && out[0] >= s.mx && x.front <= x.size / 2 && beyond <= x.size / 2)
    s.stride = x.stride, s.my = 2;
  return s;
}

}  // namespace

Result<KernelOffer> AcceptsDepthwise(const OpView& op, const KernelRequest& request,
                                     const Convolution& c) {
  TIMCL_TRY(CheckBlocks(op, request, c));
  if (c.group != 1 || c.used != 1 || c.out_channels != c.channels)
    return Refuse("not one output channel for each input channel");
  KernelOffer offer = {.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
  offer.pays_for_forms = c.channels >= 8;
  return offer;
}
Result<Launches> DepthwiseLaunch(const OpView& op, const KernelRequest& request,
                                 const Convolution& c) {
  const Shape& out = op.out(0).shape();
  const Window &x = c.axes[0], &y = c.axes[1];
  const Strip strip = StripOf(op, c, request.caps);
  const int64_t blocks = DivideUp(c.channels, kChannelBlock);
  // Many rows per work-item share the weights; enough work-items keep all cores busy, and enough of
  // them down the image let each core stay with the rows that it has in its cache.
  constexpr int64_t kStrips = 8, kLeastItems = 32;
  int64_t rows = DivideUp(DivideUp(out[1], kStrips), strip.my) * strip.my;
  if (strip.stride == 0) rows = 1;
  while (rows > strip.my && blocks * c.images * DivideUp(out[1], rows) < kLeastItems)
    rows = DivideUp(rows / 2, strip.my) * strip.my;
  KernelSpec spec;
  spec.source = "depthwise_block.cl";
  spec.entry = "depthwise_block";
  spec.operands = {In(0, "X"), Operand(), PackedBias(op, c.channels, c.channels, kChannelBlock),
                   Out(0, "Y")};
  // One input channel each: [blocks][taps][16].
  spec.operands[1] = PackWeights(op, c, kChannelBlock, 1);
  spec.sizes = {{"IW", x.in},   {"IH", y.in},      {"OW", out[0]},
                {"OH", out[1]}, {"LEFT", x.front}, {"TOP", y.front}};
  if (strip.stride > 0) {
    spec.sizes.emplace_back("ROWS", rows);
    spec.defines = {{"K", x.size}};
  } else {
    spec.sizes.insert(spec.sizes.end(), {{"KW", x.size},
                                         {"KH", y.size},
                                         {"STRIDE_X", x.stride},
                                         {"STRIDE_Y", y.stride},
                                         {"DILATION_X", x.dilation},
                                         {"DILATION_Y", y.dilation}});
  }
  spec.defines.insert(spec.defines.end(),
                      {{"STRIDE", strip.stride}, {"MX", strip.mx}, {"MY", strip.my}});
  spec.dims = 3;
  spec.global = Grid(DivideUp(out[1], rows), blocks, c.images);
  spec.flops = FlopsOf(op, c);
  return Launches{spec};
}

namespace {

/// One way of Winograd: tiles of m x m results, `rows` of them and nv vectors of channels at once.
struct Form {
  int64_t m, rows, nv;
  bool fused;   // in one launch
  double step;  // as of Tile
  int64_t taps() const { return (m + 2) * (m + 2); }
  int64_t columns() const { return nv * kChannelBlock; }
};
/// Fused, the transformed input stays on the stack of a worker: 16 KB of 7 tiles for each block.
constexpr int64_t kFusedBlocks = 8;
constexpr Form kForms[] = {{4, 7, 4, true, 1.03}, {4, 8, 2, false, 1.12}, {2, 8, 2, false, 1.12}};
constexpr Form kSmallForms[] = {
    {4, 6, 1, true, 1.03}, {4, 6, 1, false, 1.12}, {2, 6, 1, false, 1.12}};

struct Winograd {
  Form form;
  int64_t tiles, blocks, groups, parts;
  double cycles;
};

/// The cheapest form; cycles are those of all cores together, by the same measure as CyclesOf.
Winograd ChooseForm(const Plane& p, const Convolution& c, const DeviceCaps& caps) {
  Winograd best = {{}, 0, 0, 0, 0, std::numeric_limits<double>::infinity()};
  const double in_blocks = static_cast<double>(DivideUp(c.channels, kChannelBlock));
  const double out_blocks = static_cast<double>(DivideUp(c.out_channels, kChannelBlock));
  for (const Form& f : caps.few_registers() ? std::span<const Form>(kSmallForms) : kForms) {
    if (f.fused && DivideUp(c.channels, kChannelBlock) > kFusedBlocks) continue;
    Winograd w = {f, 0, 0, 0, 0, 0};
    w.tiles = DivideUp(p.ow, f.m) * DivideUp(p.oh, f.m);
    w.blocks = DivideUp(w.tiles, f.rows);
    w.groups = DivideUp(c.out_channels, f.columns());
    // With few blocks of tiles, two work-items share one, and both transform its input.
    w.parts = !f.fused ? w.groups : w.blocks * c.images < 12 ? std::min<int64_t>(w.groups, 2) : 1;
    const double vectors = static_cast<double>(f.rows * f.nv), taps = static_cast<double>(f.taps());
    const double products = static_cast<double>(w.blocks * w.groups) * taps * vectors *
                            (static_cast<double>(c.channels) * f.step + 4);
    // Measured: cycles to transform one tile of 16 channels, to and fro.
    const double tile = f.m == 4 ? 260 : 120;
    const double transforms = static_cast<double>(w.tiles) * tile *
                              (in_blocks * static_cast<double>(f.fused ? w.parts : 1) + out_blocks);
    const double two_launches = f.fused ? 0 : static_cast<double>(w.tiles) * taps * in_blocks * 3;
    // Weights come from memory once per run; half of that is hidden.
    const double weights =
        taps * static_cast<double>(c.channels * w.groups * f.columns()) * sizeof(float) / 12;
    w.cycles = static_cast<double>(c.images) * (products + transforms + two_launches) + weights;
    if (w.cycles < best.cycles) best = w;
  }
  return best;
}

/// G of F(m x m, 3x3): winograd_block.cl names the points.
std::vector<std::array<double, 3>> TransformOf(int64_t m) {
  if (m == 2) return {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  const double root = 1.4142135623730950488;
  return {{1, 0, 0},
          {-2.0 / 3, -root / 3, -1.0 / 3},
          {-2.0 / 3, root / 3, -1.0 / 3},
          {1.0 / 6, root / 6, 1.0 / 3},
          {1.0 / 6, -root / 6, 1.0 / 3},
          {0, 0, 1}};
}

/// G w G^T of every pair of channels as [groups][taps][channels][columns].
Operand TransformWeights(const OpView& op, const Convolution& c, const Form& f) {
  const int64_t width = f.columns(), taps = f.taps(), m = f.m;
  const int64_t ins = c.channels, outs = c.out_channels, slice = c.per_slice * 9;
  const RealValues weights(op.in(1).data(), op.in(1).dtype());
  const auto pack = [=](float* packed) {
    const auto g = TransformOf(m);
    // Some channels at once, whose results are neighbours.
    constexpr int64_t kLanes = 16;
    for (int64_t first = 0; first < outs; first += kLanes) {
      float* const group = packed + first / width * taps * ins * width + first % width;
      const int64_t lanes = std::min(kLanes, outs - first);
      for (int64_t u = 0; u < ins; ++u) {
        double w[9][kLanes] = {};
        for (int64_t o = 0; o < lanes; ++o) {
          for (int64_t k = 0; k < 9; ++k) w[k][o] = weights[(first + o) * slice + u * 9 + k];
        }
        float* to = group + u * width;
        for (const auto& row : g) {
          double line[3][kLanes];  // this row of G times w
          for (size_t k = 0; k < 3; ++k) {
            for (size_t o = 0; o < kLanes; ++o)
              line[k][o] = row[0] * w[k][o] + row[1] * w[3 + k][o] + row[2] * w[6 + k][o];
          }
          for (const auto& column : g) {
            for (size_t o = 0; o < kLanes; ++o)
              to[o] = static_cast<float>(line[0][o] * column[0] + line[1][o] * column[1] +
                                         line[2][o] * column[2]);
            to += ins * width;
          }
        }
      }
    }
  };
  return PackedData<float>(DivideUp(outs, width) * width * ins * taps, "U", "float", pack);
}

/// What lies between the two launches: the input of all tiles in blocks of channels.
size_t TransformedBytes(const Convolution& c, const Winograd& w) {
  return static_cast<size_t>(c.images * w.blocks * w.form.taps() *
                             DivideUp(c.channels, kChannelBlock) * w.form.rows * kChannelBlock) *
         sizeof(float);
}

}  // namespace

Result<KernelOffer> AcceptsWinograd(const OpView& op, const KernelRequest& request,
                                    const Convolution& c) {
  TIMCL_TRY(CheckBlocks(op, request, c));
  if (!OneGroup(c)) return Refuse("several groups");
  for (const Window& w : {c.axes[0], c.axes[1]}) {
    if (w.size != 3 || w.stride != 1 || w.dilation != 1)
      return Refuse("only windows of 3x3 with stride 1");
  }
  const Plane p = PlaneOf(op, c);
  if (c.channels < 16 || c.out_channels < 16) return Refuse("fewer than 16 channels");
  const int64_t terms = c.channels * 9;
  const double weights = static_cast<double>(terms * c.out_channels) * sizeof(float) / 12;
  const auto images = static_cast<double>(c.images);
  double direct = images * CyclesOf(ChooseTile(p, c.out_channels, terms, request.caps), p,
                                    c.out_channels, terms) +
                  weights;
  if (request.relaxed && request.caps.dot_product_bf16) {
    const Tile tile = ChooseBf16Tile(p, c.out_channels, c.channels);
    direct = images * Bf16CyclesOf(tile, p, c.out_channels, c.channels) + weights / 2;
  }
  const Winograd winograd = ChooseForm(p, c, request.caps);
  if (winograd.cycles > 0.9 * direct)
    return Refuse("the tiles of " + to_string(p.ow) + "x" + to_string(p.oh) +
                  " pixels save too little");
  const size_t bytes = winograd.form.fused ? 0 : TransformedBytes(c, winograd);
  if (bytes / sizeof(float) > std::numeric_limits<int32_t>::max() ||
      !request.caps.CanAllocate(bytes))
    return Refuse("the transformed input is too large for one piece of memory");
  KernelOffer offer = {.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
  offer.pays_for_forms = true;
  return offer;
}
Result<Launches> WinogradLaunches(const OpView& op, const KernelRequest& request,
                                  const Convolution& c) {
  const Plane p = PlaneOf(op, c);
  const Winograd winograd = ChooseForm(p, c, request.caps);
  const auto [form, tiles, blocks, groups, parts, cycles] = winograd;
  const int64_t in_blocks = DivideUp(c.channels, kChannelBlock);
  KernelSpec base;
  base.source = "winograd_block.cl";
  base.entry = "winograd_block";
  base.sizes = {{"IW", p.x.in}, {"IH", p.y.in}};
  base.defines = {{"M", form.m}, {"MR", form.rows}, {"NV", form.nv}};
  base.dims = 3;
  KernelSpec sums = base;
  sums.operands = {In(0, "X"), TransformWeights(op, c, form),
                   PackedBias(op, c.out_channels, c.out_channels, form.columns()), Out(0, "Y")};
  sums.sizes.insert(sums.sizes.end(), {{"IC", c.channels},
                                       {"OW", p.ow},
                                       {"OH", p.oh},
                                       {"OC", c.out_channels},
                                       {"LEFT", p.x.front},
                                       {"TOP", p.y.front}});
  sums.global = Grid(blocks, parts, c.images);
  sums.flops = 2.0 * static_cast<double>(tiles * form.taps() * c.images) *
               static_cast<double>(c.channels * c.out_channels);
  if (form.fused) {
    sums.defines.insert(sums.defines.end(), {{"STAGE", 0}, {"BLOCKS", kFusedBlocks}});
    return Launches{sums};
  }
  KernelSpec transform = base;
  const size_t between = TransformedBytes(c, winograd);
  transform.operands = {In(0, "X"), Scratch(0, between, "V", "float")};
  transform.sizes.insert(transform.sizes.end(),
                         {{"OW", p.ow}, {"OH", p.oh}, {"LEFT", p.x.front}, {"TOP", p.y.front}});
  transform.defines.emplace_back("STAGE", 1);
  transform.global = Grid(tiles, in_blocks, c.images);
  sums.operands[0] = Scratch(0, between, "V", "float");
  sums.defines.emplace_back("STAGE", 2);
  return Launches{transform, sums};
}

}  // namespace tim::vx::weighted_sum
