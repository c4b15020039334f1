// softmax.cl, 16 numbers at a time (lines16.clh). BETA is positive; UNIT: it is 1.
#include "lines16.clh"
#include "power.clh"
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
