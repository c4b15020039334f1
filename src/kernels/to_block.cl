// Plain {W, H, C, N} to blocks of 16 channels (tensor_form.h): X [N][C][PIXELS] -> Y [N][ceil(C / 16)][PIXELS][16].
// Global size: pieces of PIECE pixels, blocks, images. FLIP: signed bytes become unsigned ones.
// Lanes past C become 0.
#include "block.clh"

TILE_KERNEL(to_block)(IN(X), OUT(Y), SIZE(PIXELS), SIZE(C)) {
  const int block = WORK_ITEM(1), image = WORK_ITEM(2);
  const int channels = min(16, C - 16 * block), end = min(PIXELS, (WORK_ITEM(0) + 1) * PIECE);
  global const LANE_t* x = (global const LANE_t*)X + (image * C + 16 * block) * PIXELS;
  global LANE_t* y = (global LANE_t*)Y + (image * WORK_ITEMS(1) + block) * PIXELS * 16;
  int p = WORK_ITEM(0) * PIECE;
  for (; p + 16 <= end; p += 16) {
    LANES16 v[16];
#pragma unroll
    for (int c = 0; c < 16; ++c) v[c] = c < channels ? LOAD16(x + c * PIXELS + p) FLIPPED : (LANES16)(0);
    TRANSPOSE16(v)
#pragma unroll
    for (int i = 0; i < 16; ++i) STORE16(v[i], y + (p + i) * 16);
  }
  for (; p < end; ++p) {
    for (int c = 0; c < 16; ++c) y[p * 16 + c] = c < channels ? x[c * PIXELS + p] FLIPPED : 0;
  }
}
