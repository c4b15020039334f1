// The arithmetic that kernels and references share, bit for bit: design/NUMERICS rules for integer
// results. The same few lines stand in the kernel prelude (src/kernels/prelude.cc). Files that
// include this are built with -ffp-contract=off.
#ifndef TIMCL_BASE_QUANT_H_
#define TIMCL_BASE_QUANT_H_

#include <cmath>
#include <cstdint>

namespace tim::vx::base {

/// (float)(q - zp) * s: the real number of a stored integer.
inline float Dequantize(int64_t q, int32_t zero_point, float scale) {
  return static_cast<float>(q - zero_point) * scale;
}

/// clamp(rint(v), lo, hi), the clamp before the conversion; NaN gives `on_nan`. rint rounds half to
/// even.
inline int64_t RoundToRange(float v, int64_t lo, int64_t hi, int64_t on_nan) {
  if (std::isnan(v)) return on_nan;
  const float r = std::rint(v);
  if (r <= static_cast<float>(lo)) return lo;
  if (r >= static_cast<float>(hi)) return hi;
  return static_cast<int64_t>(r);
}

/// clamp(rint(y * inv_s + zp)): the zero point is added before rounding, no division. inv_s =
/// (float)(1.0 / s).
inline int64_t Quantize(float y, float inverse_scale, int32_t zero_point, int64_t lo, int64_t hi) {
  const float product = y * inverse_scale;
  return RoundToRange(product + static_cast<float>(zero_point), lo, hi, zero_point);
}

/// clamp(rint((float)acc * m + zp)): an exact integer sum, scaled once.
inline int64_t QuantizeSum(int64_t acc, float m, int32_t zero_point, int64_t lo, int64_t hi) {
  const float product = static_cast<float>(acc) * m;
  return RoundToRange(product + static_cast<float>(zero_point), lo, hi, zero_point);
}

inline float InverseScale(float scale) {
  return static_cast<float>(1.0 / static_cast<double>(scale));
}

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_QUANT_H_
