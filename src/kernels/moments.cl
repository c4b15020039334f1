// Mean and variance of many numbers (see reduce.clh), in two walks. LANES > 1: a line is added up in so many parts.
#include "tensor.clh"
#include "reduce.clh"
KERNEL(moments)(IN(X), OUT(Y), OUT(Z), WALK_PARAMETERS, SIZE(COUNT)) {
  WALK_START
  float mean[RUN], sum[RUN];
  for (int l = 0; l < RUN; ++l) mean[l] = 0.0f;
  for (int pass = 0; pass < 2; ++pass) {
    for (int l = 0; l < RUN; ++l) sum[l] = 0.0f;
#if LANES > 1
    float lane[LANES];
    for (int l = 0; l < LANES; ++l) lane[l] = 0.0f;
#endif
    for (int m = 0; m < M; ++m) {
      const int from = WALK_GROUP(m);
#if LANES > 1
      int k = 0;
      for (; k + LANES <= N; k += LANES) {
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
          const float v = LOAD(X, from + k + l) - mean[0];
          lane[l] += pass == 0 ? v : v * v;
        }
      }
      for (; k < N; ++k) {
        const float v = LOAD(X, from + k) - mean[0];
        lane[0] += pass == 0 ? v : v * v;
      }
#else
      for (int k = 0; k < N; ++k) {
        for (int l = 0; l < lanes; ++l) {
          const float v = LOAD(X, from + k * STEP + l) - mean[l];
          sum[l] += pass == 0 ? v : v * v;
        }
      }
#endif
    }
#if LANES > 1
    for (int width = LANES / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
    }
    sum[0] = lane[0];
#endif
    for (int l = 0; l < lanes; ++l) {
      const float r = sum[l] / (float)COUNT;
      if (pass == 0) {
        mean[l] = r;
        STORE(Y, to + l, r);
      } else {
        STORE(Z, to + l, r);
      }
    }
  }
}
