// Unary functions without attributes, conversions and rounding: one input, one output of the same
// shape.
#ifndef TIM_VX_OPS_SIMPLE_OPERATIONS_H_
#define TIM_VX_OPS_SIMPLE_OPERATIONS_H_

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The same real value in another type or quantization.
///   input   T[any rank]          T: f32 f16 i32 u32 u16 bool, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: TIM-VX DataConvert; ONNX QuantizeLinear-13, DequantizeLinear-13.
class TIMCL_API DataConvert : public BuiltinOp {
 public:
  DataConvert(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// -x.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Neg-13.
class TIMCL_API Neg : public BuiltinOp {
 public:
  Neg(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// |x|.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Abs-13.
class TIMCL_API Abs : public BuiltinOp {
 public:
  Abs(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// sin(x), x in radians.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Sin-7.
class TIMCL_API Sin : public BuiltinOp {
 public:
  Sin(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// e^x.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Exp-13.
class TIMCL_API Exp : public BuiltinOp {
 public:
  Exp(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// ln(x).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Log-13.
class TIMCL_API Log : public BuiltinOp {
 public:
  Log(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// The square root of x.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Sqrt-13.
class TIMCL_API Sqrt : public BuiltinOp {
 public:
  Sqrt(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 / sqrt(x).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: tf.math.rsqrt.
class TIMCL_API Rsqrt : public BuiltinOp {
 public:
  Rsqrt(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x * x.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: tf.math.square.
class TIMCL_API Square : public BuiltinOp {
 public:
  Square(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 where x is 0, else 0.
///   input   T[any rank]          T: bool i8
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Not-1.
class TIMCL_API LogicalNot : public BuiltinOp {
 public:
  LogicalNot(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// The largest whole number not above x.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Floor-13.
class TIMCL_API Floor : public BuiltinOp {
 public:
  Floor(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// The smallest whole number not below x.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Ceil-13.
class TIMCL_API Ceil : public BuiltinOp {
 public:
  Ceil(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// x rounded to a whole number, halves to even.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Round-11.
class TIMCL_API Round : public BuiltinOp {
 public:
  Round(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// Converts the stored numbers and ignores scale and zero point on both sides: float to integer
/// truncates toward 0 and saturates, integer to integer saturates, to bool gives 0 or 1. Equal
/// types with equal quantization, or two integers without any, give DataConvert.
///   input   T[any rank]          T: f32 f16 i32 u32 i16 u8 i8 bool
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Cast-13.
class TIMCL_API Cast : public BuiltinOp {
 public:
  Cast(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// 1 / x; float 1 / 0 is infinite.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Reciprocal-13.
class TIMCL_API Rcp : public BuiltinOp {
 public:
  Rcp(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// cos(x), x in radians.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Cos-7.
class TIMCL_API Cos : public BuiltinOp {
 public:
  Cos(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// tan(x), x in radians.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Tan-7.
class TIMCL_API Tan : public BuiltinOp {
 public:
  Tan(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// arctan(x), in radians.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Atan-7.
class TIMCL_API ATan : public BuiltinOp {
 public:
  ATan(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// artanh(x).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Atanh-9.
class TIMCL_API ATanh : public BuiltinOp {
 public:
  ATanh(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

/// arcosh(x).
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: ONNX Acosh-9.
class TIMCL_API ACosh : public BuiltinOp {
 public:
  ACosh(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SIMPLE_OPERATIONS_H_
