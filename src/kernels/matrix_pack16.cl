// Matrices of integers of up to 16 bits as matmul16.cl reads them: P[z][ceil(LINES / WIDTH)][K][WIDTH] are elements
// minus their zero point, in double, padded with zeros. Term k of line n is X[T[z] + k * X_K + n * X_LINE]; one of
// these steps is 1, which TURNED says is X_K. WIDTH is 8 or 16. One work-item makes TERMS terms of 16 lines.
// Global size: ceil(K / TERMS), ceil(LINES / 16), matrices.
#include "registers.clh"
#include "tensor.clh"
typedef double8 __attribute__((aligned(8))) FN(doubles8_t);
#define PUT_DOUBLES(p, v) (*(global FN(doubles8_t)*)(p) = convert_double8(v))

// clang-format off
TILE_KERNEL(matrix_pack16)(IN(X), DATA(T), SCRATCH(P), SIZE(LINES), SIZE(K), SIZE(TERMS), SIZE(X_K), SIZE(X_LINE)) {
  // clang-format on
  const int line = WORK_ITEM(1) * 16, z = WORK_ITEM(2), lines = min(16, LINES - line);
  const int padded = (LINES + WIDTH - 1) / WIDTH * WIDTH;
  const int x = T[z] + line * X_LINE, end = min(K, (WORK_ITEM(0) + 1) * TERMS);
  global double* const low = P + (z * padded + line) * K;
  global double* const high = low + (WIDTH == 8 ? 8 * K : 8);
  const int has_high = line + 8 < padded;
  int k = WORK_ITEM(0) * TERMS;
#if TURNED
  for (; lines == 16 && k + 16 <= end; k += 16) {
    float16 v[16];
#pragma unroll
    for (int l = 0; l < 16; ++l) v[l] = convert_float16(VRAW(X, x + l * X_LINE + k) - ZP(X));
    TRANSPOSE16(v)
#pragma unroll
    for (int l = 0; l < 16; ++l) {
      PUT_DOUBLES(low + (k + l) * WIDTH, v[l].lo);
      PUT_DOUBLES(high + (k + l) * WIDTH, v[l].hi);
    }
  }
#else
  for (; lines == 16 && k < end; ++k) {
    const int16 v = VRAW(X, x + k * X_K) - ZP(X);
    PUT_DOUBLES(low + k * WIDTH, v.lo);
    PUT_DOUBLES(high + k * WIDTH, v.hi);
  }
#endif
  for (; k < end; ++k) {
    int lane[16];
    for (int l = 0; l < 16; ++l) lane[l] = l < lines ? RAW(X, x + k * X_K + l * X_LINE) - ZP(X) : 0;
    PUT_DOUBLES(low + k * WIDTH, vload8(0, lane));
    if (has_high) PUT_DOUBLES(high + k * WIDTH, vload8(1, lane));
  }
}
