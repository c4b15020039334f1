// Resize and Resize1d: sampling at another size.  Source: TFLite ResizeBilinear,
// ResizeNearestNeighbor; tf.raw_ops.ResizeArea.
#include "tim/vx/ops/resize.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tim/vx/op_kit.h"
#include "tim/vx/ops/resize1d.h"
#include "tim/vx/weighted_sum_bytes.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct ResizeAttrs {
  ResizeType type = ResizeType::NEAREST_NEIGHBOR;
  float factor = 0;  // 0: the targets hold
  bool align_corners = false;
  bool half_pixel_centers = false;
  int32_t target_height = 0;
  int32_t target_width = 0;
  DataLayout layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(type, factor, align_corners, half_pixel_centers, target_height, target_width, layout)
  std::vector<int64_t> targets() const { return {target_width, target_height}; }
};
struct Resize1dAttrs {
  ResizeType type = ResizeType::NEAREST_NEIGHBOR;
  float factor = 0;
  bool align_corners = false;
  bool half_pixel_centers = false;
  int32_t target_size = 0;
  DataLayout layout = DataLayout::WHCN;
  TIMCL_FIELDS(type, factor, align_corners, half_pixel_centers, target_size, layout)
  std::vector<int64_t> targets() const { return {target_size}; }
};

template <class Attrs>
Status Verify(const OpView& op) {
  const auto& a = op.attrs<Attrs>();
  const std::vector<int64_t> targets = a.targets();
  const Shape& x = op.in(0).shape();
  if (x.rank() < targets.size()) {
    return op.InputError(0, Code::kInvalidShape,
                         "it needs " + to_string(targets.size()) + " dimensions or more");
  }
  if (!(a.factor >= 0) || std::isinf(a.factor)) {
    return op.Error(Code::kInvalidArgument, "attribute factor is " + to_string(a.factor) +
                                                ", it must be a positive number, or 0");
  }
  for (size_t d = 0; d < targets.size(); ++d) {
    if (a.factor == 0 && targets[d] <= 0) {
      return op.Error(Code::kInvalidArgument, "factor is 0 and the target of dimension " +
                                                  to_string(d) + " is " + to_string(targets[d]) +
                                                  ", it must be positive");
    }
    const float extent = static_cast<float>(x[d]) * a.factor;
    if (a.factor != 0 && !(extent >= 1 && extent < 0x1p32f)) {
      return op.InputError(0, Code::kInvalidShape,
                           "dimension " + to_string(d) + " times factor " + to_string(a.factor) +
                               " is no extent: it must be 1 or more and below 2^32");
    }
  }
  return Status();
}

template <class Attrs>
Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<Attrs>();
  const std::vector<int64_t> targets = a.targets();
  Shape y = op.in(0).shape();
  for (size_t d = 0; d < targets.size(); ++d) {
    y[d] = a.factor == 0 ? targets[d] : static_cast<int64_t>(static_cast<float>(y[d]) * a.factor);
  }
  return Shapes{y};
}

/// One axis: where its results come from.
struct Axis {
  int64_t in = 1, out = 1;
  ResizeType type = ResizeType::NEAREST_NEIGHBOR;
  bool align_corners = false, half_pixel_centers = false;

  float scale() const {
    return align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                    : static_cast<float>(in) / static_cast<float>(out);
  }
  int64_t Limit(int64_t cell) const { return std::clamp<int64_t>(cell, 0, in - 1); }
  int64_t Nearest(int64_t o) const {
    const float half = half_pixel_centers ? 0.5f : 0.0f;
    const float at = (static_cast<float>(o) + half) * scale() + (align_corners ? 0.5f : 0.0f);
    return Limit(static_cast<int64_t>(at));
  }
  /// Result o of the other types is the sum of cells from `first` on; those beyond the last one are
  /// the last one.
  struct Taps {
    int64_t first = 0;
    std::vector<float> weights;
  };
  Taps Bilinear(int64_t o) const {
    const float half = half_pixel_centers ? 0.5f : 0.0f;
    const float at = (static_cast<float>(o) + half) * scale() - half;
    const float below = std::floor(at);
    const int64_t cell = static_cast<int64_t>(below);
    if (cell < 0 || cell >= in - 1) return {Limit(cell), {1.0f, 0.0f}};
    return {cell, {1.0f - (at - below), at - below}};
  }
  Taps Area(int64_t o) const {
    const double step = scale(), from = step * static_cast<double>(o), to = from + step;
    Taps taps = {Limit(static_cast<int64_t>(from)), {}};
    for (int64_t cell = taps.first; static_cast<double>(cell) < to; ++cell) {
      const double inside =
          std::min(to, static_cast<double>(cell + 1)) - std::max(from, static_cast<double>(cell));
      taps.weights.push_back(static_cast<float>(inside / step));
    }
    if (taps.weights.empty()) taps.weights = {1.0f};  // one cell for many results
    return taps;
  }
  Taps At(int64_t o) const { return type == ResizeType::AREA ? Area(o) : Bilinear(o); }
};

