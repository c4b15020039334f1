// GatherNd: slices of a tensor by their coordinates.
#ifndef TIM_VX_OPS_GATHERND_H_
#define TIM_VX_OPS_GATHERND_H_

#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Each D numbers along dimension 0 of the indices pick a slice of the input: the first one along
/// its outermost dimension, and so on.
///   input    T[any rank]          T: any
///   indices  i32[D, n...], D in [1, rank of input]; of rank 1: D = 1
///   output   T[input without its D outermost dimensions, n...]; {1} where nothing is left
/// A negative coordinate counts from the end; one beyond either end means the nearest element.
/// Attributes: none.
/// Errors: kInvalidShape if D is larger than the rank of input or a declared output has another
/// element count.
/// Source: ONNX GatherND-13; tf.gather_nd.
class TIMCL_API GatherNd : public BuiltinOp {
 public:
  GatherNd(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_GATHERND_H_
