// RoiAlign: averages of bilinear samples in regions of feature maps.  Source: NNAPI ROI_ALIGN; ONNX
// RoiAlign-10.
#include "tim/vx/ops/roi_align.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct RoiAlignAttrs {
  int32_t output_height = 1;
  int32_t output_width = 1;
  float height_ratio = 1;
  float width_ratio = 1;
  int32_t height_sample_num = 0;  // 0: as many as a bin has cells, rounded up
  int32_t width_sample_num = 0;
  DataLayout input_layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(output_height, output_width, height_ratio, width_ratio, height_sample_num,
               width_sample_num, input_layout)
};

enum Input : size_t { kFeatures, kRois, kImages };

Status Verify(const OpView& op) {
  const auto& a = op.attrs<RoiAlignAttrs>();
  TIMCL_TRY(op.CheckRank(kFeatures, 4, 4));
  TIMCL_TRY(op.CheckRank(kRois, 2, 2));
  auto check = [&](bool good, const char* name, const std::string& value, const char* rule) {
    if (good) return Status();
    return op.Error(Code::kInvalidArgument,
                    std::string("attribute ") + name + " is " + value + ", but must be " + rule);
  };
  auto number = [&](const char* name, int32_t v, int32_t least, const char* rule) {
    return check(v >= least, name, to_string(v), rule);
  };
  auto ratio = [&](const char* name, float v) {
    return check(v > 0 && std::isfinite(v), name, to_string(v), "positive");
  };
  TIMCL_TRY(number("output_height", a.output_height, 1, "positive"));
  TIMCL_TRY(number("output_width", a.output_width, 1, "positive"));
  TIMCL_TRY(ratio("height_ratio", a.height_ratio));
  TIMCL_TRY(ratio("width_ratio", a.width_ratio));
  TIMCL_TRY(number("height_sample_num", a.height_sample_num, 0, "0 or more"));
  return number("width_sample_num", a.width_sample_num, 0, "0 or more");
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<RoiAlignAttrs>();
  const int64_t rois = op.in(kRois).shape()[1];
  TIMCL_TRY(op.CheckShape(kRois, {4, rois}, "x1, y1, x2, y2 of each region"));
  TIMCL_TRY(op.CheckShape(kImages, {rois}, "one for each region of " + op.in_label(kRois)));
  return Shapes{{a.output_width, a.output_height, op.in(kFeatures).shape()[2], rois}};
}

/// Toward zero, limited; NaN gives 0.
int64_t Whole(float v) { return Saturated(std::clamp(v, -1e9f, 1e9f)); }

/// The samples of one bin along one axis: `count` of them, `step` apart; those from `first` to
/// `last` may lie in the map.
struct Samples {
  Samples(float low, float high, float ratio, int64_t bins, int64_t number, int64_t bin,
          int64_t cells)
      : extent(cells) {
    const float origin = low / ratio;
    float size = high / ratio - origin;
    if (size < 1) size = 1;
    const float width = size / static_cast<float>(bins);
    count = number > 0 ? number : std::max<int64_t>(Whole(std::ceil(width)), 1);
    start = origin + static_cast<float>(bin) * width;
    step = width / static_cast<float>(count);
    first = std::max<int64_t>(Whole((-1.0f - start) / step) - 2, 0);
    last = std::min(Whole((static_cast<float>(extent) - start) / step) + 2, count - 1);
  }
  /// The two cells around sample i and the weight of the second. False: outside.
  bool At(int64_t i, int64_t cells[2], float* weight) const {
    const float p = start + (static_cast<float>(i) + 0.5f) * step;
    if (!(p >= -1 && p <= static_cast<float>(extent))) return false;
    const float x = std::clamp(p, 0.0f, static_cast<float>(extent - 1));
    cells[0] = static_cast<int64_t>(x);
    cells[1] = std::min(cells[0] + 1, extent - 1);
    *weight = x - static_cast<float>(cells[0]);
    return true;
  }
  int64_t extent, count, first, last;
  float start, step;
};