template <class Attrs>
Axis AxisOf(const OpView& op, size_t d) {
  const auto& a = op.attrs<Attrs>();
  Axis axis = {1, 1, a.type, a.align_corners, a.half_pixel_centers};
  if (d < a.targets().size()) {
    axis.in = op.in(0).shape()[d];
    axis.out = (*Infer<Attrs>(op))[0][d];
  } else {
    axis.type = ResizeType::BILINEAR;
    axis.align_corners = axis.half_pixel_centers = false;
  }
  return axis;
}

template <class T>
void Sample(const Axis& x, const Axis& y, const ref::Input& in, ref::Output& out) {
  for (int64_t i = 0; i < out.count(); ++i) {
    const int64_t plane = i / (x.out * y.out);
    const Axis::Taps across = x.At(i % x.out), down = y.At(i / x.out % y.out);
    T sum = 0;
    for (size_t j = 0; j < down.weights.size(); ++j) {
      if (down.weights[j] == 0) continue;
      const int64_t row = plane * y.in + y.Limit(down.first + static_cast<int64_t>(j));
      T part = 0;
      for (size_t t = 0; t < across.weights.size(); ++t) {
        if (across.weights[t] == 0) continue;
        const int64_t cell = x.Limit(across.first + static_cast<int64_t>(t));
        part += T{across.weights[t]} * in.As<T>(row * x.in + cell);
      }
      sum += T{down.weights[j]} * part;
    }
    out.Set(i, sum);
  }
}

template <class Attrs>
Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Axis x = AxisOf<Attrs>(op, 0), y = AxisOf<Attrs>(op, 1);
  if (x.type == ResizeType::NEAREST_NEIGHBOR) {
    for (int64_t i = 0; i < outs[0].count(); ++i) {
      const int64_t plane = i / (x.out * y.out);
      const int64_t row = plane * y.in + y.Nearest(i / x.out % y.out);
      ref::Copy(outs[0], i, ins[0], row * x.in + x.Nearest(i % x.out));
    }
  } else if (IsInteger(op.out(0).dtype())) {
    Sample<float>(x, y, ins[0], outs[0]);  // the steps of the kernel
  } else {
    Sample<double>(x, y, ins[0], outs[0]);
  }
  return Status();
}

/// The taps of all results, by tap, each row `padded` long.
struct Table {
  std::vector<int32_t> first;
  std::vector<float> weights;
  int64_t taps = 1;
};
Table TableOf(const Axis& axis, int64_t padded) {
  std::vector<Axis::Taps> all;
  Table table;
  for (int64_t o = 0; o < axis.out; ++o) {
    all.push_back(axis.At(o));
    table.taps = std::max(table.taps, static_cast<int64_t>(all.back().weights.size()));
  }
  table.first.resize(static_cast<size_t>(padded));
  table.weights.resize(static_cast<size_t>(padded * table.taps));
  for (size_t o = 0; o < all.size(); ++o) {
    table.first[o] = static_cast<int32_t>(all[o].first);
    for (size_t t = 0; t < all[o].weights.size(); ++t) {
      table.weights[t * static_cast<size_t>(padded) + o] = all[o].weights[t];
    }
  }
  return table;
}

