// Adds cells around a tensor; one work-item makes RUN neighbours of the result's fastest dimension.
// MODE: 0 constant, 1 border cell, 2 mirror image with and 3 without the border cell. RANK dimensions are left after
// neighbours without padding were joined. T has, for each: extent of the result (work-items across for the fastest),
// multiplier and shift of an exact division by it (for i < 2^31), extent of the input, cells in front.
#include "tensor.clh"
#include "divide.clh"
// The cell of the input behind position c; unchanged where the constant stands.
inline int FN(source)(int c, int extent) {
#if MODE == 1
  return clamp(c, 0, extent - 1);
#elif MODE == 2
  return c < 0 ? -1 - c : c >= extent ? 2 * extent - 1 - c : c;
#elif MODE == 3
  return c < 0 ? -c : c >= extent ? 2 * extent - 2 - c : c;
#else
  return c;
#endif
}
KERNEL(pad)(IN(X), OUT(Y), DATA(T), SIZE(LENGTH), SIZE(ITEMS), REAL(VALUE)) {
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  uint rest = BY(item, T);
  const int k = (item - (int)rest * T[0]) * RUN, to = (int)rest * LENGTH + k;
  const int extent = T[3], first = k - T[4];
  int line = 0, stride = extent;
  bool inside = true;
#pragma unroll
  for (int d = 1; d < RANK; ++d) {
    const uint q = d + 1 < RANK ? DIVIDE(rest, T[5 * d + 1], T[5 * d + 2]) : 0;
    const int c = FN(source)((int)(rest - q * (uint)T[5 * d]) - T[5 * d + 4], T[5 * d + 3]);
    inside = inside && c >= 0 && c < T[5 * d + 3];
    rest = q;
    line += c * stride;
    stride *= T[5 * d + 3];
  }
  if (inside && first >= 0 && first + RUN <= extent) {
    for (int l = 0; l < RUN; ++l) COPY(Y, to + l, X, line + first + l);
    return;
  }
  const int end = min(RUN, LENGTH - k);
  for (int l = 0; l < end; ++l) {
    const int c = FN(source)(first + l, extent);
    if (inside && c >= 0 && c < extent) {
      COPY(Y, to + l, X, line + c);
    } else {
      STORE(Y, to + l, (acc_t)VALUE);
    }
  }
}
