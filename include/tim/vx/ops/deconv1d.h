// DeConv1d: transposed convolution in one dimension, also depthwise.
#ifndef TIM_VX_OPS_DECONV1D_H_
#define TIM_VX_OPS_DECONV1D_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Transposed convolution in one dimension: the gradient of Conv1d, whose kernel it takes as it is.
///   input   T[W, C, N]             T: f32 f16, quantized
///   kernel  T[K, Ic, Oc], or T[K, 1, Oc] or T[K, Oc, 1] if group is Oc; also u8/i8/i16 with
///           SYMMETRIC_PER_CHANNEL along the dimension of Oc
///   bias?   f32[Oc], or i32[Oc] with scale input * kernel (its own quantization is not read)
///   output  T[Wo, Oc, N]
/// output[x * stride + i - front] += input[x] * kernel[i]; positions that no tap reaches hold the
/// bias. Wo = (W - 1) * stride + K - front - rear + output_padding; a declared extent wins: it cuts
/// or extends the far end. Pads as for DeConv2d: without a pad array they are 0, but with SAME and
/// a declared extent the cut is shared by both ends. Better give explicit pads.
/// Attributes: stride, at least 1; output_padding; pad {front, rear}; group 1, or Oc; oc_count and
/// ksize are ignored (the kernel tensor decides) and kept as 0; layouts are read by
/// tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a stride of 0 or another group; kInvalidShape if rank, kernel, bias
/// or extents do not fit.
/// Source: ONNX ConvTranspose-11; torch.nn.functional.conv_transpose1d.
class TIMCL_API DeConv1d : public BuiltinOp {
 public:
  DeConv1d(Graph* graph, PadType pad_type, uint32_t stride, uint32_t output_padding,
           uint32_t group = 1, DataLayout input_layout = DataLayout::WHCN,
           DataLayout kernel_layout = DataLayout::WHIcOc);
  DeConv1d(Graph* graph, const std::array<uint32_t, 2>& pad, uint32_t stride,
           uint32_t output_padding, uint32_t group = 1, DataLayout input_layout = DataLayout::WHCN,
           DataLayout kernel_layout = DataLayout::WHIcOc);
  DeConv1d(Graph* graph, int32_t oc_count_, PadType pad_type, uint32_t ksize, uint32_t stride,
           uint32_t output_padding);
  DeConv1d(Graph* graph, int32_t oc_count_, PadType pad_type, uint32_t ksize, uint32_t stride,
           uint32_t output_padding, const std::array<uint32_t, 2>& pad, uint32_t group = 1);
  DeConv1d(Graph* graph, PadType pad_type, uint32_t stride, uint32_t output_padding,
           const std::array<uint32_t, 2>& pad, uint32_t group, DataLayout input_layout,
           DataLayout kernel_layout);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

  DataLayout KernelDataLayout();

 protected:
  const uint32_t oc_count_;
  const PadType pad_type_;
  const uint32_t ksize_;
  const uint32_t stride_;
  const uint32_t output_padding_;
  const std::array<uint32_t, 2> pad_;
  const uint32_t group_;
  const DataLayout kernel_layout_;

 private:
  DeConv1d(Graph* graph, bool pads_given, PadType pad_type, uint32_t stride,
           uint32_t output_padding, const std::array<uint32_t, 2>& pad, uint32_t group,
           DataLayout input_layout, DataLayout kernel_layout);
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_DECONV1D_H_
