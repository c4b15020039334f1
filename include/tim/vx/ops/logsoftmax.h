// LogSoftmax along one axis.
#ifndef TIM_VX_OPS_LOGSOFTMAX_H_
#define TIM_VX_OPS_LOGSOFTMAX_H_

#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// beta * x - log(sum of all exp(beta * x)) along one axis, with the largest beta * x taken off
/// first.
///   input   T[any rank]          T: f32 f16, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: axis in [-rank, rank), 0 = fastest; beta.
/// Errors: kInvalidArgument if axis is out of range; kInvalidShape if a declared output has another
/// element count.
/// Source: ONNX LogSoftmax-13; TIM-VX (beta).
class TIMCL_API LogSoftmax : public BuiltinOp {
 public:
  LogSoftmax(Graph* graph, int32_t axis, float beta = 1.f);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t axis_;
  float beta_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_LOGSOFTMAX_H_
