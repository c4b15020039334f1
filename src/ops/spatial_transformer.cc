// SpatialTransformer: images seen through an affine map.  Source: Jaderberg et al., "Spatial
// Transformer Networks"; ONNX AffineGrid-20, GridSample-20.
#include "tim/vx/ops/spatial_transformer.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct SpatialAttrs {
  uint32_t output_h = 0, output_w = 0;  // 0: the input's
  bool has_theta_1_1 = false, has_theta_1_2 = false, has_theta_1_3 = false;
  bool has_theta_2_1 = false, has_theta_2_2 = false, has_theta_2_3 = false;
  float theta_1_1 = 0, theta_1_2 = 0, theta_1_3 = 0, theta_2_1 = 0, theta_2_2 = 0, theta_2_3 = 0;
  bool align_corners = false;
  TIMCL_FIELDS(output_h, output_w, has_theta_1_1, has_theta_1_2, has_theta_1_3, has_theta_2_1,
               has_theta_2_2, has_theta_2_3, theta_1_1, theta_1_2, theta_1_3, theta_2_1, theta_2_2,
               theta_2_3, align_corners)
};

/// The six numbers: constants, and for the others their place among the entries of theta.
struct Map {
  std::array<float, 6> constant;
  std::array<int32_t, 6> place;
  int64_t free = 0;
};
Map MapOf(const OpView& op) {
  const auto& a = op.attrs<SpatialAttrs>();
  Map map = {{a.theta_1_1, a.theta_1_2, a.theta_1_3, a.theta_2_1, a.theta_2_2, a.theta_2_3}, {}, 0};
  const bool given[] = {a.has_theta_1_1, a.has_theta_1_2, a.has_theta_1_3,
                        a.has_theta_2_1, a.has_theta_2_2, a.has_theta_2_3};
  for (size_t i = 0; i < 6; ++i) {
    map.place[i] = given[i] ? -1 : static_cast<int32_t>(map.free++);
  }
  return map;
}

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckRank(0, 4, 4));
  const int64_t free = MapOf(op).free, images = op.in(0).shape()[3];
  if (!op.in(1).present()) {
    if (free == 0) return Status();
    return op.Error(Code::kInvalidGraph, "theta is left out, but " + to_string(free) +
                                             " of the six numbers are not given as constants");
  }
  if (free == 0 || op.in(1).shape().count() == free * images) return Status();
  return op.InputError(1, Code::kInvalidShape,
                       "must have " + to_string(free) + " elements for each of the " +
                           to_string(images) + " images of " + op.in_label(0));
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<SpatialAttrs>();
  Shape y = op.in(0).shape();
  if (a.output_w != 0) y[0] = a.output_w;
  if (a.output_h != 0) y[1] = a.output_h;
  return Shapes{y};
}

/// Along one axis: result i stands at i * step + first in [-1, 1]; x in [-1, 1] is cell
/// x * half + middle of the input.
struct Axis {
  float step, first, half, middle;
};
Axis AxisOf(int64_t in, int64_t out, bool align_corners) {
  const float n = static_cast<float>(in), m = static_cast<float>(out);
  const float middle = (n - 1) / 2;
  if (!align_corners) return {2 / m, 1 / m - 1, n / 2, middle};
  if (out == 1) return {0, 0, middle, middle};
  return {2 / (m - 1), -1, middle, middle};
}

