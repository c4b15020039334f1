// ScatterND: adds slices to a tensor of zeros.
#ifndef TIM_VX_OPS_SCATTERND_H_
#define TIM_VX_OPS_SCATTERND_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// A tensor of zeros to which each slice of the updates is added at its place. The first of the D
/// numbers along dimension 0 of the indices counts along the outermost dimension of `shape`, and so
/// on. Slices with the same place are summed, in their order.
///   input_indices  i32[D, n...], D in [1, rank of shape]; of rank 1: D = 1
///   input_updates  T[shape without its D outermost dimensions, n...]; T: f32 f16 i32
///                  u32, quantized
///   output         T of `shape`; its type may differ from the updates'
/// A negative coordinate counts from the end; a slice beyond either end is left out.
/// Attributes: shape of the output, fastest dimension first.
/// Errors: kInvalidArgument if shape is empty or has an extent of 0; kInvalidShape if D is larger
/// than the rank of shape, the updates have another element count, or a declared output has.
/// Source: tf.scatter_nd.
class TIMCL_API ScatterND : public BuiltinOp {
 public:
  ScatterND(Graph* graph, const std::vector<uint32_t>& shape);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<uint32_t> shape_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SCATTERND_H_
