// Matmul: products of matrices.
#ifndef TIM_VX_OPS_MATMUL_H_
#define TIM_VX_OPS_MATMUL_H_

#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// output[n, m, ...] = sum over k of a[k, m, ...] * b[n, k, ...]: row-major matrices A (M rows of
/// K) and B (K rows of N). Integers are summed exactly, in 64 bits.
///   input_a  T[K, M, batch...]   T: f32 f16 i32, quantized; [M, K, batch...] if a is transposed
///   input_b  T[N, K, batch...]   [K, N, batch...] if b is transposed
///   output   T[N, M, batch...], the batch extents broadcast; its type may differ
/// An operand of rank 1 is one row (a) or one column (b) of K, whatever the transposes; the result
/// then has no M or no N ({1} where nothing is left).
/// Attributes: transpose_a, transpose_b; adjoint_a, adjoint_b, which are the same for real numbers.
/// Both operands may be transposed, also where the output's shape is open.
/// Errors: kInvalidShape if the two K differ, the batch extents do not broadcast or a declared
/// output has another element count.
/// Source: ONNX MatMul-13; tf.linalg.matmul (transposes).
class TIMCL_API Matmul : public BuiltinOp {
 public:
  Matmul(Graph* graph, bool transpose_a = false, bool transpose_b = false, bool adjoint_a = false,
         bool adjoint_b = false);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  bool transpose_a_;
  bool transpose_b_;
  bool adjoint_a_;
  bool adjoint_b_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_MATMUL_H_
