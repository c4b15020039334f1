// The index of the smallest (LARGEST 0) or largest element along lines of N elements, INNER apart; the lowest index among
// equal ones, and a NaN counts as the extreme. One work-item makes RUN neighbours. LANES > 1, where INNER is 1: a line is
// searched in so many parts. TYPE: int where X is an integer type, whose stored numbers are compared, else float.
#include "tensor.clh"
#if WHOLE
#define TYPE int
#define VALUE(i) RAW(X, i)
#else
#define TYPE float
#define VALUE(i) LOAD(X, i)
#endif
#if LARGEST
#define BEATS(v, r) ((v) > (r) || ((v) != (v) && (r) == (r)))
#else
#define BEATS(v, r) ((v) < (r) || ((v) != (v) && (r) == (r)))
#endif
KERNEL(arg)(IN(X), OUT(Y), SIZE(N), SIZE(INNER), SIZE(ACROSS), SIZE(ITEMS)) {
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
#if LANES > 1
  const int base = item * N;
  TYPE best[LANES];
  int at[LANES];
  const TYPE start = VALUE(base);
  for (int l = 0; l < LANES; ++l) best[l] = start, at[l] = 0;
  int k = 0;
  for (; k + LANES <= N; k += LANES) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      const TYPE v = VALUE(base + k + l);
      const bool better = BEATS(v, best[l]);
      best[l] = better ? v : best[l];
      at[l] = better ? k + l : at[l];
    }
  }
  for (; k < N; ++k) {
    const TYPE v = VALUE(base + k);
    if (BEATS(v, best[0])) best[0] = v, at[0] = k;
  }
  for (int l = 1; l < LANES; ++l) {
    const bool equal = !BEATS(best[0], best[l]) && at[l] < at[0];
    if (BEATS(best[l], best[0]) || equal) best[0] = best[l], at[0] = at[l];
  }
  Y[item] = SATURATE(Y, at[0]);
#else
  const int outer = item / ACROSS, first = (item - outer * ACROSS) * RUN;
  const int lanes = min(RUN, INNER - first), base = outer * N * INNER + first;
  TYPE best[RUN];
  int at[RUN];
  for (int l = 0; l < RUN; ++l) best[l] = VALUE(base + min(l, lanes - 1)), at[l] = 0;
  for (int k = 1; k < N; ++k) {
    if (lanes == RUN) {
#pragma unroll
      for (int l = 0; l < RUN; ++l) {
        const TYPE v = VALUE(base + k * INNER + l);
        const bool better = BEATS(v, best[l]);
        best[l] = better ? v : best[l];
        at[l] = better ? k : at[l];
      }
    } else {
      for (int l = 0; l < lanes; ++l) {
        const TYPE v = VALUE(base + k * INNER + l);
        if (BEATS(v, best[l])) best[l] = v, at[l] = k;
      }
    }
  }
  for (int l = 0; l < lanes; ++l) Y[outer * INNER + first + l] = SATURATE(Y, at[l]);
#endif
}
