// Cast: converts stored numbers, whatever scale and zero point say.
// FROM_HALF, TO_HALF, TO_BOOL, TO_FLOAT, FROM_FLOAT: 0 or 1. CONVERT: from float to the result's type or to int where that
// is wider, saturating, towards 0; then LOWEST and HIGHEST are the type's limits.
#include "tensor.clh"
KERNEL(cast)(IN(X), OUT(Y), SIZE(N)) {
  const int i = WORK_ITEM(0);
  if (i >= N) return;
#if FROM_HALF
  const float x = vload_half(i, X);
#else
  const X_t x = X[i];
#endif
#if TO_BOOL
  Y[i] = (char)(x != 0);
#elif TO_HALF
  vstore_half_rte((float)x, i, Y);
#elif TO_FLOAT
  Y[i] = (float)x;
#elif FROM_FLOAT
  Y[i] = isnan((float)x) ? (Y_t)0 : (Y_t)clamp(CONVERT(x), LOWEST, HIGHEST);
#else
  Y[i] = SATURATE(Y, x);
#endif
}
