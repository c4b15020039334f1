// Conv1d: convolution in one dimension, also depthwise.
#ifndef TIM_VX_OPS_CONV1D_H_
#define TIM_VX_OPS_CONV1D_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Convolution in one dimension (correlation: the kernel is not flipped), real padding value 0.
///   input   T[W, C, N]       T: f32 f16, quantized
///   kernel  T[K, Ic, Oc], or T[K, C * multiplier, 1] if multiplier > 0; also u8/i8/i16 with
///           SYMMETRIC_PER_CHANNEL (channel_dim 2, or 1 if multiplier > 0)
///   bias?   f32[Oc], or i32[Oc] with scale input * kernel (its own quantization is not read)
///   output  T[Wo, Oc, N], Oc = C * multiplier if multiplier > 0, else that of the kernel
/// Wo = floor((W + front + rear - ((K - 1) * dilation + 1)) / stride) + 1; a declared extent wins.
/// PadType::SAME pads only where a declared output of ceil(W / stride) positions asks for more than
/// the given pads allow; else the pads are as given (0), as in the original. Otherwise as Conv2d.
/// Attributes: stride, at least 1; dilation, 0 counts as 1; padding, or pad {front, rear};
/// multiplier >= 0; weights and ksize are only kept (the kernel tensor decides); layouts are read
/// by tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a stride of 0 or a negative multiplier; kInvalidShape if rank, Ic,
/// bias or extents do not fit.
/// Source: ONNX Conv-11; torch.nn.functional.conv1d.
class TIMCL_API Conv1d : public BuiltinOp {
 public:
  Conv1d(Graph* graph, PadType padding, uint32_t stride, uint32_t dilation, int32_t multiplier = 0,
         DataLayout input_layout = DataLayout::WCN, DataLayout kernel_layout = DataLayout::WIcOc);
  Conv1d(Graph* graph, const std::array<uint32_t, 2>& pad, uint32_t stride, uint32_t dilation,
         int32_t multiplier = 0, DataLayout input_layout = DataLayout::WCN,
         DataLayout kernel_layout = DataLayout::WIcOc);
  Conv1d(Graph* graph, int32_t weights, PadType padding, uint32_t ksize, uint32_t stride,
         uint32_t dilation, int32_t multiplier = 0, DataLayout input_layout = DataLayout::WCN,
         DataLayout kernel_layout = DataLayout::WIcOc);
  Conv1d(Graph* graph, int32_t weights, PadType padding, uint32_t ksize, uint32_t stride,
         uint32_t dilation, const std::array<uint32_t, 2>& pad, int32_t multiplier = 0,
         DataLayout input_layout = DataLayout::WCN, DataLayout kernel_layout = DataLayout::WIcOc);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

  DataLayout KernelDataLayout();

 protected:
  const uint32_t weights_;
  const PadType padding_;
  const uint32_t ksize_;
  const uint32_t stride_;
  const uint32_t dilation_;
  const std::array<uint32_t, 2> pad_;
  const int32_t multiplier_;
  const DataLayout kernel_layout_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_CONV1D_H_
