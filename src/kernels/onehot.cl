// Y[o][d][i] = whole part of X[o][i] == d ? ON : OFF; one work-item makes RUN neighbours. T has the extents of i and d, each
// with multiplier and shift of an exact division. WHOLE: X holds plain integers.
#include "tensor.clh"
#include "divide.clh"
inline int FN(whole)(float x) { return isnan(x) ? -1 : convert_int_sat_rtz(x); }
#if WHOLE
#define INDEX(i) RAW(X, i)
#else
#define INDEX(i) FN(whole)(LOAD(X, i))
#endif
KERNEL(onehot)(IN(X), OUT(Y), DATA(T), SIZE(COUNT), REAL(ON), REAL(OFF)) {
  const int to = WORK_ITEM(0) * RUN, end = min(RUN, COUNT - to);
  if (end <= 0) return;
  const int inner = T[0], depth = T[3], line = BY(to, T);
  int i = to - line * inner, o = BY(line, T + 3), d = line - o * depth;
  // Without a step of d, or of d alone: loops without branches.
  if (i + RUN <= inner) {
    for (int l = 0; l < RUN; ++l) STORE(Y, to + l, INDEX(o * inner + i + l) == d ? ON : OFF);
    return;
  }
  if (inner == 1 && d + RUN <= depth) {
    const int on = INDEX(o);
    for (int l = 0; l < RUN; ++l) STORE(Y, to + l, d + l == on ? ON : OFF);
    return;
  }
  for (int l = 0; l < end; ++l) {
    STORE(Y, to + l, INDEX(o * inner + i) == d ? ON : OFF);
    if (++i < inner) continue;
    i = 0;
    if (++d < depth) continue;
    d = 0;
    ++o;
  }
}
