// TinyYolov4Postprocess: scores and boxes from the feature maps of tiny YOLOv4.  Source: API facts,
// ops.md 10; YOLOv4 (arXiv:2004.10934).
#include "tim/vx/ops/tiny_yolov4_postprocess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

constexpr int64_t kAnchors = 3, kClasses = 80, kChannels = 5 + kClasses;
/// Width and height of the anchors of each map.
constexpr float kAnchorSizes[2][kAnchors][2] = {{{81, 82}, {135, 169}, {344, 319}},
                                                {{23, 27}, {37, 58}, {81, 82}}};

/// One feature map with its part of the boxes.
struct Map {
  int64_t width = 0, height = 0, images = 0;
  int64_t first = 0;                      // its first box
  int64_t grid_cell = 0, grid_plane = 0;  // elements from one cell, one of x and y, to the next
  int64_t cells() const { return width * height; }
  int64_t boxes() const { return kAnchors * images * cells(); }
  float stride() const { return width == 13 && height == 13 ? 32.0f : 16.0f; }
};
Map MapOf(const OpView& op, size_t m) {
  const Shape &x = op.in(m).shape(), &grid = op.in(2 + m).shape();
  Map map = {x[0], x[1], x[3]};
  if (m == 0) map.first = MapOf(op, 1).boxes();
  const bool planes = grid.dim(0) == x[0] && grid.dim(1) == x[1];
  map.grid_cell = planes ? 1 : 2;
  map.grid_plane = planes ? map.cells() : 1;
  return map;
}

Status Verify(const OpView& op) {
  for (const size_t m : {size_t{0}, size_t{1}}) {
    TIMCL_TRY(op.CheckRank(m, 4, 4));
    const Shape &x = op.in(m).shape(), &grid = op.in(2 + m).shape();
    if (x[2] != kAnchors * kChannels) {
      return op.InputError(
          m, Code::kInvalidShape,
          "has " + to_string(x[2]) + " channels instead of " + to_string(kAnchors * kChannels));
    }
    const bool planes = grid.dim(0) == x[0] && grid.dim(1) == x[1];
    if (grid.count() != 2 * x[0] * x[1] || (!planes && grid.dim(0) != 2)) {
      return op.InputError(2 + m, Code::kInvalidShape,
                           "must be [" + to_string(x[0]) + "," + to_string(x[1]) + ",2] or [2," +
                               to_string(x[0]) + "," + to_string(x[1]) + "] for " + op.in_label(m));
    }
  }
  if (op.in(0).shape()[3] == op.in(1).shape()[3]) return Status();
  return op.Error(Code::kInvalidShape,
                  op.in_label(0) + " and " + op.in_label(1) + " have different numbers of images");
}

Result<Shapes> Infer(const OpView& op) {
  const int64_t boxes = MapOf(op, 0).boxes() + MapOf(op, 1).boxes();
  return Shapes{{kClasses, boxes, 1}, {4, boxes, 1}};
}

