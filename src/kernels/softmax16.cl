// softmax.cl, 16 numbers at a time (lines16.clh). BETA is not negative; UNIT: it is 1.
#include "lines16.clh"
#define LOG2_E 1.44269504f
// 2^x for x <= 0; 0 below 2^-126. It is 2^n p with n the integer nearest to x, found by adding 1.5 * 2^23; adding 127 more
// makes the lowest bits those of 2^n. p = 2^(x - n) is a polynomial, 9.2e-8 relative, in which a NaN stays one.
#define ROUND 12583039.0f
inline float16 FN(power)(float16 x) {
  const float16 t = AT_LEAST(x, -127.0f), z = t + ROUND, r = t - (z - ROUND);
  float16 p = fma(r, (float16)1.326472731307149e-3f, (float16)9.671512991189957e-3f);
  p = fma(p, r, (float16)5.550733581185341e-2f);
  p = fma(p, r, (float16)2.4022242426872253e-1f);
  p = fma(p, r, (float16)6.931470036506653e-1f);
  p = fma(p, r, (float16)1.0f);
  return p * as_float16(as_int16(z) << 23);
}
// clang-format off
TILE_KERNEL(softmax16)(IN(X), OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(ITEMS), SIZE(RUN), REAL(BETA)) {
  // clang-format on
  LINE;
  EACH_ITEM(item) {
    const int base = BASE(item);
    float16 most = -INFINITY;
    READ(X, base, most = x > most ? x : most;)  // a NaN reaches every result through the sum
    FILL(-INFINITY);
    most = MOST(most);
    float16 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    EACH({
      FETCH_NEXT(X, base, p);
      const float16 apart = GET(p) - most, scaled = UNIT ? apart : apart * BETA;
      const float16 e = FN(power)(scaled * LOG2_E);
      KEEP(p, e);
      sum[l] += e;
    })
    const float16 factor = 1.0f / TOTAL((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (int v = 0; v < VECTORS; ++v) VSTORE(Y, base + AT(v), GET(KEPT(v)) * factor);
  }
}
