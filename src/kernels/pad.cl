// Adds cells around a tensor; one work-item makes one element of the result.
// MODE: 0 constant, 1 border cell, 2 mirror image with and 3 without the border cell. RANK dimensions are left after
// neighbours without padding were joined. T has, for each: extent of the result, multiplier and shift of an exact
// division by it (for i < 2^31), extent of the input, cells in front.
#include "tensor.clh"
kernel void pad(IN(X), OUT(Y), DATA(T), SIZE(N), REAL(VALUE)) {
  const int i = get_global_id(0);
  if (i >= N) return;
  uint rest = i;
  int from = 0, stride = 1;
  bool inside = true;
#pragma unroll
  for (int d = 0; d < RANK; ++d) {
    const int extent = T[5 * d + 3];
    const uint q = d + 1 < RANK ? mul_hi(rest, (uint)T[5 * d + 1]) >> T[5 * d + 2] : 0;
    int c = (int)(rest - q * (uint)T[5 * d]) - T[5 * d + 4];
    rest = q;
#if MODE == 0
    inside = inside && c >= 0 && c < extent;
#elif MODE == 1
    c = clamp(c, 0, extent - 1);
#elif MODE == 2
    c = c < 0 ? -1 - c : c >= extent ? 2 * extent - 1 - c : c;
#else
    c = c < 0 ? -c : c >= extent ? 2 * extent - 2 - c : c;
#endif
    from += c * stride;
    stride *= extent;
  }
  if (inside) {
    COPY(Y, i, X, from);
  } else {
    STORE(Y, i, (acc_t)VALUE);
  }
}
