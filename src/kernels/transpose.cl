// Reorders dimensions; one work-item moves one element. RANK dimensions are left after those that stay together were
// joined. T has, for each dimension of the result: extent, multiplier and shift of an exact division by it (for
// i < 2^31), and its stride in the input.
#include "tensor.clh"
kernel void transpose(IN(X), OUT(Y), DATA(T), SIZE(N)) {
  const int i = get_global_id(0);
  if (i >= N) return;
  uint rest = i;
  int from = 0;
#pragma unroll
  for (int d = 0; d < RANK - 1; ++d) {
    const uint q = mul_hi(rest, (uint)T[4 * d + 1]) >> T[4 * d + 2];
    from += (int)(rest - q * (uint)T[4 * d]) * T[4 * d + 3];
    rest = q;
  }
  from += (int)rest * T[4 * (RANK - 1) + 3];
  COPY(Y, i, X, from);
}
