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
// PAIRED 1: W is made by matrix_pack8.cl instead, and so is S, int [ceil(N / NR)][NR] in these columns, the sums of their
//   terms, for each of its matrices. T, for each product z: where X begins, whose term k of row m lies at m * X_M + k * X_K, and
//   the number of W and S. Zero points: X_ZERO of X without sign, W_ZERO of W; ROW_SUMS 0: W_ZERO is 0. SCALE in place of M8.
//   N is at least 16. INT_BIAS 1: bias, a tensor of N numbers of 32 bits, is added.
// Global size: ceil(M / MR), ceil(N / NR), PAIRED: products.
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
#if PAIRED
#define PRODUCT WORK_ITEM(2)
#else
#define PRODUCT 0
#endif
#if DOT
#define ONES ((int16)(0x01010101))
#define cell_t X_t
#define FACTOR(i, k) ((const int*)line)[(i) * (CHUNK / TERMS) + (k) / TERMS]
#elif SHORTS
#define cell_t int
#define FACTOR(i, k) line[(i)*CHUNK + (k)]
#else
#define ONES ((float16)(1.0f))
#define cell_t float
#define FACTOR(i, k) line[(i)*CHUNK + (k)]
#endif

// clang-format off
#if OWN_Y
#define RESULT SCRATCH(Y)
#else
#define RESULT OUT(Y)
#endif
#if PAIRED && INT_BIAS
#define PARAMETERS IN(X), SCRATCH(W), SCRATCH(S), DATA(T), IN(bias), RESULT, SIZE(M), SIZE(N), SIZE(K), SIZE(LIMIT), SIZE(X_M), SIZE(X_K), SIZE(X_ZERO), SIZE(W_ZERO), REAL(SCALE)
#define ARGUMENTS PASS(X), PASS(W), PASS(S), PASS(T), PASS(bias), PASS(Y), M, N, K, LIMIT, X_M, X_K, X_ZERO, W_ZERO, SCALE
#elif PAIRED
#define PARAMETERS IN(X), SCRATCH(W), SCRATCH(S), DATA(T), RESULT, SIZE(M), SIZE(N), SIZE(K), SIZE(LIMIT), SIZE(X_M), SIZE(X_K), SIZE(X_ZERO), SIZE(W_ZERO), REAL(SCALE)
#define ARGUMENTS PASS(X), PASS(W), PASS(S), PASS(T), PASS(Y), M, N, K, LIMIT, X_M, X_K, X_ZERO, W_ZERO, SCALE
#elif REAL_BIAS
#define PARAMETERS IN(X), DATA(W), DATA(B), DATA(M8), DATA(R), RESULT, SIZE(M), SIZE(N), SIZE(K), SIZE(LIMIT)
#define ARGUMENTS PASS(X), PASS(W), PASS(B), PASS(M8), PASS(R), PASS(Y), M, N, K, LIMIT
#else
#define PARAMETERS IN(X), DATA(W), DATA(B), DATA(M8), RESULT, SIZE(M), SIZE(N), SIZE(K), SIZE(LIMIT)
#define ARGUMENTS PASS(X), PASS(W), PASS(B), PASS(M8), PASS(Y), M, N, K, LIMIT
#endif
TILE_FUNCTION(tile)(PARAMETERS, int row, int group, int z) {
  const int m0 = row * MR;
#if PAIRED
  const int x0 = T[2 * z], first = T[2 * z + 1] * ((N + NR - 1) / NR);
  int sum_of_row[MR];
  for (int i = 0; i < MR; ++i) sum_of_row[i] = 0;
#else
  const int x0 = 0, first = 0, X_M = K, X_K = 1;
#endif
  global const weight_t* w = (global const weight_t*)W + (first + group) * NR * ((K + TERMS - 1) / TERMS);
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
      global const X_t* from = X + x0 + min(m0 + i, M - 1) * X_M + k0 * X_K;
      cell_t* to = line + i * CHUNK;
      const int side_by_side = X_K == 1 ? count : 0;
      int k = 0;
#if DOT
      for (; k + 16 * TERMS <= side_by_side; k += 16 * TERMS)
        *(uint16*)(to + k) = FLIPPED(*(global const pixels4_t*)(from + k));
#endif
      for (; k + 16 <= side_by_side; k += 16) {
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
      for (; k < count; ++k) to[k] = (uchar)(from[k * X_K] ^ FLIP);
#endif
#if PAIRED && ROW_SUMS
      for (; k % (16 * TERMS) != 0; ++k) to[k] = 0;
      sum_t lanes = 0;
      for (k = 0; k < count; k += 16 * TERMS) MULTIPLY_ADD(lanes, *(sum_t*)(to + k), ONES);
      const int16 sixteen = AS_WHOLE(lanes);
      const int8 eight = sixteen.lo + sixteen.hi;
      const int4 four = eight.lo + eight.hi;
      sum_of_row[i] += (four.x + four.y) + (four.z + four.w);
#elif DOT
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
#if PAIRED
    // The sum of (x - X_ZERO) (w - W_ZERO).
    const float16 m = SCALE;
    const whole_t of_columns = K * X_ZERO * W_ZERO - X_ZERO * vload16(first * NV + vector, S);
#define BIAS (of_columns - W_ZERO * sum_of_row[i])
#else
    const float16 m = vload16(vector, M8);
    const whole_t bias = vload16(vector, B);
#define BIAS bias
#endif
#pragma unroll
    for (int i = 0; i < MR; ++i) {
      if (m0 + i >= M) continue;
      const whole_t sum = WHOLE(i, j) + BIAS;
      const int to = (z * M + m0 + i) * N + n;
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
#elif PAIRED && INT_BIAS
      VSTORE_ACC(Y, to, convert_long16(sum) + convert_long16(vload16(0, bias + n)), m);
#elif PAIRED
      VSTORE_ACC(Y, to, sum, m);
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
  FN(tile)(ARGUMENTS, WORK_ITEM(0), WORK_ITEM(1), PRODUCT);
}
// clang-format on
