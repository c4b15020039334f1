// Index of the smallest or largest element along one axis.
#ifndef TIM_VX_OPS_ARG_H_
#define TIM_VX_OPS_ARG_H_

#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The index of the smallest element along one axis; the lowest index among equal ones. A NaN
/// counts as the smallest.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  i32 (also u8 i8 i16 u16 u32 i64, saturated), shape of input without `axis`, {1} for
///           rank 1
/// Attributes: axis in [-rank, rank), 0 = fastest.
/// Errors: kInvalidArgument if axis is out of range; kInvalidShape if a declared output has another
/// element count.
/// Source: ONNX ArgMin-13; NaN as numpy.argmin.
class TIMCL_API ArgMin : public BuiltinOp {
 public:
  ArgMin(Graph* graph, int32_t axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t axis_;
};

/// The index of the largest element along one axis; the lowest index among equal ones. A NaN counts
/// as the largest.
///   input   T[any rank]          T: f32 f16 i32, quantized
///   output  i32 (also u8 i8 i16 u16 u32 i64, saturated), shape of input without `axis`, {1} for
///           rank 1
/// Attributes: axis in [-rank, rank), 0 = fastest.
/// Errors: kInvalidArgument if axis is out of range; kInvalidShape if a declared output has another
/// element count.
/// Source: ONNX ArgMax-13; NaN as numpy.argmax.
class TIMCL_API ArgMax : public BuiltinOp {
 public:
  ArgMax(Graph* graph, int32_t axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_ARG_H_
