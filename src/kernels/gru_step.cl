// One step of a gated recurrent unit: h' = (1 - z) c + z h, with P[b] = what the gates z, r and the
// candidate c take from the input. STAGE 0: all of it, the reset gate after the recurrent product.
// Else the reset gate comes before it: stage 1 keeps r h and z in M, stage 2 does the rest. HAS_C,
// INTEGER_C: a recurrent bias of the candidate (stage 0).
#include "recurrent.clh"
#include "tensor.clh"
#define STATE(k) H[h + k]
#define RESET(k) M[m + k]
#define WEIGHT_Z(k) LOAD(RZ, r + k)
#define WEIGHT_R(k) LOAD(RR, r + k)
#define WEIGHT_H(k) LOAD(RH, r + k)

// clang-format off
KERNEL(gru_step)(
#if STAGE < 2
IN(RZ), IN(RR),
#endif
#if STAGE != 1
IN(RH),
#endif
#if HAS_C
IN(C),
#endif
SCRATCH(P), SCRATCH(H), SCRATCH(M), SIZE(UNITS), SIZE(BATCH), SIZE(AT), REAL(C_SCALE)) {
  // clang-format on
  const int u = WORK_ITEM(0), b = WORK_ITEM(1);
  if (u >= UNITS || b >= BATCH) return;
  const int h = AT + b * UNITS, p = 3 * h + u, r = u * UNITS, m = b * UNITS;
#if STAGE < 2
  float sum_z = P[p], sum_r = P[p + UNITS];
  ADD_DOT(sum_z, UNITS, STATE, WEIGHT_Z);
  ADD_DOT(sum_r, UNITS, STATE, WEIGHT_R);
  const float z = FN(activate)(RECURRENT_ACTIVATION, sum_z),
              reset = FN(activate)(RECURRENT_ACTIVATION, sum_r);
#endif
#if STAGE == 1
  M[m + u] = reset * H[h + u];
  M[m + BATCH * UNITS + u] = z;
#else
  float sum = P[p + 2 * UNITS];
#if STAGE == 0
  float recalled = 0.0f;
#if HAS_C && INTEGER_C
  recalled = (float)C[u] * C_SCALE;
#elif HAS_C
  recalled = LOAD(C, u);
#endif
  ADD_DOT(recalled, UNITS, STATE, WEIGHT_H);
  sum += reset * recalled;
#else
  const float z = M[m + BATCH * UNITS + u];
  ADD_DOT(sum, UNITS, RESET, WEIGHT_H);
#endif
  const float candidate = FN(activate)(ACTIVATION, sum);
  H[h + BATCH * UNITS + u] = (1.0f - z) * candidate + z * H[h + u];
#endif
}
