// MaxpoolWithArgmax2: the maximum of windows and where it is in the input.
#ifndef TIM_VX_OPS_MAXPOOLWITHARGMAX2_H_
#define TIM_VX_OPS_MAXPOOLWITHARGMAX2_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The maximum of windows of {W, H} and its place in the whole input.
///   input   T[W, H, C, N] or T[W, H, C]    T: f32 f16 i32, quantized
///   output  T[Wo, Ho, C, N]; its type may differ from input's
///   output1 i32, shape of output: x + y * W + (c + C * n) * W * H, as stored numbers
/// Wo = round_type((W + left + right - kw) / stride) + 1, Ho likewise; a declared extent wins.
/// Padded cells never win; a window of such cells alone gives 0 with index 0. Of equal cells the
/// first in row-major order wins; so does the first NaN over all numbers.
/// Attributes: padding (SAME, or no pads); ksize, stride {w, h}, at least 1; round_type; layout is
/// read by tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a ksize or stride of 0; kInvalidShape if the rank, a window or the
/// outputs' shapes do not fit.
/// Source: ONNX MaxPool-12 (Indices).
class TIMCL_API MaxpoolWithArgmax2 : public BuiltinOp {
 public:
  MaxpoolWithArgmax2(Graph* graph, PadType padding, const std::array<uint32_t, 2>& ksize,
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

#endif  // TIM_VX_OPS_MAXPOOLWITHARGMAX2_H_
