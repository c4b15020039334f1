// Conv2d: convolution in two dimensions, also depthwise.
#ifndef TIM_VX_OPS_CONV2D_H_
#define TIM_VX_OPS_CONV2D_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Convolution in two dimensions (correlation: the kernel is not flipped), real padding value 0.
///   input   T[W, H, C, N]            T: f32 f16, quantized
///   kernel  T[Kw, Kh, Ic, Oc], or T[Kw, Kh, C * multiplier, 1] if multiplier > 0; also u8/i8/i16
///             with SYMMETRIC_PER_CHANNEL (channel_dim 3, or 2 if multiplier > 0)
///   bias?   f32[Oc], or i32[Oc] with scale input * kernel (its own quantization is not read)
///   output  T[Wo, Ho, Oc, N], Oc = C * multiplier if multiplier > 0, else that of the kernel
/// Wo = floor((W + left + right - ((Kw - 1) * dilation + 1)) / stride) + 1, Ho likewise. A declared
/// output extent wins: so many positions are computed, cells beyond the input count as padding. Of
/// a kernel with Ic > C the first C slices count. With a multiplier, output channel o reads input
/// channel o / multiplier. Kernel and bias may be constant or computed. A FLOAT16 bias is read
/// as it is.
/// Attributes: stride {w, h}, at least 1; dilation {w, h}, 0 counts as 1; padding, or pad {left,
/// right, top, bottom}; multiplier >= 0; weights and ksize are only kept (the kernel tensor
/// decides); layouts are read by tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a stride of 0 or a negative multiplier; kInvalidShape if rank, Ic,
/// bias or extents do not fit.
/// Source: ONNX Conv-11; tf.nn.depthwise_conv2d.
class TIMCL_API Conv2d : public BuiltinOp {
 public:
  Conv2d(Graph* graph, PadType padding, const std::array<uint32_t, 2>& stride,
         const std::array<uint32_t, 2>& dilation, int32_t multiplier = 0,
         DataLayout input_layout = DataLayout::WHCN, DataLayout kernel_layout = DataLayout::WHIcOc);
  Conv2d(Graph* graph, const std::array<uint32_t, 4> pad, const std::array<uint32_t, 2>& stride,
         const std::array<uint32_t, 2>& dilation, int32_t multiplier = 0,
         DataLayout input_layout = DataLayout::WHCN, DataLayout kernel_layout = DataLayout::WHIcOc);
  Conv2d(Graph* graph, int32_t weights, PadType padding, const std::array<uint32_t, 2>& ksize,
         const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& dilation,
         int32_t multiplier = 0, DataLayout input_layout = DataLayout::WHCN,
         DataLayout kernel_layout = DataLayout::WHIcOc);
  Conv2d(Graph* graph, int32_t weights, PadType padding, const std::array<uint32_t, 2>& ksize,
         const std::array<uint32_t, 2>& stride, const std::array<uint32_t, 2>& dilation,
         const std::array<uint32_t, 4>& pad, int32_t multiplier = 0,
         DataLayout input_layout = DataLayout::WHCN, DataLayout kernel_layout = DataLayout::WHIcOc);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

  DataLayout KernelDataLayout();

  /// Operand 0 if all operands are constant, else none.
  const std::vector<std::shared_ptr<Tensor>> ConstantInputsTensor() const override;

 protected:
  const uint32_t weights_;
  const PadType padding_;
  const std::array<uint32_t, 2> ksize_;
  const std::array<uint32_t, 2> stride_;
  const std::array<uint32_t, 2> dilation_;
  const std::array<uint32_t, 4> pad_;
  const int32_t multiplier_;
  const DataLayout kernel_layout_;

 private:
  void OnBindInputPostProc(const std::shared_ptr<Tensor>& tensor, int32_t input_idx) override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_CONV2D_H_
