// MaxpoolWithArgmax: the maximum of 2x2 windows and where it is.
#ifndef TIM_VX_OPS_MAXPOOLWITHARGMAX_H_
#define TIM_VX_OPS_MAXPOOLWITHARGMAX_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The maximum of 2x2 windows, 2 apart, and its place in the window.
///   input   T[W, H, C, N] or T[W, H, C]    T: f32 f16 i32, quantized
///   output  T[Wo, Ho, C, N]; its type may differ from input's
///   output1 u8 or i16, shape of output: 0 = (x0, y0), 1 = (x1, y0), 2 = (x0, y1), 3 = (x1, y1),
///           as stored numbers, whatever the quantization
/// Windows are 2x2, 2 apart, whatever ksize and stride say; these and padding only feed the shape:
/// Wo = round_type((W + left + right - kw) / stride) + 1. A declared extent wins. Cells outside the
/// input never win; a window of such cells alone gives 0 with index 0. Of equal cells the first
/// wins, in the order of the indices; so does the first NaN over all numbers.
/// Attributes: padding; ksize, stride {w, h}, at least 1; round_type; layout is read by
/// tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a ksize or stride of 0; kInvalidShape if the rank or the outputs'
/// shapes do not fit.
/// Source: TIM-VX MaxpoolWithArgmax; SegNet.
class TIMCL_API MaxpoolWithArgmax : public BuiltinOp {
 public:
  MaxpoolWithArgmax(Graph* graph, PadType padding, const std::array<uint32_t, 2>& ksize,
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

#endif  // TIM_VX_OPS_MAXPOOLWITHARGMAX_H_
