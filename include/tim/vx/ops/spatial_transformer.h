// SpatialTransformer: images seen through an affine map.
#ifndef TIM_VX_OPS_SPATIAL_TRANSFORMER_H_
#define TIM_VX_OPS_SPATIAL_TRANSFORMER_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Images sampled along an affine grid: result x, y in [-1, 1] is read at xs, ys in [-1, 1].
///   input   T[W, H, C, N]        T: f32 f16, quantized
///   theta   U[free, N] or U[free * N]    U: f32 f16, quantized
///   output  T[output_w, output_h, C, N]; its type may differ from input's
/// For each image theta has those of the six numbers that are not given as constants, in the order
/// 1_1 1_2 1_3 2_1 2_2 2_3; where all are given it may be left out.
///
/// xs = theta_1_1 * x + theta_1_2 * y + theta_1_3, ys = theta_2_1 * x + theta_2_2 * y + theta_2_3,
/// as in the paper: x runs along the width. -1 and 1 are the borders of the images, or the centers
/// of their outermost cells if align_corners (an extent of 1 is then at 0). The four cells around
/// xs, ys are weighted by distance; cells outside of the image are 0, and so is what lies at no
/// number.
///
/// The facts leave the grid open; this one is that of ONNX and PyTorch, where the identity map
/// gives the image itself, whatever its size.
///
/// Attributes: output_h, output_w, 0 for the input's; has_theta_i_j, whether theta_i_j is the
/// constant given instead of an entry of theta; align_corners.
///
/// Errors: kInvalidShape if the input has not four dimensions or theta not as many elements as are
/// free; kInvalidGraph if theta is left out and needed.
///
/// Source: Jaderberg et al., "Spatial Transformer Networks"; ONNX AffineGrid-20, GridSample-20.
class TIMCL_API SpatialTransformer : public BuiltinOp {
 public:
  SpatialTransformer(Graph* graph, uint32_t output_h, uint32_t output_w, bool has_theta_1_1,
                     bool has_theta_1_2, bool has_theta_1_3, bool has_theta_2_1, bool has_theta_2_2,
                     bool has_theta_2_3, float theta_1_1, float theta_1_2, float theta_1_3,
                     float theta_2_1, float theta_2_2, float theta_2_3, bool align_corners = false);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t output_h_;
  uint32_t output_w_;
  bool has_theta_1_1_;
  bool has_theta_1_2_;
  bool has_theta_1_3_;
  bool has_theta_2_1_;
  bool has_theta_2_2_;
  bool has_theta_2_3_;
  float theta_1_1_;
  float theta_1_2_;
  float theta_1_3_;
  float theta_2_1_;
  float theta_2_2_;
  float theta_2_3_;
  bool align_corners_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SPATIAL_TRANSFORMER_H_
