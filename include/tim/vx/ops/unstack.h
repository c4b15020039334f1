// Unstack: one tensor for each element of an axis.
#ifndef TIM_VX_OPS_UNSTACK_H_
#define TIM_VX_OPS_UNSTACK_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// One tensor for each element of an axis, without that axis.
///   input    T[any rank]         T: any
///   output*  T, the shape of input without `axis`, {1} if nothing is left; converted if its type
///   or
///            quantization differs
/// Attributes: axis in [-rank, rank), 0 = fastest; output_num, the number of outputs.
/// Errors: kInvalidArgument if axis is out of range or output_num is not its extent; kInvalidGraph
/// if the outputs are not output_num; kInvalidShape if a declared output has another element count.
/// Source: tf.unstack.
class TIMCL_API Unstack : public BuiltinOp {
 public:
  Unstack(Graph* graph, int32_t axis, uint32_t output_num);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t axis_;
  uint32_t output_num_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_UNSTACK_H_
