// resize_nearest.cl over blocks of 16 channels: one work-item copies the cells of one line.
// Global size: lines of all blocks and images.
#include "block.clh"
// clang-format off
TILE_KERNEL(resize_nearest_block)(IN(X), DATA(IX), DATA(IY), OUT(Y), SIZE(IW), SIZE(IH), SIZE(OW), SIZE(OH)) {
  // clang-format on
  const int line = WORK_ITEM(0), plane = line / OH;
  global const X_t* x = X + (plane * IH + IY[line - plane * OH]) * IW * 16;
  global Y_t* y = Y + line * OW * 16;
  for (int i = 0; i < OW; ++i) {
    const LANES16 v = LOAD16(x + IX[i] * 16);
    STORE16(v, y + i * 16);
  }
}
