// Pooling over windows of width and height; one work-item computes LANES (1 or 8) neighbours along the width.
// TYPE: 0 maximum, 1 average of the whole window, 2 root of the mean square, 3 average of the real cells.
// STEP: the stride along the width if it is 1 or 2 and X is float, so that vectors can be read; else 0.
#include "tensor.clh"
#if LANES == 8
#define VEC float8
#define FLAG int8
#define JOIN(lane) vload8(0, lane)
#define SPLIT(v, lane) vstore8(v, 0, lane)
#else
#define VEC float
#define FLAG int
#define JOIN(lane) lane[0]
#define SPLIT(v, lane) lane[0] = v
#endif
// VECTOR reads LANES cells, STEP apart, out of SPAN.
#if LANES == 8 && STEP == 1
#define SPAN 8
#define VECTOR(i) vload8(0, X + (i))
#elif LANES == 8 && STEP == 2
#define SPAN 16
#define VECTOR(i) vload16(0, X + (i)).even
#else
#define SPAN INT_MAX
#define VECTOR(i) (VEC)(0)
#endif
#define OUTSIDE (TYPE == 0 ? -INFINITY : 0.0f)

// clang-format off
KERNEL(pool2d)(IN(X), OUT(Y), SIZE(IW), SIZE(IH), SIZE(KW), SIZE(KH), SIZE(OW), SIZE(OH),
SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP), SIZE(ITEMS)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int across = (OW + LANES - 1) / LANES;
  const int line = item / across, x0 = (item - line * across) * LANES, left = x0 * STRIDE_X - LEFT;
  const int plane = line / OH, top = (line - plane * OH) * STRIDE_Y - TOP;
  const int y0 = max(top, 0), y1 = min(top + KH, IH);
  VEC r = OUTSIDE;
  FLAG nan = 0;  // of the maximum: comparing drops a NaN, so it is noted beside it
  float lane[LANES];
  for (int y = y0; y < y1; ++y) {
    const int from = (plane * IH + y) * IW;
    for (int i = 0; i < KW; ++i) {
      const int x = left + i;
      VEC v;
      if (x >= 0 && x <= IW - SPAN) {
        v = VECTOR(from + x);
      } else {
        for (int l = 0; l < LANES; ++l) {
          const int at = x + l * STRIDE_X;
          lane[l] = at >= 0 && at < IW ? LOAD(X, from + at) : OUTSIDE;
        }
        v = JOIN(lane);
      }
#if TYPE == 0
      r = v > r ? v : r;
      nan |= v != v;
#elif TYPE == 2
      const VEC square = v * v;
      r += square;
#else
      r += v;
#endif
    }
  }
#if TYPE == 0
  r = nan ? (VEC)(NAN) : r;
#endif
  SPLIT(r, lane);
  const int to = line * OW + x0, lanes = min(LANES, OW - x0);
  for (int l = 0; l < lanes; ++l) {
#if TYPE == 1
    const float result = lane[l] / (float)(KW * KH);
#elif TYPE == 2
    const float result = sqrt(lane[l] / (float)(KW * KH));
#elif TYPE == 3
    const int first = left + l * STRIDE_X;
    const int cells = max(min(first + KW, IW) - max(first, 0), 0) * max(y1 - y0, 0);
    const float result = lane[l] / (float)max(cells, 1);
#else
    const float result = lane[l];
#endif
    STORE(Y, to + l, result);
  }
}
