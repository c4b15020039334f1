// Y[M][N] = X[M][K] * W[K][N] + bias of 8-bit X, or (SHORTS 1) 16-bit X, constant weights of 8 bits: one work-item
// computes a tile of MR rows and NR = 16 * NV columns. FLIP: 0x80 where X is signed, else 0.
//   W  [ceil(N / NR)][ceil(K / TERMS)][NR][TERMS] as tile8.clh reads them. Vector v of 16
//   columns begins at column
//      min(16 * v, N - 16), so that all are whole; with N < 16 there is one, and zeros stand past
//      N.
//   B, M8  int (WIDE 1: long) and float [ceil(N / NR)][NR], in these columns; B = bias - zero point * sum of
//   weights, for the values
//      without sign
// REAL_BIAS 1: R [ceil(N / NR)][NR] is a float bias, added to the scaled sum; B has none then.
// OWN_Y 1, with REAL_BIAS: Y is memory of the op's own, of floats, and N a multiple of 16.
// LIMIT (DOT 0): so many terms have sums below 2^24; after that they move to integers.
// Global size: ceil(M / MR), ceil(N / NR).
#define NR (16 * NV)
#define ROWS MR
#include "tile8.clh"
// Terms of X that are brought together at once: 511 products of shorts and bytes have a sum below 2^31.
#if SHORTS
#define CHUNK 480
#define cells16_t pixels2_t
#define FLIPPED(v) (v)
#else
#define CHUNK 512
#define cells16_t pixel_t
#define FLIPPED(v) ((v) ^ (uint)(FLIP * 0x01010101))
#endif
#if DOT
#define cell_t X_t
#define FACTOR(i, k) ((const int*)line)[(i) * (CHUNK / TERMS) + (k) / TERMS]
#elif SHORTS
#define cell_t int
#define FACTOR(i, k) line[(i)*CHUNK + (k)]
#else
#define cell_t float
#define FACTOR(i, k) line[(i)*CHUNK + (k)]
#endif

// clang-format off
#if OWN_Y
#define RESULT SCRATCH(Y)
#else
#define RESULT OUT(Y)
#endif
#if REAL_BIAS
#define PARAMETERS IN(X), DATA(W), DATA(B), DATA(M8), DATA(R), RESULT, SIZE(M), SIZE(N), SIZE(K), SIZE(LIMIT)
#define ARGUMENTS PASS(X), PASS(W), PASS(B), PASS(M8), PASS(R), PASS(Y), M, N, K, LIMIT
#else
#define PARAMETERS IN(X), DATA(W), DATA(B), DATA(M8), RESULT, SIZE(M), SIZE(N), SIZE(K), SIZE(LIMIT)
#define ARGUMENTS PASS(X), PASS(W), PASS(B), PASS(M8), PASS(Y), M, N, K, LIMIT
#endif
TILE_FUNCTION(tile)(PARAMETERS, int row, int group) {
  const int m0 = row * MR;
  global const weight_t* w = (global const weight_t*)W + group * NR * ((K + TERMS - 1) / TERMS);
  cell_t __attribute__((aligned(64))) line[MR * CHUNK];
  sum_t acc[MR][NV];
#pragma unroll
  for (int i = 0; i < MR; ++i)
#pragma unroll
    for (int j = 0; j < NV; ++j) acc[i][j] = (sum_t)(0);
#if MOVES
  whole_t total[MR][NV];
  int terms = 0;
  for (int i = 0; i < MR; ++i)
    for (int j = 0; j < NV; ++j) total[i][j] = 0;
#endif

  for (int k0 = 0; k0 < K; k0 += CHUNK) {
    const int count = min(K - k0, CHUNK);
    // Bytes lose their sign; zero weights meet what lies past the end of the last step.
    for (int i = 0; i < MR; ++i) {
      global const X_t* from = X + min(m0 + i, M - 1) * K + k0;
      cell_t* to = line + i * CHUNK;
      int k = 0;
#if DOT
      for (; k + 16 * TERMS <= count; k += 16 * TERMS)
        *(uint16*)(to + k) = FLIPPED(*(global const pixels4_t*)(from + k));
#endif
      for (; k + 16 <= count; k += 16) {
        const cells16_t v = FLIPPED(*(global const cells16_t*)(from + k));
#if DOT
        *(cells16_t*)(to + k) = v;
#else
        *(sum_t*)(to + k) = UNPACKED(v);
#endif
      }
#if SHORTS
      for (; k < count; ++k) to[k] = from[k];
#else
      for (; k < count; ++k) to[k] = (uchar)(from[k] ^ FLIP);
#endif
#if DOT
      for (; k % TERMS != 0; ++k) to[k] = 0;
#endif
    }
#pragma nounroll
    for (int k = 0; k < count; k += TERMS) {
      sum_t weight[NV];
#pragma unroll
      for (int j = MEMORY; j < NV; ++j) weight[j] = WEIGHTS(j);
#pragma unroll
      for (int i = 0; i < MR; ++i) {
        const sum_t v = (sum_t)(FACTOR(i, k));
#pragma unroll
        for (int j = 0; j < MEMORY; ++j) MULTIPLY_ADD_MEMORY(acc[i][j], v, w + 16 * j);
#pragma unroll
        for (int j = MEMORY; j < NV; ++j) MULTIPLY_ADD(acc[i][j], v, weight[j]);
      }
      w += NR;
    }
#if MOVES
    terms += CHUNK;
    if (terms + CHUNK > LIMIT) {
      terms = 0;
      MOVE_SUMS(MR);
    }
#endif
  }

#pragma unroll
  for (int j = 0; j < NV; ++j) {
    const int vector = group * NV + j, n = max(min(16 * vector, N - 16), 0);
    if (16 * vector >= N) continue;
    const float16 m = vload16(vector, M8);
    const whole_t bias = vload16(vector, B);
#pragma unroll
    for (int i = 0; i < MR; ++i) {
      if (m0 + i >= M) continue;
      const whole_t sum = WHOLE(i, j) + bias;
      const int to = (m0 + i) * N + n;
#if REAL_BIAS
      const float16 product = convert_float16(sum) * m;
      const float16 result = product + vload16(vector, R);
#endif
#if OWN_Y
      *(global timcl_floats16*)(Y + to) = result;
#elif REAL_BIAS
      if (N >= 16) {
        VSTORE(Y, to, result);
      } else {
        float lane[16];
        vstore16(result, 0, lane);
        for (int l = 0; l < N; ++l) STORE(Y, to + l, lane[l]);
      }
#else
      if (N >= 16) {
        VSTORE_ACC(Y, to, sum, m);
      } else {
        whole_lane_t lane[16];
        vstore16(sum, 0, lane);
        for (int l = 0; l < N; ++l) STORE_ACC(Y, to + l, lane[l], M8[l]);
      }
#endif
    }
  }
}
TILE_KERNEL(matmul8)(PARAMETERS) {
  FN(tile)(ARGUMENTS, WORK_ITEM(0), WORK_ITEM(1));
}
// clang-format on
