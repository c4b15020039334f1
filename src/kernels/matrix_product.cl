// Y[z][m][n] = sum over k of A[z][m][k] * B[z][k][n], + bias[n] where HAS_BIAS, with float32 sums. One
// work-item computes up to ROWS rows of NR = 16 * NV columns, MR rows at a time in vector
// registers, of which MR * NV + NV + 1 must not exceed the device's (32).
//
// A_FORM 0: A[m][k] lies at m * A_M + k * A_K. 1: packed [ceil(M / MR)][K][MR].
// B_FORM 0: panels [ceil(N / NR)][K][NR], constant (DATA), padded with zeros. 1: the same, made by
//   matrix_pack.cl. 2: rows, B[k][n] at k * B_STEP + n; N >= NR. 3: turned, B[k][n] at
//   n * B_STEP + k, at most BLOCK_TERMS of them: the work-item makes its panel first.
// OWN_A, OWN_Y: A, or Y, is memory of the op's own instead of a tensor.
// HAS_BIAS 1: bias is padded with zeros as the panels are; 2: a tensor, N numbers. T, where BATCHED: for each z where A and B begin.
// SPLIT: K goes in blocks of BLOCK terms, for which a panel stays in the second-level cache; ROWS
//   is then at most BLOCK_ROWS.
// AHEAD: panels are prefetched. Without this the processor waits for memory half of the time where
//   several rows share them; with a single row it costs more than it brings.
// Rows past M read the last row of A, or the padding. Nothing outside of the operands is read.
// Global size: ceil(M / ROWS), ceil(N / NR), batches, so that consecutive work-items share the
// columns of B; COLUMNS_FIRST: ceil(N / NR), ceil(M / ROWS), batches, and they share rows of A.
// BF16 1: A and B are pairs of bfloat16 (bf16.clh), and K counts them. A_FORM is 0, A rows of pairs
//   that matrix_round.cl makes; B_FORM is 0 or 1.
// HALF_PANELS 1, with B_FORM 0: B is half, which is converted to float as it is read.
// A and B are float32 otherwise, Y float32 or half.
#include "registers.clh"
#include "tensor.clh"
#include "turn16.clh"
#define NR (16 * NV)
#define BLOCK_TERMS 512
#define BLOCK_ROWS 128
#define NEAR 4  // rows of a panel that the first-level cache runs ahead

#if BF16
#include "bf16.clh"
#define NAME matrix_product_bf16
#define factor_t int
#define factors_t int16
#define MULTIPLY_ADD(sum, w, x) DOT2(sum, w, x)
#else
#define NAME matrix_product
#define factor_t float
#define factors_t float16
#define MULTIPLY_ADD(sum, w, x) sum = FMA(w, x, sum)
#endif
#if HALF_PANELS
#define b_t half
#define LOAD_B(j, p) vload_half16(j, p)
#else
#define b_t factor_t
#if BF16
#define LOAD_B(j, p) vload16(j, p)
#elif B_FORM == 3
#define LOAD_B(j, p) (*(const float16*)((p) + 16 * (j)))
#else
#define LOAD_B(j, p) TIMCL_FLOATS((p) + 16 * (j))
#endif
#endif
#if A_FORM || OWN_A || BF16
#define A_PARAMETER SCRATCH(A)
#else
#define A_PARAMETER IN(A)
#endif
#if B_FORM == 0
#define B_PARAMETER DATA(B)
#elif B_FORM == 1
#define B_PARAMETER SCRATCH(B)
#else
#define B_PARAMETER IN(B)
#endif
#if OWN_Y
#define Y_PARAMETER SCRATCH(Y)
#define Y_STORE(i, v) Y[i] = (v)
#define Y_VSTORE(i, v) PUT16(Y + (i), v)
#else
#define Y_PARAMETER OUT(Y)
#endif

