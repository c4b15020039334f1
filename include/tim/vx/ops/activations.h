// Activation functions: one input, one output of the same shape. They compute in real numbers:
// quantized inputs are dequantized, the result is quantized with the output's scale and zero point.
#ifndef TIM_VX_OPS_ACTIVATIONS_H_
#define TIM_VX_OPS_ACTIVATIONS_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// max(0, x).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Relu-14.
class TIMCL_API Relu : public BuiltinOp {
 public:
  Relu(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// clamp(x, -1, 1).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: NNAPI RELU1.
class TIMCL_API Relu1 : public BuiltinOp {
 public:
  Relu1(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// clamp(x, 0, 6).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: TFLite RELU6.
class TIMCL_API Relu6 : public BuiltinOp {
 public:
  Relu6(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x where x > 0, else alpha * (e^x - 1).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: alpha, 1 if not given.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Elu-6.
class TIMCL_API Elu : public BuiltinOp {
 public:
  Elu(Graph* graph);
  Elu(Graph* graph, float alpha);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float alpha_;
};

/// tanh(x).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Tanh-13.
class TIMCL_API Tanh : public BuiltinOp {
 public:
  Tanh(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 / (1 + e^-x).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Sigmoid-13.
class TIMCL_API Sigmoid : public BuiltinOp {
 public:
  Sigmoid(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x * sigmoid(x), also known as SiLU.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: arXiv 1710.05941.
class TIMCL_API Swish : public BuiltinOp {
 public:
  Swish(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x * clamp(x + 3, 0, 6) / 6.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX HardSwish-14.
class TIMCL_API HardSwish : public BuiltinOp {
 public:
  HardSwish(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x * tanh(ln(1 + e^x)).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Mish-18.
class TIMCL_API Mish : public BuiltinOp {
 public:
  Mish(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// ln(1 + e^x), also known as Softplus.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Softplus-1.
class TIMCL_API SoftRelu : public BuiltinOp {
 public:
  SoftRelu(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// -1, 0 or 1 by the sign of x.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Sign-13.
class TIMCL_API Sign : public BuiltinOp {
 public:
  Sign(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x / (1 + |x|).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Softsign-1.
class TIMCL_API SoftSign : public BuiltinOp {
 public:
  SoftSign(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x where x >= 0, else slope * x.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   slope   T; with one extent other than 1, equal to that of dimension `axis`: along `axis`; else
///             broadcast, dimension 0 to dimension 0, missing dimensions count as 1
///   output  T, shape of input
/// Attributes: axis in [-rank, rank), 0 = fastest.
/// Errors: kInvalidArgument if axis is out of range; kInvalidShape if slope does not broadcast to
/// input.
/// Source: ONNX PRelu-16 (there without axis).
class TIMCL_API Prelu : public BuiltinOp {
 public:
  Prelu(Graph* graph, int axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int axis_;
};

/// clamp(alpha * x + beta, 0, 1).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: alpha; beta.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX HardSigmoid-6.
class TIMCL_API HardSigmoid : public BuiltinOp {
 public:
  HardSigmoid(Graph* graph, float alpha, float beta);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float alpha_;
  float beta_;
};

/// x where x > 0, else alpha * x.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: alpha.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX LeakyRelu-16.
class TIMCL_API LeakyRelu : public BuiltinOp {
 public:
  LeakyRelu(Graph* graph, float alpha);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float alpha_;
};

/// a * x + b.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: a; b.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: TIM-VX Linear.
class TIMCL_API Linear : public BuiltinOp {
 public:
  Linear(Graph* graph, float a, float b = 0.0f);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float a_;
  float b_;
};

/// 0.5 x (1 + erf(x / sqrt 2)), or with approximate 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715
/// x^3))).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: approximate.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Gelu-20.
class TIMCL_API Gelu : public BuiltinOp {
 public:
  explicit Gelu(Graph* graph, bool approximate = true);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// gamma * x where x > 0, else gamma * alpha * (e^x - 1).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: alpha; gamma.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Selu-6.
class TIMCL_API Selu : public BuiltinOp {
 public:
  Selu(Graph* graph, float alpha = 1.67326f, float gamma = 1.0507f);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float alpha_;
  float gamma_;
};

/// x where x >= 0, else alpha * (e^(x / alpha) - 1).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: alpha, not 0.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Celu-12.
class TIMCL_API Celu : public BuiltinOp {
 public:
  Celu(Graph* graph, float alpha);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  float alpha_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_ACTIVATIONS_H_
