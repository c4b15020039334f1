// A point-wise op (see pointwise.clh) without broadcasting, 16 elements per work-item: x, y and z
// are vectors. For CPUs, whose library functions are an order of magnitude faster on vectors.
// X_WIDE, Y_WIDE, Z_WIDE, R_WIDE: 1 where the operand is float32 or quantized 8-bit, and so read or stored as a vector; R only
// where all are.
#include "pointwise.clh"
#include "tensor.clh"
#define LANES(X, i)                                                                               \
  ((float16)(LOAD(X, i), LOAD(X, i + 1), LOAD(X, i + 2), LOAD(X, i + 3), LOAD(X, i + 4),          \
             LOAD(X, i + 5), LOAD(X, i + 6), LOAD(X, i + 7), LOAD(X, i + 8), LOAD(X, i + 9),      \
             LOAD(X, i + 10), LOAD(X, i + 11), LOAD(X, i + 12), LOAD(X, i + 13), LOAD(X, i + 14), \
             LOAD(X, i + 15)))
#if X_WIDE
#define LOAD_X VLOAD(X, i)
#else
#define LOAD_X LANES(X, i)
#endif
#if Y_WIDE
#define LOAD_Y VLOAD(Y, i)
#else
#define LOAD_Y LANES(Y, i)
#endif
#if Z_WIDE
#define LOAD_Z VLOAD(Z, i)
#else
#define LOAD_Z LANES(Z, i)
#endif
// The last work-item may have less than 16 elements: it repeats the last one. The expression stands
// in one place, since library functions on vectors are long.
#define FETCH(X, v)                                                     \
  float16 v;                                                            \
  if (n >= 16) {                                                        \
    v = LOAD_##X;                                                       \
  } else {                                                              \
    float lanes[16];                                                    \
    for (int k = 0; k < 16; ++k) lanes[k] = LOAD(X, i + min(k, n - 1)); \
    v = vload16(0, lanes);                                              \
  }
KERNEL(pointwise16)(INPUT_PARAMETERS, OUT(R), SIZE(N) REAL_PARAMETERS) {
  const int i = WORK_ITEM(0) * 16, n = N - i;
  if (n <= 0) return;
  FETCH(X, x)
#if INPUTS > 1
  FETCH(Y, y)
#endif
#if INPUTS > 2
  FETCH(Z, z)
#endif
  const float16 r = EXPR;
#if R_WIDE
  if (n >= 16) {
    VSTORE(R, i, r);
    return;
  }
#endif
  float lanes[16];
  vstore16(r, 0, lanes);
  for (int k = 0; k < min(n, 16); ++k) STORE(R, i + k, lanes[k]);
}
