// Squeeze: removes dimensions of extent 1.
#ifndef TIM_VX_OPS_SQUEEZE_H_
#define TIM_VX_OPS_SQUEEZE_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Removes dimensions of extent 1; the elements and their order stay.
///   input   T[any rank]          T: any
///   output  T, without the dimensions; {1} if none is left; converted if its type or quantization
///           differs
/// Attributes: axis, the dimensions, 0 = fastest; as int32_t in [-rank, rank). Empty: all of extent
/// 1.
/// Errors: kInvalidArgument if an axis is out of range or named twice; kInvalidShape if its extent
/// is not 1 or a declared output has another element count.
/// Source: ONNX Squeeze-13 (the axes are an attribute here).
class TIMCL_API Squeeze : public BuiltinOp {
 public:
  Squeeze(Graph* graph, std::vector<uint32_t> axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<uint32_t> axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SQUEEZE_H_
