// Y[z][m][n] = sum over k of A[z][m][k] * B[z][n][k], + bias[n] where HAS_BIAS, with float32 sums:
// dot products of rows of A, A_M apart, and lines of B, B_N apart, for the few rows of A that do not
// repay turning B. One work-item computes ROWS rows of 16 columns, NB lines of B at a time, which MR
// rows after MR meet while they are in the first-level cache; MR * NB sums, NB lines and one row are in
// vector registers. T, where BATCHED: for each z where A and B begin.
// A, B, bias and Y are float32 or half. K is at least 16; rows and lines past the last are read as that,
// and nothing outside of the operands is.
// Global size: ceil(N / 16), ceil(M / ROWS), batches.
#include "tensor.clh"
#define ROWS 32

// clang-format off
TILE_KERNEL(matrix_dot)(IN(A), IN(B)
#if HAS_BIAS
, IN(bias)
#endif
#if BATCHED
, DATA(T)
#endif
, OUT(Y), SIZE(M), SIZE(N), SIZE(K), SIZE(A_M), SIZE(B_N)) {
  // clang-format on
  const int column = WORK_ITEM(0) * 16, first = WORK_ITEM(1) * ROWS, z = WORK_ITEM(2);
  const int last = min(M, first + ROWS), columns = min(16, N - column);
#if BATCHED
  const int a0 = T[2 * z], b0 = T[2 * z + 1];
#else
  const int a0 = 0, b0 = 0;
#endif
  // The last vector of a line ends with it: terms that were there before are zeros, of both factors.
  const int whole = K / 16 * 16;
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const int16 rest = lane >= 16 - (K - whole);
#define REST(v) as_float16(as_int16(v) & rest)

  float sums[ROWS * 16] __attribute__((aligned(64)));
  for (int n = 0; n < columns; n += NB) {
    int line[NB];
#pragma unroll
    for (int j = 0; j < NB; ++j) line[j] = b0 + min(column + n + j, N - 1) * B_N;
    for (int m = first; m < last; m += MR) {
      int row[MR];
#pragma unroll
      for (int i = 0; i < MR; ++i) row[i] = a0 + min(m + i, M - 1) * A_M;
      float16 acc[MR][NB];
#pragma unroll
      for (int i = 0; i < MR; ++i)
#pragma unroll
        for (int j = 0; j < NB; ++j) acc[i][j] = (float16)(0.0f);
#pragma nounroll
      for (int k = 0; k < whole; k += 16) {
        float16 x[NB];
#pragma unroll
        for (int j = 0; j < NB; ++j) x[j] = VLOAD(B, line[j] + k);
#pragma unroll
        for (int i = 0; i < MR; ++i) {
          const float16 v = VLOAD(A, row[i] + k);
#pragma unroll
          for (int j = 0; j < NB; ++j) acc[i][j] = FMA(v, x[j], acc[i][j]);
        }
      }
      if (whole < K) {
#pragma unroll
        for (int i = 0; i < MR; ++i) {
          const float16 v = REST(VLOAD(A, row[i] + K - 16));
#pragma unroll
          for (int j = 0; j < NB; ++j)
            acc[i][j] = FMA(v, REST(VLOAD(B, line[j] + K - 16)), acc[i][j]);
        }
      }
#pragma unroll
      for (int i = 0; i < MR; ++i) {
#pragma unroll
        for (int j = 0; j < NB; ++j) {
          const float8 eight = acc[i][j].lo + acc[i][j].hi;
          const float4 four = eight.lo + eight.hi;
          sums[(m - first + i) * 16 + n + j] = (four.x + four.z) + (four.y + four.w);
        }
      }
    }
  }

  for (int m = first; m < last; ++m) {
    const float* sum = sums + (m - first) * 16;
    const int to = (z * M + m) * N + column;
#if HAS_BIAS
#define WITH_BIAS(v, added) ((v) + added)
#else
#define WITH_BIAS(v, added) (v)
#endif
    if (columns == 16) {
      VSTORE(Y, to, WITH_BIAS(*(const float16*)sum, VLOAD(bias, column)));
    } else {
      for (int l = 0; l < columns; ++l)
        STORE(Y, to + l, WITH_BIAS(sum[l], LOAD(bias, column + l)));
    }
  }
}
