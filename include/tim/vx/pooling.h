// What pooling operators share: windows over the leading axes of an input {W[, H[, D]], C[, N]}.
#ifndef TIM_VX_POOLING_H_
#define TIM_VX_POOLING_H_

#include <array>
#include <cstdint>
#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::pooling {

struct Pool {
  /// Along W, H, D; an axis that the op lacks has one cell.
  std::array<Window, 3> axes = {};
  PoolType type = PoolType::MAX;
  RoundType round = RoundType::FLOOR;
};

/// kInvalidArgument unless the window along axis d has a size, and a stride where it is not as
/// large as the input. `which` says the axis in messages: "" or " of axis 1".
TIMCL_API Status CheckWindow(const OpView& op, size_t d, int64_t size, int64_t stride,
                             const std::string& which);
/// All leading axes by attributes ksize and stride with an entry for each.
template <class Attrs>
Status CheckWindows(const OpView& op, const Attrs& a) {
  for (size_t d = 0; d + 2 < op.in(0).shape().rank(); ++d) {
    TIMCL_TRY(CheckWindow(op, d, a.ksize[d], a.stride[d], " of axis " + std::to_string(d)));
  }
  return Status();
}
TIMCL_API Result<Shapes> PooledShape(const OpView& op, const Pool& pool);
TIMCL_API Status PoolReference(const Pool& pool, const ref::Inputs& ins, ref::Outputs& outs);

/// Shape and reference of an op that kOf describes.
template <Pool (*kOf)(const OpView&)>
struct PoolOp {
  static Result<Shapes> Infer(const OpView& op) { return PooledShape(op, kOf(op)); }
  static Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
    return PoolReference(kOf(op), ins, outs);
  }
};

}  // namespace tim::vx::pooling
#endif  // TIM_VX_POOLING_H_
