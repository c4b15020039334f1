// DeConv2d: transposed convolution in two dimensions, also depthwise.
#ifndef TIM_VX_OPS_DECONV_H_
#define TIM_VX_OPS_DECONV_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Transposed convolution in two dimensions: the gradient of Conv2d, with the kernel of that.
///   input   T[W, H, C, N]           T: f32 f16, quantized
///   kernel  T[Kw, Kh, Ic, Oc], or T[Kw, Kh, 1, Oc] or T[Kw, Kh, Oc, 1] if group is Oc; also
///           u8/i8/i16 with SYMMETRIC_PER_CHANNEL along the dimension of Oc
///   bias?   f32[Oc], or i32[Oc] with scale input * kernel (its own quantization is not read)
///   output  T[Wo, Ho, Oc, N], Oc = oc_count if that is positive, else that of the kernel
/// output[x * stride + i - left] += input[x] * kernel[i] along both axes; positions that no tap
/// reaches hold the bias. Wo = (W - 1) * stride + Kw - left - right + output_padding, Ho likewise;
/// a declared extent wins: it cuts or extends the far end. Pads are as given, whatever pad_type
/// says. Without a pad array they are 0, but with SAME the front pad is half (rounded down) of what
/// a declared extent cuts off, (W - 1) * stride + Kw + output_padding - Wo.
/// Attributes: oc_count, at most the kernel's slices; stride {w, h}, at least 1; output_padding
/// {w, h}; pad {left, right, top, bottom}; group 1, or Oc for one input channel per output channel;
/// ksize is only kept (the kernel tensor decides); layouts are read by
/// tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a stride of 0 or another group; kInvalidShape if rank, kernel, bias
/// or extents do not fit.
/// Source: ONNX ConvTranspose-11; tf.nn.conv2d_transpose (SAME).
class TIMCL_API DeConv2d : public BuiltinOp {
 public:
  DeConv2d(Graph* graph, int32_t oc_count_, PadType pad_type, const std::array<uint32_t, 2>& ksize,
           const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& output_padding,
           DataLayout input_layout = DataLayout::WHCN,
           DataLayout kernel_layout = DataLayout::WHIcOc);
  DeConv2d(Graph* graph, int32_t oc_count_, PadType pad_type, const std::array<uint32_t, 2>& ksize,
           const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& output_padding,
           const std::array<uint32_t, 4>& pad, const uint32_t group = 1,
           DataLayout input_layout = DataLayout::WHCN,
           DataLayout kernel_layout = DataLayout::WHIcOc);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

  DataLayout KernelDataLayout();

 protected:
  const uint32_t oc_count_;
  const PadType pad_type_;
  const std::array<uint32_t, 2> ksize_;
  const std::array<uint32_t, 2> stride_;
  const std::array<uint32_t, 2> output_padding_;
  const std::array<uint32_t, 4> pad_;
  const uint32_t group_;
  const DataLayout kernel_layout_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_DECONV_H_
