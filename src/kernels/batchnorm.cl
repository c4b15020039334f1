// G * (x - M) / sqrt(V + EPS) + B; one work-item makes RUN neighbours of a line of LENGTH elements.
// BY_ELEMENT: lines are the channels themselves; else each line belongs to one of CHANNELS
// channels.
#include "tensor.clh"
// clang-format off
KERNEL(batchnorm)(IN(X), IN(M), IN(V), IN(G), IN(B), OUT(Y), SIZE(LENGTH), SIZE(CHANNELS),
SIZE(ITEMS), REAL(EPS)) {
  // clang-format on
  const int item = WORK_ITEM(0);
  if (item >= ITEMS) return;
  const int across = (LENGTH + RUN - 1) / RUN, line = item / across;
  const int k = (item - line * across) * RUN, to = line * LENGTH + k;
#if BY_ELEMENT
  for (int l = 0; l < min(RUN, LENGTH - k); ++l) {
    const float factor = LOAD(G, k + l) / sqrt(LOAD(V, k + l) + EPS);
    const float scaled = (LOAD(X, to + l) - LOAD(M, k + l)) * factor;
    STORE(Y, to + l, scaled + LOAD(B, k + l));
  }
#else
  const int c = line % CHANNELS;
  const float mean = LOAD(M, c), beta = LOAD(B, c), factor = LOAD(G, c) / sqrt(LOAD(V, c) + EPS);
  if (k + RUN <= LENGTH) {
    for (int l = 0; l < RUN; ++l) {
      const float scaled = (LOAD(X, to + l) - mean) * factor;
      STORE(Y, to + l, scaled + beta);
    }
  } else {
    for (int l = 0; l < LENGTH - k; ++l) {
      const float scaled = (LOAD(X, to + l) - mean) * factor;
      STORE(Y, to + l, scaled + beta);
    }
  }
#endif
}
