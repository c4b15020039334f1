// GroupedConv1d: convolution in one dimension, channels in groups.
#ifndef TIM_VX_OPS_GROUPEDCONV1D_H_
#define TIM_VX_OPS_GROUPEDCONV1D_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Convolution in one dimension whose channels form groups that do not meet.
///   input   T[W, C, N]             T: f32 f16, quantized
///   kernel  T[K, C / group, Oc]    also u8/i8/i16 with SYMMETRIC_PER_CHANNEL (channel_dim 2)
///   bias?   f32[Oc], or i32[Oc] with scale input * kernel (its own quantization is not read)
///   output  T[Wo, Oc, N]
/// Wo = floor((W + front + rear - ((K - 1) * dilation + 1)) / stride) + 1 with the pads given, also
/// for PadType::SAME, as in the original; a declared extent wins. SAME moves the windows: the front
/// pad is half of what ceil(W / stride) positions need. VALID: no pads.
/// Attributes: stride, at least 1; dilation, 0 counts as 1; padding; pad {front, rear}, used by
/// AUTO and NONE; group, at least 1; layouts are read by tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a stride of 0 or a group that does not divide both channel counts;
/// kInvalidShape if rank, kernel, bias or extents do not fit.
/// Source: ONNX Conv-11 (group).
class TIMCL_API GroupedConv1d : public BuiltinOp {
 public:
  GroupedConv1d(Graph* graph, PadType padding, std::array<uint32_t, 2> pad, uint32_t stride,
                uint32_t dilation, uint32_t group, DataLayout input_layout = DataLayout::WCN,
                DataLayout kernel_layout = DataLayout::WIcOc);
  GroupedConv1d(Graph* graph, PadType padding, const uint32_t stride, const uint32_t dilation,
                uint32_t group, DataLayout input_layout = DataLayout::WCN,
                DataLayout kernel_layout = DataLayout::WIcOc);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

  DataLayout KernelDataLayout();

 protected:
  const PadType padding_;
  const std::array<uint32_t, 2> pad_;
  const uint32_t stride_;
  const uint32_t dilation_;
  const uint32_t group_;
  const DataLayout kernel_layout_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_GROUPEDCONV1D_H_
