// Blocks of 16 channels to plain {W, H, C, N} (tensor_form.h): X [N][ceil(C / 16)][PIXELS][16] -> Y [N][C][PIXELS].
// Global size: pieces of PIECE pixels, blocks, images. FLIP: unsigned bytes become signed ones.
#include "block.clh"

TILE_KERNEL(from_block)(IN(X), OUT(Y), SIZE(PIXELS), SIZE(C)) {
  const int block = WORK_ITEM(1), image = WORK_ITEM(2);
  const int channels = min(16, C - 16 * block), end = min(PIXELS, (WORK_ITEM(0) + 1) * PIECE);
  global const LANE_t* x = (global const LANE_t*)X + (image * WORK_ITEMS(1) + block) * PIXELS * 16;
  global LANE_t* y = (global LANE_t*)Y + (image * C + 16 * block) * PIXELS;
  int p = WORK_ITEM(0) * PIECE;
  for (; p + 16 <= end; p += 16) {
    LANES16 v[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) v[i] = LOAD16(x + (p + i) * 16) FLIPPED;
    TRANSPOSE16(v)
#pragma unroll
    for (int c = 0; c < 16; ++c) {
      if (c < channels) STORE16(v[c], y + c * PIXELS + p);
    }
  }
  for (; p < end; ++p) {
    for (int c = 0; c < channels; ++c) y[c * PIXELS + p] = x[p * 16 + c] FLIPPED;
  }
}
