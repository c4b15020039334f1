// StridedSlice: takes a range of each dimension, by the rules of TensorFlow.
#ifndef TIM_VX_OPS_STRIDEDSLICE_H_
#define TIM_VX_OPS_STRIDEDSLICE_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Takes from each dimension the elements begin, begin + stride, ... before end.
///   input   T[any rank]          T: any
///   output  T, the ranges' extents; converted if its type or quantization differs
/// A declared output of the same rank wins over end: so many elements are taken from begin on.
/// Attributes: begin_dims, end_dims and stride_dims, 0 = fastest, for the outermost dimensions if
/// there are fewer than dimensions; the rest is taken whole. A negative begin or end counts from
/// the end of the dimension, both are limited to it; a negative stride goes backwards. Bit i of a
/// mask is for dimension i: begin_mask and end_mask take from the first and up to the last element,
/// shrink_axis_mask takes the element begin alone, ignoring end and stride, and drops the
/// dimension, new_axis_mask (0 if not given) inserts a dimension of one element; dimensions are
/// counted with the inserted ones, whose begin, end and stride are ignored. If nothing is left,
/// output is {1}.
/// Errors: kInvalidArgument if the lists differ in size, are longer than the dimensions or a stride
/// is 0; kInvalidShape if elements beyond input would be taken, or none.
/// Source: tf.strided_slice.
class TIMCL_API StridedSlice : public BuiltinOp {
 public:
  StridedSlice(Graph* graph, const std::vector<int32_t> begin_dims,
               const std::vector<int32_t> end_dims, const std::vector<int32_t> stride_dims,
               int32_t begin_mask, int32_t end_mask, int32_t shrink_axis_mask);
  StridedSlice(Graph* graph, const std::vector<int32_t> begin_dims,
               const std::vector<int32_t> end_dims, const std::vector<int32_t> stride_dims,
               int32_t begin_mask, int32_t end_mask, int32_t shrink_axis_mask,
               int32_t new_axis_mask);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> begin_dims_;
  std::vector<int32_t> end_dims_;
  std::vector<int32_t> stride_dims_;
  int32_t begin_mask_;
  int32_t end_mask_;
  int32_t shrink_axis_mask_;
  int32_t new_axis_mask_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_STRIDEDSLICE_H_
