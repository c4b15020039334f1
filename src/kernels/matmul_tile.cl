// Y[M][N] = A[M][K] * B[K][N] + bias with fp32 sums of fp32 or (A_PACKED 1) half tensors, for FullyConnected and 1x1 Conv2d: one work-item
// computes a tile of MR rows and NR = 16 * NV columns in vector registers, so MR * NV + NV + 1 must
// not exceed their number (32).
//
// A_PACKED 1, convolution: A is W, B is X; M output channels, N = W*H pixels, K input channels;
//   N >= NR, or NARROW 1 and 16 <= N < NR: one tile across, its vectors overlap (else NARROW 0).
//   W [ceil(M / MR)][K][MR], bias [ceil(M / MR)][MR], X [images][K][N], Y [images][M][N]
// A_PACKED 0, fully connected: A is X, B is W; M batch, N outputs, K inputs.
//   W [ceil(N / NR)][K][NR], bias [ceil(N / NR)][NR], X [M][K], Y [M][N]
//
// W and bias are padded with zeros, X and Y are not, and nothing outside them is read or written.
// Global size: ceil(M / MR), ceil(N / NR), images (fully connected: 1). Rows come first, so that
// the columns of B that consecutive work-items share stay in the cache.
#include "prefetch.clh"
#include "tensor.clh"
#define NR (16 * NV)
#if A_PACKED && X_HALF
#define READ16(p) vload_half16(0, p)
#else
#define READ16(p) TIMCL_FLOATS(p)
#endif
#define NEAR 4  // rows of B that the first-level cache runs ahead

TILE_KERNEL(matmul_tile)(IN(X), DATA(W), DATA(bias), OUT(Y), SIZE(M), SIZE(N), SIZE(K)) {
  const int m0 = WORK_ITEM(0) * MR;
  const int n0 = WORK_ITEM(1) * NR;
  const int image = WORK_ITEM(2);

  // Rows past M read the padding of W, or the last row of X again.
  int row[MR];
#pragma unroll
  for (int i = 0; i < MR; ++i) row[i] = A_PACKED ? i : min(m0 + i, M - 1) * K;

    // The last tile of a line of pixels moves back to end with it; columns before n0 are not
    // stored.
#if A_PACKED && !NARROW
  const int column = min(n0, N - NR);
#else
  const int column = n0;
#endif
  int offset[NV];  // of vector j in the tile
#pragma unroll
  for (int j = 0; j < NV; ++j) offset[j] = NARROW ? min(16 * j, N - 16) : 16 * j;
#if A_PACKED
  global const float* a = W + m0 * K;
  global const X_t* b = X + image * K * N + column;
  global const X_t* next = b + NR;
  const int step_a = MR, step_b = N;
#else
  global const float* a = X;
  global const float* b = W + n0 * K;
  global const float* next = b + NR * K;
  const int step_a = 1, step_b = NR;
#endif
  const int first_result = (image * M + m0) * N + column;
  global Y_t* y = Y + first_result;

  float16 acc[MR][NV];
#pragma unroll
  for (int i = 0; i < MR; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) {
      acc[i][j] = A_PACKED ? (float16)(bias[m0 + i]) : vload16(j, bias + n0);
      PREFETCH(y + i * N + offset[j], 1);
    }

  // The next columns of B come from memory while these are computed: all tiles of these columns
  // fetch them together, each its share of the K rows, one row every `tiles` steps. Without this
  // the processor waits for memory half of the time. A prefetch outside a buffer does nothing.
  const int tiles = WORK_ITEMS(0), step0 = WORK_ITEM(0) * K;
  const int first = (step0 + tiles - 1) / tiles;
  next += first * step_b;
  int stop = min(K, first * tiles - step0);
  for (int k = 0;;) {
    for (; k < stop; ++k) {
      float16 x[NV];
#pragma unroll
      for (int j = 0; j < NV; ++j) {
        PREFETCH(b + NEAR * step_b + offset[j], 0);
        x[j] = READ16(b + offset[j]);
      }
#pragma unroll
      for (int i = 0; i < MR; ++i) {
        const float16 w = a[row[i]];
#pragma unroll
        for (int j = 0; j < NV; ++j) acc[i][j] = FMA(w, x[j], acc[i][j]);
      }
      a += step_a;
      b += step_b;
    }
    if (k == K) break;
#pragma unroll
    for (int j = 0; j < NV; ++j) PREFETCH(next + 16 * j, 0);
    next += step_b;
    stop = min(K, k + tiles);
  }

#pragma unroll
  for (int i = 0; i < MR; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) {
      if (m0 + i >= M) continue;
      const int at = first_result + i * N + offset[j];
      const int own = NARROW ? 16 * j : n0;  // columns before it belong to another vector
      const int begin = max(own - column - offset[j], 0), end = min(N - column - offset[j], 16);
      if (begin == 0 && end == 16) {
        VSTORE(Y, at, acc[i][j]);
      } else {
        float lane[16];
        vstore16(acc[i][j], 0, lane);
        for (int l = begin; l < end; ++l) STORE(Y, at + l, lane[l]);
      }
    }
}
