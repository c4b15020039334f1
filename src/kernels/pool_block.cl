// Pooling between blocked tensors, X [images][BLOCKS][IH][IW][16] and Y likewise, fp32 or half: one
// work-item computes a row of one block.
// TYPE: 0 maximum, 1 average of the whole window, 2 root of the mean square, 3 average of the real
// cells.
// PLAIN 1: Y is plain, [images][C], for a window that covers the image (OW and OH 1).
// Global size: OH, BLOCKS, images.
#include "block_tile.clh"

// clang-format off
TILE_KERNEL(pool_block)(IN(X), OUT(Y), SIZE(IW), SIZE(IH), SIZE(KW), SIZE(KH), SIZE(OW), SIZE(OH), SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP), SIZE(C)) {
  // clang-format on
  const int plane = WORK_ITEM(2) * WORK_ITEMS(1) + WORK_ITEM(1), y = WORK_ITEM(0);
  const int top = y * STRIDE_Y - TOP, y0 = max(top, 0), y1 = min(top + KH, IH);
#pragma nounroll
  for (int x = 0; x < OW; ++x) {
    const int left = x * STRIDE_X - LEFT, x0 = max(left, 0), x1 = min(left + KW, IW);
    float16 r = TYPE == 0 ? (float16)(-INFINITY) : ZERO16;
    int16 nan = 0;  // of the maximum: comparing drops a NaN, so it is noted beside it
    for (int iy = y0; iy < y1; ++iy) {
      global const X_t* from = X + (plane * IH + iy) * IW * 16;
      for (int ix = x0; ix < x1; ++ix) {
        const float16 v = READ16(from + ix * 16);
#if TYPE == 0
        r = v > r ? v : r;
        nan |= v != v;
#elif TYPE == 2
        const float16 square = v * v;
        r += square;
#else
        r += v;
#endif
      }
    }
#if TYPE == 0
    r = nan ? (float16)(NAN) : r;
#elif TYPE == 1
    r /= (float16)(KW * KH);
#elif TYPE == 2
    r = sqrt(r / (float16)(KW * KH));
#else
    r /= (float16)(max(x1 - x0, 0) * max(y1 - y0, 0) > 0 ? (x1 - x0) * (y1 - y0) : 1);
#endif
#if PLAIN
    const int block = WORK_ITEM(1), at = WORK_ITEM(2) * C + block * 16;
    float lane[16];
    vstore16(r, 0, lane);
    for (int l = 0; l < min(16, C - block * 16); ++l) STORE(Y, at + l, lane[l]);
#else
    const int at = ((plane * OH + y) * OW + x) * 16;
    VSTORE(Y, at, r);
#endif
  }
}
