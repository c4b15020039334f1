// Convolutions over plain tensors in register tiles (conv_window.cl; tim/vx/weighted_sum.h): how a
// strip of results is cut, and the weights as it reads them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "tim/vx/matrix_product.h"
#include "tim/vx/weighted_sum.h"

namespace tim::vx::weighted_sum {
namespace {

using std::to_string;

Status Refuse(const std::string& why) { return Status::Error(Code::kUnsupported, why); }

// MOST_CELLS, MOST_SUMS, MOST_STORED of conv_window.cl.
constexpr int64_t kCells = 8192, kSums = 16384, kStored = 2048;
constexpr int64_t kLeastProducts = 1024;

/// One axis as the kernel walks along it: `positions`, each of `spread` neighbouring results, the
/// phases, of which the first `skip` lie before the output. Position 0 of a plane reads the cell
/// `origin`, the next one the cell `step` further.
struct Axis {
  struct Tap {
    int64_t plane, shift, phase;  // `shift` positions from the plane's first
  };
  int64_t positions = 1, step = 1, spread = 1, skip = 0;
  std::vector<int64_t> origins;  // of the planes
  std::vector<Tap> taps;         // of the window
  int64_t more = 0;              // cells of a plane beyond those of the positions
};

Axis TransposedAxis(const Window& w, int64_t out) {
  Axis a;
  const int64_t shift = w.front / w.stride, reach = DivideUp(w.size, w.stride);
  a.spread = w.stride, a.skip = w.front % w.stride;
  a.positions = (out - 1 + w.front) / w.stride - shift + 1;
  a.more = reach - 1;
  a.origins = {shift - a.more};
  // Tap k reaches result stride * m + k - front from cell m.
  for (int64_t k = 0; k < w.size; ++k) a.taps.push_back({0, a.more - k / w.stride, k % w.stride});
  return a;
}

Axis AxisOf(const Window& w, bool transposed, int64_t out) {
  if (transposed) return TransposedAxis(w, out);
  Axis a;
  a.positions = out, a.step = w.stride;
  // Taps share a plane where their distance is a number of strides, unless so few positions lie
  // side by side that most of its cells would be read by none.
  std::vector<int64_t> remainders;
  for (int64_t k = 0; k < w.size; ++k) {
    const int64_t remainder = k * w.dilation % w.stride;
    auto at = std::find(remainders.begin(), remainders.end(), remainder);
    a.taps.push_back({at - remainders.begin(), k * w.dilation / w.stride, 0});
    if (at == remainders.end()) remainders.push_back(remainder);
    a.more = a.taps.back().shift;
  }
  const int64_t together = std::min<int64_t>(out, 48);
  if (static_cast<int64_t>(remainders.size()) * (together + a.more) > w.size * together) {
    a.more = 0;
    remainders.clear();
    for (int64_t k = 0; k < w.size; ++k) {
      a.taps[static_cast<size_t>(k)] = {k, 0, 0};
      remainders.push_back(k * w.dilation);
    }
  }
  for (int64_t remainder : remainders) a.origins.push_back(remainder - w.front);
  return a;
}

struct Axes {
  Axis x, y;
  int64_t slices;       // results along D
  int64_t pairs, taps;  // input channels times kernel slices; taps of one
  int64_t planes() const { return std::ssize(x.origins) * std::ssize(y.origins); }
  int64_t phases() const { return x.spread * y.spread; }
};
Axes AxesOf(const OpView& op, const Convolution& c) {
  const auto [ow, oh, od] = PositionsOf(op);
  return {AxisOf(c.axes[0], c.transposed, ow), AxisOf(c.axes[1], c.transposed, oh), od,
          c.used * c.axes[2].size, c.axes[0].size * c.axes[1].size};
}

int64_t ProductsOf(const OpView& op, const Axes& a) {
  return op.out(0).shape().count() / a.phases() * a.pairs * a.taps;
}

/// What a work-item takes: a strip of rows x columns positions, `chunk` channels of a group in
/// tiles of `tile.rows` channels and `tile.columns()` positions.
struct Strip {
  MatrixTile tile = {0, 0};
  int64_t rows = 1, columns = 1, across = 1, down = 1, chunk = 1, block = 1;
  double cycles = std::numeric_limits<double>::infinity();
};

/// Few shapes, since each is a kernel to compile; `step` is what a sum of one term costs per
/// vector, in cycles, measured.
struct TileCost {
  MatrixTile tile;
  double step;
};
constexpr TileCost kTiles[] = {
    {{8, 3}, 1.0}, {{6, 4}, 1.0}, {{4, 6}, 1.1}, {{8, 1}, 1.3}, {{1, 8}, 2.0}};
/// For registers that hold 8 vectors of 16 floats (DeviceCaps::few_registers).
constexpr TileCost kSmallTiles[] = {{{6, 1}, 1.0}, {{4, 1}, 1.1}, {{1, 4}, 2.0}};

/// The strip of so many rows and columns with that tile; infinite cycles where it is too large.
Strip Cut(const Axes& a, const Convolution& c, const TileCost& t, int64_t rows, int64_t columns,
          int64_t cores) {
  Strip s;
  s.tile = t.tile, s.rows = rows, s.columns = columns;
  s.across = DivideUp(a.x.positions, columns), s.down = DivideUp(a.y.positions, rows);
  const int64_t pitch = columns + a.x.more, plane_rows = rows + a.y.more;
  const int64_t cells = a.planes() * pitch * plane_rows;
  const int64_t tiles = DivideUp((rows - 1) * pitch + columns, s.tile.columns());
  const int64_t sums = a.phases() * tiles * s.tile.columns() * s.tile.rows;
  if (cells > kCells || sums > kSums || a.phases() * rows * columns > kStored) return s;
  const int64_t steps = DivideUp(c.group, s.tile.rows), parts = DivideUp(steps, kSums / sums);
  s.chunk = DivideUp(steps, parts) * s.tile.rows;
  s.block = std::min(a.pairs, kCells / cells);
  const auto real = [](int64_t n) { return static_cast<double>(n); };
  const double vectors = real(tiles * s.chunk * s.tile.vectors);
  const double blocks = real(DivideUp(a.pairs, s.block));
  const double sum = vectors * (real(a.pairs * a.taps) * t.step + blocks * real(a.phases()) * 4);
  const double copy = real(a.pairs * a.planes() * plane_rows) * (8 + real(pitch) / 16 * 3);
  const double store = real(std::min(s.chunk, c.group) * a.phases() * rows) *
                       (10 + real(columns) * (a.x.spread == 1 ? 0.4 : 1.5));
  const int64_t items =
      s.across * s.down * a.slices * c.images * DivideUp(c.out_channels, c.group) * parts;
  s.cycles = (sum + copy + store + 300) * real(DivideUp(items, cores) * cores);
  return s;
}

Strip ChooseStrip(const Axes& a, const Convolution& c, const DeviceCaps& caps) {
  constexpr int64_t kMostRows = 16, kLeastColumns = 16, kMostColumns = 1024;
  std::span<const TileCost> tiles = kTiles;
  if (caps.few_registers()) tiles = kSmallTiles;
  const int64_t widest = a.x.positions, cores = std::max<int64_t>(caps.compute_units, 1);
  Strip best;
  int64_t before = 0;
  for (int64_t pieces = DivideUp(widest, kMostColumns); pieces <= DivideUp(widest, kLeastColumns);
       ++pieces) {
    const int64_t columns = DivideUp(widest, pieces);
    if (columns == before) continue;
    before = columns;
    for (int64_t rows = 1; rows <= std::min(a.y.positions, kMostRows); ++rows) {
      for (const TileCost& t : tiles) {
        const Strip s = Cut(a, c, t, rows, columns, cores);
        if (s.cycles < best.cycles) best = s;
      }
    }
  }
  return best;
}

/// A tap: its phase, its index in the kernel, and what it reads for the first position.
struct Tap {
  int64_t phase, cell, plane, row, column;
};
/// Those of the window, phase after phase.
std::vector<Tap> TapsOf(const Axes& axes) {
  std::vector<Tap> taps;
  for (const Axis::Tap& y : axes.y.taps) {
    for (const Axis::Tap& x : axes.x.taps) {
      taps.push_back({y.phase * axes.x.spread + x.phase, std::ssize(taps),
                      y.plane * std::ssize(axes.x.origins) + x.plane, y.shift, x.shift});
    }
  }
  std::stable_sort(taps.begin(), taps.end(),
                   [](const Tap& a, const Tap& b) { return a.phase < b.phase; });
  return taps;
}

/// For each phase its first tap, and the number of all.
std::vector<int64_t> FirstTaps(const Axes& a, const std::vector<Tap>& taps) {
  std::vector<int64_t> first;
  for (int64_t phase = 0; phase <= a.phases(); ++phase) {
    first.push_back(
        std::count_if(taps.begin(), taps.end(), [&](const Tap& t) { return t.phase < phase; }));
  }
  return first;
}

/// T of conv_window.cl.
Operand Table(const Axes& a, const std::vector<Tap>& taps, const Strip& s) {
  const int64_t pitch = s.columns + a.x.more, plane = pitch * (s.rows + a.y.more);
  std::vector<int32_t> table;
  auto add = [&](int64_t v) { table.push_back(static_cast<int32_t>(v)); };
  for (int64_t y : a.y.origins) {
    for (int64_t x : a.x.origins) add(y), add(x);
  }
  for (int64_t first : FirstTaps(a, taps)) add(first);
  for (const Tap& t : taps) add(t.plane * s.block * plane + t.row * pitch + t.column);
  return Data(table, "T", "int");
}

/// W: [groups][ceil(group / rows)][phases][used][kernel slices][taps of the phase][rows].
Operand PackWindows(const OpView& op, const Convolution& c, const Axes& a,
                    const std::vector<Tap>& taps, int64_t rows) {
  const int64_t slices = c.axes[2].size, padded = DivideUp(c.group, rows) * rows;
  const int64_t slice = c.per_slice * slices * a.taps, terms = a.pairs * a.taps;
  const float* const weights = op.in(1).data_as<float>();
  const auto pack = [=, begins = FirstTaps(a, taps), outs = c.out_channels, group = c.group,
                     pairs = a.pairs, cells = a.taps](float* packed) {
    for (int64_t o = 0; o < outs; ++o) {
      const int64_t row = o / group * padded + o % group;
      float* const to = packed + row / rows * rows * terms + row % rows;
      const float* const from = weights + o * slice;
      for (size_t phase = 0; phase + 1 < begins.size(); ++phase) {
        const int64_t begin = begins[phase], here = begins[phase + 1] - begin;
        for (int64_t pair = 0; pair < pairs; ++pair) {
          for (int64_t k = 0; k < here; ++k) {
            to[(pairs * begin + pair * here + k) * rows] =
                from[pair * cells + taps[static_cast<size_t>(begin + k)].cell];
          }
        }
      }
    }
  };
  return PackedData<float>(DivideUp(c.out_channels, c.group) * padded * terms, "W", "float", pack);
}

}  // namespace

Result<KernelOffer> AcceptsWindow(const OpView& op, const KernelRequest& request,
                                  const Convolution& c) {
  TIMCL_TRY(CheckConstantFloats(op, request));
  for (const TensorView& t : {op.in(0), op.in(1), op.out(0)}) {
    if (t.dtype() != DataType::FLOAT32) return Refuse("only f32, not " + t.label());
  }
  const Axes a = AxesOf(op, c);
  const TileCost& tile = request.caps.few_registers() ? kSmallTiles[0] : kTiles[0];
  const Strip least = Cut(a, c, tile, 1, std::min<int64_t>(a.x.positions, 16), 1);
  if (std::isinf(least.cycles))
    return Refuse("the window of " + to_string(a.taps) + " cells reads more than " +
                  to_string(kCells) + " for 16 results");
  if (a.x.positions * a.y.positions < 4) return Refuse("less than 4 positions side by side");
  if (ProductsOf(op, a) < kLeastProducts) return Refuse("too small to be worth packing");
  // Groups are padded to whole tiles.
  const int64_t padded = DivideUp(c.out_channels, c.group) * (c.group + 7);
  if (padded > std::numeric_limits<int32_t>::max() / (a.pairs * a.taps))
    return Refuse("more than 2^31 - 1 packed weights");
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
}
Result<Launches> WindowLaunch(const OpView& op, const KernelRequest& request,
                              const Convolution& c) {
  const Axes a = AxesOf(op, c);
  const Strip s = ChooseStrip(a, c, request.caps);
  const std::vector<Tap> taps = TapsOf(a);
  const Window& z = c.axes[2];
  const auto [ow, oh, od] = PositionsOf(op);
  KernelSpec spec;
  spec.source = "conv_window.cl";
  spec.entry = "conv_window";
  spec.operands = {In(0, "X"), PackWindows(op, c, a, taps, s.tile.rows),
                   PackedBias(op, c.out_channels, c.group, s.tile.rows), Table(a, taps, s),
                   Out(0, "Y")};
  spec.sizes = {{"SAFE", std::max<int64_t>(op.in(0).shape().count() - 15, 0)},
                {"IW", c.axes[0].in},
                {"IH", c.axes[1].in},
                {"ID", z.in},
                {"IC", c.channels},
                {"OW", ow},
                {"OH", oh},
                {"OD", od},
                {"OC", c.out_channels},
                {"USED", c.used},
                {"GROUP", c.group},
                {"KD", z.size},
                {"STRIDE_Z", z.stride},
                {"DILATION_Z", z.dilation},
                {"FRONT", z.front},
                {"STEP_X", a.x.step},
                {"STEP_Y", a.y.step},
                {"SPREAD_X", a.x.spread},
                {"SPREAD_Y", a.y.spread},
                {"SKIP_X", a.x.skip},
                {"SKIP_Y", a.y.skip},
                {"PLANES", a.planes()},
                {"PLANE_ROWS", s.rows + a.y.more},
                {"PITCH", s.columns + a.x.more},
                {"TAPS", a.taps},
                {"ROWS", s.rows},
                {"COLS", s.columns},
                {"ACROSS", s.across},
                {"DOWN", s.down},
                {"CHUNK", s.chunk},
                {"BLOCK", s.block}};
  spec.defines = {{"MR", s.tile.rows}, {"NV", s.tile.vectors}};
  spec.dims = 3;
  spec.global = Grid(s.across * s.down * od,
                     DivideUp(c.out_channels, c.group) * DivideUp(c.group, s.chunk), c.images);
  spec.flops = 2.0 * static_cast<double>(ProductsOf(op, a));
  return Launches{spec};
}

}  // namespace tim::vx::weighted_sum
