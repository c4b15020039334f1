// Moves slices of INNER elements that coordinates point at. A line of the result is K slices, LENGTH elements; one
// work-item moves RUN neighbours of it. Lines of X are XLINE apart. T has, with multiplier and shift of an exact division:
// work-items per line, lines that share their K indices, INNER; then for each of D coordinates extent and stride in X.
// FLOAT_INDEX 1: the whole part of a real index counts. A negative coordinate counts from the end; then it is limited.
#include "tensor.clh"
#include "divide.clh"
inline int FN(place)(int t, global const I_t* I, global const int* C) {
  int from = 0;
  for (int d = 0; d < D; ++d) {
#if FLOAT_INDEX
    const int index = convert_int_sat_rtz(LOAD(I, t * D + d));
#else
    const int index = I[t * D + d];
#endif
    const int extent = C[2 * d];
    from += clamp(index < 0 ? index + extent : index, 0, extent - 1) * C[2 * d + 1];
  }
  return from;
}
KERNEL(gather)(IN(X), IN(I), OUT(Y), DATA(T), SIZE(LENGTH), SIZE(K), SIZE(XLINE), SIZE(ITEMS)) {
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int line = BY(item, T), first = (item - line * T[0]) * RUN, inner = T[6];
  const int indices = (int)BY(line, T + 3) * K, start = line * XLINE, to = line * LENGTH + first;
  int k = BY(first, T + 6), i = first - k * inner;
  int from = start + FN(place)(indices + k, I, T + 9);
  if (i + RUN <= inner) {
    for (int l = 0; l < RUN; ++l) COPY(Y, to + l, X, from + i + l);
    return;
  }
  const int end = min(RUN, LENGTH - first);
  for (int l = 0; l < end; ++l, ++i) {
    if (i == inner) {
      i = 0;
      from = start + FN(place)(indices + ++k, I, T + 9);
    }
    COPY(Y, to + l, X, from + i);
  }
}
