// GatherElements: elements of a tensor by their index along one axis.
#ifndef TIM_VX_OPS_GATHER_ELEMENTS_H_
#define TIM_VX_OPS_GATHER_ELEMENTS_H_

#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// output[p] = input[p with its coordinate along `axis` replaced by indices[p]].
///   input    T[any rank]          T: any
///   indices  i32 of the same rank, with at most as many elements below `axis`, and above it
///   output   T, shape of indices
/// A negative index counts from the end of the axis; an index beyond either end means the nearest
/// element. Both operands are seen as {below, axis, above}: where two or more extents below (or
/// above) the axis differ, elements meet by their flat position, not by coordinates.
/// Attributes: axis in [-rank, rank), 0 = fastest.
/// Errors: kInvalidArgument if axis is out of range; kInvalidShape if the ranks differ, the indices
/// are larger than input beside the axis, or a declared output has another element count.
/// Source: ONNX GatherElements-13; TIM-VX (flat positions).
class TIMCL_API GatherElements : public BuiltinOp {
 public:
  GatherElements(Graph* graph, int axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_GATHER_ELEMENTS_H_