// clang-format off
TILE_KERNEL(NAME)(A_PARAMETER, B_PARAMETER
#if HAS_BIAS == 2
, IN(bias)
#elif HAS_BIAS
, DATA(bias)
#endif
#if BATCHED
, DATA(T)
#endif
, Y_PARAMETER, SIZE(M), SIZE(N), SIZE(K), SIZE(ROWS), SIZE(BLOCK), SIZE(A_M), SIZE(A_K), SIZE(B_STEP)) {
  // clang-format on
#if COLUMNS_FIRST
  const int first = WORK_ITEM(1) * ROWS, own = WORK_ITEM(0) * NR, z = WORK_ITEM(2);
#else
  const int first = WORK_ITEM(0) * ROWS, own = WORK_ITEM(1) * NR, z = WORK_ITEM(2);
#endif
  const int last = min(M, first + ROWS);
#if BATCHED
  global const factor_t* const a0 = A + T[2 * z];
  global const b_t* const b0 = B + T[2 * z + 1];
#else
  global const factor_t* const a0 = A;
  global const b_t* const b0 = B;
#endif
  // The last rows of B end with N; columns before the work-item's own are not stored.
  const int column = B_FORM == 2 ? min(own, N - NR) : own;
  const int y0 = z * M * N + column;

#if B_FORM == 3
  float panel[BLOCK_TERMS * NR] __attribute__((aligned(64)));
  for (int j = 0; j < NV; ++j) {
    TURN16(b0 + min(column + 16 * j + l, N - 1) * B_STEP, K, panel + 16 * j, NR);
  }
#endif

#if HAS_BIAS == 2
  float padded[NR] __attribute__((aligned(64)));
  for (int l = 0; l < NR; ++l) padded[l] = column + l < N ? LOAD(bias, column + l) : 0.0f;
#define BIAS(j) *(const float16*)(padded + 16 * (j))
#elif HAS_BIAS
#define BIAS(j) vload16(j, bias + column)
#else
#define BIAS(j) (float16)(0.0f)
#endif

  // Sums on their way to the next block, or of one tile to Y.
  float sums[(SPLIT ? BLOCK_ROWS : MR) * NR] __attribute__((aligned(64)));
  for (int k0 = 0; k0 < K; k0 += BLOCK) {
    const int terms = min(BLOCK, K - k0);
#if AHEAD
    // What this block's tiles fetch together, each its share of the rows: the next block, or the
    // next panel.
    const int tiles = (last - first + MR - 1) / MR;
#if B_FORM == 2
    global const b_t* next =
        k0 + BLOCK < K ? b0 + (k0 + BLOCK) * B_STEP + column : b0 + column + NR;
#else
    global const b_t* next = b0 + own * K + (k0 + BLOCK < K ? (k0 + BLOCK) * NR : K * NR);
#endif
#endif
    for (int m0 = first; m0 < last; m0 += MR) {
      float* const sum = sums + (SPLIT ? m0 - first : 0) * NR;
      float16 acc[MR][NV];
      if (!SPLIT || k0 == 0) {
#pragma unroll
        for (int i = 0; i < MR; ++i)
#pragma unroll
          for (int j = 0; j < NV; ++j) acc[i][j] = BIAS(j);
      } else {
#pragma unroll
        for (int i = 0; i < MR; ++i)
#pragma unroll
          for (int j = 0; j < NV; ++j) acc[i][j] = *(const float16*)(sum + i * NR + 16 * j);
      }

      int row[MR];
#pragma unroll
      for (int i = 0; i < MR; ++i) row[i] = A_FORM ? m0 * K + i : min(m0 + i, M - 1) * A_M;
      const int step_a = A_FORM ? MR : A_K, step_b = B_FORM == 2 ? B_STEP : NR;
      global const factor_t* a = a0 + k0 * step_a;
#if B_FORM == 3
      const float* b = panel;
#elif B_FORM == 2
      global const b_t* b = b0 + k0 * B_STEP + column;
#else
      global const b_t* b = b0 + own * K + k0 * NR;
#endif
      for (int k = 0; k < terms;) {
#if AHEAD
#pragma unroll
        for (int j = 0; j < NV; ++j) PREFETCH(next + 16 * j, 0);
        next += step_b;
        const int stop = min(terms, k + tiles);
#else
        const int stop = terms;
#endif
        for (; k < stop; ++k) {
          factors_t x[NV];
#pragma unroll
          for (int j = 0; j < NV; ++j) {
            if (AHEAD) PREFETCH(b + NEAR * step_b + 16 * j, 0);
            x[j] = LOAD_B(j, b);
          }
#pragma unroll
          for (int i = 0; i < MR; ++i) {
            const factors_t w = a[row[i]];
#pragma unroll
            for (int j = 0; j < NV; ++j) MULTIPLY_ADD(acc[i][j], w, x[j]);
          }
          a += step_a;
          b += step_b;
        }
      }

#pragma unroll
      for (int i = 0; i < MR; ++i)
#pragma unroll
        for (int j = 0; j < NV; ++j) *(float16*)(sum + i * NR + 16 * j) = acc[i][j];
      if (SPLIT && k0 + BLOCK < K) continue;
      // In a loop, so that what is fused stands in the code once.
      const int rows = min(MR, M - m0);
#pragma nounroll
      for (int i = 0; i < rows; ++i) {
#pragma nounroll
        for (int j = 0; j < NR; j += 16) {
          const int at = y0 + (m0 + i) * N + j;
          const int begin = max(own - column - j, 0), end = min(N - column - j, 16);
          const float* v = sum + i * NR + j;
          if (begin == 0 && end == 16) {
            VSTORE(Y, at, *(const float16*)v);
          } else {
#pragma nounroll
            for (int l = begin; l < end; ++l) STORE(Y, at + l, v[l]);
          }
        }
      }
    }
  }
}
