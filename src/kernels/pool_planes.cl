// Pooling of plain tensors by windows that cover planes: X [PLANES][CELLS] to Y [PLANES], a lane for each of 16 planes.
// TYPE: 0 maximum, 1 or 3 average, 2 root of the mean square. Sums add in the order of the reference.
// Planes are read 16 cells at a time, and turned; what is left of them, up to FEW, cell by cell.
// One work-item computes RUN times 16 results. SAFE: where the last vector of X begins.
// Global size: ceil(PLANES / (16 * RUN)).
#include "registers.clh"
#include "tensor.clh"
#define FEW 3
#if TYPE == 0
// A comparison drops a NaN, unless it is in r.
inline float16 FN(taken)(float16 r, float16 v) {
  const float16 most = v > r ? v : r;
  return v == v ? most : v;
}
#define TAKE(r, v) r = FN(taken)(r, v)
#elif TYPE == 2
#define TAKE(r, v) r += (v) * (v)
#else
#define TAKE(r, v) r += v
#endif

TILE_KERNEL(pool_planes)(IN(X), OUT(Y), SIZE(CELLS), SIZE(PLANES), SIZE(RUN), SIZE(SAFE)) {
  const int end = min((WORK_ITEM(0) + 1) * 16 * RUN, PLANES);
  for (int plane = WORK_ITEM(0) * 16 * RUN; plane < end; plane += 16) {
    int from[16];
#pragma unroll
    for (int l = 0; l < 16; ++l) from[l] = min(plane + l, PLANES - 1) * CELLS;
    float16 r = TYPE == 0 ? -INFINITY : 0.0f;
    for (int at = 0; at < CELLS;) {
      const int left = CELLS - at;
      if (left <= FEW || from[15] + at > SAFE) {
        float lane[16];
        for (int l = 0; l < 16; ++l) lane[l] = LOAD(X, from[l] + at);
        const float16 v = vload16(0, lane);
        TAKE(r, v);
        at += 1;
      } else {
        float16 v[16];
#pragma unroll
        for (int l = 0; l < 16; ++l) v[l] = VLOAD(X, from[l] + at);
        TRANSPOSE16(v)
        if (left >= 16) {
#pragma unroll
          for (int k = 0; k < 16; ++k) TAKE(r, v[k]);
        } else {
#pragma unroll
          for (int k = 0; k < 15; ++k) {
            if (k < left) TAKE(r, v[k]);
          }
        }
        at += 16;
      }
    }
#if TYPE != 0
    r /= (float)CELLS;
#endif
#if TYPE == 2
    r = sqrt(r);
#endif
    if (plane + 16 <= PLANES) {
      VSTORE(Y, plane, r);
    } else {
      float lane[16];
      vstore16(r, 0, lane);
      for (int l = 0; l < PLANES - plane; ++l) STORE(Y, plane + l, lane[l]);
    }
  }
}
