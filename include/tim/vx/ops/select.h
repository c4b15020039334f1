// Select: takes each element from one of two operands.
#ifndef TIM_VX_OPS_SELECT_H_
#define TIM_VX_OPS_SELECT_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// x where the condition is not 0, else y; all three operands broadcast (elementwise.h). The
/// condition of a quantized type is the real number: its zero point is false.
///   input0  C[any rank]          C: bool i8 u8 i16, the condition
///   input1  T, x                 T: f32 f16 i32, quantized; or bool
///   input2  T, y
///   output  T, the broadcast shape; converted if its type or quantization differs
/// i32 is moved bit by bit where all operands are plain integers, else it passes through float32.
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Where-16.
class TIMCL_API Select : public BuiltinOp {
 public:
  Select(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SELECT_H_
