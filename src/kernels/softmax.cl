// e_i / (sum of all e) with e_i = exp(BETA * (x_i - max x)), along lines of LENGTH elements, INNER apart; one work-item per
// line. The form in float32 is part of the definition: exp2 of a product rounded twice, the sum in order, a reciprocal.
#include "tensor.clh"
#define LOG2_E 1.44269504f
kernel void softmax(IN(X), OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(LINES), REAL(BETA)) {
  const int line = get_global_id(0);
  if (line >= LINES) return;
  const int outer = line / INNER, base = outer * LENGTH * INNER + (line - outer * INNER);
  float most = -INFINITY;
  for (int k = 0; k < LENGTH; ++k) most = fmax(most, LOAD(X, base + k * INNER));
  float sum = 0.0f;
  for (int k = 0; k < LENGTH; ++k) {
    const float scaled = (LOAD(X, base + k * INNER) - most) * BETA;
    sum += exp2(scaled * LOG2_E);
  }
  const float inverse = 1.0f / sum;
  for (int k = 0; k < LENGTH; ++k) {
    const int i = base + k * INNER;
    const float scaled = (LOAD(X, i) - most) * BETA;
    STORE(Y, i, exp2(scaled * LOG2_E) * inverse);
  }
}
