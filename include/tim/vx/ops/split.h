// Split: cuts a tensor into parts along one axis.
#ifndef TIM_VX_OPS_SPLIT_H_
#define TIM_VX_OPS_SPLIT_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Cuts a tensor into parts along one axis.
///   input    T[any rank]         T: any
///   output*  T, the shape of input with slices[i] elements along `axis`; converted if its type or
///            quantization differs; replaces a declared shape
/// Attributes: axis in [0, rank), 0 = fastest; slices, the parts' extents, equal parts if empty.
/// Errors: kInvalidArgument if axis is out of range, a part is empty, or the parts do not add up to
/// the axis; kInvalidGraph if there are not as many outputs as parts.
/// Source: ONNX Split-13 (the parts are an attribute here).
class TIMCL_API Split : public BuiltinOp {
 public:
  Split(Graph* graph, uint32_t axis, std::vector<uint32_t> slices);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t axis_;
  std::vector<uint32_t> slices_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SPLIT_H_
