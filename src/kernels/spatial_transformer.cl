// Cells of images weighted around the place to which an affine map leads; one work-item makes one
// cell of all channels. C has the six numbers of the map, of which those whose place P is not
// negative are entry P of the FREE that each image has in T. HAS_THETA: there are such. Cell i of n
// stands at i * step + first in [-1, 1], x in [-1, 1] at x * half + middle.
#include "tensor.clh"
#if HAS_THETA
#define THETA_IN IN(T),
#define THETA(n, i) (P[i] < 0 ? C[i] : LOAD(T, (n)*FREE + P[i]))
#else
#define THETA_IN
#define THETA(n, i) C[i]
#endif
// Each product is rounded before it is added, as in the reference.
inline float FN(line)(float x, float factor, float first) {
  const float product = x * factor;
  return product + first;
}
inline float FN(plane)(float a, float x, float b, float y, float c) {
  const float ax = a * x, by = b * y;
  const float sum = ax + by;
  return sum + c;
}
// clang-format off
KERNEL(spatial_transformer)(IN(X), THETA_IN DATA(C), DATA(P), OUT(Y), SIZE(IW), SIZE(IH), SIZE(OW),
SIZE(OH), SIZE(CHANNELS), SIZE(FREE), SIZE(ITEMS), REAL(STEP_X), REAL(FIRST_X), REAL(STEP_Y),
REAL(FIRST_Y), REAL(HALF_X), REAL(MIDDLE_X), REAL(HALF_Y), REAL(MIDDLE_Y)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int line = item / OW, ox = item - line * OW, n = line / OH, oy = line - n * OH;
  const float x = FN(line)(ox, STEP_X, FIRST_X), y = FN(line)(oy, STEP_Y, FIRST_Y);
  const float xs = FN(plane)(THETA(n, 0), x, THETA(n, 1), y, THETA(n, 2));
  const float ys = FN(plane)(THETA(n, 3), x, THETA(n, 4), y, THETA(n, 5));
  const float px = FN(line)(xs, HALF_X, MIDDLE_X), py = FN(line)(ys, HALF_Y, MIDDLE_Y);
  const float left = floor(px), top = floor(py);
  int cell[4];
  float weight[4];
  for (int k = 0; k < 4; ++k) {
    const float cx = left + (k & 1), cy = top + (k >> 1);
    const float wx = (k & 1) ? px - left : 1.0f - (px - left);
    const float wy = (k >> 1) ? py - top : 1.0f - (py - top);
    // False for what is no number.
    const bool inside = cx >= 0.0f && cx < (float)IW && cy >= 0.0f && cy < (float)IH;
    cell[k] = inside ? (int)cy * IW + (int)cx : -1;
    weight[k] = wx * wy;
  }
  for (int c = 0; c < CHANNELS; ++c) {
    const int plane = n * CHANNELS + c;
    float sum = 0.0f;
    for (int k = 0; k < 4; ++k) {
      if (cell[k] < 0) continue;
      const float part = weight[k] * LOAD(X, plane * IW * IH + cell[k]);
      sum += part;
    }
    STORE(Y, (plane * OH + oy) * OW + ox, sum);
  }
}
