// Pooling over windows of width and height; one work-item computes one result.
// TYPE: 0 maximum, 1 average of the whole window, 2 root of the mean square, 3 average of the real cells.
#include "tensor.clh"
// clang-format off
kernel void pool2d(IN(X), OUT(Y), SIZE(IW), SIZE(IH), SIZE(KW), SIZE(KH), SIZE(OW), SIZE(OH),
SIZE(STRIDE_X), SIZE(STRIDE_Y), SIZE(LEFT), SIZE(TOP), SIZE(N)) {
  // clang-format on
  const int at = get_global_id(0);
  if (at >= N) return;
  const int line = at / OW, x0 = (at - line * OW) * STRIDE_X - LEFT;
  const int plane = line / OH, y0 = (line - plane * OH) * STRIDE_Y - TOP;
  const int x1 = min(x0 + KW, IW), y1 = min(y0 + KH, IH), first = max(x0, 0);
  float r = TYPE == 0 ? -INFINITY : 0.0f;
  for (int y = max(y0, 0); y < y1; ++y) {
    const int from = (plane * IH + y) * IW;
    for (int x = first; x < x1; ++x) {
      const float v = LOAD(X, from + x);
#if TYPE == 0
      r = fmax(r, v);
#elif TYPE == 2
      const float square = v * v;
      r += square;
#else
      r += v;
#endif
    }
  }
#if TYPE == 1
  r = r / (float)(KW * KH);
#elif TYPE == 2
  r = sqrt(r / (float)(KW * KH));
#elif TYPE == 3
  const int cells = max(x1 - first, 0) * max(y1 - max(y0, 0), 0);
  r = r / (float)max(cells, 1);
#endif
  STORE(Y, at, r);
}
