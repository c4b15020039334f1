// MaxpoolGrad: the gradient of max pooling.
#ifndef TIM_VX_OPS_MAXPOOLGRAD_H_
#define TIM_VX_OPS_MAXPOOLGRAD_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The gradient of max pooling: each gradient value goes to the cell that was its window's maximum.
///   input   T[W, H, C, N] or T[W, H, C], of the pooling   T: f32 f16, quantized
///   input1  T[Wo, Ho, C, N], the gradient of its output, of just that shape
///   output  T, shape of input
/// Windows, pads and ties as for MaxpoolWithArgmax2. Values of windows that overlap are summed, in
/// row-major order of the windows; other cells are 0.
/// Attributes: padding (SAME, or no pads); ksize, stride {w, h}, at least 1; round_type; layout is
/// read by tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a ksize or stride of 0; kInvalidShape if the rank, a window or the
/// gradient's shape does not fit.
/// Source: TIM-VX MaxpoolGrad; torch.nn.functional.max_pool2d (backward).
class TIMCL_API MaxpoolGrad : public Operation {
 public:
  MaxpoolGrad(Graph* graph, PadType padding, const std::array<uint32_t, 2>& ksize,
              const std::array<uint32_t, 2>& stride, RoundType round_type = RoundType::FLOOR,
              DataLayout layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const PadType padding_;
  const std::array<uint32_t, 2> ksize_;
  const std::array<uint32_t, 2> stride_;
  const RoundType round_type_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_MAXPOOLGRAD_H_
