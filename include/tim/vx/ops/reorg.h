// Reorg: the reorg layer of darknet.
#ifndef TIM_VX_OPS_REORG_H_
#define TIM_VX_OPS_REORG_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The reorg layer of darknet, whose order is not that of SpaceToDepth.
///   input   T[W, H, C, N] or T[W, H, C]    T: f32 f16 i32 bool, quantized
///   output  T[W / s, H / s, C * s * s, N]
/// By flat indices within an image, for every i < W, j < H, c < C, with K = C / (s * s), o = c / K:
/// out[i + W * (j + H * c)] is in[(i * s + o % s) + W * s * (j * s + o / s + H * s * (c % K))].
/// Attributes: stride s.
/// Errors: kInvalidArgument if stride is 0; kInvalidShape if it does not divide W and H, its square
/// does not divide C, or the rank does not fit.
/// Source: darknet reorg_cpu (forward).
class TIMCL_API Reorg : public BuiltinOp {
 public:
  Reorg(Graph* graph, const uint32_t stride);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const uint32_t stride_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_REORG_H_
