// Slice: takes a range of each dimension.
#ifndef TIM_VX_OPS_SLICE_H_
#define TIM_VX_OPS_SLICE_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Takes from each dimension the elements start, start + step, ... before start + length.
///   input   T[any rank]          T: any
///   output  T, extents ceil(length / step); converted if its type or quantization differs
/// A declared output of the same rank wins over length: so many elements are taken from start on.
/// Attributes: dims, the number of dimensions, 0 = those of input; start, length and step, one
/// entry per dimension, 0 = fastest; step is 1 if not given.
/// Errors: kInvalidArgument if dims is not input's rank, a list has another size, start is outside
/// input or a step is not positive; kInvalidShape if elements beyond input would be taken, or none.
/// Source: tf.slice; ONNX Slice-13 (step).
class TIMCL_API Slice : public BuiltinOp {
 public:
  Slice(Graph* graph, uint32_t dims, const std::vector<int32_t>& start,
        const std::vector<int32_t>& length);
  Slice(Graph* graph, uint32_t dims, const std::vector<int32_t>& start,
        const std::vector<int32_t>& length, const std::vector<int32_t>& step);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t dims_;
  std::vector<int32_t> start_;
  std::vector<int32_t> length_;
  std::vector<int32_t> step_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SLICE_H_
