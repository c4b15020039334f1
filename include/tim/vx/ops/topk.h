// Topk: the largest elements along one axis.
#ifndef TIM_VX_OPS_TOPK_H_
#define TIM_VX_OPS_TOPK_H_

#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The k largest elements along one axis, in descending order, and their indices along it. Among
/// equal elements the lowest index comes first, as in ONNX and TensorFlow (the original leaves it
/// open); a NaN counts as the largest.
///   input           T[any rank]   T: f32 f16 i32, quantized
///   output_values   T, shape of input with extent k along `axis`; its type may differ from input's
///   output_indices  i32, the same shape
/// Attributes: k in [1, extent along axis]; axis in [-rank, rank), 0 = fastest.
/// Errors: kInvalidArgument if k or axis is out of range; kInvalidShape if a declared output has
/// another element count.
/// Source: ONNX TopK-11 (largest, sorted).
class TIMCL_API Topk : public BuiltinOp {
 public:
  Topk(Graph* graph, uint32_t k, int32_t axis = 0);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t k_;
  int32_t axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_TOPK_H_