// In float32, step by step: where a weight is small, so is its cell's share.
Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Map map = MapOf(op);
  const Shape &in = op.in(0).shape(), out = (*Infer(op))[0];
  const bool align = op.attrs<SpatialAttrs>().align_corners;
  const Axis ax = AxisOf(in[0], out[0], align), ay = AxisOf(in[1], out[1], align);
  for (int64_t i = 0; i < outs[0].count(); ++i) {
    const int64_t plane = i / (out[0] * out[1]), n = plane / in[2];
    auto theta = [&](size_t k) {
      return map.place[k] < 0 ? map.constant[k] : ins[1].Float(n * map.free + map.place[k]);
    };
    const float x = static_cast<float>(i % out[0]) * ax.step + ax.first;
    const float y = static_cast<float>(i / out[0] % out[1]) * ay.step + ay.first;
    const float px = (theta(0) * x + theta(1) * y + theta(2)) * ax.half + ax.middle;
    const float py = (theta(3) * x + theta(4) * y + theta(5)) * ay.half + ay.middle;
    float sum = 0;
    const float left = std::floor(px), top = std::floor(py);
    for (int k = 0; k < 4; ++k) {
      const bool second = k % 2 == 1, lower = k >= 2;
      const float cx = left + (second ? 1.0f : 0.0f), cy = top + (lower ? 1.0f : 0.0f);
      const float wx = second ? px - left : 1 - (px - left);
      const float wy = lower ? py - top : 1 - (py - top);
      const bool inside =
          cx >= 0 && cx < static_cast<float>(in[0]) && cy >= 0 && cy < static_cast<float>(in[1]);
      if (!inside) continue;
      const int64_t row = plane * in[1] + static_cast<int64_t>(cy);
      sum += wx * wy * ins[0].Float(row * in[0] + static_cast<int64_t>(cx));
    }
    outs[0].Set(i, sum);
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  const Map map = MapOf(op);
  const Shape &in = op.in(0).shape(), out = (*Infer(op))[0];
  const bool align = op.attrs<SpatialAttrs>().align_corners;
  const Axis x = AxisOf(in[0], out[0], align), y = AxisOf(in[1], out[1], align);
  const std::vector<float> constants(map.constant.begin(), map.constant.end());
  const std::vector<int32_t> places(map.place.begin(), map.place.end());
  std::vector<Operand> operands = {In(0, "X")};
  if (map.free > 0) operands.push_back(In(1, "T"));
  operands.push_back(Data(constants, "C", "float"));
  operands.push_back(Data(places, "P", "int"));
  operands.push_back(Out(0, "Y"));
  const int64_t items = out[0] * out[1] * in[3];
  return Launches{{.source = "spatial_transformer.cl",
                   .entry = "spatial_transformer",
                   .operands = operands,
                   .sizes = {{"IW", in[0]},
                             {"IH", in[1]},
                             {"OW", out[0]},
                             {"OH", out[1]},
                             {"CHANNELS", in[2]},
                             {"FREE", map.free},
                             {"ITEMS", items}},
                   .reals = {{"STEP_X", x.step},
                             {"FIRST_X", x.first},
                             {"STEP_Y", y.step},
                             {"FIRST_Y", y.first},
                             {"HALF_X", x.half},
                             {"MIDDLE_X", x.middle},
                             {"HALF_Y", y.half},
                             {"MIDDLE_Y", y.middle}},
                   .defines = {{"HAS_THETA", map.free > 0}},
                   .global = Grid(items),
                   .local = {16, 1, 1},
                   .float_math = true}};
}
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using namespace cases;
  auto all_free = [](uint32_t w, uint32_t h, bool align) {
    SpatialAttrs a;
    a.output_w = w, a.output_h = h, a.align_corners = align;
    return a;
  };
  auto all_given = [&](uint32_t w, uint32_t h, bool align, std::array<float, 6> t) {
    SpatialAttrs a = all_free(w, h, align);
    a.has_theta_1_1 = a.has_theta_1_2 = a.has_theta_1_3 = true;
    a.has_theta_2_1 = a.has_theta_2_2 = a.has_theta_2_3 = true;
    a.theta_1_1 = t[0], a.theta_1_2 = t[1], a.theta_1_3 = t[2];
    a.theta_2_1 = t[3], a.theta_2_2 = t[4], a.theta_2_3 = t[5];
    return a;
  };
  for (bool align : {false, true}) {
    make.Of(all_given(0, 0, align, {1, 0, 0, 0, 1, 0})).In(F32({7, 5, 2, 2})).Note("identity");
    make.Of(all_given(0, 0, align, {-1, 0, 0, 0, 1, 0})).In(F32({8, 4, 2, 1})).Note("mirrored");
    make.Of(all_given(1, 1, align, {1, 0, 0, 0, 1, 0})).In(F32({6, 4, 1, 1})).Note("to one cell");
    make.Of(all_given(9, 3, align, {0.6f, -0.8f, 0.1f, 0.8f, 0.6f, -0.3f}))
        .In(F32({7, 5, 3, 2}))
        .Note("turned");
    make.Of(all_free(5, 0, align)).In(F32({7, 5, 2, 3})).In(F32({6, 3}), -1.5, 1.5).Note("maps");
    make.Of(all_free(0, 4, align)).In(F32({1, 1, 2, 2})).In(F32({12}), -1, 1).Note("one cell");
  }
  for (int fixed = 0; fixed < 6; ++fixed) {
    SpatialAttrs a = all_free(4, 6, false);
    bool* const has[] = {&a.has_theta_1_1, &a.has_theta_1_2, &a.has_theta_1_3,
                         &a.has_theta_2_1, &a.has_theta_2_2, &a.has_theta_2_3};
    float* const theta[] = {&a.theta_1_1, &a.theta_1_2, &a.theta_1_3,
                            &a.theta_2_1, &a.theta_2_2, &a.theta_2_3};
    *has[fixed] = true, *theta[fixed] = 0.75f;
    make.Of(a).In(F32({5, 7, 2, 2})).In(F32({5, 2}), -1, 1).Note("one constant");
  }
  const double inf = std::numeric_limits<double>::infinity();
  make.Of(all_free(3, 3, false))
      .In(F32({4, 4, 1, 2}))
      .In(F32({6, 2}))
      .Values({1, 0, std::numeric_limits<double>::quiet_NaN(), 0, 1, 0, 1e30, 0, 0, 0, inf, 0})
      .Note("places that are none");
  make.Of(all_free(5, 4, false))
      .In(F32({7, 5, 2, 2}))
      .In(F32({6, 2}), -1, 1)
      .Note("types")
      .EachType();
  make.Of(all_given(112, 112, false, {0.6f, -0.8f, 0.1f, 0.8f, 0.6f, -0.3f}))
      .In(F32({112, 112, 16, 1}))
      .Note("turned, 16 channels")
      .Bench();
}

