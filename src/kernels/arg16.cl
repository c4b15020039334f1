// arg.cl, 16 numbers at a time, of lines of LENGTH elements, INNER apart. ACROSS: a lane for each of 16 neighbouring lines, of
// which there are 16 or more; the last 16 of a plane begin at INNER - 16, so that some are stored twice, the same both times.
// Else lines lie one behind the other and have 16 elements or more, the last 16 of which begin at LENGTH - 16.
// Four vectors are searched at once where there are so many: one would wait for itself. One work-item takes RUN of ITEMS lines,
// or of sixteens of lines.
#include "maximum.clh"
#include "registers.clh"
#include "tensor.clh"
#define FOUR(l) _Pragma("unroll") for (int l = 0; l < 4; ++l)
// TAKE with indices in no order.
#define MERGE(most, at, v, index)                                           \
  do {                                                                      \
    const int16 wins = WINS(v, most) || (!WINS(most, v) && (index) < (at)); \
    most = wins ? (v) : most;                                               \
    at = wins ? (index) : at;                                               \
  } while (0)

TILE_KERNEL(arg16)(IN(X), OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(ITEMS), SIZE(RUN)) {
  const int begin = WORK_ITEM(0) * RUN, end = min(begin + RUN, ITEMS);
#if ACROSS
  const int blocks = (INNER + 15) / 16;
  for (int item = begin; item < end; item += 4) {
    int from[4], to[4];
    float16 most[4];
    int16 at[4];
    FOUR(l) {
      const int block = min(item + l, end - 1), plane = block / blocks;
      const int first = min((block - plane * blocks) * 16, INNER - 16);
      from[l] = plane * LENGTH * INNER + first;
      to[l] = plane * INNER + first;
      most[l] = VVALUE(from[l]);
      at[l] = 0;
    }
    for (int k = 1; k < LENGTH; ++k) {
      FOUR(l) TAKE(most[l], at[l], VVALUE(from[l] + k * INNER), k);
    }
    FOUR(l) STORE_INDICES(Y, to[l], at[l], 16);
  }
#else
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int item = begin; item < end; item += 16) {
    const int count = min(16, end - item);
    float16 line_most[16], line_at[16];
    for (int line = 0; line < count; ++line) {
      const int from = (item + line) * LENGTH;
      float16 most[4];
      int16 at[4];
      int k = LENGTH < 64 ? 16 : 64;
      FOUR(l) if (16 * l < k) most[l] = VVALUE(from + 16 * l), at[l] = 16 * l + lane;
      for (; k + 64 <= LENGTH; k += 64) {
        FOUR(l) TAKE(most[l], at[l], VVALUE(from + k + 16 * l), k + 16 * l + lane);
      }
      if (k >= 64) {
        MERGE(most[0], at[0], most[1], at[1]);
        MERGE(most[2], at[2], most[3], at[3]);
        MERGE(most[0], at[0], most[2], at[2]);
      }
      for (; k < LENGTH; k += 16) {
        const int first = min(k, LENGTH - 16);
        TAKE(most[0], at[0], VVALUE(from + first), first + lane);
      }
      line_most[line] = most[0];
      line_at[line] = as_float16(at[0]);
    }
    TRANSPOSE16(line_most)
    TRANSPOSE16(line_at)
    float16 most = line_most[0];
    int16 at = as_int16(line_at[0]);
#pragma unroll
    for (int l = 1; l < 16; ++l) MERGE(most, at, line_most[l], as_int16(line_at[l]));
    STORE_INDICES(Y, item, at, count);
  }
#endif
}
