// InstanceNormalization: normalisation of each channel of each image.
#ifndef TIM_VX_OPS_INSTANCENORMALIZATION_H_
#define TIM_VX_OPS_INSTANCENORMALIZATION_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// gamma * (x - m) / sqrt(v + eps) + beta, m and v mean and population variance of each channel of
/// each image.
///   input   T[W, C, N], T[W, H, C, N], ...: C is the last dimension but one
///           T: f32 f16 i32, quantized
///   beta    P[C], any shape of C elements    P: f32 f16, constant or not
///   gamma   P[C]
///   output  T, shape of input; its type may differ from input's
/// Attributes: eps; input_layout, read by layout inference alone.
/// Errors: kInvalidShape if the input has less than two dimensions or a parameter has not C
/// elements.
/// Source: ONNX InstanceNormalization-6 (operands in another order).
class TIMCL_API InstanceNormalization : public BuiltinOp {
 public:
  InstanceNormalization(Graph* graph, float eps = 1e-5f,
                        DataLayout input_layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float eps_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_INSTANCENORMALIZATION_H_
