// normalize.cl, 16 numbers at a time (lines16.clh). KIND 2 is not ACROSS.
#include "lines16.clh"
#if KIND == 0
#define PARAMETERS
#else
#define PARAMETERS IN(B), IN(G),
#endif
// clang-format off
TILE_KERNEL(normalize16)(IN(X), PARAMETERS OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(CHANNELS), SIZE(ITEMS), SIZE(RUN), REAL(EPS)) {
  // clang-format on
  LINE;
  EACH_ITEM(item) {
    const int base = BASE(item);
    READ(X, base, )
    FILL(0.0f);
    float16 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    EACH({
      const float16 x = GET(p);
      sum[l] += KIND == 0 ? x * x : x;
    })
    const float16 total = TOTAL((sum[0] + sum[1]) + (sum[2] + sum[3]));
#if KIND == 0
    const float16 root = sqrt(total);
#else
    const float16 mean = total / (float)LENGTH;
    FILL(mean);
    for (int l = 0; l < 4; ++l) sum[l] = 0.0f;
    EACH({
      FETCH_NEXT(X, base, p);
      const float16 apart = GET(p) - mean;
      sum[l] += apart * apart;
    })
    const float16 variance = TOTAL((sum[0] + sum[1]) + (sum[2] + sum[3])) / (float)LENGTH;
    const float16 factor = 1.0f / sqrt(variance + EPS);
#endif
#if KIND == 2
    const float16 gamma = LOAD(G, item % CHANNELS), beta = LOAD(B, item % CHANNELS);
#endif
    for (int v = 0; v < VECTORS; ++v) {
      const float16 x = GET(KEPT(v));
#if KIND == 0
      VSTORE(Y, base + AT(v), x / root);
#else
#if KIND == 1 && ACROSS
      const float16 gamma = LOAD(G, v), beta = LOAD(B, v);
#elif KIND == 1
      const float16 gamma = VLOAD(G, AT(v)), beta = VLOAD(B, AT(v));
#endif
      const float16 scaled = (x - mean) * factor * gamma;
      VSTORE(Y, base + AT(v), scaled + beta);
#endif
    }
  }
}
