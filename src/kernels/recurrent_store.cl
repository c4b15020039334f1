// States of one or more steps to a result: Y[s][b][u] = H[s][b][u]; row s * BATCH + b of H is UNITS
// elements.
#include "tensor.clh"
// clang-format off
KERNEL(recurrent_store)(SCRATCH(H), OUT(Y), SIZE(UNITS), SIZE(ROWS), SIZE(BATCH), SIZE(H_AT), SIZE(Y_AT), SIZE(Y_STEP),
                        SIZE(Y_BATCH)) {
  // clang-format on
  const int u = WORK_ITEM(0), row = WORK_ITEM(1);
  if (u >= UNITS || row >= ROWS) return;
  const int s = row / BATCH, b = row - s * BATCH;
  STORE(Y, Y_AT + s * Y_STEP + b * Y_BATCH + u, H[H_AT + row * UNITS + u]);
}
