// resize.cl over blocks of 16 channels, float32, half or quantized bytes (BYTES 1): one work-item computes one line. The
// padded width of WX is OW here, and 16 neighbours have the same weights.
// Global size: lines of all blocks and images.
#if BYTES == 1
#include "block8.clh"
#define CELL(i) VLOAD(X, i)
#else
#include "block_tile.clh"
#define CELL(i) READ16(X + (i))
#endif
// clang-format off
TILE_KERNEL(resize_block)(IN(X), DATA(IX), DATA(WX), DATA(IY), DATA(WY), OUT(Y), SIZE(IW), SIZE(IH), SIZE(OW), SIZE(OH),
SIZE(TAPS_X), SIZE(TAPS_Y)) {
  // clang-format on
  const int line = WORK_ITEM(0), plane = line / OH, y = line - plane * OH;
  for (int x = 0; x < OW; ++x) {
    float16 sum = (float16)(0.0f);
    for (int j = 0; j < TAPS_Y; ++j) {
      const float wy = WY[j * OH + y];
      if (wy == 0.0f) continue;
      const int row = (plane * IH + min(IY[y] + j, IH - 1)) * IW;
      float16 part = (float16)(0.0f);
      for (int t = 0; t < TAPS_X; ++t) {
        const float wx = WX[t * OW + x];
        if (wx == 0.0f) continue;
        const int at = (row + min(IX[x] + t, IW - 1)) * 16;
        const float16 term = wx * CELL(at);
        part += term;
      }
      const float16 weighted = wy * part;
      sum += weighted;
    }
    const int to = (line * OW + x) * 16;
    VSTORE(Y, to, sum);
  }
}
