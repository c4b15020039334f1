// Weighted sums of cells of a plane; one work-item makes RUN neighbours along the width. Result x
// of a line takes TAPS_X cells from IX[x] on, with the weights WX[t * (its padded width) + x];
// lines likewise by IY and WY. Cells beyond the border are the last one; a weight of 0 reads
// nothing.
#include "tensor.clh"
// clang-format off
KERNEL(resize)(IN(X), DATA(IX), DATA(WX), DATA(IY), DATA(WY), OUT(Y), SIZE(IW), SIZE(IH),
SIZE(OW), SIZE(OH), SIZE(TAPS_X), SIZE(TAPS_Y), SIZE(ITEMS)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int across = (OW + RUN - 1) / RUN, line = item / across, plane = line / OH;
  const int x0 = (item - line * across) * RUN, y = line - plane * OH;
  float sum[RUN], part[RUN];
  for (int l = 0; l < RUN; ++l) sum[l] = 0.0f;
  for (int j = 0; j < TAPS_Y; ++j) {
    const float wy = WY[j * OH + y];
    if (wy == 0.0f) continue;
    const int row = (plane * IH + min(IY[y] + j, IH - 1)) * IW;
    for (int l = 0; l < RUN; ++l) part[l] = 0.0f;
    for (int t = 0; t < TAPS_X; ++t) {
      for (int l = 0; l < RUN; ++l) {
        const float w = WX[t * across * RUN + x0 + l];
        const float x = w * LOAD(X, row + min(IX[x0 + l] + t, IW - 1));
        part[l] += w == 0.0f ? 0.0f : x;
      }
    }
    for (int l = 0; l < RUN; ++l) {
      const float weighted = wy * part[l];
      sum[l] += weighted;
    }
  }
  for (int l = 0; l < min(RUN, OW - x0); ++l) STORE(Y, line * OW + x0 + l, sum[l]);
}
