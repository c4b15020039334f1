// Resize1d: signals of another length.
#ifndef TIM_VX_OPS_RESIZE1D_H_
#define TIM_VX_OPS_RESIZE1D_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Signals sampled at another length: Resize along the first dimension alone.
///   input   T[W, ...]            T: f32 f16, quantized
///   output  T[Wo, ...]; its type may differ from input's
/// Attributes: as of Resize, with target_size instead of the two targets.
/// Errors: kInvalidArgument if factor is negative or no number, or a target_size that is needed is
/// not positive; kInvalidShape if the result has no cell.
/// Source: TFLite ResizeBilinear, ResizeNearestNeighbor; tf.raw_ops.ResizeArea.
class TIMCL_API Resize1d : public BuiltinOp {
 public:
  Resize1d(Graph* graph, ResizeType type, float factor, bool align_corners, bool half_pixel_centers,
           int target_size, DataLayout layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const ResizeType type_;
  const float factor_;
  const bool align_corners_;
  const bool half_pixel_centers_;
  const int target_size_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_RESIZE1D_H_
