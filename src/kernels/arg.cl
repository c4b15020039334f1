// The index of the smallest (SMALLEST 1) or largest element along lines of N elements, INNER apart; the lowest index among
// equal ones, and a NaN counts as the extreme. One work-item makes RUN neighbours. LANES > 1, where INNER is 1: a line is
// searched in so many parts.
#include "maximum.clh"
#include "tensor.clh"
KERNEL(arg)(IN(X), OUT(Y), SIZE(N), SIZE(INNER), SIZE(ACROSS), SIZE(ITEMS)) {
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
#if LANES > 1
  const int base = item * N;
  VALUE_TYPE best[LANES];
  int at[LANES];
  const VALUE_TYPE start = VALUE(base);
  for (int l = 0; l < LANES; ++l) best[l] = start, at[l] = 0;
  int k = 0;
  for (; k + LANES <= N; k += LANES) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      const VALUE_TYPE v = VALUE(base + k + l);
      const bool better = WINS(v, best[l]);
      best[l] = better ? v : best[l];
      at[l] = better ? k + l : at[l];
    }
  }
  for (; k < N; ++k) {
    const VALUE_TYPE v = VALUE(base + k);
    if (WINS(v, best[0])) best[0] = v, at[0] = k;
  }
  for (int l = 1; l < LANES; ++l) {
    const bool equal = !WINS(best[0], best[l]) && at[l] < at[0];
    if (WINS(best[l], best[0]) || equal) best[0] = best[l], at[0] = at[l];
  }
  Y[item] = SATURATE(Y, at[0]);
#else
  const int outer = item / ACROSS, first = (item - outer * ACROSS) * RUN;
  const int lanes = min(RUN, INNER - first), base = outer * N * INNER + first;
  VALUE_TYPE best[RUN];
  int at[RUN];
  for (int l = 0; l < RUN; ++l) best[l] = VALUE(base + min(l, lanes - 1)), at[l] = 0;
  for (int k = 1; k < N; ++k) {
    if (lanes == RUN) {
#pragma unroll
      for (int l = 0; l < RUN; ++l) {
        const VALUE_TYPE v = VALUE(base + k * INNER + l);
        const bool better = WINS(v, best[l]);
        best[l] = better ? v : best[l];
        at[l] = better ? k : at[l];
      }
    } else {
      for (int l = 0; l < lanes; ++l) {
        const VALUE_TYPE v = VALUE(base + k * INNER + l);
        if (WINS(v, best[l])) best[l] = v, at[l] = k;
      }
    }
  }
  for (int l = 0; l < lanes; ++l) Y[outer * INNER + first + l] = SATURATE(Y, at[l]);
#endif
}
