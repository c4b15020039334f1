// Y[z][m][n] = sum over k of A[z][m][k] * B[z][k][n], + bias[n] where HAS_BIAS, of whole numbers of up to 17 bits, one unit
// of whose sum stands for SCALE. Sums are those of doubles: exact, as they are below 2^53. One work-item computes ROWS rows
// of 16 columns, MR rows at a time in vector registers; MR divides 8, and 8 ROWS.
//   A  [ceil(M / 8)][K][8], B [ceil(N / 16)][K][16], double, made by matrix_pack16.cl, for each of their matrices; FIXED_B: constant
//   T  for each z the numbers of its matrices A and B
//   bias  of 32 or 64 bits
// Global size: ceil(M / ROWS), ceil(N / 16), batches.
#include "tensor.clh"
#if FIXED_B
#define B_PARAMETER DATA(B)
#else
#define B_PARAMETER SCRATCH(B)
#endif
#if HAS_BIAS
#define TOTAL(v, added) (convert_long16(v) + convert_long16(added))
#define TOTAL_LANE(v, added) ((long)(v) + (added))
#else
#define TOTAL(v, added) (v)
#define TOTAL_LANE(v, added) (v)
#endif

// clang-format off
TILE_KERNEL(matmul16)(SCRATCH(A), B_PARAMETER, DATA(T)
#if HAS_BIAS
, IN(bias)
#endif
, OUT(Y), SIZE(M), SIZE(N), SIZE(K), SIZE(ROWS), REAL(SCALE)) {
  // clang-format on
  const int first = WORK_ITEM(0) * ROWS, column = WORK_ITEM(1) * 16, z = WORK_ITEM(2);
  const int last = min(M, first + ROWS), columns = min(16, N - column);
  global const double* const a0 = A + T[2 * z] * ((M + 7) / 8 * 8) * K;
  global const double* const b0 = B + (T[2 * z + 1] * ((N + 15) / 16 * 16) + column) * K;
  for (int m0 = first; m0 < last; m0 += MR) {
    global const double* a = a0 + m0 / 8 * 8 * K + m0 % 8;
    global const double* b = b0;
    double8 acc[MR][2];
#pragma unroll
    for (int i = 0; i < MR; ++i) acc[i][0] = acc[i][1] = (double8)(0.0);
    for (int k = 0; k < K; ++k) {
      const double8 low = vload8(0, b), high = vload8(1, b);
#pragma unroll
      for (int i = 0; i < MR; ++i) {
        acc[i][0] = FMA((double8)(a[i]), low, acc[i][0]);
        acc[i][1] = FMA((double8)(a[i]), high, acc[i][1]);
      }
      a += 8;
      b += 16;
    }
    double sums[MR * 16] __attribute__((aligned(128)));
#pragma unroll
    for (int i = 0; i < MR; ++i) {
      vstore8(acc[i][0], 2 * i, sums);
      vstore8(acc[i][1], 2 * i + 1, sums);
    }
#pragma nounroll
    for (int i = 0; i < min(MR, last - m0); ++i) {
      const int to = (z * M + m0 + i) * N + column;
      const double* sum = sums + 16 * i;
      if (columns == 16) {
        VSTORE_ACC(Y, to, TOTAL(vload16(0, sum), vload16(0, bias + column)), SCALE);
      } else {
        for (int l = 0; l < columns; ++l)
          STORE_ACC(Y, to + l, TOTAL_LANE(sum[l], bias[column + l]), SCALE);
      }
    }
  }
}
