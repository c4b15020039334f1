// Y[b][o] = sum over k of X[b][k] * W[o][k] + B[o]; one work-item computes one result.
// INTEGERS: sums are exact integers of type ACC, scaled by M per channel; else ACC is float. TOTAL: the sum with its bias.
// HAS_BIAS, REAL_BIAS: B is there, and is float. LANES 1: float products are summed in the order of k, else in 8 sums.
#include "tensor.clh"
#define ACC8 TIMCL_JOIN(ACC, 8)
#if INTEGERS
#define VALUE(i) (ACC)(RAW(X, i) - ZP(X))
#define WEIGHT(i) (ACC)(RAW(W, i) - ZP(W))
#else
#define VALUE(i) LOAD(X, i)
#define WEIGHT(i) LOAD(W, i)
#endif
#define EIGHT(f, i) (ACC8)(f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5), f(i + 6), f(i + 7))

// clang-format off
KERNEL(fully_connected)(IN(X), IN(W)
#if HAS_BIAS
, IN(B)
#endif
#if INTEGERS
, DATA(M)
#endif
, OUT(Y), SIZE(K), SIZE(OC), SIZE(BATCH)) {
  // clang-format on
  const int o = WORK_ITEM(0), b = WORK_ITEM(1);
  if (o >= OC || b >= BATCH) return;
  const int x = b * K, w = o * K;
  int k = 0;
  ACC sum = 0;
#if LANES == 8
  ACC8 sums = (ACC8)(0);
  for (; k + 8 <= K; k += 8) sums += EIGHT(VALUE, x + k) * EIGHT(WEIGHT, w + k);
  sum = ((sums.s0 + sums.s4) + (sums.s2 + sums.s6)) + ((sums.s1 + sums.s5) + (sums.s3 + sums.s7));
#endif
  for (; k < K; ++k) sum += VALUE(x + k) * WEIGHT(w + k);
  const int to = b * OC + o;
#if INTEGERS && REAL_BIAS
  const float product = (float)sum * M[o];
  STORE(Y, to, product + LOAD(B, o));
#elif INTEGERS
#if HAS_BIAS
  const TOTAL total = (TOTAL)sum + B[o];
#else
  const TOTAL total = sum;
#endif
  STORE_ACC(Y, to, total, M[o]);
#elif HAS_BIAS
  STORE(Y, to, sum + LOAD(B, o));
#else
  STORE(Y, to, sum);
#endif
}
