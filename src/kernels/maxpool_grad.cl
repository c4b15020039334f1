// Gradient of max pooling: one work-item sums the gradients G of the windows whose maximum, by
// maxpool_argmax, is its cell.
#include "tensor.clh"

// clang-format off
KERNEL(maxpool_grad)(IN(G), SCRATCH(I), OUT(Y), SIZE(IW), SIZE(IH), SIZE(KW), SIZE(KH), SIZE(OW), SIZE(OH), SIZE(STRIDE_X),
SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP), SIZE(ITEMS)) {
  // clang-format on
  const int cell = WORK_ITEM(0);
  if (cell >= ITEMS) return;
  const int line = cell / IW, right = cell - line * IW + LEFT;
  const int plane = line / IH, bottom = line - plane * IH + TOP;
  // Windows that hold the cell: those from the first that ends behind it to the last that starts
  // before it.
  const int x0 = max(right - KW + STRIDE_X, 0) / STRIDE_X, x1 = min(right / STRIDE_X + 1, OW);
  const int y0 = max(bottom - KH + STRIDE_Y, 0) / STRIDE_Y, y1 = min(bottom / STRIDE_Y + 1, OH);
  acc_t sum = 0;
  for (int y = y0; y < y1; ++y) {
    const int from = (plane * OH + y) * OW;
    for (int x = x0; x < x1; ++x) {
      if (I[from + x] == cell) sum += LOAD(G, from + x);
    }
  }
  STORE(Y, cell, sum);
}
