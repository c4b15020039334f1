// Tile: repeats a tensor along its dimensions.
#ifndef TIM_VX_OPS_TILE_H_
#define TIM_VX_OPS_TILE_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Repeats a tensor along its dimensions.
///   input   T[any rank]          T: any
///   output  T, extents input * multiples; converted if its type or quantization differs
/// Attributes: multiples, one entry per dimension, 0 = fastest.
/// Errors: kInvalidArgument if there is not one entry per dimension or one is not positive;
/// kInvalidShape if a declared output has another element count.
/// Source: ONNX Tile-13 (the counts are an attribute here).
class TIMCL_API Tile : public BuiltinOp {
 public:
  Tile(Graph* graph, const std::vector<int32_t>& multiples);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> multiples_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_TILE_H_
