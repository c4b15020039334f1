// Conv3d: convolution in three dimensions, also depthwise.
#ifndef TIM_VX_OPS_CONV3D_H_
#define TIM_VX_OPS_CONV3D_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Convolution in three dimensions (correlation: the kernel is not flipped), real padding value 0.
///   input   T[W, H, D, C, N]           T: f32 f16, quantized
///   kernel  T[Kw, Kh, Kd, Ic, Oc], or T[Kw, Kh, Kd, C * multiplier, 1] if multiplier > 0; also
///           u8/i8/i16 with SYMMETRIC_PER_CHANNEL (channel_dim 4, or 3 if multiplier > 0)
///   bias?   f32[Oc], or i32[Oc] with scale input * kernel (its own quantization is not read)
///   output  T[Wo, Ho, Do, Oc, N]; extents as for Conv2d, declared ones win
/// Oc = weights if that is positive, C * multiplier if that is, else that of the kernel; of a
/// kernel with more slices or channels the first count.
/// Attributes: stride {w, h, d}, at least 1; dilation {w, h, d}, 0 counts as 1; padding, or pad
/// {left, right, top, bottom, front, rear}; weights, multiplier >= 0; ksize is only kept; layouts
/// are read by tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a stride below 1 or a negative dilation, pad, multiplier or
/// weights; kInvalidShape if rank, kernel, bias or extents do not fit.
/// Source: ONNX Conv-11.
class TIMCL_API Conv3d : public BuiltinOp {
 public:
  Conv3d(Graph* graph, PadType padding, const std::array<int32_t, 3>& stride,
         const std::array<int32_t, 3>& dilation, int32_t multiplier = 0,
         DataLayout input_layout = DataLayout::WHDCN,
         DataLayout kernel_layout = DataLayout::WHDIcOc);
  Conv3d(Graph* graph, const std::array<int32_t, 6> pad, const std::array<int32_t, 3>& stride,
         const std::array<int32_t, 3>& dilation, int32_t multiplier = 0,
         DataLayout input_layout = DataLayout::WHDCN,
         DataLayout kernel_layout = DataLayout::WHDIcOc);
  Conv3d(Graph* graph, int32_t weights, PadType padding, const std::array<int32_t, 3>& ksize,
         const std::array<int32_t, 3>& stride, const std::array<int32_t, 3>& dilation,
         int32_t multiplier = 0, DataLayout input_layout = DataLayout::WHDCN,
         DataLayout kernel_layout = DataLayout::WHDIcOc);
  Conv3d(Graph* graph, int32_t weights, PadType padding, const std::array<int32_t, 3>& ksize,
         const std::array<int32_t, 3>& stride, const std::array<int32_t, 3>& dilation,
         const std::array<int32_t, 6>& pad, int32_t multiplier = 0,
         DataLayout input_layout = DataLayout::WHDCN,
         DataLayout kernel_layout = DataLayout::WHDIcOc);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

  DataLayout KernelDataLayout();

 protected:
  const int32_t weights_;
  const PadType padding_;
  const std::array<int32_t, 3> ksize_;
  const std::array<int32_t, 3> stride_;
  const std::array<int32_t, 3> dilation_;
  const std::array<int32_t, 6> pad_;
  const int32_t multiplier_;
  const DataLayout kernel_layout_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_CONV3D_H_
