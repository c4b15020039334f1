// Reverse: turns dimensions around.
#ifndef TIM_VX_OPS_REVERSE_H_
#define TIM_VX_OPS_REVERSE_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Turns the order of elements around along the given dimensions.
///   input   T[any rank]          T: any; per channel where output has the same quantization
///   output  T, shape of input; converted if its type or quantization differs
/// Attributes: axis, the dimensions, each in [-rank, rank), 0 = fastest.
/// Errors: kInvalidArgument if an axis is out of range, named twice, or the one along which input
/// is quantized; kInvalidShape if a declared output has another element count.
/// Source: tf.reverse.
class TIMCL_API Reverse : public BuiltinOp {
 public:
  Reverse(Graph* graph, const std::vector<int32_t>& axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_REVERSE_H_