/// What kernels of weighted sums have in common. `padded`: the length of a row of the weights along
/// the width.
KernelSpec WeightedSpec(const std::string& entry, const Axis& x, const Axis& y, int64_t padded) {
  const Table tx = TableOf(x, padded), ty = TableOf(y, y.out);
  KernelSpec spec;
  spec.source = entry + ".cl";
  spec.entry = entry;
  spec.operands = {In(0, "X"),
                   Data(tx.first, "IX", "int"),
                   Data(tx.weights, "WX", "float"),
                   Data(ty.first, "IY", "int"),
                   Data(ty.weights, "WY", "float"),
                   Out(0, "Y")};
  spec.sizes = {{"IW", x.in},  {"IH", y.in},        {"OW", x.out},
                {"OH", y.out}, {"TAPS_X", tx.taps}, {"TAPS_Y", ty.taps}};
  spec.float_math = true;
  return spec;
}

template <class Attrs>
Result<Launches> Weighted(const OpView& op, const KernelRequest& request) {
  const Axis x = AxisOf<Attrs>(op, 0), y = AxisOf<Attrs>(op, 1);
  const int64_t run = RunLength(request.caps), across = DivideUp(x.out, run);
  const int64_t items = op.out(0).shape().count() / x.out * across;
  KernelSpec spec = WeightedSpec("resize", x, y, across * run);
  spec.sizes.emplace_back("ITEMS", items);
  spec.defines = {{"RUN", run}};
  spec.global = Grid(items);
  spec.local = {64, 1, 1};
  return Launches{spec};
}

/// The cells of the results along an axis.
std::vector<int32_t> CellsOf(const Axis& axis) {
  std::vector<int32_t> cells;
  for (int64_t o = 0; o < axis.out; ++o) cells.push_back(static_cast<int32_t>(axis.Nearest(o)));
  return cells;
}

template <class Attrs>
Result<Launches> Nearest(const OpView& op, const KernelRequest& request) {
  const Axis x = AxisOf<Attrs>(op, 0), y = AxisOf<Attrs>(op, 1);
  const int64_t run = RunLength(request.caps);
  const int64_t items = op.out(0).shape().count() / x.out * DivideUp(x.out, run);
  return Launches{
      {.source = "resize_nearest.cl",
       .entry = "resize_nearest",
       .operands = {In(0, "X"), Data(CellsOf(x), "IX", "int"), Data(CellsOf(y), "IY", "int"),
                    Out(0, "Y")},
       .sizes = {{"IW", x.in}, {"IH", y.in}, {"OW", x.out}, {"OH", y.out}, {"ITEMS", items}},
       .defines = {{"RUN", run}},
       .global = Grid(items),
       .local = {64, 1, 1}}};
}

template <class Attrs>
Result<KernelOffer> AcceptsNearest(const OpView& op, const KernelRequest&) {
  if (op.attrs<Attrs>().type != ResizeType::NEAREST_NEIGHBOR) {
    return Status::Error(Code::kUnsupported, "type is not NEAREST_NEIGHBOR");
  }
  return KernelOffer{KernelSpec::Epilogue::kScalar};
}
template <class Attrs>
Result<KernelOffer> AcceptsWeighted(const OpView& op, const KernelRequest&) {
  if (op.attrs<Attrs>().type == ResizeType::NEAREST_NEIGHBOR) {
    return Status::Error(Code::kUnsupported, "type is NEAREST_NEIGHBOR");
  }
  return KernelOffer{KernelSpec::Epilogue::kScalar};
}

Result<KernelOffer> AcceptsBlocks(const OpView& op, const KernelRequest& request) {
  if (!request.caps.is_cpu) return Status::Error(Code::kUnsupported, "not a CPU");
  if (!SameEncoding(op.in(0).type(), op.out(0).type()))
    return Status::Error(Code::kUnsupported, "another encoding");
  TIMCL_TRY(AcceptsNearest<ResizeAttrs>(op, request).status());
  return KernelOffer{};
}
Result<Launches> Blocks(const OpView& op, const KernelRequest& request) {
  const Axis x = AxisOf<ResizeAttrs>(op, 0), y = AxisOf<ResizeAttrs>(op, 1);
  const Shape lies = InForm(op.out(0).type(), request.out).shape;
  return Launches{{.source = "resize_nearest_block.cl",
                   .entry = "resize_nearest_block",
                   .operands = {In(0, "X"), Data(CellsOf(x), "IX", "int"),
                                Data(CellsOf(y), "IY", "int"), Out(0, "Y")},
                   .sizes = {{"IW", x.in}, {"IH", y.in}, {"OW", x.out}, {"OH", y.out}},
                   .defines = {{"BYTES", BitsOf(op.in(0).dtype()) / 8}, {"FLIP", 0}},
                   .global = Grid(lies[2] * lies[3] * lies[4])}};
}

