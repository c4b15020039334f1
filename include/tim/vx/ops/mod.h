// Mod: the remainder of a division.
#ifndef TIM_VX_OPS_MOD_H_
#define TIM_VX_OPS_MOD_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The remainder of x / y, with broadcasting (elementwise.h).
///   input0  T[any rank]          T: f32 f16 i32, quantized
///   input1  T, broadcasts with input0; its type may differ from input0's
///   output  T, the broadcast shape
/// Attributes: fmod: 0 gives x - y * floor(x / y), of the sign of y; any other value the fmod of C,
/// of the sign of x. With a float operand it is always the fmod of C. A remainder by 0 is NaN, for
/// integer results 0.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Mod-13.
class TIMCL_API Mod : public BuiltinOp {
 public:
  Mod(Graph* graph, int32_t fmod = 0);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t fmod_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_MOD_H_
