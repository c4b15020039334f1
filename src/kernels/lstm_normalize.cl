// Layer normalisation of one gate's sums over the units of a batch entry, in place: (v - mean) /
// sqrt(variance + 1e-8) * N + B. HAS_B, INTEGER_B: a bias; it counts in steps of B_SCALE.
#include "tensor.clh"
// clang-format off
KERNEL(lstm_normalize)(IN(N)
#if HAS_B
, IN(B)
#endif
, SCRATCH(G), SIZE(UNITS), SIZE(BATCH), SIZE(GATE), REAL(B_SCALE)) {
  // clang-format on
  const int b = WORK_ITEM(0);
  if (b >= BATCH) return;
  const int g = (b * 4 + GATE) * UNITS;
  float sum = 0.0f, squares = 0.0f;
  for (int u = 0; u < UNITS; ++u) sum += G[g + u];
  const float mean = sum / (float)UNITS;
  for (int u = 0; u < UNITS; ++u) squares += (G[g + u] - mean) * (G[g + u] - mean);
  const float deviation = sqrt(squares / (float)UNITS + 1e-8f);
  for (int u = 0; u < UNITS; ++u) {
    float v = (G[g + u] - mean) / deviation * LOAD(N, u);
#if HAS_B && INTEGER_B
    v += (float)B[u] * B_SCALE;
#elif HAS_B
    v += LOAD(B, u);
#endif
    G[g + u] = v;
  }
}
