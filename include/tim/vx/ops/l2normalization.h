// L2Normalization: lines of length 1.
#ifndef TIM_VX_OPS_L2NORMALIZATION_H_
#define TIM_VX_OPS_L2NORMALIZATION_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// x / sqrt(sum of all x * x) along one axis. There is no epsilon: a line of zeros gives 0 / 0 =
/// NaN, which an integer result stores as its zero point.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: axis in [-rank, rank), 0 = fastest.
/// Errors: kInvalidArgument if axis is out of range.
/// Source: ONNX LpNormalization-1 with p = 2; NNAPI L2_NORMALIZATION.
class TIMCL_API L2Normalization : public BuiltinOp {
 public:
  L2Normalization(Graph* graph, int32_t axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_L2NORMALIZATION_H_
