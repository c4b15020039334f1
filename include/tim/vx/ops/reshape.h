// Reshape: the same elements in the same order under another shape.
#ifndef TIM_VX_OPS_RESHAPE_H_
#define TIM_VX_OPS_RESHAPE_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The same elements in the same order under another shape.
///   input   T[any rank]          T: any
///   output  T[target_shape]; converted if its type or quantization differs from input's
/// Attributes: target_shape, fastest dimension first: 0 copies input's extent at that index, one
/// entry 0xFFFFFFFF is inferred, {} gives {1}.
/// Errors: kInvalidArgument for two inferred entries or a 0 beyond input's rank; kInvalidShape if
/// the element counts differ.
/// Source: ONNX Reshape-14 (the shape is an attribute here).
class TIMCL_API Reshape : public Operation {
 public:
  Reshape(Graph* graph, const std::vector<uint32_t>& target_shape);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_RESHAPE_H_
