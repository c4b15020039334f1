// maxpool_argmax.cl, 16 neighbours along the width at a time, of windows that all meet the input. STEP: the stride along the
// width if it is 1 or 2, so that vectors can be read, which begin at one of the first STARTS elements of X; else 0.
// One work-item makes RUN of ITEMS lines. Its vectors are stored in the order of Y: what one has beyond its line is overwritten
// by the next line. Only the last ones are stored one by one.
#include "maximum.clh"
#include "tensor.clh"
#if LOCAL
#define INDEX(y, k) (((y)-top) * KW + (k))
#else
#define INDEX(y, k) ((y)*IW + (k))
#endif
// 16 cells of the row that begins at element `row`, from column x on, STRIDE_X apart; any numbers outside of it.
inline float16 FN(cells)(IN(X), int row, int x, int IW, int STRIDE_X, int STARTS) {
#if STEP
  if ((uint)(row + x) < (uint)STARTS) {
    const float16 a = VVALUE(row + x);
#if STEP == 1
    return a;
#else
    const float16 b = VVALUE(row + x + 16);
    return (float16)(a.even, b.even);
#endif
  }
#endif
  float each[16];
  for (int l = 0; l < 16; ++l) each[l] = VALUE(row + clamp(x + l * STRIDE_X, 0, IW - 1));
  return vload16(0, each);
}

// clang-format off
TILE_KERNEL(maxpool_argmax16)(IN(X), OUT(Y), OUT(I), SIZE(IW), SIZE(IH), SIZE(KW), SIZE(KH), SIZE(OW), SIZE(OH), SIZE(STRIDE_X),
SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP), SIZE(ITEMS), SIZE(RUN), SIZE(STARTS)) {
  // clang-format on
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const int begin = WORK_ITEM(0) * RUN, last = min(begin + RUN, ITEMS), end = last * OW;
  for (int line = begin; line < last; ++line) {
    const int plane = line / OH, top = (line - plane * OH) * STRIDE_Y - TOP;
    const int y0 = max(top, 0), y1 = min(top + KH, IH);
    for (int x = 0; x < OW; x += 16) {
      const int left = x * STRIDE_X - LEFT;
      const int16 column = left + lane * STRIDE_X;
      const bool inside = left >= 0 && left + 15 * STRIDE_X + KW <= IW;
      float16 most = -INFINITY;
      int16 at = INDEX(y0, max(-column, (int16)(0)));  // of the first cell, which need not win
      for (int y = y0; y < y1; ++y) {
        for (int k = 0; k < KW; ++k) {
          float16 v = FN(cells)(PASS(X), (plane * IH + y) * IW, left + k, IW, STRIDE_X, STARTS);
          if (!inside) v = as_uint16(column + k) < (uint)IW ? v : (float16)(-INFINITY);
          TAKE(most, at, v, INDEX(y, k));
        }
      }
      if (!LOCAL) at += plane * IH * IW + column;
#if WHOLE
      most = VREAL(X, convert_int16(most));
#endif
      const int to = line * OW + x, count = to + 16 <= end ? 16 : OW - x;
      if (count == 16) {
        VSTORE(Y, to, most);
      } else {
        float each[16];
        vstore16(most, 0, each);
        for (int l = 0; l < count; ++l) STORE(Y, to + l, each[l]);
      }
      STORE_INDICES(I, to, at, count);
    }
  }
}
