// Averages of bilinear samples in the bins of regions; one work-item computes one bin of one
// channel.
#include "roi.clh"
#include "tensor.clh"

// The samples of one bin along one axis: `count` of them, `step` apart, from `start` + step / 2 on;
// those from `first` to `last` may lie in the map.
typedef struct {
  float start, step;
  int count, first, last;
} FN(roi_axis_t);

inline FN(roi_axis_t)
    FN(roi_axis)(float low, float high, float ratio, int bins, int samples, int bin, int extent) {
  FN(roi_axis_t) a;
  const float origin = low / ratio, size = AT_LEAST(high / ratio - origin, 1.0f);
  const float width = size / (float)bins;
  a.count = samples > 0 ? samples : max(FN(roi_int)(ceil(width)), 1);
  const float offset = (float)bin * width;
  a.start = origin + offset;
  a.step = width / (float)a.count;
  // Generous by one at either end: each sample is tested.
  a.first = max(FN(roi_int)((-1.0f - a.start) / a.step) - 2, 0);
  a.last = min(FN(roi_int)(((float)extent - a.start) / a.step) + 2, a.count - 1);
  return a;
}

// clang-format off
KERNEL(roi_align)(IN(X), IN(R), IN(B), OUT(Y), SIZE(IW), SIZE(IH), SIZE(C), SIZE(N), SIZE(OW), SIZE(OH), SIZE(SAMPLES_X),
SIZE(SAMPLES_Y), SIZE(ITEMS), REAL(RATIO_X), REAL(RATIO_Y)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int ox = item % OW, oy = item / OW % OH, plane = item / (OW * OH), roi = plane / C;
  const int image = RAW(B, roi), from = (image * C + plane - roi * C) * IH * IW;
  float sum = 0;
  const FN(roi_axis_t) ax =
      FN(roi_axis)(LOAD(R, roi * 4), LOAD(R, roi * 4 + 2), RATIO_X, OW, SAMPLES_X, ox, IW);
  const FN(roi_axis_t) ay =
      FN(roi_axis)(LOAD(R, roi * 4 + 1), LOAD(R, roi * 4 + 3), RATIO_Y, OH, SAMPLES_Y, oy, IH);
  for (int j = ay.first; j <= ay.last && image >= 0 && image < N; ++j) {
    const float down = ((float)j + 0.5f) * ay.step, py = ay.start + down;
    if (!(py >= -1.0f && py <= (float)IH)) continue;
    const float y = clamp(py, 0.0f, (float)(IH - 1));
    const int y0 = (int)y, y1 = min(y0 + 1, IH - 1);
    const float v = y - (float)y0;
    for (int i = ax.first; i <= ax.last; ++i) {
      const float along = ((float)i + 0.5f) * ax.step, px = ax.start + along;
      if (!(px >= -1.0f && px <= (float)IW)) continue;
      const float x = clamp(px, 0.0f, (float)(IW - 1));
      const int x0 = (int)x, x1 = min(x0 + 1, IW - 1);
      const float u = x - (float)x0;
      const float top =
          (1.0f - u) * LOAD(X, from + y0 * IW + x0) + u * LOAD(X, from + y0 * IW + x1);
      const float bottom =
          (1.0f - u) * LOAD(X, from + y1 * IW + x0) + u * LOAD(X, from + y1 * IW + x1);
      sum += (1.0f - v) * top + v * bottom;
    }
  }
  STORE(Y, item, sum / ((float)ax.count * (float)ay.count));
}
