// One work-item computes unit u of batch entry b: RANK filters, each a line of MEMORY entries that
// moves by one. Lines of the state have LENGTH entries: MEMORY, or MEMORY - 1 without the oldest.
// HAS_STATE 0: zeros. HAS_BIAS.
#include "recurrent.clh"
#include "tensor.clh"
#define VALUE(k) LOAD(X, x + k)
#define WEIGHT(k) LOAD(WF, w + k)

// clang-format off
KERNEL(svdf)(IN(X),
#if HAS_STATE
IN(S),
#endif
IN(WF), IN(WT),
#if HAS_BIAS
IN(B),
#endif
OUT(Y), OUT(T), SIZE(FEATURES), SIZE(UNITS), SIZE(RANK), SIZE(MEMORY), SIZE(LENGTH), SIZE(BATCH)) {
  // clang-format on
  const int u = WORK_ITEM(0), b = WORK_ITEM(1);
  if (u >= UNITS || b >= BATCH) return;
  const int x = b * FEATURES, before = MEMORY - LENGTH;  // entries that the state leaves out
  float sum = 0.0f;
#if HAS_BIAS
  sum = LOAD(B, u);
#endif
  for (int f = u * RANK; f < (u + 1) * RANK; ++f) {
    const int w = f * FEATURES;
    float newest = 0.0f;
    ADD_DOT(newest, FEATURES, VALUE, WEIGHT);
    const int line = (b * UNITS * RANK + f) * LENGTH;
    for (int m = 0; m + 1 < MEMORY; ++m) {
#if HAS_STATE
      const float v = LOAD(S, line + m + 1 - before);
#else
      const float v = 0.0f;
#endif
      sum += v * LOAD(WT, f * MEMORY + m);
      if (m >= before) STORE(T, line + m - before, v);
    }
    sum += newest * LOAD(WT, f * MEMORY + MEMORY - 1);
    STORE(T, line + LENGTH - 1, newest);
  }
  STORE(Y, b * UNITS + u, sum);
}
