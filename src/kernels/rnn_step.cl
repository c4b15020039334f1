// One step of a simple recurrent network: h' = act(P + R h). Step AT / (BATCH * UNITS) of H holds
// h, the next one gets h'.
#include "recurrent.clh"
#include "tensor.clh"
#define STATE(k) H[h + k]
#define WEIGHT(k) LOAD(R, r + k)
KERNEL(rnn_step)(IN(R), SCRATCH(P), SCRATCH(H), SIZE(UNITS), SIZE(BATCH), SIZE(AT), SIZE(R_AT)) {
  const int u = WORK_ITEM(0), b = WORK_ITEM(1);
  if (u >= UNITS || b >= BATCH) return;
  const int h = AT + b * UNITS, r = R_AT + u * UNITS;
  float sum = P[h + u];
  ADD_DOT(sum, UNITS, STATE, WEIGHT);
  H[h + BATCH * UNITS + u] = FN(activate)(ACTIVATION, sum);
}
