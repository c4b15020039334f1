// Normalisation of lines of LENGTH elements, INNER apart. KIND: 0 x / sqrt(sum of squares); G * (x
// - mean) / sqrt(variance + EPS) + B with G and B 1 by position along the line, 2 by line, of which
// each CHANNELS have them in turn. ACROSS: one work-item takes LANES (1 or 16) neighbouring lines;
// else one line, by LANES elements at a time.
#include "tensor.clh"
#if LANES == 16
#define VEC float16
#define JOIN(lane) vload16(0, lane)
#define SPLIT(v, lane) vstore16(v, 0, lane)
#define FIRST(v) (v).s0
#else
#define VEC float
#define JOIN(lane) lane[0]
#define SPLIT(v, lane) lane[0] = v
#define FIRST(v) (v)
#endif
#if ACROSS
#define STEP 1
#define COUNT(k) lanes
#define TOTAL(sum) sum
#define PLACE(k, l) (k)
#else
#define STEP LANES
#define COUNT(k) min(LANES, LENGTH - (k))
#define TOTAL(sum) (VEC) FN(horizontal)(sum)
#define PLACE(k, l) ((k) + (l))
#endif
#if KIND == 0
#define PARAMETERS
#else
#define PARAMETERS IN(B), IN(G),
#endif
// The elements of step k as `v`; `fill` where there are none.
#define READ(k, fill)                                                               \
  const int at = base + (k)*INNER, count = COUNT(k);                                \
  if (count == LANES) {                                                             \
    for (int l = 0; l < LANES; ++l) lane[l] = LOAD(X, at + l);                      \
  } else {                                                                          \
    for (int l = 0; l < LANES; ++l) lane[l] = l < count ? LOAD(X, at + l) : (fill); \
  }                                                                                 \
  const VEC v = JOIN(lane)

#if !ACROSS
inline float FN(horizontal)(VEC v) {
  float lane[LANES], sum = 0.0f;
  SPLIT(v, lane);
  for (int l = 0; l < LANES; ++l) sum += lane[l];
  return sum;
}
#endif
// clang-format off
KERNEL(normalize_lines)(IN(X), PARAMETERS OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(CHANNELS), SIZE(ITEMS),
REAL(EPS)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  float lane[LANES];
#if ACROSS
  const int blocks = (INNER + LANES - 1) / LANES, outer = item / blocks;
  const int first = (item - outer * blocks) * LANES, lanes = min(LANES, INNER - first);
  const int base = outer * LENGTH * INNER + first;
#else
  const int base = item * LENGTH;
#endif
  VEC sum = 0.0f;
  for (int k = 0; k < LENGTH; k += STEP) {
    READ(k, 0.0f);
#if KIND == 0
    const VEC square = v * v;
    sum += square;
#else
    sum += v;
#endif
  }
#if KIND == 0
  const VEC root = sqrt(TOTAL(sum));
#else
  const VEC mean = TOTAL(sum) / (float)LENGTH;
  sum = 0.0f;
  for (int k = 0; k < LENGTH; k += STEP) {
    READ(k, FIRST(mean));
    const VEC apart = v - mean, square = apart * apart;
    sum += square;
  }
  const VEC variance = TOTAL(sum) / (float)LENGTH;
  const VEC factor = 1.0f / sqrt(variance + EPS);
#endif
#if KIND == 2
  const int c = item % CHANNELS;
  const float gamma = LOAD(G, c), beta = LOAD(B, c);
#endif
  for (int k = 0; k < LENGTH; k += STEP) {
    READ(k, 0.0f);
#if KIND == 0
    SPLIT(v / root, lane);
#else
    SPLIT((v - mean) * factor, lane);
#endif
    for (int l = 0; l < count; ++l) {
#if KIND == 0
      STORE(Y, at + l, lane[l]);
#elif KIND == 1
      const float scaled = lane[l] * LOAD(G, PLACE(k, l));
      STORE(Y, at + l, scaled + LOAD(B, PLACE(k, l)));
#else
      const float scaled = lane[l] * gamma;
      STORE(Y, at + l, scaled + beta);
#endif
    }
  }
}
