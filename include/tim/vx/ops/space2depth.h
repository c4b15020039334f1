// SpaceToDepth: blocks of cells become channels.
#ifndef TIM_VX_OPS_SPACE2DEPTH_H_
#define TIM_VX_OPS_SPACE2DEPTH_H_

#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Moves each block of bx * by cells to bx * by channels.
///   input   T[W, H, C, N] or T[W, H, C]    T: f32 f16 i32 bool, quantized
///   output  T[W / bx, H / by, C * bx * by, N]
/// Cell x, y of channel c goes to channel ((y % by) * bx + x % bx) * C + c.
/// Attributes: block_size {bx, by}; layout, read by layout inference alone.
/// Errors: kInvalidArgument if block_size has not two positive entries; kInvalidShape if they do
/// not divide W and H or the rank does not fit. Source: ONNX SpaceToDepth-13; tf.nn.space_to_depth.
class TIMCL_API SpaceToDepth : public BuiltinOp {
 public:
  SpaceToDepth(Graph* graph, std::vector<int> block_size, DataLayout layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int> block_size_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SPACE2DEPTH_H_
