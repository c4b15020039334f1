// x / (BIAS + ALPHA * sum of squares)^BETA over the neighbours from FRONT before to REAR behind,
// INNER apart; they end where a block of LENGTH elements ends. One work-item makes LANES (1 or 16)
// neighbours.
#include "tensor.clh"
#if LANES == 16
#define VEC float16
#define JOIN(lane) vload16(0, lane)
#define SPLIT(v, lane) vstore16(v, 0, lane)
#else
#define VEC float
#define JOIN(lane) lane[0]
#define SPLIT(v, lane) lane[0] = v
#endif
// The LANES elements of the block from `at` on as `lane`; 0 where there are none.
#define READ(at)                                                                      \
  if ((at) >= 0 && (at) + LANES <= LENGTH) {                                          \
    for (int l = 0; l < LANES; ++l) lane[l] = LOAD(X, base + (at) + l);               \
  } else {                                                                            \
    for (int l = 0; l < LANES; ++l) {                                                 \
      lane[l] = (at) + l >= 0 && (at) + l < LENGTH ? LOAD(X, base + (at) + l) : 0.0f; \
    }                                                                                 \
  }
// clang-format off
KERNEL(local_response)(IN(X), OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(FRONT), SIZE(REAR),
SIZE(ITEMS), REAL(ALPHA), REAL(BETA), REAL(BIAS)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int blocks = (LENGTH + LANES - 1) / LANES, outer = item / blocks;
  const int base = outer * LENGTH, k = (item - outer * blocks) * LANES;
  float lane[LANES];
  VEC sum = 0.0f;
  for (int j = -FRONT; j <= REAR; ++j) {
    const int at = k + j * INNER;
    READ(at)
    const VEC v = JOIN(lane), square = v * v;
    sum += square;
  }
  const VEC scaled = sum * ALPHA;
  const VEC energy = scaled + BIAS, root = sqrt(energy);
  VEC divisor;
  if (BETA == 0.75f) {
    divisor = root * sqrt(root);  // the usual powers cost far less this way
  } else if (BETA == 0.5f) {
    divisor = root;
  } else if (BETA == 1.0f) {
    divisor = energy;
  } else {
    divisor = pow(energy, (VEC)BETA);
  }
  READ(k)
  SPLIT(JOIN(lane) / divisor, lane);
  for (int l = 0; l < min(LANES, LENGTH - k); ++l) STORE(Y, base + k + l, lane[l]);
}
