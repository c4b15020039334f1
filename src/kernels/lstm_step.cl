// One step of an LSTM: c' = f c + i g, m = o tanh(c'). STAGE 0: all of it. With layer normalisation
// stage 1 leaves the gates' sums in G[b][gate][u], stage 2 goes on from there. P[row][gate][u]:
// what the gates i f g o take from the input. M: where m goes, the next state or what is projected
// to it. CIFG: i = 1 - f. PEEP_I, PEEP_F, PEEP_O: weights of the previous c.
#include "recurrent.clh"
#include "tensor.clh"
#define STATE(k) H[h + k]
#define WEIGHT_I(k) LOAD(RI, r + k)
#define WEIGHT_F(k) LOAD(RF, r + k)
#define WEIGHT_G(k) LOAD(RG, r + k)
#define WEIGHT_O(k) LOAD(RO, r + k)

// clang-format off
KERNEL(lstm_step)(
#if STAGE < 2
#if !CIFG
IN(RI),
#endif
IN(RF), IN(RG), IN(RO),
#if PEEP_I
IN(CI),
#endif
#if PEEP_F
IN(CF),
#endif
#if PEEP_O
IN(CO),
#endif
SCRATCH(P), SCRATCH(H),
#endif
#if STAGE > 0
SCRATCH(G),
#endif
SCRATCH(C), SCRATCH(M), SIZE(UNITS), SIZE(BATCH), SIZE(STATE_LENGTH), SIZE(P_AT), SIZE(H_AT), SIZE(M_AT), REAL(CLIP),
REAL(FORGET)) {
  // clang-format on
  const int u = WORK_ITEM(0), b = WORK_ITEM(1);
  if (u >= UNITS || b >= BATCH) return;
  const int cell = b * UNITS + u, gate = b * 4 * UNITS + u;
  float c = C[cell];
#if STAGE < 2
  const int h = H_AT + b * STATE_LENGTH, r = u * STATE_LENGTH, p = P_AT + gate;
#if !CIFG
  float i = P[p];
  ADD_DOT(i, STATE_LENGTH, STATE, WEIGHT_I);
#if PEEP_I
  i += LOAD(CI, u) * c;
#endif
#endif
  float f = P[p + UNITS], g = P[p + 2 * UNITS], o = P[p + 3 * UNITS];
  ADD_DOT(f, STATE_LENGTH, STATE, WEIGHT_F);
  ADD_DOT(g, STATE_LENGTH, STATE, WEIGHT_G);
  ADD_DOT(o, STATE_LENGTH, STATE, WEIGHT_O);
#if PEEP_F
  f += LOAD(CF, u) * c;
#endif
#if PEEP_O
  o += LOAD(CO, u) * c;
#endif
#else
#if !CIFG
  float i = G[gate];
#endif
  float f = G[gate + UNITS], g = G[gate + 2 * UNITS], o = G[gate + 3 * UNITS];
#endif
#if STAGE == 1
#if !CIFG
  G[gate] = i;
#endif
  G[gate + UNITS] = f;
  G[gate + 2 * UNITS] = g;
  G[gate + 3 * UNITS] = o;
#else
  f = FN(activate)(RECURRENT_ACTIVATION, f + FORGET);
#if CIFG
  const float i = 1.0f - f;
#else
  i = FN(activate)(RECURRENT_ACTIVATION, i);
#endif
  c = f * c + i * tanh(g);
  if (CLIP > 0.0f) c = AT_MOST(AT_LEAST(c, -CLIP), CLIP);
  C[cell] = c;
  M[M_AT + cell] = FN(activate)(RECURRENT_ACTIVATION, o) * tanh(c);
#endif
}
