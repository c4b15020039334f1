// Concat: joins tensors along one axis.
#ifndef TIM_VX_OPS_CONCAT_H_
#define TIM_VX_OPS_CONCAT_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Joins tensors along one axis; each input is converted to the output's type and quantization.
///   input*  T[any rank]          T: any; input_cnt operands of one rank, equal outside `axis`
///   output  T, the extents of the inputs added up along `axis`
/// Attributes: axis in [0, rank), 0 = fastest; input_cnt, the number of operands.
/// Errors: kInvalidArgument if axis is out of range; kInvalidGraph if the operands are not
/// input_cnt; kInvalidShape if ranks or other extents differ or a declared output disagrees.
/// Source: ONNX Concat-13.
class TIMCL_API Concat : public BuiltinOp {
 public:
  Concat(Graph* graph, uint32_t axis, int input_cnt);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t axis_;
  int input_cnt_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_CONCAT_H_
