// Scores of one feature map of tiny YOLOv4. SCORE: sigmoid in units of 1 / 256, so that products are
// exact.
#include "tensor.clh"
#include "tiny_yolov4.clh"
KERNEL(tiny_yolov4_scores)(IN(X), DATA(SCORE), OUT(Y), SIZE(CELLS), SIZE(IMAGES), SIZE(FIRST)) {
  const int item = WORK_ITEM(0);
  if (item >= BOXES) return;
  const int from = FIRST_CHANNEL(item), to = (FIRST + item) * 80;
  const int object = SCORE[RAW(X, from + 4 * CELLS)];
  for (int c = 0; c < 80; ++c) {
    const int product = object * SCORE[RAW(X, from + (5 + c) * CELLS)];
    STORE(Y, to + c, (float)product * 0x1p-16f);
  }
}
