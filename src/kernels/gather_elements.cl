// Y[o][a][i] = X[o][I[o][a][i]][i]; one work-item moves RUN neighbours. X is NX along the axis and INX below it. T has, for
// the indices, the extents below the axis and along it, each with multiplier and shift of an exact division.
#include "tensor.clh"
#include "divide.clh"
KERNEL(gather_elements)(IN(X), IN(I), OUT(Y), DATA(T), SIZE(COUNT), SIZE(NX), SIZE(INX)) {
  const int to = WORK_ITEM(0) * RUN, end = min(RUN, COUNT - to);
  if (end <= 0) return;
  const int line = BY(to, T);
  int i = to - line * T[0], o = BY(line, T + 3), a = line - o * T[3];
  if (i + RUN <= T[0]) {
    for (int l = 0; l < RUN; ++l) {
      const int index = I[to + l];
      const int c = clamp(index < 0 ? index + NX : index, 0, NX - 1);
      COPY(Y, to + l, X, (o * NX + c) * INX + i + l);
    }
    return;
  }
  for (int l = 0; l < end; ++l) {
    const int index = I[to + l];
    const int c = clamp(index < 0 ? index + NX : index, 0, NX - 1);
    COPY(Y, to + l, X, (o * NX + c) * INX + i);
    if (++i < T[0]) continue;
    i = 0;
    if (++a < T[3]) continue;
    a = 0;
    ++o;
  }
}
