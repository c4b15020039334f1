// Element-wise operations on two operands with broadcasting: extents are compared from dimension 0
// up, a missing dimension counts as 1, and an extent of 1 is repeated.
#ifndef TIM_VX_OPS_ELEMENTWISE_H_
#define TIM_VX_OPS_ELEMENTWISE_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// min(x, y).
///   input0  T[any rank]          T: f32 f16 i32, quantized
///   input1  T, broadcasts with input0
///   output  T, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Min-13.
class TIMCL_API Minimum : public BuiltinOp {
 public:
  Minimum(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// max(x, y).
///   input0  T[any rank]          T: f32 f16 i32, quantized
///   input1  T, broadcasts with input0
///   output  T, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Max-13.
class TIMCL_API Maximum : public BuiltinOp {
 public:
  Maximum(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x + y; integer results saturate.
///   input0  T[any rank]          T: f32 f16 i32, quantized
///   input1  T, broadcasts with input0
///   output  T, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Add-14.
class TIMCL_API Add : public BuiltinOp {
 public:
  Add(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x - y; integer results saturate.
///   input0  T[any rank]          T: f32 f16 i32, quantized
///   input1  T, broadcasts with input0
///   output  T, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Sub-14.
class TIMCL_API Sub : public BuiltinOp {
 public:
  Sub(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x^y.
///   input0  T[any rank]          T: f32 f16 i32, quantized
///   input1  T, broadcasts with input0
///   output  T, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Pow-15.
class TIMCL_API Pow : public BuiltinOp {
 public:
  Pow(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// floor(x / y), evaluated in float for integers too.
///   input0  T[any rank]          T: f32 f16 i32, quantized
///   input1  T, broadcasts with input0
///   output  T, the broadcast shape
/// Attributes: none.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: tf.math.floordiv.
class TIMCL_API FloorDiv : public BuiltinOp {
 public:
  FloorDiv(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x * y * scale; integer results saturate.
///   input0  T[any rank]          T: f32 f16 i32, quantized
///   input1  T, broadcasts with input0
///   output  T, the broadcast shape
/// Attributes: scale.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Mul-14 (there without scale).
class TIMCL_API Multiply : public BuiltinOp {
 public:
  Multiply(Graph* graph, float scale = 1.0f);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x / y * scale; float x / 0 is infinite, a quantized infinity saturates.
///   input0  T[any rank]          T: f32 f16 i32, quantized
///   input1  T, broadcasts with input0
///   output  T, the broadcast shape
/// Attributes: scale.
/// Errors: kInvalidShape if the operands do not broadcast or a declared output has another element
/// count.
/// Source: ONNX Div-14 (there without scale).
class TIMCL_API Div : public BuiltinOp {
 public:
  Div(Graph* graph, float scale = 1.0f);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_ELEMENTWISE_H_
