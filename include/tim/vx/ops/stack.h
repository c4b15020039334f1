// Stack: joins tensors along a new axis.
#ifndef TIM_VX_OPS_STACK_H_
#define TIM_VX_OPS_STACK_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Joins tensors of one shape along a new axis; each is converted to output's type and
/// quantization.
///   input*  T[any rank]          T: any; input_cnt operands of one shape
///   output  T, the shape of the inputs with extent input_cnt inserted at `axis`
/// Attributes: axis in [0, rank], 0 = fastest; input_cnt, the number of operands.
/// Errors: kInvalidArgument if axis is out of range; kInvalidGraph if the operands are not
/// input_cnt; kInvalidShape if their shapes differ or a declared output has another element count.
/// Source: tf.stack.
class TIMCL_API Stack : public BuiltinOp {
 public:
  Stack(Graph* graph, uint32_t axis, int input_cnt);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t axis_;
  int input_cnt_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_STACK_H_
