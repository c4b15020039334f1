// Products of float32 matrices in register tiles (matrix_product.cl), for operators that are one.
#ifndef TIM_VX_MATRIX_PRODUCT_H_
#define TIM_VX_MATRIX_PRODUCT_H_

#include <cstdint>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx {

/// Y[z][m][n] = sum over k of A[z][m][k] * B[z][k][n]: input 0 times input 1 into output 0.
/// A[m][k] lies at m * a_m + k * a_k, one of which is 1, and B[k][n] at k * b_k + n * b_n likewise.
struct MatrixProduct {
  int64_t m = 1, n = 1, k = 1;
  int64_t a_m = 1, a_k = 1, b_k = 1, b_n = 1;
  /// The first elements of A and B for each z.
  std::vector<int64_t> a = {0}, b = {0};
  /// Input 1 is constant and packed at Compile(), and so is input 2, where there is one: n numbers
  /// that are added to every row.
  bool weights = false;
  /// The factors are rounded to bfloat16 (KernelCandidate::bf16).
  bool bf16 = false;

  /// kUnsupported with the reason why register tiles cannot or should not take it. Of `a` and `b`
  /// it looks at the longer one's length alone.
  TIMCL_API Result<KernelOffer> Accepts(const OpView& op, const KernelRequest& request) const;
  TIMCL_API Result<Launches> Launch(const OpView& op, const KernelRequest& request) const;
};

}  // namespace tim::vx
#endif  // TIM_VX_MATRIX_PRODUCT_H_
