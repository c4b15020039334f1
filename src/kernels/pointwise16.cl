// A point-wise op without broadcasting, 16 elements per work-item: EXPR over the vectors x, y, z and p0..p3.
// For CPUs, whose library functions are an order of magnitude faster on vectors.
// INPUTS: 1 to 3. PARAMS: how many of p0..p3. X_WIDE, Y_WIDE, Z_WIDE, R_WIDE: 1 where the operand is float32.
#include "tensor.clh"
#define LANES(X, i)                                                                                      \
  ((float16)(LOAD(X, i), LOAD(X, i + 1), LOAD(X, i + 2), LOAD(X, i + 3), LOAD(X, i + 4), LOAD(X, i + 5), \
             LOAD(X, i + 6), LOAD(X, i + 7), LOAD(X, i + 8), LOAD(X, i + 9), LOAD(X, i + 10),            \
             LOAD(X, i + 11), LOAD(X, i + 12), LOAD(X, i + 13), LOAD(X, i + 14), LOAD(X, i + 15)))
#if X_WIDE
#define LOAD_X vload16(0, X + i)
#else
#define LOAD_X LANES(X, i)
#endif
#if Y_WIDE
#define LOAD_Y vload16(0, Y + i)
#else
#define LOAD_Y LANES(Y, i)
#endif
#if Z_WIDE
#define LOAD_Z vload16(0, Z + i)
#else
#define LOAD_Z LANES(Z, i)
#endif
#if PARAMS == 0
#define FORMALS
#define ACTUALS
#elif PARAMS == 1
#define FORMALS , float p0
#define ACTUALS , p0
#elif PARAMS == 2
#define FORMALS , float p0, float p1
#define ACTUALS , p0, p1
#elif PARAMS == 3
#define FORMALS , float p0, float p1, float p2
#define ACTUALS , p0, p1, p2
#else
#define FORMALS , float p0, float p1, float p2, float p3
#define ACTUALS , p0, p1, p2, p3
#endif
inline float16 FN(wide)(float16 x, float16 y, float16 z FORMALS) { return EXPR; }
inline float FN(narrow)(float x, float y, float z FORMALS) { return EXPR; }
// clang-format off
kernel void pointwise16(IN(X)
#if INPUTS > 1
, IN(Y)
#endif
#if INPUTS > 2
, IN(Z)
#endif
, OUT(R), SIZE(N)
#if PARAMS > 0
, REAL(p0)
#endif
#if PARAMS > 1
, REAL(p1)
#endif
#if PARAMS > 2
, REAL(p2)
#endif
#if PARAMS > 3
, REAL(p3)
#endif
) {
  // clang-format on
  int i = (int)get_global_id(0) * 16;
  if (i + 16 <= N) {
    const float16 x = LOAD_X;
#if INPUTS > 1
    const float16 y = LOAD_Y;
#else
    const float16 y = x;
#endif
#if INPUTS > 2
    const float16 z = LOAD_Z;
#else
    const float16 z = x;
#endif
#if R_WIDE
    vstore16(EPILOGUE16(FN(wide)(x, y, z ACTUALS)), 0, R + i);
#else
    float r[16];
    vstore16(FN(wide)(x, y, z ACTUALS), 0, r);
    for (int k = 0; k < 16; ++k) STORE(R, i + k, r[k]);
#endif
    return;
  }
  for (; i < N; ++i) {
    const float x = LOAD(X, i);
#if INPUTS > 1
    const float y = LOAD(Y, i);
#else
    const float y = x;
#endif
#if INPUTS > 2
    const float z = LOAD(Z, i);
#else
    const float z = x;
#endif
#if R_WIDE
    R[i] = EPILOGUE(FN(narrow)(x, y, z ACTUALS));
#else
    STORE(R, i, FN(narrow)(x, y, z ACTUALS));
#endif
  }
}
