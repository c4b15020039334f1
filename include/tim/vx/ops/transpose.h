// Transpose: reorders dimensions.
#ifndef TIM_VX_OPS_TRANSPOSE_H_
#define TIM_VX_OPS_TRANSPOSE_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Reorders dimensions: extent i of the output is extent perm[i] of the input, and its elements
/// follow.
///   input   T[any rank]          T: any
///   output  T; converted if its type or quantization differs from input's
/// Attributes: perm, each of 0..rank-1 once, 0 = fastest.
/// Errors: kInvalidArgument if perm is no permutation of input's dimensions.
/// Source: ONNX Transpose-13 (dimensions are counted from the other end there).
class TIMCL_API Transpose : public BuiltinOp {
 public:
  Transpose(Graph* graph, const std::vector<uint32_t>& perm);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<uint32_t> perm_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_TRANSPOSE_H_
