// Moves elements between a side that is walked in order and places on the other side that are sums
// of strides over the digits of the element's index (tim/vx/strided_move.h); one work-item moves
// RUN neighbours of the fastest digit, of LENGTH values, STEP apart on the other side. T has, for
// each of RANK digits: extent (work-items across for the fastest), multiplier and shift of an exact
// division by it, its stride, and where BOUNDED its steps along two axes that elements may leave.
// SCATTER: the input is walked.
#include "divide.clh"
#include "tensor.clh"
#define FIELDS (BOUNDED ? 6 : 4)
#if SCATTER
#define MOVE(l) COPY(Y, place + (l)*step, X, at + (l))
#else
#define MOVE(l) COPY(Y, at + (l), X, place + (l)*step)
#endif
// clang-format off
KERNEL(strided_move)(IN(X), OUT(Y), DATA(T), SIZE(LENGTH), SIZE(ITEMS), SIZE(START)
#if BOUNDED
, SIZE(FIRST0), SIZE(EXTENT0), SIZE(FIRST1), SIZE(EXTENT1)
#endif
) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  uint rest = BY(item, T);
  const int step = STEP, k = (item - (int)rest * T[0]) * RUN, at = (int)rest * LENGTH + k;
  const int count = min(RUN, LENGTH - k);
  int place = START + k * step;
#if BOUNDED
  int a = FIRST0 + k * T[4], b = FIRST1 + k * T[5];
#endif
#pragma unroll
  for (int d = 1; d < RANK; ++d) {
    global const int* t = T + FIELDS * d;
    const uint q = d + 1 < RANK ? DIVIDE(rest, t[1], t[2]) : 0;
    const int digit = (int)(rest - q * (uint)t[0]);
    place += digit * t[3];
#if BOUNDED
    a += digit * t[4];
    b += digit * t[5];
#endif
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
