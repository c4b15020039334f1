// Resize: images of another size.
#ifndef TIM_VX_OPS_RESIZE_H_
#define TIM_VX_OPS_RESIZE_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Images sampled at another width and height.
///   input   T[W, H, ...]         T: f32 f16, quantized
///   output  T[Wo, Ho, ...]; its type may differ from input's
/// Wo = W * factor, cut to a whole number, where factor is not 0, else target_width; Ho likewise.
/// Along each axis, in float32: scale = (in - 1) / (out - 1) if align_corners and out > 1, else in
/// / out; half = 0.5 if half_pixel_centers, else 0.
///
/// NEAREST_NEIGHBOR: result o is cell (int)((o + half) * scale + (align_corners ? 0.5 : 0)), at
/// most in - 1.
///
/// BILINEAR: cells floor(s) and floor(s) + 1 for s = (o + half) * scale - half, weighted by
/// distance and limited to the image.
///
/// AREA: mean of what lies between o * scale and (o + 1) * scale. The original has none; the rule
/// is TensorFlow's, where half_pixel_centers means nothing.
///
/// Attributes: type; factor; align_corners; half_pixel_centers; target_height, target_width;
/// layout, read by layout inference alone.
///
/// Errors: kInvalidArgument if factor is negative or no number, or a target that is needed is not
/// positive; kInvalidShape if the input has less than two dimensions or a result has no cell.
///
/// Source: TFLite ResizeBilinear, ResizeNearestNeighbor; tf.raw_ops.ResizeArea.
class TIMCL_API Resize : public BuiltinOp {
 public:
  Resize(Graph* graph, ResizeType type, float factor, bool align_corners, bool half_pixel_centers,
         int target_height, int target_width, DataLayout layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const ResizeType type_;
  const float factor_;
  const bool align_corners_;
  const bool half_pixel_centers_;
  const int target_height_;
  const int target_width_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_RESIZE_H_
