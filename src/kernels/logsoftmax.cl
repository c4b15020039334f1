// s_i - log(sum of all exp(s_i)) with s_i = BETA * x_i less the largest of them, along lines of LENGTH elements, INNER
// apart; one work-item per line.
#include "tensor.clh"
#define LANES 8
KERNEL(logsoftmax)(IN(X), OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(LINES), REAL(BETA)) {
  const int line = WORK_ITEM(0);
  if (line >= LINES) return;
  const int outer = line / INNER, base = outer * LENGTH * INNER + (line - outer * INNER);
  float most = -INFINITY;
  for (int k = 0; k < LENGTH; ++k) {
    const float s = BETA * LOAD(X, base + k * INNER);
    most = s > most ? s : most;  // a NaN reaches every result through the sum
  }
  float sum = 0.0f;
  for (int k = 0; k < LENGTH; k += LANES) {
    float lane[LANES];
    const int lanes = min(LANES, LENGTH - k);
    for (int l = 0; l < LANES; ++l) lane[l] = l < lanes ? BETA * LOAD(X, base + (k + l) * INNER) : most;
    vstore8(exp(vload8(0, lane) - most), 0, lane);
    for (int l = 0; l < lanes; ++l) sum += lane[l];
  }
  const float log_sum = log(sum);
  for (int k = 0; k < LENGTH; ++k) {
    const float s = BETA * LOAD(X, base + k * INNER);
    STORE(Y, base + k * INNER, (s - most) - log_sum);
  }
}
