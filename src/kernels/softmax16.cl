// softmax.cl, 16 numbers at a time (lines16.clh), or, LOG 1, logsoftmax.cl. UNIT: BETA is 1. Without LOG it is positive.
#include "lines16.clh"
#include "power.clh"
// clang-format off
TILE_KERNEL(softmax16)(IN(X), OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(ITEMS), SIZE(RUN), REAL(BETA)) {
  // clang-format on
  LINE;
  EACH_ITEM(item) {
    const int base = BASE(item);
    float16 most = -INFINITY;
    // A NaN reaches every result through the sum.
#if LOG
    READ(X, base, const float16 s = UNIT ? x : x * BETA; KEEP(KEPT(v), s); most = s > most ? s : most;)
#else
    READ(X, base, most = x > most ? x : most;)
#endif
    FILL(-INFINITY);
    most = MOST(most);
    float16 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    EACH({
      FETCH_NEXT(X, base, p);
      const float16 apart = GET(p) - most, scaled = UNIT || LOG ? apart : apart * BETA;
      const float16 e = FN(power)(scaled * LOG2_E);
      if (!LOG) KEEP(p, e);
      sum[l] += e;
    })
    const float16 total = TOTAL((sum[0] + sum[1]) + (sum[2] + sum[3]));
#if LOG
    const float16 log_total = log(total);
    for (int v = 0; v < VECTORS; ++v) VSTORE(Y, base + AT(v), GET(KEPT(v)) - most - log_total);
#else
    const float16 factor = 1.0f / total;
    for (int v = 0; v < VECTORS; ++v) VSTORE(Y, base + AT(v), GET(KEPT(v)) * factor);
#endif
  }
}
