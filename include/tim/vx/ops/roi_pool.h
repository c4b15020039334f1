// RoiPool: maxima of the bins of regions of feature maps.
#ifndef TIM_VX_OPS_ROI_POOL_H_
#define TIM_VX_OPS_ROI_POOL_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Cuts regions out of feature maps: each output cell is the maximum of a bin.
///   input   T[W, H, C, N]     T: f32 f16, quantized
///   rois    f32[5, R] or f32[1, 1, 5, R], also T: image, x1, y1, x2, y2
///   output  T[size[0], size[1], C, R]; its type may differ from input's
/// x0, y0, x1, y1 = floor(coordinate * scale + 0.5), ends included; a region is at least 1 wide and
/// high. Bin p of n along an axis covers [floor(p * size / n) + x0, ceil((p + 1) * size / n) + x0),
/// clipped to the feature map. An empty bin, and regions of an image that does not exist, give 0;
/// the first NaN of a bin wins. The image's number is truncated.
/// Attributes: type, MAX alone; scale, positive; size {w, h}, at least 1; layout is read by
/// tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for another type, or scale or size out of range; kInvalidShape if ranks
/// or rois do not fit.
/// Source: Caffe ROIPooling; ONNX MaxRoiPool-1.
class TIMCL_API RoiPool : public BuiltinOp {
 public:
  RoiPool(Graph* graph, PoolType type, float scale, const std::array<uint32_t, 2>& size,
          DataLayout input_layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  PoolType type_;
  float scale_;
  std::array<uint32_t, 2> size_;
};

using ROI_Pool = RoiPool;

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_ROI_POOL_H_
