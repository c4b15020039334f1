// Walks over the input with a stride along each dimension of the result, from element START on; one work-item moves RUN
// neighbours of the result's fastest dimension, of extent LENGTH and stride STEP. RANK dimensions are left after those
// that are walked in one go were joined. T has, for each of them: extent (work-items across for the fastest), multiplier
// and shift of an exact division by it (for i < 2^31), and its stride in the input.
#include "tensor.clh"
#include "divide.clh"
KERNEL(strided_view)(IN(X), OUT(Y), DATA(T), SIZE(LENGTH), SIZE(START), SIZE(ITEMS)) {
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  uint rest = T[0] == 1 ? item : DIVIDE(item, T[1], T[2]);
  const int step = STEP, k = (item - (int)rest * T[0]) * RUN, to = (int)rest * LENGTH + k;
  int from = START + k * step;
#pragma unroll
  for (int d = 1; d < RANK; ++d) {
    const uint q = d + 1 < RANK ? DIVIDE(rest, T[4 * d + 1], T[4 * d + 2]) : 0;
    from += (int)(rest - q * (uint)T[4 * d]) * T[4 * d + 3];
    rest = q;
  }
  if (k + RUN <= LENGTH) {
    for (int l = 0; l < RUN; ++l) COPY(Y, to + l, X, from + l * step);
  } else {
    for (int l = 0; l < LENGTH - k; ++l) COPY(Y, to + l, X, from + l * step);
  }
}