// In the float32 steps of the kernel: where a sample lies decides whether it counts.
Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto& a = op.attrs<RoiAlignAttrs>();
  const Shape &x = op.in(kFeatures).shape(), &y = op.out(0).shape();
  const ref::Input& rois = ins[kRois];
  for (int64_t at = 0; at < y.count(); ++at) {
    const int64_t ox = at % a.output_width, oy = at / a.output_width % a.output_height;
    const int64_t plane = at / (int64_t{a.output_width} * a.output_height);
    const int64_t c = plane % x[2], r = plane / x[2], image = ins[kImages].Raw(r);
    const Samples ax(rois.Float(r * 4), rois.Float(r * 4 + 2), a.width_ratio, a.output_width,
                     a.width_sample_num, ox, x[0]);
    const Samples ay(rois.Float(r * 4 + 1), rois.Float(r * 4 + 3), a.height_ratio, a.output_height,
                     a.height_sample_num, oy, x[1]);
    float sum = 0;
    for (int64_t j = ay.first; j <= ay.last && image >= 0 && image < x[3]; ++j) {
      int64_t ys[2], xs[2];
      float u = 0, v = 0;
      if (!ay.At(j, ys, &v)) continue;
      for (int64_t i = ax.first; i <= ax.last; ++i) {
        if (!ax.At(i, xs, &u)) continue;
        auto cell = [&](int64_t cy, int64_t cx) {
          return ins[kFeatures].Float((((image * x[2]) + c) * x[1] + cy) * x[0] + cx);
        };
        const float top = (1 - u) * cell(ys[0], xs[0]) + u * cell(ys[0], xs[1]);
        const float bottom = (1 - u) * cell(ys[1], xs[0]) + u * cell(ys[1], xs[1]);
        sum += (1 - v) * top + v * bottom;
      }
    }
    outs[0].Set(at, sum / (static_cast<float>(ax.count) * static_cast<float>(ay.count)));
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  const auto& a = op.attrs<RoiAlignAttrs>();
  const Shape& x = op.in(kFeatures).shape();
  const int64_t items = op.out(0).shape().count();
  return Launches{{.source = "roi_align.cl",
                   .entry = "roi_align",
                   .operands = {In(kFeatures, "X"), In(kRois, "R"), In(kImages, "B"), Out(0, "Y")},
                   .sizes = {{"IW", x[0]},
                             {"IH", x[1]},
                             {"C", x[2]},
                             {"N", x[3]},
                             {"OW", a.output_width},
                             {"OH", a.output_height},
                             {"SAMPLES_X", a.width_sample_num},
                             {"SAMPLES_Y", a.height_sample_num},
                             {"ITEMS", items}},
                   .reals = {{"RATIO_X", a.width_ratio}, {"RATIO_Y", a.height_ratio}},
                   .global = Grid(items),
                   .local = {64, 1, 1},
                   .float_math = true}};
}
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  const std::vector<double> rois = {2, 3, 13, 12, 0, 0, 7, 15, -5, 2, 4, 30, 6, 6, 6.5, 6};
  auto add = [&](const RoiAlignAttrs& a, const Shape& x, const char* note) {
    make.Of(a).In(F32(x)).In(F32({4, 4})).Values(rois).In(I32({4})).Values({1, 0, 1, 1}).Note(note);
  };
  add({1, 1}, {8, 6, 2, 2}, "one bin");
  add({3, 2, 2, 1.5f}, {8, 6, 3, 2}, "samples by size");
  add({2, 4, 2, 2, 2, 3}, {8, 6, 3, 2}, "samples as given");
  add({5, 3, 0.5f, 0.7f, 1, 0}, {9, 7, 1, 2}, "an image smaller than its features");
  add({2, 2}, {1, 1, 1, 2}, "features of one cell");
  make.Of(RoiAlignAttrs{1, 1, 1, 1, 8, 8})
      .In(F32({2, 2, 2, 1}))
      .In(F32({4, 1}))
      .Values({0, 0, 2, 2})
      .In(I32({1}))
      .Values({0})
      .Note("many samples to a cell");
  make.Of(RoiAlignAttrs{1, 1, 1, 1, 1, 1})
      .In(F32({4, 3, 2, 1}))
      .In(F32({4, 2}))
      .Values({3.5, 0, 4.5, 1, 0, 2.5, 1, 3.5})
      .In(I32({2}))
      .Values({0, 0})
      .Note("samples on the very edge");
  const double inf = std::numeric_limits<double>::infinity();
  make.Of(RoiAlignAttrs{2, 2})
      .In(F32({5, 4, 2, 2}))
      .In(F32({4, 7}))
      .Values({0,
               0,
               3,
               3,
               0,
               0,
               3,
               3,
               9,
               9,
               1,
               1,
               -inf,
               0,
               inf,
               3,
               std::numeric_limits<double>::quiet_NaN(),
               0,
               3,
               3,
               0,
               0,
               1e30,
               1e9,
               1e30,
               1e30,
               2e30,
               2e30})
      .In(I32({7}))
      .Values({-1, 2, 0, 1, 1, 0, 1})
      .Note("images that do not exist, regions turned round, infinite, far away");
  make.Of(RoiAlignAttrs{2, 3, 2, 2})
      .In(F32({8, 6, 2, 2}))
      .In(F32({4, 4}))
      .Values(rois)
      .In(I32({4}))
      .Values({1, 0, 1, 1})
      .Note("types")
      .EachType();
  make.Of(RoiAlignAttrs{7, 7, 16, 16})
      .In(F32({50, 38, 64, 1}))
      .In(F32({4, 32}))
      .Values({100, 80, 420, 300, 0, 0, 700, 500, 300, 200, 400, 580, 10, 300, 330, 590})
      .In(I32({32}), 0, 0)
      .Note("32 regions, 64 channels")
      .Bench();
}

constexpr OpDef kRoiAlign = {.name = "RoiAlign",
                             .inputs = "input rois images",
                             .types = "real, f32|f16|u16, i32 -> real",
                             .schema = &kAttrSchema<RoiAlignAttrs>,
                             .verify = Verify,
                             .infer = Infer,
                             .reference = Reference,
                             .kernels = kKernels,
                             .layout = LayoutRule::Fixed("input_layout"),
                             // Divisions, where a device does not round them correctly.
                             .tolerance = Tolerance::Ulp(16, 1, 1e-5),
                             .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(RoiAlign, RoiAlignAttrs,
                    (int32_t output_height, int32_t output_width, float height_ratio,
                     float width_ratio, int32_t height_sample_num, int32_t width_sample_num,
                     DataLayout input_layout),
                    (output_height, output_width, height_ratio, width_ratio, height_sample_num,
                     width_sample_num, input_layout),
                    output_height_(output_height), output_width_(output_width),
                    height_ratio_(height_ratio), width_ratio_(width_ratio),
                    height_sample_num_(height_sample_num), width_sample_num_(width_sample_num));

TIMCL_OPS(roi_align) { Add(kRoiAlign); }

}  // namespace tim::vx::ops