/// Functions of the stored bytes of one map.
struct Tables {
  std::array<int32_t, 256> score;  // sigmoid in units of 1 / 256
  std::array<float, 256> center;   // sigmoid * 1.05 - 0.025
  std::array<float, 256> size;     // exp
};
Tables TablesOf(const TensorType& type) {
  Tables t;
  for (size_t q = 0; q < 256; ++q) {
    const float difference = static_cast<float>(static_cast<int32_t>(q) - type.zero_point());
    const double x = difference * type.scale();
    const double sigmoid = 1 / (1 + std::exp(-x));
    t.score[q] = static_cast<int32_t>(std::min(std::nearbyint(sigmoid * 256), 255.0));
    t.center[q] = static_cast<float>(sigmoid * 1.05 - 0.025);
    constexpr double kMost = std::numeric_limits<float>::max();
    t.size[q] = static_cast<float>(std::min(std::exp(x), kMost));
  }
  return t;
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  for (const size_t m : {size_t{1}, size_t{0}}) {
    const Map map = MapOf(op, m);
    const Tables tables = TablesOf(ins[m].type());
    int64_t box = map.first;
    for (int64_t anchor = 0; anchor < kAnchors; ++anchor) {
      for (int64_t image = 0; image < map.images; ++image) {
        for (int64_t cell = 0; cell < map.cells(); ++cell, ++box) {
          auto stored = [&](int64_t channel) {
            const int64_t plane = (image * kAnchors + anchor) * kChannels + channel;
            return static_cast<size_t>(ins[m].Raw(plane * map.cells() + cell));
          };
          const int32_t object = tables.score[stored(4)];
          for (int64_t c = 0; c < kClasses; ++c) {
            const int32_t product = object * tables.score[stored(5 + c)];
            outs[0].Set(box * kClasses + c, static_cast<float>(product) * 0x1p-16f);
          }
          for (int64_t k : {0, 1}) {
            const float grid = ins[2 + m].Float(cell * map.grid_cell + k * map.grid_plane);
            const float center = tables.center[stored(k)] + grid;
            outs[1].Set(box * 4 + k, center * map.stride());
            outs[1].Set(box * 4 + 2 + k, tables.size[stored(2 + k)] * kAnchorSizes[m][anchor][k]);
          }
        }
      }
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  Launches launches;
  for (const size_t m : {size_t{1}, size_t{0}}) {
    const Map map = MapOf(op, m);
    const Tables tables = TablesOf(op.in(m).type());
    auto list = [](const auto& table) { return std::vector(table.begin(), table.end()); };
    KernelSpec spec;
    spec.sizes = {{"CELLS", map.cells()}, {"IMAGES", map.images}, {"FIRST", map.first}};
    spec.global = Grid(map.boxes());
    spec.local = {16, 1, 1};
    spec.float_math = true;
    KernelSpec scores = spec, boxes = std::move(spec);
    scores.source = "tiny_yolov4_scores.cl";
    scores.entry = "tiny_yolov4_scores";
    scores.operands = {In(m, "X"), Data(list(tables.score), "SCORE", "int"), Out(0, "Y")};
    launches.push_back(std::move(scores));
    const std::vector<float> anchors(&kAnchorSizes[m][0][0], &kAnchorSizes[m][0][0] + 2 * kAnchors);
    boxes.source = "tiny_yolov4_boxes.cl";
    boxes.entry = "tiny_yolov4_boxes";
    boxes.operands = {In(m, "X"),
                      In(2 + m, "G"),
                      Data(list(tables.center), "CENTER", "float"),
                      Data(list(tables.size), "SIZES", "float"),
                      Data(anchors, "ANCHORS", "float"),
                      Out(1, "Y")};
    boxes.sizes.emplace_back("GRID_CELL", map.grid_cell);
    boxes.sizes.emplace_back("GRID_PLANE", map.grid_plane);
    boxes.reals = {{"STRIDE", map.stride()}};
    launches.push_back(std::move(boxes));
  }
  return launches;
}
constexpr KernelCandidate kKernels[] = {{"general", nullptr, General}};

void Cases(CaseMaker& make) {
  using namespace cases;
  auto u8 = [](const Shape& shape, float scale, int32_t zero_point) {
    return Affine(DataType::UINT8, shape, scale, zero_point);
  };
  const struct {
    Shape coarse, fine, coarse_grid, fine_grid;
    const char* note;
  } rows[] = {
      {{1, 1, 255, 1}, {2, 2, 255, 1}, {1, 1, 2}, {2, 2, 2}, "one cell, four cells"},
      {{3, 2, 255, 2}, {5, 4, 255, 2}, {3, 2, 2, 1}, {2, 20}, "two images, both forms of grid"},
      {{4, 3, 255, 1}, {2, 5, 255, 1}, {2, 4, 3}, {2, 2, 5}, "a map of two columns"},
      {{13, 13, 255, 1}, {6, 5, 255, 1}, {13, 13, 2}, {6, 5, 2}, "13 x 13"},
      {{13, 12, 255, 1}, {13, 13, 255, 1}, {13, 12, 1, 2}, {13, 13, 2}, "13 x 13, the fine map"},
  };
  for (const auto& row : rows) {
    for (const bool small : {true, false}) {
      const float scale = small ? 0.09f : 1.7f;  // the larger one reaches every limit
      make.Of(NoAttrs{})
          .In(u8(row.coarse, scale, 117), -200, 200)
          .In(u8(row.fine, scale * 0.9f, 131), -200, 200)
          .In(u8(row.coarse_grid, 1, 0), 0, 13)
          .In(u8(row.fine_grid, 0.11f, 3), 0, 26)
          .Out(u8({}, 1.0f / 256, 0))
          .Out(u8({}, small ? 2.1f : 0.31f, small ? 0 : 21))
          .Note(row.note);
    }
  }
  make.Of(NoAttrs{})
      .In(u8({13, 13, 255, 1}, 0.09f, 117), -12, 12)
      .In(u8({26, 26, 255, 1}, 0.08f, 131), -12, 12)
      .In(u8({13, 13, 2}, 1, 0), 0, 13)
      .In(u8({26, 26, 2}, 1, 0), 0, 26)
      .Out(u8({}, 1.0f / 256, 0))
      .Out(u8({}, 2.1f, 0))
      .Note("416 x 416 pixels")
      .Bench();
}

constexpr OpDef kTinyYolov4Postprocess = {.name = "TinyYolov4Postprocess",
                                          .inputs = "coarse fine coarse_grid fine_grid",
                                          .outputs = "scores boxes",
                                          .types = "u8, u8, u8, u8 -> u8, u8",
                                          .schema = &kAttrSchema<NoAttrs>,
                                          .verify = Verify,
                                          .infer = Infer,
                                          .reference = Reference,
                                          .kernels = kKernels,
                                          .tolerance = Tolerance::Exact(),
                                          .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_PLAIN_OP_CLASS(TinyYolov4Postprocess);

TIMCL_OPS(tiny_yolov4_postprocess) { Add(kTinyYolov4Postprocess); }

}  // namespace tim::vx::ops
