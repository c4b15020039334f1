// Boxes of one feature map of tiny YOLOv4. CENTER: sigmoid * 1.05 - 0.025. SIZES: exp. ANCHORS:
// width and height of each. x of cell i of the grid is element GRID_CELL * i, y is GRID_PLANE
// further.
#include "tensor.clh"
#include "tiny_yolov4.clh"
// clang-format off
KERNEL(tiny_yolov4_boxes)(IN(X), IN(G), DATA(CENTER), DATA(SIZES), DATA(ANCHORS), OUT(Y), SIZE(CELLS), SIZE(IMAGES), SIZE(FIRST), SIZE(GRID_CELL), SIZE(GRID_PLANE), REAL(STRIDE)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= BOXES) return;
  const int from = FIRST_CHANNEL(item), to = (FIRST + item) * 4, grid = item % CELLS * GRID_CELL;
  for (int k = 0; k < 2; ++k) {
    const float center = CENTER[RAW(X, from + k * CELLS)] + LOAD(G, grid + k * GRID_PLANE);
    STORE(Y, to + k, center * STRIDE);
    STORE(Y, to + 2 + k, SIZES[RAW(X, from + (2 + k) * CELLS)] * ANCHORS[2 * ANCHOR(item) + k]);
  }
}
