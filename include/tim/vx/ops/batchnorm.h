// BatchNorm: normalisation by given statistics, per channel.
#ifndef TIM_VX_OPS_BATCHNORM_H_
#define TIM_VX_OPS_BATCHNORM_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// gamma * (x - mean) / sqrt(variance + eps) + beta, with one of each per channel.
///   input     T[C, N], T[W, C, N], T[W, H, C, N], ...: C is the last dimension but one
///             T: f32 f16, quantized
///   mean      P[C], any shape of C elements    P: f32 f16, constant or not
///   variance  P[C]
///   gamma     P[C]
///   beta      P[C]
///   output    T, shape of input; its type may differ from input's
/// Attributes: eps; input_layout, read by layout inference alone.
/// Errors: kInvalidShape if the input has less than two dimensions or a parameter has not C
/// elements.
/// Source: ONNX BatchNormalization-15 (operands in another order).
class TIMCL_API BatchNorm : public BuiltinOp {
 public:
  BatchNorm(Graph* graph, float eps, DataLayout input_layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float eps_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_BATCHNORM_H_
