// Maximum of windows of width and height, and where it is; one work-item computes one result. The
// first of equal cells wins, the first NaN over all.
// LOCAL 1: the index counts the cells of the window; 0: those of the whole input.
// VALUES 1: results go to Y and I; 0: the index alone goes to I, -1 for a window without a cell.
#include "maximum.clh"
#include "tensor.clh"

// clang-format off
KERNEL(maxpool_argmax)(IN(X)
#if VALUES
, OUT(Y), OUT(I)
#else
, SCRATCH(I)
#endif
, SIZE(IW), SIZE(IH), SIZE(KW), SIZE(KH), SIZE(OW), SIZE(OH), SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP),
SIZE(ITEMS)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int line = item / OW, left = (item - line * OW) * STRIDE_X - LEFT;
  const int plane = line / OH, top = (line - plane * OH) * STRIDE_Y - TOP;
  const int x0 = max(left, 0), x1 = min(left + KW, IW), y1 = min(top + KH, IH);
  VALUE_TYPE most = 0;
  int cell = -1, index = 0;
  for (int y = max(top, 0); y < y1; ++y) {
    const int from = (plane * IH + y) * IW;
    for (int x = x0; x < x1; ++x) {
      const VALUE_TYPE v = VALUE(from + x);
      const bool wins = cell < 0 || WINS(v, most);
      most = wins ? v : most;
      cell = wins ? from + x : cell;
      index = wins ? (y - top) * KW + x - left : index;
    }
  }
#if VALUES
  I[item] = SATURATE(I, LOCAL ? index : max(cell, 0));
  if (cell >= 0) {
    COPY(Y, item, X, cell);
  } else {
    STORE(Y, item, (acc_t)0);
  }
#else
  I[item] = cell;
#endif
}
