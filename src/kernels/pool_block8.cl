// Pooling of an 8-bit tensor in blocks of channels (block8.clh); one work-item computes a row of 16 channels.
// TYPE: 0 maximum, 1 average of the whole window, 3 average of the real cells, 4 SCALE times the exact sum of stored numbers
// less the zero point. Every window has a cell. Averages add in the order of the reference, rows of the window first.
// PLAIN 1: one window covers the input, and Y is plain [images][C]. FIXED_W, FIXED_H: the window of a maximum, 0 any.
// SAME 1: X and Y have the same encoding.
// Global size: rows, blocks, images.
#include "block8.clh"
// The largest byte is the result as it is.
#define UNTOUCHED (TYPE == 0 && SAME && Y_BYTES && Y_ALONE && !PLAIN)
#if UNTOUCHED
inline uchar16 FN(limited)(uchar16 v, int lo, int hi, int bias) {
  return min(max(v, (uchar16)(lo + bias)), (uchar16)(hi + bias));
}
#endif

// clang-format off
TILE_KERNEL(pool_block8)(IN(X), OUT(Y), SIZE(IW), SIZE(IH), SIZE(KW), SIZE(KH), SIZE(OW), SIZE(OH), SIZE(STRIDE_X), SIZE(STRIDE_Y),
SIZE(LEFT), SIZE(TOP), SIZE(C)
#if TYPE == 4
, REAL(SCALE)
#endif
) {
  // clang-format on
  const int y = WORK_ITEM(0), block = WORK_ITEM(1), image = WORK_ITEM(2);
  const int plane = image * WORK_ITEMS(1) + block;
  const int top = y * STRIDE_Y - TOP, y0 = max(top, 0), y1 = min(top + KH, IH);
  for (int x = 0; x < OW; ++x) {
    const int left = x * STRIDE_X - LEFT, x0 = max(left, 0), x1 = min(left + KW, IW);
#if TYPE == 0
    uchar16 most = 0;
#elif TYPE == 4
    int16 sum = 0;
#else
    float16 sum = 0;
#endif
#if FIXED_W
    const bool whole = y1 - y0 == FIXED_H && x1 - x0 == FIXED_W;
    if (whole) {
      const int at = ((plane * IH + y0) * IW + x0) * 16;
#pragma unroll
      for (int i = 0; i < FIXED_H; ++i)
#pragma unroll
        for (int j = 0; j < FIXED_W; ++j) most = max(most, TIMCL_BYTES(X + at + (i * IW + j) * 16));
    }
    for (int iy = y0; iy < y1 && !whole; ++iy) {
#else
    for (int iy = y0; iy < y1; ++iy) {
#endif
      int at = ((plane * IH + iy) * IW + x0) * 16;
      for (int ix = x0; ix < x1; ++ix, at += 16) {
#if TYPE == 0
        most = max(most, TIMCL_BYTES(X + at));
#elif TYPE == 4
        sum += VRAW(X, at) - ZP(X);
#else
        sum += VLOAD(X, at);
#endif
      }
    }
#if UNTOUCHED
    *(__global timcl_bytes16*)(Y + ((plane * OH + y) * OW + x) * 16) = FN(limited)(most, VLIMITS(Y));
    continue;
#endif
#if TYPE == 0
    const float16 result = VREAL(X, convert_int16(most));
#elif TYPE == 4
    const int16 result = sum;
#elif TYPE == 1
    const float16 result = sum / (float)(KW * KH);
#else
    const float16 result = sum / (float)((x1 - x0) * (y1 - y0));
#endif
#if PLAIN
    const int to = image * C + block * 16, channels = min(16, C - block * 16);
#else
    const int to = ((plane * OH + y) * OW + x) * 16, channels = 16;
#endif
#if TYPE == 4
    if (channels == 16) {
      VSTORE_ACC(Y, to, result, (float16)(SCALE));
    } else {
      int lane[16];
      vstore16(result, 0, lane);
      for (int l = 0; l < channels; ++l) STORE_ACC(Y, to + l, lane[l], SCALE);
    }
#else
    if (channels == 16) {
      VSTORE(Y, to, result);
    } else {
      float lane[16];
      vstore16(result, 0, lane);
      for (int l = 0; l < channels; ++l) STORE(Y, to + l, lane[l]);
    }
#endif
  }
}
