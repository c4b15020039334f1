// LayerNormalization: normalisation along one axis.
#ifndef TIM_VX_OPS_LAYERNORMALIZATION_H_
#define TIM_VX_OPS_LAYERNORMALIZATION_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// gamma * (x - m) / sqrt(v + eps) + beta along one axis, m and v mean and population variance of
/// each line.
///   input   T[any rank]          T: f32 f16, quantized
///   beta    P[n], any shape of n elements, n the extent of the axis    P: f32 f16, constant or not
///   gamma   P[n]
///   output  T, shape of input; its type may differ from input's
/// Attributes: axis in [-rank, rank), 0 = fastest; eps.
/// Errors: kInvalidArgument if axis is out of range; kInvalidShape if a parameter has not n
/// elements.
/// Source: ONNX LayerNormalization-17 (over one axis, operands in another order).
class TIMCL_API LayerNormalization : public BuiltinOp {
 public:
  LayerNormalization(Graph* graph, int32_t axis, float eps = 1e-5f);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t axis_;
  float eps_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_LAYERNORMALIZATION_H_
