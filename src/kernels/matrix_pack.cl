// A float32 matrix as panels of WIDTH lines, padded with zeros: P[z][line / WIDTH][k][line % WIDTH]
// is X[k * X_K + line * X_LINE] from T[z] on, for k < K. X_LINE is 1, or TURNED, X_K is 1 and WIDTH
// a multiple of 16. One work-item makes TERMS terms of a panel.
#include "registers.clh"
#include "tensor.clh"

// clang-format off
TILE_KERNEL(matrix_pack)(IN(X), DATA(T), SCRATCH(P), SIZE(LINES), SIZE(K), SIZE(TERMS), SIZE(X_K), SIZE(X_LINE)) {
  // clang-format on
  const int begin = WORK_ITEM(0) * TERMS, end = min(K, begin + TERMS);
  const int line = WORK_ITEM(1) * WIDTH, z = WORK_ITEM(2), panels = WORK_ITEMS(1);
  global const float* x = X + T[z];
  global float* to = P + ((z * panels + WORK_ITEM(1)) * K) * WIDTH;
  const int lines = min(WIDTH, LINES - line);
#if TURNED
  for (int j = 0; j < WIDTH; j += 16) {
    global const float* from[16];
#pragma unroll
    for (int l = 0; l < 16; ++l) from[l] = x + min(line + j + l, LINES - 1) * X_LINE;
    int k = begin;
    if (j + 16 <= lines) {
      for (; k + 16 <= end; k += 16) {
        float16 v[16];
#pragma unroll
        for (int l = 0; l < 16; ++l) v[l] = vload16(0, from[l] + k);
        TRANSPOSE16(v)
#pragma unroll
        for (int l = 0; l < 16; ++l) PUT16(to + (k + l) * WIDTH + j, v[l]);
      }
    }
    for (; k < end; ++k) {
      for (int l = 0; l < 16; ++l) to[k * WIDTH + j + l] = j + l < lines ? from[l][k] : 0.0f;
    }
  }
#else
  if (lines == WIDTH) {
    for (int k = begin; k < end; ++k) {
      global const float* from = x + k * X_K + line;
#if WIDTH == 8
      vstore8(vload8(0, from), k, to);
#else
#pragma unroll
      for (int j = 0; j < WIDTH; j += 16) PUT16(to + k * WIDTH + j, vload16(0, from + j));
#endif
    }
    return;
  }
  for (int k = begin; k < end; ++k) {
    for (int l = 0; l < WIDTH; ++l) {
      to[k * WIDTH + l] = l < lines ? x[k * X_K + line + l] : 0.0f;
    }
  }
#endif
}
