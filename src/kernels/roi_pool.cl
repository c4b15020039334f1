// Maxima of the bins of regions; one work-item computes one bin of one channel. The first NaN of a
// bin wins.
#include "maximum.clh"
#include "roi.clh"
#include "tensor.clh"

// The cells of one bin along one axis: x is the first, y the one behind the last.
inline int2 FN(roi_bin)(float low, float high, float scale, int bins, int bin, int extent) {
  const float a = low * scale, b = high * scale;
  const int first = FN(roi_int)(floor(a + 0.5f)), last = FN(roi_int)(floor(b + 0.5f));
  const long size = max(last - first + 1, 1);
  const long begin = (long)bin * size / bins + first;
  const long end = ((long)(bin + 1) * size + bins - 1) / bins + first;
  return (int2)((int)clamp(begin, 0L, (long)extent), (int)clamp(end, 0L, (long)extent));
}

// clang-format off
KERNEL(roi_pool)(IN(X), IN(R), OUT(Y), SIZE(IW), SIZE(IH), SIZE(C), SIZE(N), SIZE(OW), SIZE(OH), SIZE(ITEMS), REAL(SCALE)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int ox = item % OW, oy = item / OW % OH, plane = item / (OW * OH), roi = plane / C;
  const int image = FN(roi_int)(LOAD(R, roi * 5)), from = (image * C + plane - roi * C) * IH * IW;
  int2 bx = FN(roi_bin)(LOAD(R, roi * 5 + 1), LOAD(R, roi * 5 + 3), SCALE, OW, ox, IW);
  const int2 by = FN(roi_bin)(LOAD(R, roi * 5 + 2), LOAD(R, roi * 5 + 4), SCALE, OH, oy, IH);
  if (image < 0 || image >= N) bx = (int2)(0);
  VALUE_TYPE most = 0;
  int cell = -1;
  for (int y = by.x; y < by.y; ++y) {
    for (int x = bx.x; x < bx.y; ++x) {
      const VALUE_TYPE v = VALUE(from + y * IW + x);
      const bool wins = cell < 0 || WINS(v, most);
      most = wins ? v : most;
      cell = wins ? from + y * IW + x : cell;
    }
  }
  if (cell >= 0) {
    COPY(Y, item, X, cell);
  } else {
    STORE(Y, item, (acc_t)0);
  }
}
