// CumSum: running sum along one axis.
#ifndef TIM_VX_OPS_CUMSUM_H_
#define TIM_VX_OPS_CUMSUM_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// y_k = x_0 + ... + x_k along one axis.
///   input   T[any rank]          T: f32 f16, quantized, i32, u32 (to u32)
///   output  T, shape of input; its type may differ from input's
/// Attributes: axis in [-rank, rank), 0 = fastest; exclusive leaves x_k itself out, so that the
/// first result is 0; reverse sums from the far end. i32 and u32 results saturate.
/// Errors: kInvalidArgument if axis is out of range; kInvalidShape if a declared output has another
/// element count.
/// Source: ONNX CumSum-14.
class TIMCL_API CumSum : public BuiltinOp {
 public:
  CumSum(Graph* graph, int32_t axis = 0, int32_t exclusive = 0, int32_t reverse = 0);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t axis_;
  int32_t exclusive_;
  int32_t reverse_;

 private:
  /// As in the original, axis_ is not negative any more once the input is bound.
  void OnBindInputPostProc(const std::shared_ptr<Tensor>& tensor, int32_t input_idx) override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_CUMSUM_H_