/// Sums over blocks of 16 channels, of floats or of bytes.
Result<KernelOffer> AcceptsWeightedBlocks(const OpView& op, const KernelRequest& request) {
  if (!request.caps.register_tiles_pay)
    return Status::Error(Code::kUnsupported, "register tiles do not pay on this device");
  TIMCL_TRY(AcceptsWeighted<ResizeAttrs>(op, request).status());
  const auto real = [](const TensorView& t) {
    return t.dtype() == DataType::FLOAT32 || t.dtype() == DataType::FLOAT16;
  };
  const auto byte = [](const TensorView& t) { return weighted_sum::IsByte(t.type()); };
  const Shape& x = op.in(0).shape();
  const bool pays = x.rank() >= 3 && x[2] >= kChannelBlock;
  if (real(op.in(0)) && real(op.out(0))) return KernelOffer{KernelSpec::Epilogue::kVector, pays};
  if (byte(op.in(0)) && byte(op.out(0))) return KernelOffer{KernelSpec::Epilogue::kLanes, pays};
  return Status::Error(Code::kUnsupported, "only f32, f16, and i8 and u8 with one scale");
}
Result<Launches> WeightedBlocks(const OpView& op, const KernelRequest& request) {
  const Axis x = AxisOf<ResizeAttrs>(op, 0), y = AxisOf<ResizeAttrs>(op, 1);
  const Shape lies = InForm(op.out(0).type(), request.out).shape;
  KernelSpec spec = WeightedSpec("resize_block", x, y, x.out);
  spec.defines = {{"BYTES", BitsOf(op.in(0).dtype()) == 8 ? 1 : 4}, {"DOT", 0}};
  spec.global = Grid(lies[2] * lies[3] * lies[4]);
  return Launches{spec};
}

constexpr KernelCandidate kResizeKernels[] = {
    {"nearest", AcceptsNearest<ResizeAttrs>, Nearest<ResizeAttrs>},
    {"weighted", AcceptsWeighted<ResizeAttrs>, Weighted<ResizeAttrs>},
    {"nearest in blocks",
     AcceptsBlocks,
     Blocks,
     {},
     false,
     TensorForm::kBlocked,
     TensorForm::kBlocked},
    {"weighted in blocks",
     AcceptsWeightedBlocks,
     WeightedBlocks,
     {},
     false,
     TensorForm::kBlocked,
     TensorForm::kBlocked}};
constexpr KernelCandidate kResize1dKernels[] = {
    {"nearest", AcceptsNearest<Resize1dAttrs>, Nearest<Resize1dAttrs>},
    {"weighted", AcceptsWeighted<Resize1dAttrs>, Weighted<Resize1dAttrs>}};

// Sums of products with both signs.
constexpr Tolerance kTolerance = Tolerance::Ulp(4, 0, 4e-6);

constexpr ResizeType kTypes[] = {ResizeType::NEAREST_NEIGHBOR, ResizeType::BILINEAR,
                                 ResizeType::AREA};

void ResizeCases(CaseMaker& make) {
  using namespace cases;
  for (ResizeType type : kTypes) {
    auto of = [&](int width, int height, bool align = false, bool half = false) {
      return ResizeAttrs{type, 0, align, half, height, width};
    };
    make.Of(of(1, 1)).In(F32({1, 1, 1, 1})).Note("one element");
    make.Of(of(5, 3)).In(F32({1, 1, 2, 1})).Note("one cell for many");
    make.Of(of(7, 5)).In(F32({7, 5, 2, 1})).Note("the same size");
    for (auto [align, half] : {std::pair(false, false), std::pair(true, false),
                               std::pair(false, true), std::pair(true, true)}) {
      make.Of(of(19, 11, align, half)).In(F32({7, 5, 3, 2})).Note("larger");
      make.Of(of(4, 3, align, half)).In(F32({13, 9, 3, 2})).Note("smaller");
      make.Of(of(1, 1, align, half)).In(F32({6, 4, 2, 1})).Note("to one cell");
      make.Of(of(40, 2, align, half)).In(F32({21, 7, 2})).Note("beyond a vector, rank 3");
      make.Of(of(5, 9, align, half)).In(U8({6, 4, 2, 1})).Note("larger and smaller");
    }
    for (float factor : {2.0f, 0.5f, 1.7f}) {
      make.Of(ResizeAttrs{type, factor, false, true, 0, 0, DataLayout::CWHN})
          .In(F32({7, 5, 2, 1}))
          .Note("factor");
    }
    make.Of(of(3, 4)).In(F32({5, 3})).Note("rank 2");
    make.Of(of(3, 4, false, true)).In(F32({5, 3, 1, 2, 2})).Note("rank 5");
    make.Of(of(9, 6, false, true)).In(F32({5, 4, 2, 1})).Note("types").EachType();
    make.Of(of(9, 12, false, true))
        .In(F32({7, 5, 35, 2}))
        .Note("blocks of channels, the last of 3")
        .EachType();
  }
  make.Of(ResizeAttrs{ResizeType::NEAREST_NEIGHBOR, 2})
      .In(F32({28, 28, 64, 1}))
      .Note("nearest to 56x56")
      .Bench();
  make.Of(ResizeAttrs{ResizeType::BILINEAR, 2, false, true})
      .In(F32({28, 28, 64, 1}))
      .Note("bilinear to 56x56")
      .Bench();
}

