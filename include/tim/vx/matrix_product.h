// Products of float32 and float16 matrices, with float32 sums, in register tiles
// (matrix_product.cl), for operators that are one.
#ifndef TIM_VX_MATRIX_PRODUCT_H_
#define TIM_VX_MATRIX_PRODUCT_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx {

/// A tile of a product: `rows` rows and `vectors` vectors of 16 columns, so that rows * vectors +
/// vectors of them, and one register, fit into the device's.
struct MatrixTile {
  int64_t rows, vectors;
  int64_t columns() const { return 16 * vectors; }

  /// For a result of m rows and n columns. Few shapes, since each is a kernel to compile.
  TIMCL_API static MatrixTile Of(int64_t m, int64_t n, const DeviceCaps& caps);
  /// ROWS of matrix_product.cl: how many of m rows a work-item takes. As many as leave something
  /// for every core, where `panels` times as many work-items have them; not less than `least`.
  TIMCL_API int64_t RowsOfItem(int64_t m, int64_t panels, const DeviceCaps& caps,
                               int64_t least = 1) const;
};
/// In how many blocks of equal length (BLOCK of matrix_product.cl) a packed panel of `terms` is
/// walked through for m rows.
TIMCL_API int64_t BlocksOfTerms(int64_t m, int64_t terms);

/// Where the matrices of a tensor, its two fastest dimensions, begin for each of the batches that
/// it broadcasts to.
inline std::vector<int64_t> MatrixStarts(const Shape& t, const Shape& batch) {
  std::vector<int64_t> starts = {0};
  int64_t step = t.dim(0) * t.dim(1);
  for (size_t i = 0; i < batch.rank(); ++i) {
    const size_t before = starts.size();
    for (int64_t n = 1; n < batch[i]; ++n) {
      for (size_t k = 0; k < before; ++k)
        starts.push_back(starts[k] + (t.dim(i + 2) == 1 ? 0 : n * step));
    }
    step *= t.dim(i + 2);
  }
  return starts;
}

/// The numbers of a list without repetitions, and for each entry of the list which one it is.
struct Distinct {
  explicit Distinct(const std::vector<int64_t>& list) : values(list) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (const int64_t v : list)
      index.push_back(std::lower_bound(values.begin(), values.end(), v) - values.begin());
  }
  std::vector<int64_t> values, index;
};

/// Y[z][m][n] = sum over k of A[z][m][k] * B[z][k][n]: input 0 times input 1 into output 0. Input
/// 2, where there is one, has n numbers that are added to every row. A[m][k] lies at m * a_m + k *
/// a_k, one of which is 1, and B[k][n] at k * b_k + n * b_n likewise.
struct MatrixProduct {
  int64_t m = 1, n = 1, k = 1;
  int64_t a_m = 1, a_k = 1, b_k = 1, b_n = 1;
  /// The first elements of A and B for each z.
  std::vector<int64_t> a = {0}, b = {0};
  /// Input 1 is constant and packed at Compile(); b_k is 1, and b_n is k.
  bool weights = false;
  /// The factors are rounded to bfloat16 (KernelCandidate::bf16).
  bool bf16 = false;
  /// Of integers: what one unit of a sum stands for in the result.
  float scale = 1;

  /// kUnsupported with the reason why register tiles cannot or should not take it. Of `a` and `b`
  /// it looks at the longer one's length alone.
  TIMCL_API Result<KernelOffer> Accepts(const OpView& op, const KernelRequest& request) const;
  TIMCL_API Result<Launches> Launch(const OpView& op, const KernelRequest& request) const;

  /// The same where the terms of a column of B are neighbours, and too few rows of A meet them to
  /// repay turning B: as dot products (matrix_dot.cl).
  TIMCL_API Result<KernelOffer> AcceptsDots(const OpView& op, const KernelRequest& request) const;
  TIMCL_API Result<Launches> LaunchDots(const OpView& op, const KernelRequest& request) const;

  /// The same of two quantized tensors of bytes with one scale each, without weights, exact
  /// (matmul8.cl). `dot`: by instructions of AVX-512 VNNI.
  TIMCL_API Result<KernelOffer> AcceptsBytes(const OpView& op, const KernelRequest& request,
                                             bool dot) const;
  TIMCL_API Result<Launches> LaunchBytes(const OpView& op, const KernelRequest& request,
                                         bool dot) const;
  /// The same of up to 16 bits (matmul16.cl).
  TIMCL_API Result<KernelOffer> AcceptsShorts(const OpView& op, const KernelRequest& request) const;
  TIMCL_API Result<Launches> LaunchShorts(const OpView& op, const KernelRequest& request) const;
};

}  // namespace tim::vx
#endif  // TIM_VX_MATRIX_PRODUCT_H_
