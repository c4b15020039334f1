// Logical operations on two operands with broadcasting (elementwise.h). What is not 0 is true; the
// result is 1 or 0, which a quantized i8 holds as real numbers.
#ifndef TIM_VX_OPS_LOGICAL_H_
#define TIM_VX_OPS_LOGICAL_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// 1 where x and y are true, else 0.
///   input0  T[any rank]          T: bool i8
///   input1  bool or i8, broadcasts with input0
///   output  bool or i8, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX And-7.
class TIMCL_API LogicalAnd : public BuiltinOp {
 public:
  LogicalAnd(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 where x or y is true or both are, else 0.
///   input0  T[any rank]          T: bool i8
///   input1  bool or i8, broadcasts with input0
///   output  bool or i8, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Or-7.
class TIMCL_API LogicalOr : public BuiltinOp {
 public:
  LogicalOr(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_LOGICAL_H_