constexpr OpDef kResize = {.name = "Resize",
                           .types = "real -> real",
                           .schema = &kAttrSchema<ResizeAttrs>,
                           .verify = Verify<ResizeAttrs>,
                           .infer = Infer<ResizeAttrs>,
                           .reference = Reference<ResizeAttrs>,
                           .kernels = kResizeKernels,
                           .layout = LayoutRule::Fixed("layout"),
                           .tolerance = kTolerance,
                           .cases = TIMCL_CASES(ResizeCases)};

void Resize1dCases(CaseMaker& make) {
  using namespace cases;
  for (ResizeType type : kTypes) {
    for (auto [align, half] : {std::pair(false, false), std::pair(true, false),
                               std::pair(false, true), std::pair(true, true)}) {
      make.Of(Resize1dAttrs{type, 0, align, half, 19}).In(F32({7, 3, 2})).Note("larger");
      make.Of(Resize1dAttrs{type, 0, align, half, 4}).In(F32({13, 3, 2})).Note("smaller");
      make.Of(Resize1dAttrs{type, 2.5f, align, half, 0}).In(F32({9, 3, 2})).Note("factor");
    }
    make.Of(Resize1dAttrs{type, 0, false, false, 3, DataLayout::CWHN}).In(F32({1})).Note("rank 1");
    make.Of(Resize1dAttrs{type, 0, false, true, 9}).In(F32({5, 4, 2})).Note("types").EachType();
  }
  make.Of(Resize1dAttrs{ResizeType::BILINEAR, 2}).In(F32({4000, 16, 1})).Note("signals").Bench();
}

constexpr OpDef kResize1d = {.name = "Resize1d",
                             .types = "real -> real",
                             .schema = &kAttrSchema<Resize1dAttrs>,
                             .verify = Verify<Resize1dAttrs>,
                             .infer = Infer<Resize1dAttrs>,
                             .reference = Reference<Resize1dAttrs>,
                             .kernels = kResize1dKernels,
                             .layout = LayoutRule::Fixed("layout"),
                             .tolerance = kTolerance,
                             .cases = TIMCL_CASES(Resize1dCases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Resize, ResizeAttrs,
                    (ResizeType type, float factor, bool align_corners, bool half_pixel_centers,
                     int target_height, int target_width, DataLayout layout),
                    (type, factor, align_corners, half_pixel_centers, target_height, target_width,
                     layout),
                    type_(type), factor_(factor), align_corners_(align_corners),
                    half_pixel_centers_(half_pixel_centers), target_height_(target_height),
                    target_width_(target_width));
TIMCL_OP_CLASS_WITH(Resize1d, Resize1dAttrs,
                    (ResizeType type, float factor, bool align_corners, bool half_pixel_centers,
                     int target_size, DataLayout layout),
                    (type, factor, align_corners, half_pixel_centers, target_size, layout),
                    type_(type), factor_(factor), align_corners_(align_corners),
                    half_pixel_centers_(half_pixel_centers), target_size_(target_size));

TIMCL_OPS(resize) {
  Add(kResize);
  Add(kResize1d);
}

}  // namespace tim::vx::ops
