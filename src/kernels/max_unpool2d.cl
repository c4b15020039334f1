// Puts values back into blocks of 2x2 cells: index 0 to 3 of I is the cell of the block, all others
// are 0. One work-item writes RUN neighbours of a line.
#include "tensor.clh"
KERNEL(max_unpool2d)(IN(X), IN(I), OUT(Y), SIZE(IW), SIZE(IH), SIZE(OW), SIZE(OH), SIZE(ITEMS)) {
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int across = (OW + RUN - 1) / RUN, line = item / across, x0 = (item - line * across) * RUN;
  const int plane = line / OH, y = line - plane * OH;
  const int from = (plane * IH + y / 2) * IW, to = line * OW;
  const int width = y / 2 < IH ? min(2 * IW, OW) : 0;
  for (int x = x0; x < min(x0 + RUN, OW); ++x) {
    if (x < width && RAW(I, from + x / 2) == (y & 1) * 2 + (x & 1)) {
      COPY(Y, to + x, X, from + x / 2);
    } else {
      STORE(Y, to + x, (acc_t)0);
    }
  }
}
