// GroupedConv2d: convolution in two dimensions, channels in groups.
#ifndef TIM_VX_OPS_GROUPEDCONV2D_H_
#define TIM_VX_OPS_GROUPEDCONV2D_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Convolution in two dimensions whose channels form groups that do not meet (as Conv2d otherwise).
///   input   T[W, H, C, N]               T: f32 f16, quantized
///   kernel  T[Kw, Kh, C / group, Oc]    also u8/i8/i16 with SYMMETRIC_PER_CHANNEL (channel_dim 3)
///   bias?   f32[Oc], or i32[Oc] with scale input * kernel (its own quantization is not read)
///   output  T[Wo, Ho, Oc, N]; extents as for Conv2d, declared ones win
/// Output channels split into `group` contiguous blocks; block g reads the input channels from
/// g * C / group on.
/// Attributes: strides {w, h}, at least 1; dilation {w, h}, 0 counts as 1; padding, or pad {left,
/// right, top, bottom}; grouped_number, at least 1; layouts are read by
/// tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a stride of 0 or a group that does not divide both channel counts;
/// kInvalidShape if rank, kernel, bias or extents do not fit.
/// Source: ONNX Conv-11 (group).
class TIMCL_API GroupedConv2d : public BuiltinOp {
 public:
  GroupedConv2d(Graph* graph, PadType padding, const std::array<uint32_t, 2>& strides,
                const std::array<uint32_t, 2>& dilation, int32_t grouped_number,
                DataLayout input_layout = DataLayout::WHCN,
                DataLayout kernel_layout = DataLayout::WHIcOc);
  GroupedConv2d(Graph* graph, const std::array<uint32_t, 4>& pad,
                const std::array<uint32_t, 2>& strides, const std::array<uint32_t, 2>& dilation,
                int32_t group_number, DataLayout input_layout = DataLayout::WHCN,
                DataLayout kernel_layout = DataLayout::WHIcOc);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

  DataLayout KernelDataLayout();

 protected:
  const PadType padding_;
  const std::array<uint32_t, 2> strides_;
  const std::array<uint32_t, 2> dilation_;
  const std::array<uint32_t, 4> pad_;
  const int32_t grouped_number_;
  const DataLayout kernel_layout_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_GROUPEDCONV2D_H_
