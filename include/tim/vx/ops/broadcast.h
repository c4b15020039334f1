// Broadcast: repeats a tensor to a shape.
#ifndef TIM_VX_OPS_BROADCAST_H_
#define TIM_VX_OPS_BROADCAST_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

/// The constructor takes `dimensions`.
#define BROADCAST_OPVERSION 1

namespace tim {
namespace vx {
namespace ops {

/// Repeats dimensions of extent 1, or that are missing, until the tensor has a shape.
///   input   T[any rank]          T: any
///   output  T, shape `shape`; converted if its type or quantization differs
/// Attributes: shape, 0 = fastest; dimensions, for each dimension of input the one of `shape` that
/// it becomes, in [-rank of shape, rank of shape). If dimensions is empty, dimension d becomes d,
/// and an extent of 1 in `shape` keeps that of input.
/// Errors: kInvalidArgument if an extent of shape is not positive or dimensions does not name a
/// dimension of its own for each of input; kInvalidShape if extents differ and are not 1, or a
/// declared output has another element count.
/// Source: ONNX Expand-13; StableHLO broadcast_in_dim (dimensions).
class TIMCL_API Broadcast : public BuiltinOp {
 public:
  Broadcast(Graph* graph, const std::vector<uint32_t>& shape,
            const std::vector<int32_t>& dimensions = {});
  Broadcast(Graph* graph, const std::vector<int32_t>& shape,
            const std::vector<int32_t>& dimensions = {});
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<uint32_t> shape_;
  std::vector<int32_t> dimensions_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_BROADCAST_H_
