// A point-wise op (see pointwise.clh), 16 elements at a time: x, y and z are vectors. For CPUs, whose
// library functions are an order of magnitude faster on vectors. One work-item makes RUN results, a
// multiple of 16. RANK: dimensions that are left after those that broadcast alike were joined. T has
// for each, the fastest first, extent, multiplier and shift of an exact division by it, and, but for
// the fastest, the stride of each input. X_STEP, Y_STEP, Z_STEP: strides along the fastest, 1 or 0.
// X_WIDE, Y_WIDE, Z_WIDE, R_WIDE: 1 where the operand is float32, float16, or quantized to i8, u8 or
// i16, and so read or stored as a vector.
#include "divide.clh"
#include "pointwise.clh"
#include "registers.clh"
#include "tensor.clh"
#define LANES(X, i)                                                                               \
  ((float16)(LOAD(X, i), LOAD(X, i + 1), LOAD(X, i + 2), LOAD(X, i + 3), LOAD(X, i + 4),          \
             LOAD(X, i + 5), LOAD(X, i + 6), LOAD(X, i + 7), LOAD(X, i + 8), LOAD(X, i + 9),      \
             LOAD(X, i + 10), LOAD(X, i + 11), LOAD(X, i + 12), LOAD(X, i + 13), LOAD(X, i + 14), \
             LOAD(X, i + 15)))
#if X_WIDE
#define LOAD_X(i) VLOAD(X, i)
#else
#define LOAD_X(i) LANES(X, i)
#endif
#if Y_WIDE
#define LOAD_Y(i) VLOAD(Y, i)
#else
#define LOAD_Y(i) LANES(Y, i)
#endif
#if Z_WIDE
#define LOAD_Z(i) VLOAD(Z, i)
#else
#define LOAD_Z(i) LANES(Z, i)
#endif
// Where a line begins in an input, less the index of its first element: i follows.
#if RANK > 1
#define START(X, input)                                                    \
  int X##_at = X##_STEP ? -line_at : 0;                                    \
  {                                                                        \
    uint rest = line;                                                      \
    _Pragma("unroll") for (int d = 1; d < RANK; ++d) {                     \
      global const int* t = T + 3 + (3 + INPUTS) * (d - 1);                \
      const uint q = d + 1 < RANK ? BY(rest, t) : 0;                       \
      X##_at += (int)(rest - q * (uint)t[0]) * t[3 + input];               \
      rest = q;                                                            \
    }                                                                      \
  }                                                                        \
  const float16 X##_all = X##_STEP ? (float16)(0.0f) : (float16)(LOAD(X, X##_at));
#else
#define START(X, input)   \
  const int X##_at = 0;   \
  const float16 X##_all = X##_STEP ? (float16)(0.0f) : (float16)(LOAD(X, 0));
#endif
// The last vector of a line may be a part of one: it repeats its last element. The expression stands
// in one place, since library functions on vectors are long.
#define FETCH(X, v)                                                                 \
  float16 v = X##_all;                                                              \
  if (X##_STEP && n == 16) {                                                        \
    v = LOAD_##X(X##_at + i);                                                       \
  } else if (X##_STEP) {                                                            \
    float lanes[16];                                                                \
    for (int k = 0; k < 16; ++k) lanes[k] = LOAD(X, X##_at + i + min(k, n - 1));    \
    v = vload16(0, lanes);                                                          \
  }
// clang-format off
TILE_KERNEL(pointwise16)(INPUT_PARAMETERS, OUT(R)
#if RANK > 1
, DATA(T)
#endif
, SIZE(N), SIZE(RUN) REAL_PARAMETERS) {
  // clang-format on
  const int begin = WORK_ITEM(0) * RUN, end = min(N, begin + RUN);
  for (int i = begin, stop; i < end; i = stop) {
#if RANK > 1
    const uint line = DIVIDE(i, T[1], T[2]);
    const int line_at = (int)line * T[0];
    stop = min(end, line_at + T[0]);
#else
    stop = end;
#endif
    START(X, 0)
#if INPUTS > 1
    START(Y, 1)
#endif
#if INPUTS > 2
    START(Z, 2)
#endif
    // Whole vectors, then by the same loop the part of one: what a part needs would otherwise be
    // computed for each vector, twice as many instructions as those of a short expression.
    for (int whole = 1; whole >= 0; --whole) {
      const int last = whole ? i + (stop - i) / 16 * 16 : stop, n = whole ? 16 : stop - i;
      for (; i < last; i += 16) {
        FETCH(X, x)
#if INPUTS > 1
        FETCH(Y, y)
#endif
#if INPUTS > 2
        FETCH(Z, z)
#endif
        const float16 r = EXPR;
#if R_WIDE
        if (n == 16) {
          VSTORE(R, i, r);
          continue;
        }
#endif
        float lanes[16];
        vstore16(r, 0, lanes);
        for (int k = 0; k < n; ++k) STORE(R, i + k, lanes[k]);
      }
    }
  }
}
