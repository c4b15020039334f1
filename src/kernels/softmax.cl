// e_i / (sum of all e) with e_i = exp(BETA * (x_i - max x)), along lines of LENGTH elements, INNER apart; one work-item per
// line. The form in float32 is part of the definition: exp2 of a product rounded twice, a reciprocal. The sum is made of parts
// of PART elements, in LANES lanes, so that its error does not grow with the length.
#include "tensor.clh"
#define LOG2_E 1.44269504f
#define LANES 8
#define PART 256
KERNEL(softmax)(IN(X), OUT(Y), SIZE(LENGTH), SIZE(INNER), SIZE(LINES), REAL(BETA)) {
  const int line = WORK_ITEM(0);
  if (line >= LINES) return;
  const int outer = line / INNER, base = outer * LENGTH * INNER + (line - outer * INNER);
  float most = -INFINITY;
  for (int k = 0; k < LENGTH; ++k) {
    const float x = LOAD(X, base + k * INNER);
    most = x > most ? x : most;  // a NaN reaches every result through the sum
  }
  float factor = 1.0f;
  float8 sum = 0.0f, part = 0.0f;
  // First the sum, then the results: exp2 twice is cheaper than memory for the first ones.
  for (int pass = 0; pass < 2; ++pass) {
    for (int k = 0; k < LENGTH; k += LANES) {
      float lane[LANES];
      const int lanes = min(LANES, LENGTH - k);
      for (int l = 0; l < LANES; ++l) lane[l] = l < lanes ? LOAD(X, base + (k + l) * INNER) : most;
      const float8 scaled = (vload8(0, lane) - most) * BETA;
      vstore8(exp2(scaled * LOG2_E), 0, lane);
      if (pass == 0) {
        for (int l = lanes; l < LANES; ++l) lane[l] = 0.0f;
        part += vload8(0, lane);
        if (k % PART == PART - LANES) sum += part, part = 0.0f;
      } else {
        for (int l = 0; l < lanes; ++l) STORE(Y, base + (k + l) * INNER, lane[l] * factor);
      }
    }
    const float4 four = (sum + part).lo + (sum + part).hi;
    factor = 1.0f / (four.x + four.y + four.z + four.w);
  }
}
