// LocalResponseNormalization: division by a power of the neighbours' energy.
#ifndef TIM_VX_OPS_LOCALRESPONSENORMALIZATION_H_
#define TIM_VX_OPS_LOCALRESPONSENORMALIZATION_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// x / (bias + alpha * s)^beta, s the sum of x * x over the `size` neighbours along one axis.
/// Neighbours beyond the border do not exist; alpha is not divided by size. An even size has its
/// odd neighbour behind the element, as in ONNX.
///   input   T[any rank]          T: f32 f16, quantized
///   output  T, shape of input; its type may differ from input's
/// Attributes: size, the width of the window; alpha, beta, bias; axis in [-rank, rank), 0 =
/// fastest. Errors: kInvalidArgument if axis is out of range or size is 0. Source: NNAPI
/// LOCAL_RESPONSE_NORMALIZATION (size = 2 * radius + 1); ONNX LRN-13 (alpha / size).
class TIMCL_API LocalResponseNormalization : public BuiltinOp {
 public:
  LocalResponseNormalization(Graph* graph, uint32_t size, float alpha, float beta, float bias,
                             int32_t axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t size_;
  float alpha_;
  float beta_;
  float bias_;
  int32_t axis_;
};

using LRN = LocalResponseNormalization;

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_LOCALRESPONSENORMALIZATION_H_
