// Convolutions over plain tensors in register tiles (conv_window.cl; tim/vx/weighted_sum.h): how a
// strip of results is cut, and the weights as it reads them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "tim/vx/float16.h"
#include "tim/vx/matrix_product.h"
#include "tim/vx/weighted_sum_bytes.h"

namespace tim::vx::weighted_sum {
namespace {

using std::to_string;

Status Refuse(const std::string& why) { return Status::Error(Code::kUnsupported, why); }

// MOST_CELLS, MOST_SUMS, MOST_STORED of conv_window.cl.
constexpr int64_t kCells = 8192, kSums = 16384, kWideSums = 8192, kStored = 2048;
constexpr int64_t kLeastProducts = 1024;

/// One axis as the kernel walks along it: `positions`, each of `spread` neighbouring results, the
/// phases, of which the first `skip` lie before the output. Position 0 of a plane reads the cell
/// `origin`, the next one the cell `step` further.
struct Axis {
  struct Tap {
    int64_t plane, shift, phase;  // `shift` positions from the plane's first
    int64_t cell, second = -1;    // of the window; of the upper halves, -1: none
  };
  /// Of a plane, of the lower and of the upper halves of its cells.
  using Origin = std::array<int64_t, 2>;
  int64_t positions = 1, step = 1, spread = 1, skip = 0;
  std::vector<Origin> origins;  // of the planes
  std::vector<Tap> taps;        // of the window
  int64_t more = 0;             // cells of a plane beyond those of the positions
};

Axis TransposedAxis(const Window& w, int64_t out) {
  Axis a;
  const int64_t shift = w.front / w.stride, reach = DivideUp(w.size, w.stride);
  a.spread = w.stride, a.skip = w.front % w.stride;
  a.positions = (out - 1 + w.front) / w.stride - shift + 1;
  a.more = reach - 1;
  a.origins = {{shift - a.more, shift - a.more}};
  // Tap k reaches result stride * m + k - front from cell m.
  for (int64_t k = 0; k < w.size; ++k)
    a.taps.push_back({0, a.more - k / w.stride, k % w.stride, k});
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
    a.taps.push_back({at - remainders.begin(), k * w.dilation / w.stride, 0, k});
    if (at == remainders.end()) remainders.push_back(remainder);
    a.more = a.taps.back().shift;
  }
  const int64_t together = std::min<int64_t>(out, 48);
  if (static_cast<int64_t>(remainders.size()) * (together + a.more) > w.size * together) {
    a.more = 0;
    remainders.clear();
    for (int64_t k = 0; k < w.size; ++k) {
      a.taps[static_cast<size_t>(k)] = {k, 0, 0, k};
      remainders.push_back(k * w.dilation);
    }
  }
  for (int64_t remainder : remainders)
    a.origins.push_back({remainder - w.front, remainder - w.front});
  return a;
}

/// The same with two neighbouring taps of a phase as one: its cells have both in their halves.
Axis Paired(const Axis& from) {
  Axis a = from;
  a.origins.clear(), a.taps.clear(), a.more = 0;
  for (int64_t phase = 0; phase < a.spread; ++phase) {
    const Axis::Tap* lower = nullptr;
    const auto add = [&](const Axis::Tap* upper) {
      const int64_t origin = from.origins[static_cast<size_t>(lower->plane)][0];
      const int64_t second = upper == nullptr ? origin
                                              : from.origins[static_cast<size_t>(upper->plane)][0] +
                                                    (upper->shift - lower->shift) * a.step;
      // Zero weights meet the upper halves of one that is left over, whatever they are.
      const auto plane = std::find_if(a.origins.begin(), a.origins.end(), [&](const auto& o) {
        return o[0] == origin && (upper == nullptr || o[1] == second);
      });
      a.taps.push_back({plane - a.origins.begin(), lower->shift, phase, lower->cell,
                        upper == nullptr ? -1 : upper->cell});
      if (plane == a.origins.end()) a.origins.push_back({origin, second});
      a.more = std::max(a.more, lower->shift);
      lower = nullptr;
    };
    for (const Axis::Tap& tap : from.taps) {
      if (tap.phase != phase) continue;
      if (lower != nullptr) {
        add(&tap);
      } else {
        lower = &tap;
      }
    }
    if (lower != nullptr) add(nullptr);
  }
  return a;
}

/// What the factors are, and what a tile and memory hold of their sums.
struct Terms {
  int64_t together = 1;  // TERMS of conv_window.cl
  int64_t limit = std::numeric_limits<int32_t>::max(), sums = kSums;
};

struct Axes {
  Axis x, y;
  int64_t slices = 1;           // results along D
  int64_t joined = 1;           // input channels in a cell
  int64_t pairs = 1, taps = 1;  // cells along the input channels times kernel slices; taps of one
  int64_t deepest = 1;          // taps of the phase that has most
  int64_t planes() const { return std::ssize(x.origins) * std::ssize(y.origins); }
  int64_t phases() const { return x.spread * y.spread; }
};
Axes AxesOf(const OpView& op, const Convolution& c, int64_t together) {
  const auto [ow, oh, od] = PositionsOf(op);
  Axes a;
  a.x = AxisOf(c.axes[0], c.transposed, ow), a.y = AxisOf(c.axes[1], c.transposed, oh);
  a.slices = od;
  a.joined = c.used > 1 ? together : 1;
  if (a.joined < together) a.x = Paired(a.x);
  a.pairs = DivideUp(c.used, a.joined) * c.axes[2].size;
  a.taps = std::ssize(a.x.taps) * std::ssize(a.y.taps);
  const auto deepest = [](const Axis& axis) {
    std::vector<int64_t> taps(static_cast<size_t>(axis.spread));
    for (const Axis::Tap& t : axis.taps) ++taps[static_cast<size_t>(t.phase)];
    return *std::max_element(taps.begin(), taps.end());
  };
  a.deepest = deepest(a.x) * deepest(a.y);
  return a;
}

int64_t TapsOf(const Convolution& c) { return c.axes[0].size * c.axes[1].size * c.axes[2].size; }

/// Of one phase, whose taps are their share of all.
int64_t ProductsOf(const OpView& op, const Convolution& c) {
  const int64_t unused = c.transposed ? c.axes[0].stride * c.axes[1].stride : 1;
  return op.out(0).shape().count() / unused * c.used * TapsOf(c);
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
Strip Cut(const Axes& a, const Convolution& c, const Terms& of, const TileCost& t, int64_t rows,
          int64_t columns, int64_t cores) {
  Strip s;
  s.tile = t.tile, s.rows = rows, s.columns = columns;
  s.across = DivideUp(a.x.positions, columns), s.down = DivideUp(a.y.positions, rows);
  const int64_t pitch = columns + a.x.more, plane_rows = rows + a.y.more;
  const int64_t cells = a.planes() * pitch * plane_rows;
  const int64_t tiles = DivideUp((rows - 1) * pitch + columns, s.tile.columns());
  const int64_t sums = a.phases() * tiles * s.tile.columns() * s.tile.rows;
  if (cells > kCells || sums > of.sums || a.phases() * rows * columns > kStored) return s;
  const int64_t steps = DivideUp(c.group, s.tile.rows), parts = DivideUp(steps, of.sums / sums);
  s.chunk = DivideUp(steps, parts) * s.tile.rows;
  s.block = std::min({a.pairs, kCells / cells, of.limit / (a.deepest * of.together)});
  if (s.block == 0) return s;
  const auto real = [](int64_t n) { return static_cast<double>(n); };
  const double vectors = real(tiles * s.chunk * s.tile.vectors);
  const double blocks = real(DivideUp(a.pairs, s.block));
  const double sum = vectors * (real(a.pairs * a.taps) * t.step + blocks * real(a.phases()) * 4);
  const double copy =
      real(a.pairs * a.planes() * plane_rows * of.together) * (8 + real(pitch) / 16 * 3);
  const double store = real(std::min(s.chunk, c.group) * a.phases() * rows) *
                       (10 + real(columns) * (a.x.spread == 1 ? 0.4 : 1.5));
  const int64_t items =
      s.across * s.down * a.slices * c.images * DivideUp(c.out_channels, c.group) * parts;
  s.cycles = (sum + copy + store + 300) * real(DivideUp(items, cores) * cores);
  return s;
}

Strip ChooseStrip(const Axes& a, const Convolution& c, const Terms& of, const DeviceCaps& caps) {
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
        const Strip s = Cut(a, c, of, t, rows, columns, cores);
        if (s.cycles < best.cycles) best = s;
      }
    }
  }
  return best;
}

