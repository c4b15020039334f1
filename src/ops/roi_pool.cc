// RoiPool: maxima of the bins of regions of feature maps.  Source: Caffe ROIPooling; ONNX
// MaxRoiPool-1.
#include "tim/vx/ops/roi_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct RoiPoolAttrs {
  PoolType type = PoolType::MAX;
  float scale = 1;
  std::array<uint32_t, 2> size = {1, 1};
  DataLayout input_layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(type, scale, size, input_layout)
};

Status Verify(const OpView& op) {
  const auto& a = op.attrs<RoiPoolAttrs>();
  TIMCL_TRY(op.CheckRank(0, 4, 4));
  if (a.type != PoolType::MAX) {
    return op.Error(Code::kInvalidArgument, "attribute type must be MAX");
  }
  if (!(a.scale > 0) || !std::isfinite(a.scale)) {
    return op.Error(Code::kInvalidArgument,
                    "attribute scale is " + to_string(a.scale) + ", but must be positive");
  }
  if (a.size[0] == 0 || a.size[1] == 0) {
    return op.Error(Code::kInvalidArgument, "attribute size [" + to_string(a.size[0]) + "," +
                                                to_string(a.size[1]) + "] must be positive");
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<RoiPoolAttrs>();
  const Shape& r = op.in(1).shape();
  const bool flat = r.rank() == 2 && r[0] == 5;
  if (!flat && !(r.rank() == 4 && r[0] == 1 && r[1] == 1 && r[2] == 5)) {
    return op.InputError(1, Code::kInvalidShape, "must be [5,R] or [1,1,5,R]");
  }
  return Shapes{{a.size[0], a.size[1], op.in(0).shape()[2], r[r.rank() - 1]}};
}

/// Toward zero, limited; NaN gives 0.
int64_t Whole(float v) { return Saturated(std::clamp(v, -1e9f, 1e9f)); }

/// The cells of one bin along one axis, from `begin` to before `end`.
struct Bin {
  Bin(float low, float high, float scale, int64_t bins, int64_t bin, int64_t extent) {
    const int64_t first = Whole(std::floor(low * scale + 0.5f));
    const int64_t last = Whole(std::floor(high * scale + 0.5f));
    const int64_t size = std::max<int64_t>(last - first + 1, 1);
    begin = std::clamp<int64_t>(bin * size / bins + first, 0, extent);
    end = std::clamp<int64_t>(DivideUp((bin + 1) * size, bins) + first, 0, extent);
  }
  int64_t begin, end;
};

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto& a = op.attrs<RoiPoolAttrs>();
  const Shape &x = op.in(0).shape(), &y = op.out(0).shape();
  for (int64_t at = 0; at < y.count(); ++at) {
    const int64_t ox = at % a.size[0], oy = at / a.size[0] % a.size[1];
    const int64_t plane = at / (int64_t{a.size[0]} * a.size[1]), c = plane % x[2];
    auto roi = [&](int64_t k) { return ins[1].Float(plane / x[2] * 5 + k); };
    const int64_t image = Whole(roi(0));
    const Bin bx(roi(1), roi(3), a.scale, a.size[0], ox, x[0]);
    const Bin by(roi(2), roi(4), a.scale, a.size[1], oy, x[1]);
    int64_t best = -1;
    double most = 0;
    if (image >= 0 && image < x[3]) {
      for (int64_t cy = by.begin; cy < by.end; ++cy) {
        for (int64_t cx = bx.begin; cx < bx.end; ++cx) {
          const int64_t cell = ((image * x[2] + c) * x[1] + cy) * x[0] + cx;
          const double v = IsInteger(ins[0].type().dtype) ? static_cast<double>(ins[0].Raw(cell))
                                                          : ins[0].At(cell);
          if (best >= 0 && !(v > most) && (!std::isnan(v) || std::isnan(most))) continue;
          best = cell, most = v;
        }
      }
    }
    if (best >= 0) {
      ref::Copy(outs[0], at, ins[0], best);
    } else {
      outs[0].Set(at, 0);
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  const auto& a = op.attrs<RoiPoolAttrs>();
  const Shape& x = op.in(0).shape();
  const int64_t items = op.out(0).shape().count();
  return Launches{{.source = "roi_pool.cl",
                   .entry = "roi_pool",
                   .operands = {In(0, "X"), In(1, "R"), Out(0, "Y")},
                   .sizes = {{"IW", x[0]},
                             {"IH", x[1]},
                             {"C", x[2]},
                             {"N", x[3]},
                             {"OW", a.size[0]},
                             {"OH", a.size[1]},
                             {"ITEMS", items}},
                   .reals = {{"SCALE", a.scale}},
                   .defines = {{"WHOLE", IsInteger(op.in(0).dtype())}},
                   .global = Grid(items),
                   .local = {64, 1, 1},
                   .float_math = true}};
}
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> rois = {1, 2,  3, 13, 12, 0, 0, 0, 7,   15,
                                    1, -5, 2, 4,  30, 1, 6, 6, 6.5, 6};
  auto add = [&](const RoiPoolAttrs& a, const Shape& x, const Shape& r, const char* note) {
    make.Of(a).In(F32(x)).In(F32(r)).Values(rois).Note(note);
  };
  add({}, {8, 6, 2, 2}, {5, 4}, "one bin");
  add({PoolType::MAX, 0.5f, {3, 2}}, {8, 6, 3, 2}, {5, 4}, "half the scale");
  add({PoolType::MAX, 0.7f, {2, 5}}, {8, 6, 3, 2}, {1, 1, 5, 4}, "rois of rank 4");
  add({PoolType::MAX, 1, {3, 3}}, {20, 16, 2, 2}, {5, 4}, "scale 1, regions outside");
  make.Of(RoiPoolAttrs{PoolType::MAX, 1, {2, 2}})
      .In(F32({5, 4, 2, 2}))
      .Values({2, 2, -1, nan, 3, -std::numeric_limits<double>::infinity(), 1})
      .In(F32({5, 6}))
      .Values({-1, 0,     0, 3,    3, 2, 0,   0, 3, 3, 1.9, 9, 9, 1, 1,
               0,  -1e30, 0, 1e30, 3, 0, nan, 0, 3, 3, nan, 0, 0, 3, 3})
      .Note("images that do not exist, regions turned round, very large, NaN");
  make.Of(RoiPoolAttrs{PoolType::MAX, 1, {2, 3}})
      .In(F32({6, 5, 2, 2}))
      .In(F32({5, 2}))
      .Values({1, 1, 0, 4, 4, 0, 2, 1, 3, 2})
      .Note("types")
      .EachType();
  make.Of(RoiPoolAttrs{PoolType::MAX, 1.0f / 16, {7, 7}})
      .In(F32({50, 38, 64, 1}))
      .In(F32({5, 32}))
      .Values({0, 100, 80, 420, 300, 0, 0, 0, 700, 500, 0, 300, 200, 400, 580})
      .Note("32 regions, 64 channels")
      .Bench();
}

constexpr OpDef kRoiPool = {.name = "RoiPool",
                            .inputs = "input rois",
                            .types = "real, real -> real",
                            .schema = &kAttrSchema<RoiPoolAttrs>,
                            .verify = Verify,
                            .infer = Infer,
                            .reference = Reference,
                            .kernels = kKernels,
                            .layout = LayoutRule::Fixed("input_layout"),
                            .tolerance = Tolerance::Exact(),
                            .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(RoiPool, RoiPoolAttrs,
                    (PoolType type, float scale, const std::array<uint32_t, 2>& size,
                     DataLayout input_layout),
                    (type, scale, size, input_layout), type_(type), scale_(scale), size_(size));

TIMCL_OPS(roi_pool) { Add(kRoiPool); }

}  // namespace tim::vx::ops
