// Gather: slices of a tensor by their index along one axis.
#ifndef TIM_VX_OPS_GATHER_H_
#define TIM_VX_OPS_GATHER_H_

#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// output = input with dimension `axis` replaced by the dimensions of the indices: each index picks
/// a slice.
///   input    T[any rank]          T: any
///   indices  i32[any rank]; outermost batch_dims dimensions as input's. One of shape {1} that is
///            flagged as a scalar (Tensor::SetScalar) has no dimension
///   output   T[input below axis, indices without the batch, input above axis]
/// A negative index counts from the end of the axis; an index beyond either end means the nearest
/// element.
/// Attributes: axis in [-rank, rank), 0 = fastest; batch_dims in [0, rank of indices], the number
/// of outermost dimensions that both share.
/// Errors: kInvalidArgument if axis or batch_dims is out of range, or the axis is one of the batch;
/// kInvalidShape if the batch extents differ or a declared output has another element count.
/// Source: ONNX Gather-13; tf.gather (batch_dims).
class TIMCL_API Gather : public BuiltinOp {
 public:
  Gather(Graph* graph, int axis, int batch_dims = 0);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int axis_;
  int batch_dims_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_GATHER_H_
