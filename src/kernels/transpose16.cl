// A tensor in another order of its dimensions, 16 numbers at a time. Digits of the index of a result, fastest first: LENGTH
// elements along the first; T has, for the RANK - 1 others, extent, multiplier and shift of an exact division by it, and how far
// apart its elements lie in X. TURNED 0: along the first digit X goes by 1, too; a work-item moves RUN of ITEMS lines.
// TURNED 1: X goes by X_STEP along the first, and by 1 along digit `TURN`, which has TURN_LENGTH elements, Y_STEP apart in Y;
// a work-item moves 16 elements of the first digit with all of that one (its extent in T is 1).
// Both lengths are 16 or more; the last vector begins 16 before the end.
#include "divide.clh"
#include "registers.clh"
#include "tensor.clh"
// clang-format off
#if TURNED
TILE_KERNEL(transpose16)(IN(X), OUT(Y), DATA(T), SIZE(LENGTH), SIZE(X_STEP), SIZE(TURN_LENGTH), SIZE(Y_STEP)) {
  const int first = min(16 * WORK_ITEM(0), LENGTH - 16), line = WORK_ITEM(1);
#else
TILE_KERNEL(transpose16)(IN(X), OUT(Y), DATA(T), SIZE(LENGTH), SIZE(ITEMS), SIZE(RUN)) {
  for (int line = WORK_ITEM(0) * RUN, stop = min(line + RUN, ITEMS); line < stop; ++line)
#endif
  {
    // clang-format on
    uint rest = line;
    int from = 0, to = 0;
#pragma unroll
    for (int d = 0; d < RANK - 1; ++d) {
      global const int* t = T + 5 * d;
      const uint q = BY(rest, t);
      const int digit = (int)(rest - q * (uint)t[0]);
      from += digit * t[3];
      to += digit * t[4];
      rest = q;
    }
#if TURNED
    from += first * X_STEP;
    to += first;
    for (int k = 0; k < TURN_LENGTH; k += 16) {
      const int at = min(k, TURN_LENGTH - 16);
      float16 v[16];
#pragma unroll
      for (int l = 0; l < 16; ++l) v[l] = VLOAD(X, from + l * X_STEP + at);
      TRANSPOSE16(v)
#pragma unroll
      for (int l = 0; l < 16; ++l) VSTORE(Y, to + (at + l) * Y_STEP, v[l]);
    }
#else
    for (int k = 0; k < LENGTH; k += 16) {
      const int at = min(k, LENGTH - 16);
      VSTORE(Y, to + at, VLOAD(X, from + at));
    }
#endif
  }
}
