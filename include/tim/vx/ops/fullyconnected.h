// FullyConnected: matrix product with a weight matrix and a bias.
#ifndef TIM_VX_OPS_FULLYCONNECTED_H_
#define TIM_VX_OPS_FULLYCONNECTED_H_

#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// output[o, b] = sum over k of input[k, b] * weight[k, o] + bias[o]. Dimensions 0..axis of the
/// input make k (K of them together), the others b.
///   input   T[any rank]              T: f32 f16, quantized
///   weight  T[K, Oc] (any rank: the last dimension is Oc); also u8/i8/i16 SYMMETRIC_PER_CHANNEL
///   bias?   f32[Oc], or i32[Oc] with scale input * weight
///   output  T[Oc, dimensions of input after axis] for a constant weight, else T[Oc, B]
/// A FLOAT16 bias is read as it is.
/// Attributes: axis in [0, rank); weights = Oc for shape inference, 0 = taken from the weight
/// tensor.
/// Errors: kInvalidArgument if axis is out of range; kInvalidShape if K or the bias does not fit
/// the weight.
/// Source: ONNX Gemm-13, tf.keras.layers.Dense.
class TIMCL_API FullyConnected : public BuiltinOp {
 public:
  FullyConnected(Graph* graph, uint32_t axis);
  FullyConnected(Graph* graph, uint32_t axis, uint32_t weights);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t axis_;
  uint32_t weights_;

 private:
  void OnBindInputPostProc(const std::shared_ptr<Tensor>& tensor, int32_t input_idx) override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_FULLYCONNECTED_H_
