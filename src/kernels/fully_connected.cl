// Y[b][o] = sum over k of X[b][k] * W[o][k] + B[o]; one work-item computes one result.
// LANES 1: float products are summed in the order of k, else in 8 sums.
// Other defines: weighted_sum.clh.
#include "weighted_sum.clh"
#define EIGHT(f, i) (ACC8)(f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5), f(i + 6), f(i + 7))

// clang-format off
KERNEL(fully_connected)(SUM_PARAMETERS, SIZE(K), SIZE(OC), SIZE(BATCH)) {
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
  FINISH(to, o, sum);
}
