// Puts COUNT slices of INNER elements from U at rows of a tensor of ROWS rows. STEP 0: the sums' memory S becomes a copy of
// X, or zeros (FROM_ZERO). STEP 1: slice by slice into S, or into Y itself (DIRECT), by KIND: 0 replaces, 1 adds, 2
// multiplies, 3 takes the larger, 4 the smaller one. STEP 2: S becomes Y. A work-item has RUN neighbours, in STEP 1 of PER rows
// of its own, so that slices with the same place come in their order; it reads all indices. C has extent and stride in rows
// for each of D coordinates.
#include "tensor.clh"
#if STEP == 0
#if FROM_ZERO
#define SOURCE
#define VALUE(i) 0
#else
#define SOURCE IN(X),
#define VALUE(i) LOAD(X, i)
#endif
KERNEL(scatter)(SOURCE SCRATCH(S), SIZE(N)) {
  const int first = WORK_ITEM(0) * RUN, end = min(first + RUN, N);
  for (int i = first; i < end; ++i) S[i] = VALUE(i);
}
#elif STEP == 1
#if KIND == 1
#define FOLD(r, v) ((r) + (v))
#elif KIND == 2 && INTEGER_MATH
#define FOLD(r, v) FN(product)(r, v)
inline long FN(product)(long r, long v) {
  const long low = (long)((ulong)r * (ulong)v);
  if (mul_hi(r, v) == (low >> 63)) return low;
  return (r < 0) == (v < 0) ? LONG_MAX : LONG_MIN;
}
#elif KIND == 2
#define FOLD(r, v) ((r) * (v))
#elif KIND == 3
#define FOLD(r, v) ((v) > (r) || (v) != (v) ? (v) : (r))
#elif KIND == 4
#define FOLD(r, v) ((v) < (r) || (v) != (v) ? (v) : (r))
#endif
#if DIRECT
#define TARGET OUT(Y)
#define PUT(to, from) COPY(Y, to, U, from)
#else
#define TARGET SCRATCH(S)
#define PUT(to, from) S[to] = FOLD(S[to], LOAD(U, from))
#endif
// clang-format off
KERNEL(scatter)(IN(I), IN(U), DATA(C), TARGET, SIZE(COUNT), SIZE(INNER), SIZE(ROWS), SIZE(PER)) {
  // clang-format on
  const int column = WORK_ITEM(0) * RUN, first = WORK_ITEM(1) * PER;
  const int columns = min(RUN, INNER - column), last = min(first + PER, ROWS);
  if (columns <= 0) return;
  for (int t = 0; t < COUNT; ++t) {
    int row = 0;
    bool inside = true;
    for (int d = 0; d < D; ++d) {
      const int index = I[t * D + d], extent = C[2 * d];
      const int c = index < 0 ? index + extent : index;
      inside = inside && c >= 0 && c < extent;
      row += (inside ? c : 0) * C[2 * d + 1];
    }
    if (!inside || row < first || row >= last) continue;
    const int to = row * INNER + column, from = t * INNER + column;
    if (columns == RUN) {
      for (int l = 0; l < RUN; ++l) PUT(to + l, from + l);
    } else {
      for (int l = 0; l < columns; ++l) PUT(to + l, from + l);
    }
  }
}
#else
KERNEL(scatter)(SCRATCH(S), OUT(Y), SIZE(N)) {
  const int first = WORK_ITEM(0) * RUN, end = min(first + RUN, N);
  for (int i = first; i < end; ++i) STORE(Y, i, S[i]);
}
#endif
