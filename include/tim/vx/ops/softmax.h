// Softmax along one axis.
#ifndef TIM_VX_OPS_SOFTMAX_H_
#define TIM_VX_OPS_SOFTMAX_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// e_i / (sum of all e), e_i = exp(beta * (x_i - max x)), along one axis.
///   input   T[any rank]          T: f32 f16, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: beta; axis in [-rank, rank), 0 = fastest.
/// Errors: kInvalidArgument if axis is out of range; kInvalidShape if a declared output has another
/// element count.
/// Source: ONNX Softmax-13; NNAPI SOFTMAX (beta).
class TIMCL_API Softmax : public BuiltinOp {
 public:
  Softmax(Graph* graph, float beta, int32_t axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float beta_;
  int32_t axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SOFTMAX_H_
