// AddN: the sum of any number of operands.
#ifndef TIM_VX_OPS_ADDN_H_
#define TIM_VX_OPS_ADDN_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The sum of any number of operands, from left to right, with broadcasting (elementwise.h).
///   input*  T[any rank]          T: f32 f16 i32, quantized; num_inputs operands, at least 2
///   output  T, the broadcast shape; its type may differ from input's
/// Composed of Add. A sum in between is i32 where output is a plain i32, and saturates; else it is
/// f32, also where the original takes f16, so that the result is the same or closer to the sum.
/// Attributes: num_inputs, the number of operands.
/// Errors: kInvalidGraph if the operands are not num_inputs or fewer than 2; kInvalidShape if they
/// do not broadcast or a declared output has another element count.
/// Source: tf.math.add_n; ONNX Sum-13.
class TIMCL_API AddN : public BuiltinOp {
 public:
  AddN(Graph* graph, uint32_t num_inputs);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t num_inputs_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_ADDN_H_
