// Moments: mean and variance along some dimensions.
#ifndef TIM_VX_OPS_MOMENTS_H_
#define TIM_VX_OPS_MOMENTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The mean m of all elements along some dimensions, and the mean of (x - m)^2.
///   input            T[any rank]   T: f32 f16 i32, quantized
///   output_mean      f32 f16, quantized; shape of input with extent 1 along `axes` (keep_dims),
///                    else without these dimensions, {1} where none is left
///   output_variance  f32 f16, quantized; the same shape
/// Attributes: axes, entries in [-rank, rank), 0 = fastest, repeated ones count once; keep_dims.
/// Errors: kInvalidArgument if an axis is out of range; kInvalidShape if a declared output has
/// another element count.
/// Source: tf.nn.moments.
class TIMCL_API Moments : public BuiltinOp {
 public:
  Moments(Graph* graph, const std::vector<int32_t>& axes, bool keep_dims = false);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> axes_;
  bool keep_dims_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_MOMENTS_H_
