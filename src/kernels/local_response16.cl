// local_response.cl, 16 neighbours at a time whatever block they lie in. One work-item makes RUN of COUNT results, a
// multiple of 16; the last 16 begin at COUNT - 16, so that some are stored twice, the same both times. COUNT is 16 or
// more, and BETA at most 16 either way.
#include "tensor.clh"
// x / e^BETA. With e = 2^n m, m within a factor of sqrt(2) of 1, e^-BETA is two to the power of -BETA n - BETA log2(m),
// whose whole part is found by adding 1.5 * 2^23 and taken from BETA n before that product is rounded. log2(m) is a
// polynomial, 2e-8, and two to the power of the rest that of power.clh. Where n or the result is out of range, for one of
// sixteen, the library's function does them all, which takes ten times as long.
inline float16 FN(over_power)(float16 x, float16 e, float BETA) {
  const int most = (int)min(126.0f, 120.0f / fabs(BETA));
  const int16 n = (as_int16(e) - 0x3f3504f3) >> 23;
  const ulong8 far = as_ulong8(as_uint16(n + most) > 2 * (uint)most);
  const ulong4 halves = far.lo | far.hi;  // any() goes from number to number on PoCL
  const ulong2 quarters = halves.lo | halves.hi;
  if (quarters.x | quarters.y) return x / pow(e, (float16)BETA);
  const float16 u = as_float16(as_int16(e) - (n << 23)) - 1.0f, scale = convert_float16(n);
  float16 p = FMA(u, (float16)0.123109683f, (float16)-0.205861881f);
  p = FMA(p, u, (float16)0.216078222f);
  p = FMA(p, u, (float16)-0.239169881f);
  p = FMA(p, u, (float16)0.287903249f);
  p = FMA(p, u, (float16)-0.360693276f);
  p = FMA(p, u, (float16)0.480910748f);
  p = FMA(p, u, (float16)-0.721347451f);
  p = FMA(p, u, (float16)1.44269502f);
  const float16 fraction = p * u * -BETA;
  const float16 z = FMA(scale, (float16)-BETA, fraction) + 12582912.0f;
  const float16 r = FMA(scale, (float16)-BETA, 12582912.0f - z) + fraction;
  float16 q = FMA(r, (float16)1.326472731307149e-3f, (float16)9.671512991189957e-3f);
  q = FMA(q, r, (float16)5.550733581185341e-2f);
  q = FMA(q, r, (float16)2.4022242426872253e-1f);
  q = FMA(q, r, (float16)6.931470036506653e-1f);
  q = FMA(q, r, (float16)1.0f);
  return x * as_float16(as_int16(q) + (as_int16(z) << 23));
}
// clang-format off
TILE_KERNEL(local_response16)(IN(X), OUT(Y), SIZE(COUNT), SIZE(LENGTH), SIZE(INNER), SIZE(FRONT), SIZE(REAR),
SIZE(RUN), REAL(ALPHA), REAL(BETA), REAL(BIAS)) {
  // clang-format on
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) % LENGTH;
  const int before = FRONT * INNER, behind = REAR * INNER;
  const int begin = WORK_ITEM(0) * RUN, end = min(COUNT, begin + RUN);
  for (int i = begin; i < end; i += 16) {
    const int to = min(i, COUNT - 16), first = to % LENGTH;
    float16 sum = 0.0f;
    if (first >= before && first + 16 + behind <= LENGTH) {
      for (int j = to - before; j <= to + behind; j += INNER) {
        const float16 v = VLOAD(X, j);
        sum += v * v;
      }
    } else {
      // What lies in another block counts as 0, and so does what lies outside of the tensor, which is not read.
      int16 at = first + lane;
      at -= at >= LENGTH ? (int16)(LENGTH) : (int16)(0);
      for (int j = -before; j <= behind; j += INNER) {
        const int from = to + j;
        if (from <= -16 || from >= COUNT) continue;
        float16 v;
        if (from >= 0 && from + 16 <= COUNT) {
          v = VLOAD(X, from);
        } else {
          float lanes[16];
          for (int l = 0; l < 16; ++l) lanes[l] = LOAD(X, clamp(from + l, 0, COUNT - 1));
          v = vload16(0, lanes);
        }
        const float16 there = as_uint16(at + j) < (uint)LENGTH ? v : (float16)(0.0f);
        sum += there * there;
      }
    }
    const float16 scaled = sum * ALPHA;
    const float16 energy = scaled + BIAS, x = VLOAD(X, to);
    float16 y;
    if (BETA == 0.75f) {  // roots cost less
      const float16 root = sqrt(energy);
      y = x / (root * sqrt(root));
    } else if (BETA == 0.5f) {
      y = x / sqrt(energy);
    } else if (BETA == 1.0f) {
      y = x / energy;
    } else {
      y = FN(over_power)(x, energy, BETA);
    }
    VSTORE(Y, to, y);
  }
}
