// RoiAlign: averages of bilinear samples in regions of feature maps.
#ifndef TIM_VX_OPS_ROI_ALIGN_H_
#define TIM_VX_OPS_ROI_ALIGN_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Cuts regions out of feature maps: each output cell is the average of bilinear samples.
///   input   T[W, H, C, N]     T: f32 f16, quantized
///   rois    f32[4, R]         also f16, or u16 with scale 0.125: x1, y1, x2, y2 in the image
///   input2  i32[R]            the image that each region is of
///   output  T[output_width, output_height, C, R]
/// Coordinates are divided by width_ratio and height_ratio (image size / feature size); a region is
/// at least 1 wide and high. Along each axis a bin is size / output_size, and has sample_num
/// samples, or ceil(bin) if that is 0; sample i is at start + (i + 0.5) * bin / samples. A sample
/// outside [-1, extent] counts as 0, others are clamped to [0, extent - 1] before interpolation.
/// All in float32. Regions of an image that does not exist, and NaN coordinates, give 0.
/// Attributes: output sizes, at least 1; ratios, positive; sample numbers, at least 0; layout is
/// read by tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for attributes out of range; kInvalidShape if ranks, rois or indices do
/// not fit.
/// Source: NNAPI ROI_ALIGN; ONNX RoiAlign-10.
class TIMCL_API RoiAlign : public BuiltinOp {
 public:
  RoiAlign(Graph* graph, int32_t output_height, int32_t output_width, float height_ratio,
           float width_ratio, int32_t height_sample_num, int32_t width_sample_num,
           DataLayout input_layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t output_height_;
  int32_t output_width_;
  float height_ratio_;
  float width_ratio_;
  int32_t height_sample_num_;
  int32_t width_sample_num_;
};

using ROI_Align = RoiAlign;

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_ROI_ALIGN_H_
