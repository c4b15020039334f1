// DepthToSpace: channels become blocks of cells.
#ifndef TIM_VX_OPS_DEPTH2SPACE_H_
#define TIM_VX_OPS_DEPTH2SPACE_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Moves each b * b channels to a block of b * b cells.
///   input   T[W, H, C, N] or T[W, H, C]    T: f32 f16 i32 bool, quantized
///   output  T[W * b, H * b, C / (b * b), N]
/// Cell x, y of channel c comes from channel ((y % b) * b + x % b) * (C / (b * b)) + c in DCR mode
/// (depth, column, row), from c * b * b + (y % b) * b + x % b in CRD mode.
/// Attributes: block_size b; mode, DCR if not given; layout, read by layout inference alone.
/// Errors: kInvalidArgument if block_size is not positive; kInvalidShape if b * b does not divide C
/// or the rank does not fit.
/// Source: ONNX DepthToSpace-13.
class TIMCL_API DepthToSpace : public BuiltinOp {
 public:
  enum depth2space_mode { DCR_mode = 0, CRD_mode = 1 };

  DepthToSpace(Graph* graph, int block_size, DataLayout layout = DataLayout::WHCN);
  DepthToSpace(Graph* graph, int block_size, depth2space_mode mode,
               DataLayout layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int block_size_;
  depth2space_mode mode_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_DEPTH2SPACE_H_
