// Copies for each result the cell IX[x], IY[y] of its plane; one work-item makes RUN neighbours
// along the width.
#include "tensor.clh"
// clang-format off
KERNEL(resize_nearest)(IN(X), DATA(IX), DATA(IY), OUT(Y), SIZE(IW), SIZE(IH), SIZE(OW), SIZE(OH),
SIZE(ITEMS)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int across = (OW + RUN - 1) / RUN, line = item / across, plane = line / OH;
  const int x0 = (item - line * across) * RUN, to = line * OW + x0;
  const int row = (plane * IH + IY[line - plane * OH]) * IW;
  if (x0 + RUN <= OW) {
    for (int l = 0; l < RUN; ++l) COPY(Y, to + l, X, row + IX[x0 + l]);
  } else {
    for (int l = 0; l < OW - x0; ++l) COPY(Y, to + l, X, row + IX[x0 + l]);
  }
}
