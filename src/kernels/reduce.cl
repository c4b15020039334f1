// Makes one number of many (see reduce.clh). KIND: 0 smallest, 1 largest, 2 sum, 3 mean, 4 product, 5 any, 6 all.
// ACC: the type that it is gathered in. EXACT 1: X is an integer type, whose stored numbers less the zero point are
// summed; SCALE is then what one unit of the sum stands for, divided by the scale of an integer result, and by COUNT if
// MEAN_SCALED. LANES > 1: a line is gathered in so many parts.
#include "tensor.clh"
#include "reduce.clh"
#if EXACT
#define VALUE(i) ((ACC)RAW(X, i) - ZP(X))
#elif KIND >= 5
#define VALUE(i) (LOAD(X, i) != 0)
#else
#define VALUE(i) LOAD(X, i)
#endif
#define PRODUCT_LIMIT 4294967295L  // times any factor it still fits; a result beyond it saturates anyway
#if KIND == 0
#define START(i) VALUE(i)
#define FOLD(r, v) ((v) < (r) || (v) != (v) ? (v) : (r))
#elif KIND == 1
#define START(i) VALUE(i)
#define FOLD(r, v) ((v) > (r) || (v) != (v) ? (v) : (r))
#elif KIND <= 3
#define START(i) 0
#define FOLD(r, v) ((r) + (v))
#elif KIND == 4
#define START(i) 1
#if INTEGER_MATH
#define FOLD(r, v) clamp((r) * (v), -PRODUCT_LIMIT, PRODUCT_LIMIT)
#else
#define FOLD(r, v) ((r) * (v))
#endif
#elif KIND == 5
#define START(i) 0
#define FOLD(r, v) ((r) | (v))
#else
#define START(i) 1
#define FOLD(r, v) ((r) & (v))
#endif

// clang-format off
KERNEL(reduce)(IN(X), OUT(Y), WALK_PARAMETERS, SIZE(COUNT), REAL(SCALE)) {
  // clang-format on
  WALK_START
  ACC result[RUN];
#if LANES > 1
  ACC lane[LANES];
  for (int l = 0; l < LANES; ++l) lane[l] = START(base);
  for (int m = 0; m < M; ++m) {
    const int from = WALK_GROUP(m);
    int k = 0;
    for (; k + LANES <= N; k += LANES) {
#pragma unroll
      for (int l = 0; l < LANES; ++l) {
        const ACC v = VALUE(from + k + l);
        lane[l] = FOLD(lane[l], v);
      }
    }
    for (; k < N; ++k) {
      const ACC v = VALUE(from + k);
      lane[0] = FOLD(lane[0], v);
    }
  }
  for (int width = LANES / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] = FOLD(lane[l], lane[l + width]);
  }
  result[0] = lane[0];
#else
  for (int l = 0; l < RUN; ++l) result[l] = START(base + min(l, lanes - 1));
  for (int m = 0; m < M; ++m) {
    const int from = WALK_GROUP(m);
    if (lanes == RUN) {
      for (int k = 0; k < N; ++k) {
#pragma unroll
        for (int l = 0; l < RUN; ++l) {
          const ACC v = VALUE(from + k * STEP + l);
          result[l] = FOLD(result[l], v);
        }
      }
    } else {
      for (int k = 0; k < N; ++k) {
        for (int l = 0; l < lanes; ++l) {
          const ACC v = VALUE(from + k * STEP + l);
          result[l] = FOLD(result[l], v);
        }
      }
    }
  }
#endif
  for (int l = 0; l < lanes; ++l) {
    const ACC r = result[l];
#if KIND == 3 && INTEGER_MATH
    // Rounded to the nearest, halves to even.
    long q = r / COUNT;
    const long left = (r < 0 ? q * COUNT - r : r - q * COUNT) * 2;
    if (left > COUNT || (left == COUNT && (q & 1))) q += r < 0 ? -1 : 1;
    STORE(Y, to + l, q);
#elif EXACT && !INTEGER_MATH && (KIND == 2 || MEAN_SCALED)
    STORE_ACC(Y, to + l, r, SCALE);
#elif KIND == 3 && EXACT
    STORE(Y, to + l, (float)r * SCALE / (float)COUNT);
#elif KIND == 3
    STORE(Y, to + l, r / (float)COUNT);
#else
    STORE(Y, to + l, (acc_t)r);
#endif
  }
}