/// A tap: its phase, its indices in the kernel (Axis::Tap), and what it reads for the first
/// position.
struct Tap {
  int64_t phase, cell, second, plane, row, column;
};
/// Those of a window so wide, phase after phase.
std::vector<Tap> TapsOf(const Axes& axes, int64_t width) {
  std::vector<Tap> taps;
  for (const Axis::Tap& y : axes.y.taps) {
    for (const Axis::Tap& x : axes.x.taps) {
      const int64_t row = y.cell * width;
      taps.push_back({y.phase * axes.x.spread + x.phase, row + x.cell,
                      x.second < 0 ? -1 : row + x.second,
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
Operand Table(const Axes& a, const std::vector<Tap>& taps, const Strip& s, int64_t together) {
  const int64_t pitch = s.columns + a.x.more, plane = pitch * (s.rows + a.y.more);
  std::vector<int32_t> table;
  auto add = [&](int64_t v) { table.push_back(static_cast<int32_t>(v)); };
  for (const Axis::Origin& y : a.y.origins) {
    for (const Axis::Origin& x : a.x.origins) {
      add(y[0]), add(x[0]);
      if (together == 2) add(x[1]);
    }
  }
  for (int64_t first : FirstTaps(a, taps)) add(first);
  for (const Tap& t : taps) add(t.plane * s.block * plane + t.row * pitch + t.column);
  return Data(table, "T", "int");
}

/// W: [groups][ceil(group / rows)][phases][used][kernel slices][taps of the phase][rows]. A cell is
/// both(lower, upper) of the indices of two weights, of which -1 is none.
template <class T, class Both>
Operand PackWindows(const Convolution& c, const Axes& a, const std::vector<Tap>& taps, int64_t rows,
                    const char* element, Both both) {
  const int64_t padded = DivideUp(c.group, rows) * rows;
  const int64_t cells = c.axes[0].size * c.axes[1].size, slice = c.per_slice * TapsOf(c);
  const auto pack = [=, begins = FirstTaps(a, taps), outs = c.out_channels, group = c.group,
                     used = c.used, depth = c.axes[2].size, terms = a.pairs * a.taps,
                     pairs = a.pairs, joined = a.joined](T* packed) {
    for (int64_t o = 0; o < outs; ++o) {
      const int64_t row = o / group * padded + o % group;
      T* const to = packed + row / rows * rows * terms + row % rows;
      for (size_t phase = 0; phase + 1 < begins.size(); ++phase) {
        const int64_t begin = begins[phase], here = begins[phase + 1] - begin;
        for (int64_t pair = 0; pair < pairs; ++pair) {
          const int64_t u = pair / depth * joined;
          const int64_t from = o * slice + (u * depth + pair % depth) * cells;
          for (int64_t k = 0; k < here; ++k) {
            const Tap& tap = taps[static_cast<size_t>(begin + k)];
            int64_t second = tap.second < 0 ? -1 : from + tap.second;
            if (joined > 1) second = u + 1 < used ? from + depth * cells + tap.cell : -1;
            to[(pairs * begin + pair * here + k) * rows] = both(from + tap.cell, second);
          }
        }
      }
    }
  };
  return PackedData<T>(DivideUp(c.out_channels, c.group) * padded * a.pairs * a.taps, "W", element,
                       pack);
}

/// kUnsupported where no strip fits, or it is too small.
Status CheckWindow(const OpView& op, const KernelRequest& request, const Convolution& c,
                   const Terms& of) {
  const Axes a = AxesOf(op, c, of.together);
  const TileCost& tile = request.caps.few_registers() ? kSmallTiles[0] : kTiles[0];
  const Strip least = Cut(a, c, of, tile, 1, std::min<int64_t>(a.x.positions, 16), 1);
  if (least.block == 0)
    return Refuse("the sum of a window of one channel may leave the range of a tile");
  if (std::isinf(least.cycles))
    return Refuse("the window of " + to_string(TapsOf(c)) + " cells reads more than " +
                  to_string(kCells) + " for 16 results");
  if (a.x.positions * a.y.positions < 4) return Refuse("less than 4 positions side by side");
  if (ProductsOf(op, c) < kLeastProducts) return Refuse("too small to be worth packing");
  // Groups are padded to whole tiles.
  const int64_t padded = DivideUp(c.out_channels, c.group) * (c.group + 7);
  if (padded > std::numeric_limits<int32_t>::max() / (a.pairs * a.taps))
    return Refuse("more than 2^31 - 1 packed weights");
  return Status();
}

/// What the launches share: all but their operands and most of their defines.
KernelSpec WindowSpec(const OpView& op, const Convolution& c, const Axes& a, const Strip& s) {
  const Window& z = c.axes[2];
  const auto [ow, oh, od] = PositionsOf(op);
  KernelSpec spec;
  spec.source = "conv_window.cl";
  spec.entry = "conv_window";
  spec.sizes = {{"SAFE", std::max<int64_t>(op.in(0).shape().count() - 15, 0)},
                {"IW", c.axes[0].in},
                {"IH", c.axes[1].in},
                {"ID", z.in},
                {"IC", c.channels},
                {"OW", ow},
                {"OH", oh},
                {"OD", od},
                {"OC", c.out_channels},
                {"CHANNELS", c.used},
                {"USED", a.pairs / z.size},
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
  spec.dims = 3;
  spec.global = Grid(s.across * s.down * od,
                     DivideUp(c.out_channels, c.group) * DivideUp(c.group, s.chunk), c.images);
  spec.flops = 2.0 * static_cast<double>(ProductsOf(op, c));
  spec.defines = {{"MR", s.tile.rows}, {"NV", s.tile.vectors}};
  return spec;
}

}  // namespace

Result<KernelOffer> AcceptsWindow(const OpView& op, const KernelRequest& request,
                                  const Convolution& c) {
  TIMCL_TRY(CheckConstantFloats(op, request));
  TIMCL_TRY(CheckWindow(op, request, c, {}));
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
}
Result<Launches> WindowLaunch(const OpView& op, const KernelRequest& request,
                              const Convolution& c) {
  const Axes a = AxesOf(op, c, 1);
  const Strip s = ChooseStrip(a, c, {}, request.caps);
  const std::vector<Tap> taps = TapsOf(a, c.axes[0].size);
  KernelSpec spec = WindowSpec(op, c, a, s);
  const RealValues weights(op.in(1).data(), op.in(1).dtype());
  spec.operands = {In(0, "X"),
                   PackWindows<float>(c, a, taps, s.tile.rows, "float",
                                      [=](int64_t k, int64_t) { return weights[k]; }),
                   PackedBias(op, c.out_channels, c.group, s.tile.rows), Table(a, taps, s, 1),
                   Out(0, "Y")};
  spec.defines.emplace_back("INTEGERS", 0);
  return Launches{spec};
}

namespace {

bool HasShortZero(const OpView& op) {
  return IsShort(op.in(0).type()) && op.in(0).type().zero_point() != 0;
}
/// Minus a zero point, cells of 16 bits reach as far as those of 17.
int64_t SpreadOf(const OpView& op) { return HasShortZero(op) ? 2 : 1; }

/// Sums of products with weights of 8 bits, minus all zero points.
struct ByteTerms {
  ByteTerms(const OpView& op, const Convolution& c, bool dot)
      : weights(op.in(1)),
        channels(ChannelsOf(op, c.out_channels, c.used * TapsOf(c), weights,
                            c.per_slice * TapsOf(c), /*centred=*/true)),
        shorts(dot || IsShort(op.in(0).type())) {
    terms.together = dot ? 2 : 1;
    if (channels.wide()) terms.sums = kWideSums;
    // MOVES of tile8.clh.
    if (shorts ? channels.wide() : !dot)
      terms.limit = LimitOf(op, channels, (weights.Fit() ? 128 : 255) * SpreadOf(op));
  }
  Weights weights;
  Channels channels;
  bool shorts;
  Terms terms;
};

}  // namespace

template <bool kDot>
Result<KernelOffer> Bytes<kDot>::AcceptsWindow(const OpView& op, const KernelRequest& request,
                                               const Convolution& c) {
  TIMCL_TRY(CheckBytes(op, request, c.out_channels, c.used * TapsOf(c), kDot,
                       {.shorts = true, .any_weights = true}));
  if (kDot && HasShortZero(op))
    return Refuse("numbers of 16 bits minus a zero point need not fit 16 bits");
  // As if sums were as large as can be; only where that fails all weights are looked at.
  const int64_t limit = std::numeric_limits<int32_t>::max() / (32768 * 255 * SpreadOf(op));
  const Terms worst = {kDot ? 2 : 1, limit, kWideSums};
  if (!CheckWindow(op, request, c, worst).ok())
    TIMCL_TRY(CheckWindow(op, request, c, ByteTerms(op, c, kDot).terms));
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kLanes, .stores_once = true};
}

template <bool kDot>
Result<Launches> Bytes<kDot>::WindowLaunch(const OpView& op, const KernelRequest& request,
                                           const Convolution& c) {
  const ByteTerms of(op, c, kDot);
  const Axes a = AxesOf(op, c, of.terms.together);
  const Strip s = ChooseStrip(a, c, of.terms, request.caps);
  const std::vector<Tap> taps = TapsOf(a, c.axes[0].size);
  const int64_t rows = s.tile.rows, padded = DivideUp(c.group, rows) * rows;
  Channels rowwise = of.channels;
  rowwise.bias.assign(static_cast<size_t>(DivideUp(c.out_channels, c.group) * padded), 0);
  for (int64_t o = 0; o < c.out_channels; ++o)
    rowwise.bias[static_cast<size_t>(o / c.group * padded + o % c.group)] =
        of.channels.bias[static_cast<size_t>(o)];
  const Weights weights = of.weights;
  const auto both = [=](int64_t lower, int64_t upper) {
    const uint32_t low = static_cast<uint16_t>(weights[lower]);
    return static_cast<int32_t>(low |
                                (upper < 0 ? 0u : static_cast<uint32_t>(weights[upper]) << 16));
  };
  Operand packed;
  if (kDot) {
    packed = PackWindows<int32_t>(c, a, taps, rows, "int", both);
  } else if (of.shorts) {
    packed = PackWindows<int32_t>(c, a, taps, rows, "int",
                                  [=](int64_t k, int64_t) { return weights[k]; });
  } else {
    packed = PackWindows<float>(c, a, taps, rows, "float",
                                [=](int64_t k, int64_t) { return static_cast<float>(weights[k]); });
  }
  KernelSpec spec = WindowSpec(op, c, a, s);
  spec.operands = {In(0, "X"),
                   packed,
                   PaddedBias(rowwise, 1, "bias"),
                   Table(a, taps, s, of.terms.together),
                   Data(of.channels.m, "M", "float"),
                   Out(0, "Y")};
  spec.defines.insert(spec.defines.end(), {{"INTEGERS", 1},
                                           {"DOT", kDot},
                                           {"SHORTS", of.shorts},
                                           {"WIDE", of.channels.wide()},
                                           {"JOINED", a.joined}});
  return Launches{spec};
}

template Result<KernelOffer> Bytes<false>::AcceptsWindow(const OpView&, const KernelRequest&,
                                                         const Convolution&);
template Result<KernelOffer> Bytes<true>::AcceptsWindow(const OpView&, const KernelRequest&,
                                                        const Convolution&);
template Result<Launches> Bytes<false>::WindowLaunch(const OpView&, const KernelRequest&,
                                                     const Convolution&);
template Result<Launches> Bytes<true>::WindowLaunch(const OpView&, const KernelRequest&,
                                                    const Convolution&);

}  // namespace tim::vx::weighted_sum
