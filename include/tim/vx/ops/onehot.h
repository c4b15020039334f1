// OneHot: indices as vectors that are on in one place.
#ifndef TIM_VX_OPS_ONEHOT_H_
#define TIM_VX_OPS_ONEHOT_H_

#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// output[.., i, ..] = on_value where the whole part of the input is i, else off_value, along a new
/// dimension of extent depth. What is outside [0, depth), and a NaN, gives off_value everywhere.
///   input   T[any rank]          T: f32 f16 i32, quantized (its real value counts)
///   output  f32 f16 i32, quantized [input below axis, depth, input from axis on]
/// The real values on_value and off_value are converted to the output's type.
/// Attributes: depth > 0; on_value; off_value; axis in [0, rank of input], 0 = the new dimension is
/// the fastest; -1 means 0.
/// Errors: kInvalidArgument if depth or axis is out of range; kInvalidShape if a declared output
/// has another element count.
/// Source: ONNX OneHot-11 (a negative index is off, as in tf.one_hot).
class TIMCL_API OneHot : public BuiltinOp {
 public:
  OneHot(Graph* graph, int32_t depth, float on_value = 1, float off_value = 0, int32_t axis = 0);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t depth_;
  float on_value_;
  float off_value_;
  int32_t axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_ONEHOT_H_
