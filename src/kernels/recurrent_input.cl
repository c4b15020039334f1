// P[row][u] = sum over k < K of W[u][k] * X[row][k], and biases: what one gate takes from the
// input, for all steps at once. A row is one step of one batch entry. HAS_B, HAS_C: biases;
// INTEGER_B, INTEGER_C: they count in steps of B_SCALE, C_SCALE. ADDS: to what P holds.
// FROM_SCRATCH: X is float.
#include "recurrent.clh"
#include "tensor.clh"
#if FROM_SCRATCH
#define VALUE(k) X[x + k]
#else
#define VALUE(k) LOAD(X, x + k)
#endif
#define WEIGHT(k) LOAD(W, w + k)

// clang-format off
KERNEL(recurrent_input)(
#if FROM_SCRATCH
SCRATCH(X)
#else
IN(X)
#endif
, IN(W)
#if HAS_B
, IN(B)
#endif
#if HAS_C
, IN(C)
#endif
, SCRATCH(P), SIZE(K), SIZE(UNITS), SIZE(ROWS), SIZE(BATCH), SIZE(X_AT), SIZE(X_STEP), SIZE(X_BATCH), SIZE(W_AT),
  SIZE(B_AT), SIZE(C_AT), SIZE(P_AT), SIZE(P_ROW), REAL(B_SCALE), REAL(C_SCALE)) {
  // clang-format on
  const int u = WORK_ITEM(0), row = WORK_ITEM(1);
  if (u >= UNITS || row >= ROWS) return;
  const int s = row / BATCH, b = row - s * BATCH;
  const int x = X_AT + s * X_STEP + b * X_BATCH, w = W_AT + u * K, to = P_AT + row * P_ROW + u;
  float sum = ADDS ? P[to] : 0.0f;
#if HAS_B && INTEGER_B
  sum += (float)B[B_AT + u] * B_SCALE;
#elif HAS_B
  sum += LOAD(B, B_AT + u);
#endif
#if HAS_C && INTEGER_C
  sum += (float)C[C_AT + u] * C_SCALE;
#elif HAS_C
  sum += LOAD(C, C_AT + u);
#endif
  ADD_DOT(sum, K, VALUE, WEIGHT);
  P[to] = sum;
}
