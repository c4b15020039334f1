// Comparisons of two operands with broadcasting (elementwise.h): 1 where the relation holds, else
// 0. Real values are compared, so quantized operands are dequantized first; a comparison with a NaN
// is 0, but for NotEqual, where it is 1. A quantized i8 result holds the real numbers 1 and 0.
#ifndef TIM_VX_OPS_RELATIONAL_OPERATIONS_H_
#define TIM_VX_OPS_RELATIONAL_OPERATIONS_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// 1 where x > y, else 0.
///   input0  T[any rank]          T: f32 f16 i32 bool, quantized
///   input1  T, broadcasts with input0; its type may differ from input0's
///   output  bool or i8, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Greater-13.
class TIMCL_API Greater : public BuiltinOp {
 public:
  Greater(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 where x >= y, else 0.
///   input0  T[any rank]          T: f32 f16 i32 bool, quantized
///   input1  T, broadcasts with input0; its type may differ from input0's
///   output  bool or i8, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX GreaterOrEqual-16.
class TIMCL_API GreaterOrEqual : public BuiltinOp {
 public:
  GreaterOrEqual(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 where x < y, else 0.
///   input0  T[any rank]          T: f32 f16 i32 bool, quantized
///   input1  T, broadcasts with input0; its type may differ from input0's
///   output  bool or i8, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Less-13.
class TIMCL_API Less : public BuiltinOp {
 public:
  Less(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 where x <= y, else 0.
///   input0  T[any rank]          T: f32 f16 i32 bool, quantized
///   input1  T, broadcasts with input0; its type may differ from input0's
///   output  bool or i8, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX LessOrEqual-16.
class TIMCL_API LessOrEqual : public BuiltinOp {
 public:
  LessOrEqual(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 where x differs from y, else 0.
///   input0  T[any rank]          T: f32 f16 i32 bool, quantized
///   input1  T, broadcasts with input0; its type may differ from input0's
///   output  bool or i8, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: tf.math.not_equal.
class TIMCL_API NotEqual : public BuiltinOp {
 public:
  NotEqual(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 where x equals y, else 0.
///   input0  T[any rank]          T: f32 f16 i32 bool, quantized
///   input1  T, broadcasts with input0; its type may differ from input0's
///   output  bool or i8, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Equal-13.
class TIMCL_API Equal : public BuiltinOp {
 public:
  Equal(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_RELATIONAL_OPERATIONS_H_
