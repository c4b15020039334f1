// FLOAT16 as a storage format: conversions to and from float32, round to nearest even, subnormals
// and NaN kept.
#ifndef TIMCL_BASE_HALF_H_
#define TIMCL_BASE_HALF_H_

#include <cstdint>
#include <cstring>

#include "tim/vx/float16.h"

namespace tim::vx::base {

using vx::HalfToFloat;

inline uint16_t FloatToHalf(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  bits &= 0x7FFFFFFFu;
  if (bits > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);   // NaN
  if (bits >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // rounds to infinity
  if (bits < 0x33000001u) return sign;                                    // rounds to zero
  const int exponent = static_cast<int>(bits >> 23) - 127;
  uint32_t mantissa = (bits & 0x7FFFFFu) | 0x800000u;
  const int shift = exponent < -14 ? -exponent - 14 + 13 : 13;  // subnormals lose more bits
  const uint32_t half = 1u << (shift - 1), rest = mantissa & ((1u << shift) - 1);
  mantissa >>= shift;
  if (rest > half || (rest == half && (mantissa & 1u))) ++mantissa;
  // A carry out of the mantissa moves into the exponent, which is what rounding up means.
  const uint32_t base = exponent < -14 ? 0 : static_cast<uint32_t>(exponent + 14) << 10;
  return static_cast<uint16_t>(sign | (base + mantissa));
}

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_HALF_H_
