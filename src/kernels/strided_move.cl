// Moves elements between a side that is walked in order and places on the other side that are sums
// of strides over the digits of the element's index (tim/vx/strided_move.h); one work-item moves
// RUN neighbours of the fastest digit. T has, for each of RANK digits: extent (work-items across
// for the fastest), multiplier and shift of an exact division by it, its stride, and its steps
// along two axes that elements may leave where BOUNDED. SCATTER: the input is walked.
#include "divide.clh"
#include "tensor.clh"
#define FIELDS 6
#if SCATTER
#define MOVE(l) COPY(Y, place + (l)*T[3], X, at + (l))
#else
#define MOVE(l) COPY(Y, at + (l), X, place + (l)*T[3])
#endif
// clang-format off
KERNEL(strided_move)(IN(X), OUT(Y), DATA(T), SIZE(LENGTH), SIZE(ITEMS), SIZE(START), SIZE(FIRST0),
SIZE(EXTENT0), SIZE(FIRST1), SIZE(EXTENT1)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  uint rest = T[0] == 1 ? item : DIVIDE(item, T[1], T[2]);
  const int k = (item - (int)rest * T[0]) * RUN, at = (int)rest * LENGTH + k;
  const int count = min(RUN, LENGTH - k);
  int place = START + k * T[3], a = FIRST0 + k * T[4], b = FIRST1 + k * T[5];
#pragma unroll
  for (int d = 1; d < RANK; ++d) {
    const uint q = d + 1 < RANK ? DIVIDE(rest, T[FIELDS * d + 1], T[FIELDS * d + 2]) : 0;
    const int digit = (int)(rest - q * (uint)T[FIELDS * d]);
    place += digit * T[FIELDS * d + 3];
    a += digit * T[FIELDS * d + 4];
    b += digit * T[FIELDS * d + 5];
    rest = q;
  }
#if BOUNDED
  const int last = count - 1;
  if (a < 0 || a + last * T[4] >= EXTENT0 || b < 0 || b + last * T[5] >= EXTENT1) {
    for (int l = 0; l < count; ++l) {
      const int c = a + l * T[4], d = b + l * T[5];
      if (c >= 0 && c < EXTENT0 && d >= 0 && d < EXTENT1) {
        MOVE(l);
      } else {
#if !SCATTER
        STORE(Y, at + l, (acc_t)0);
#endif
      }
    }
    return;
  }
#endif
  if (count == RUN) {
    for (int l = 0; l < RUN; ++l) MOVE(l);
  } else {
    for (int l = 0; l < count; ++l) MOVE(l);
  }
}
