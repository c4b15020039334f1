// Reductions: one number from all elements along some dimensions.
#ifndef TIM_VX_OPS_REDUCE_H_
#define TIM_VX_OPS_REDUCE_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The smallest element; a NaN among them is the result.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input with extent 1 along `axis` (keep_dims), else without these
///           dimensions, {1} where none is left; its type may differ from input's
/// Attributes: axis, entries in [-rank, rank), 0 = fastest, repeated ones count once, an empty list
/// reduces nothing; keep_dims.
/// Errors: kInvalidArgument if an axis is out of range; kInvalidShape if a declared output has
/// another element count.
/// Source: ONNX ReduceMin-13; NaN as numpy.min.
class TIMCL_API ReduceMin : public BuiltinOp {
 public:
  ReduceMin(Graph* graph, const std::vector<int32_t>& axis, bool keep_dims);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> axis_;
  bool keep_dims_;
};

/// The largest element; a NaN among them is the result.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input with extent 1 along `axis` (keep_dims), else without these
///           dimensions, {1} where none is left; its type may differ from input's
/// Attributes: axis, entries in [-rank, rank), 0 = fastest, repeated ones count once, an empty list
/// reduces nothing; keep_dims.
/// Errors: kInvalidArgument if an axis is out of range; kInvalidShape if a declared output has
/// another element count.
/// Source: ONNX ReduceMax-13; NaN as numpy.max.
class TIMCL_API ReduceMax : public BuiltinOp {
 public:
  ReduceMax(Graph* graph, const std::vector<int32_t>& axis, bool keep_dims);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> axis_;
  bool keep_dims_;
};

/// 1 where any element is not 0, else 0.
///   input   T[any rank]          T: bool i8
///   output  T, shape of input with extent 1 along `axis` (keep_dims), else without these
///           dimensions, {1} where none is left; its type may differ from input's
/// Attributes: axis, entries in [-rank, rank), 0 = fastest, repeated ones count once, an empty list
/// reduces nothing; keep_dims.
/// Errors: kInvalidArgument if an axis is out of range; kInvalidShape if a declared output has
/// another element count.
/// Source: tf.math.reduce_any.
class TIMCL_API ReduceAny : public BuiltinOp {
 public:
  ReduceAny(Graph* graph, const std::vector<int32_t>& axis, bool keep_dims);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> axis_;
  bool keep_dims_;
};

/// 1 where no element is 0, else 0.
///   input   T[any rank]          T: bool i8
///   output  T, shape of input with extent 1 along `axis` (keep_dims), else without these
///           dimensions, {1} where none is left; its type may differ from input's
/// Attributes: axis, entries in [-rank, rank), 0 = fastest, repeated ones count once, an empty list
/// reduces nothing; keep_dims.
/// Errors: kInvalidArgument if an axis is out of range; kInvalidShape if a declared output has
/// another element count.
/// Source: tf.math.reduce_all.
class TIMCL_API ReduceAll : public BuiltinOp {
 public:
  ReduceAll(Graph* graph, const std::vector<int32_t>& axis, bool keep_dims);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> axis_;
  bool keep_dims_;
};

/// The product of the elements. Unquantized integers saturate.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input with extent 1 along `axis` (keep_dims), else without these
///           dimensions, {1} where none is left; its type may differ from input's
/// Attributes: axis, entries in [-rank, rank), 0 = fastest, repeated ones count once, an empty list
/// reduces nothing; keep_dims.
/// Errors: kInvalidArgument if an axis is out of range; kInvalidShape if a declared output has
/// another element count.
/// Source: ONNX ReduceProd-13.
class TIMCL_API ReduceProd : public BuiltinOp {
 public:
  ReduceProd(Graph* graph, const std::vector<int32_t>& axis, bool keep_dims);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> axis_;
  bool keep_dims_;
};

/// The sum of the elements divided by their number. Integers are summed exactly; unquantized ones
/// are rounded to the nearest whole number, halves to even.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input with extent 1 along `axis` (keep_dims), else without these
///           dimensions, {1} where none is left; its type may differ from input's
/// Attributes: axis, entries in [-rank, rank), 0 = fastest, repeated ones count once, an empty list
/// reduces nothing; keep_dims.
/// Errors: kInvalidArgument if an axis is out of range; kInvalidShape if a declared output has
/// another element count.
/// Source: ONNX ReduceMean-13.
class TIMCL_API ReduceMean : public BuiltinOp {
 public:
  ReduceMean(Graph* graph, const std::vector<int32_t>& axis, bool keep_dims);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> axis_;
  bool keep_dims_;
};

/// The sum of the elements. Integers are summed exactly; the result saturates.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  T, shape of input with extent 1 along `axis` (keep_dims), else without these
///           dimensions, {1} where none is left; its type may differ from input's
/// Attributes: axis, entries in [-rank, rank), 0 = fastest, repeated ones count once, an empty list
/// reduces nothing; keep_dims.
/// Errors: kInvalidArgument if an axis is out of range; kInvalidShape if a declared output has
/// another element count.
/// Source: ONNX ReduceSum-13.
class TIMCL_API ReduceSum : public BuiltinOp {
 public:
  ReduceSum(Graph* graph, const std::vector<int32_t>& axis, bool keep_dims);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int32_t> axis_;
  bool keep_dims_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_REDUCE_H_
