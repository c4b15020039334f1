// Dropout: a scale, as inference leaves of it.
#ifndef TIM_VX_OPS_DROPOUT_H_
#define TIM_VX_OPS_DROPOUT_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// ratio * x: what inference leaves of a dropout layer. ratio is the scale, not the share dropped.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: ratio.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: TIM-VX Dropout.
class TIMCL_API Dropout : public BuiltinOp {
 public:
  Dropout(Graph* graph, float ratio);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float ratio_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_DROPOUT_H_
