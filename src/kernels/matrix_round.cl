// Rows of a matrix as another type. BF16 1: rounded to pairs of bfloat16 (bf16.clh): the numbers
// 2 * k, 2 * k + 1 of row m are pair P[z][m][k], k < ceil(K / 2). 0: half as float32, P[z][m][k]. The
// row is at m * STEP from T[z] on. One work-item takes ROWS of LINES rows.
#include "registers.clh"
#include "tensor.clh"
#if BF16
#include "bf16.clh"
typedef uint8 __attribute__((aligned(4))) FN(pairs8_t);
#endif

// clang-format off
TILE_KERNEL(matrix_round)(IN(X), DATA(T), SCRATCH(P), SIZE(LINES), SIZE(K), SIZE(ROWS), SIZE(STEP)) {
  // clang-format on
  const int first = WORK_ITEM(0) * ROWS, last = min(LINES, first + ROWS), z = WORK_ITEM(1);
  for (int m = first; m < last; ++m) {
    const int from = T[z] + m * STEP;
    int k = 0;
#if BF16
    const int pairs = (K + 1) / 2;
    global int* to = P + (z * LINES + m) * pairs;
    for (; k + 16 <= K; k += 16) {
      *(global FN(pairs8_t)*)to = FN(round16)(VLOAD(X, from + k));
      to += 8;
    }
    if (k == K) continue;
    float16 rest = 0.0f;
    float* const lanes = (float*)&rest;
    for (int l = 0; k + l < K; ++l) lanes[l] = LOAD(X, from + k + l);
    const uint8 rounded = FN(round16)(rest);
    for (int l = 0; 2 * l < K - k; ++l) to[l] = ((const int*)&rounded)[l];
#else
    global float* to = P + (z * LINES + m) * K;
    for (; k + 16 <= K; k += 16) PUT16(to + k, VLOAD(X, from + k));
    for (; k < K; ++k) to[k] = LOAD(X, from + k);
#endif
  }
}
