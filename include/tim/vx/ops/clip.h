// Clip: limits values to a range.
#ifndef TIM_VX_OPS_CLIP_H_
#define TIM_VX_OPS_CLIP_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// clamp(x, min, max), in real numbers.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: min; max; either may be infinite.
/// Errors: kInvalidArgument if min > max or one is NaN; kInvalidShape if a declared output has
/// another element count.
/// Source: ONNX Clip-13 (min and max are attributes here).
class TIMCL_API Clip : public BuiltinOp {
 public:
  Clip(Graph* graph, float min, float max);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float min_;
  float max_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_CLIP_H_
