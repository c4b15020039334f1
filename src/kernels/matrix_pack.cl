// A float32 or (BF16 0) half matrix as float32 panels of WIDTH lines, padded with zeros: P[z][line / WIDTH][k][line % WIDTH]
// is X[k * X_K + line * X_LINE] from T[z] on, for k < K. X_LINE is 1, or TURNED, X_K is 1 and WIDTH
// a multiple of 16. One work-item makes TERMS terms of PANELS panels: of lines that lie side by side few
// terms of many, so that it reads in a few streams, and many terms of one otherwise.
// BF16 1: P[z][line / WIDTH][k / 2][line % WIDTH] are pairs of bfloat16 (bf16.clh), the first of
// term k; an odd K is padded with zeros, WIDTH is a multiple of 16, TERMS of 2, of 32 where TURNED.
#include "registers.clh"
#include "tensor.clh"
#if BF16
#include "bf16.clh"
// Numbers of two terms as pairs.
inline int16 FN(pair16)(float16 even, float16 odd) {
  const ushort16 low = as_ushort16(FN(round16)(even)), high = as_ushort16(FN(round16)(odd));
  return as_int16(convert_uint16(low) | convert_uint16(high) << 16);
}
#define PUT_PAIRS(p, v) PUT16((global float*)(p), as_float16(v))
// Lanes past `count` are zeros.
inline float16 FN(part16)(global const float* p, int count) {
  if (count >= 16) return vload16(0, p);
  float16 v = 0.0f;
  for (int l = 0; l < count; ++l) ((float*)&v)[l] = p[l];
  return v;
}
#endif

// clang-format off
TILE_KERNEL(matrix_pack)(IN(X), DATA(T), SCRATCH(P), SIZE(LINES), SIZE(K), SIZE(TERMS), SIZE(PANELS), SIZE(X_K), SIZE(X_LINE)) {
  // clang-format on
  const int begin = WORK_ITEM(0) * TERMS, end = min(K, begin + TERMS);
  const int z = WORK_ITEM(2), panels = (LINES + WIDTH - 1) / WIDTH, first = WORK_ITEM(1) * PANELS;
  for (int panel = first; panel < min(first + PANELS, panels); ++panel) {
    const int line = panel * WIDTH, lines = min(WIDTH, LINES - line);
#if BF16
    global const float* x = X + T[z];
    global int* to = P + ((z * panels + panel) * ((K + 1) / 2)) * WIDTH;
#if TURNED
    for (int j = 0; j < WIDTH; j += 16) {
      for (int k = begin; k < end; k += 32) {
        float16 v[16];
#pragma unroll
        for (int l = 0; l < 16; ++l) {
          global const float* from = x + min(line + j + l, LINES - 1) * X_LINE + k;
          const uint8 low = FN(round16)(FN(part16)(from, K - k));
          const uint8 high = FN(round16)(FN(part16)(from + 16, K - k - 16));
          v[l] = as_float16((uint16)(low, high));
        }
        TRANSPOSE16(v)
#pragma unroll
        for (int l = 0; l < 16; ++l)
          if (k + 2 * l < end) PUT_PAIRS(to + (k / 2 + l) * WIDTH + j, v[l]);
      }
    }
#else
    for (int k = begin; k < end; k += 2) {
      for (int j = 0; j < WIDTH; j += 16) {
        global const float* from = x + k * X_K + line + j;
        const float16 odd = k + 1 < K ? FN(part16)(from + X_K, lines - j) : 0.0f;
        PUT_PAIRS(to + k / 2 * WIDTH + j, FN(pair16)(FN(part16)(from, lines - j), odd));
      }
    }
#endif
#else
    const int x = T[z];
    global float* to = P + ((z * panels + panel) * K) * WIDTH;
#if TURNED
    for (int j = 0; j < WIDTH; j += 16) {
      int from[16];
#pragma unroll
      for (int l = 0; l < 16; ++l) from[l] = x + min(line + j + l, LINES - 1) * X_LINE;
      int k = begin;
      if (j + 16 <= lines) {
        for (; k + 16 <= end; k += 16) {
          float16 v[16];
#pragma unroll
          for (int l = 0; l < 16; ++l) v[l] = VLOAD(X, from[l] + k);
          TRANSPOSE16(v)
#pragma unroll
          for (int l = 0; l < 16; ++l) PUT16(to + (k + l) * WIDTH + j, v[l]);
        }
      }
      for (; k < end; ++k) {
        for (int l = 0; l < 16; ++l) to[k * WIDTH + j + l] = j + l < lines ? LOAD(X, from[l] + k) : 0.0f;
      }
    }
#else
    if (lines == WIDTH) {
      for (int k = begin; k < end; ++k) {
        const int from = x + k * X_K + line;
#if WIDTH == 8 && !X_HALF
        vstore8(vload8(0, X + from), k, to);
#elif WIDTH % 16
#pragma unroll
        for (int l = 0; l < WIDTH; ++l) to[k * WIDTH + l] = LOAD(X, from + l);
#else
#pragma unroll
        for (int j = 0; j < WIDTH; j += 16) PUT16(to + k * WIDTH + j, VLOAD(X, from + j));
#endif
      }
      continue;
    }
    for (int k = begin; k < end; ++k) {
      for (int l = 0; l < WIDTH; ++l) {
        to[k * WIDTH + l] = l < lines ? LOAD(X, x + k * X_K + line + l) : 0.0f;
      }
    }
#endif
#endif
  }
}
