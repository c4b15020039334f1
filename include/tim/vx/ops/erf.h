// Erf: the Gauss error function.
#ifndef TIM_VX_OPS_ERF_H_
#define TIM_VX_OPS_ERF_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The Gauss error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.
///   input   T[any rank]          T: f32 f16, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Erf-13.
class TIMCL_API Erf : public BuiltinOp {
 public:
  Erf(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_ERF_H_
