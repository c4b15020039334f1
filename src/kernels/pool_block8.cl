// Pooling of an 8-bit tensor in blocked form (block8.clh): one work-item computes one row of 16
// channels. TYPE: 0 maximum, 1 average of the whole window, 3 average of the real cells. SAME (TYPE
// 0): both sides have one encoding, so that the largest byte is the result; else every window has a
// cell. Averages add in the order of the reference, rows of the window first. Global size: rows,
// blocks * images.
#include "block8.clh"

TILE_KERNEL(pool_block8)
(IN(X), OUT(Y), SIZE(IW), SIZE(IH), SIZE(KW), SIZE(KH), SIZE(OW), SIZE(OH), SIZE(STRIDE_X),
 SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP)) {
  const int y = WORK_ITEM(0), plane = WORK_ITEM(1);
  const int top = y * STRIDE_Y - TOP, y0 = max(top, 0), y1 = min(top + KH, IH);
  const int to = (plane * OH + y) * OW * 16;
  for (int x = 0; x < OW; ++x) {
    const int left = x * STRIDE_X - LEFT, x0 = max(left, 0), x1 = min(left + KW, IW);
#if TYPE == 0
    uchar16 most = 0;
#else
    float16 sum = 0;
#endif
    for (int iy = y0; iy < y1; ++iy) {
      int at = ((plane * IH + iy) * IW + x0) * 16;
      for (int ix = x0; ix < x1; ++ix, at += 16) {
#if TYPE == 0
        most = max(most, TIMCL_BYTES(X + at));
#else
        sum += VLOAD(X, at);
#endif
      }
    }
#if TYPE == 0 && SAME
    *(global timcl_bytes16*)(Y + to + x * 16) = most;
#elif TYPE == 0
    VSTORE(Y, to + x * 16, VREAL(X, convert_int16(most)));
#elif TYPE == 1
    VSTORE(Y, to + x * 16, sum / (float)(KW * KH));
#else
    VSTORE(Y, to + x * 16, sum / (float)max((x1 - x0) * (y1 - y0), 1));
#endif
  }
}