constexpr OpDef kSpatialTransformer = {.name = "SpatialTransformer",
                                       .inputs = "input theta?",
                                       .types = "real, real -> real",
                                       .schema = &kAttrSchema<SpatialAttrs>,
                                       .verify = Verify,
                                       .infer = Infer,
                                       .reference = Reference,
                                       .kernels = kKernels,
                                       .tolerance = Tolerance::Ulp(4, 0, 1e-6),
                                       .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(SpatialTransformer, SpatialAttrs,
                    (uint32_t output_h, uint32_t output_w, bool has_theta_1_1, bool has_theta_1_2,
                     bool has_theta_1_3, bool has_theta_2_1, bool has_theta_2_2, bool has_theta_2_3,
                     float theta_1_1, float theta_1_2, float theta_1_3, float theta_2_1,
                     float theta_2_2, float theta_2_3, bool align_corners),
                    (output_h, output_w, has_theta_1_1, has_theta_1_2, has_theta_1_3, has_theta_2_1,
                     has_theta_2_2, has_theta_2_3, theta_1_1, theta_1_2, theta_1_3, theta_2_1,
                     theta_2_2, theta_2_3, align_corners),
                    output_h_(output_h), output_w_(output_w), has_theta_1_1_(has_theta_1_1),
                    has_theta_1_2_(has_theta_1_2), has_theta_1_3_(has_theta_1_3),
                    has_theta_2_1_(has_theta_2_1), has_theta_2_2_(has_theta_2_2),
                    has_theta_2_3_(has_theta_2_3), theta_1_1_(theta_1_1), theta_1_2_(theta_1_2),
                    theta_1_3_(theta_1_3), theta_2_1_(theta_2_1), theta_2_2_(theta_2_2),
                    theta_2_3_(theta_2_3), align_corners_(align_corners));

TIMCL_OPS(spatial_transformer) { Add(kSpatialTransformer); }

}  // namespace tim::vx::ops
