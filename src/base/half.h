// FLOAT16 as a storage format: conversions to and from float32, round to nearest even, subnormals
// and NaN kept.
#ifndef TIMCL_BASE_HALF_H_
#define TIMCL_BASE_HALF_H_

#include <cstdint>
#include <cstring>

namespace tim::vx::base {

inline float HalfToFloat(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 0x1Fu;
  uint32_t mantissa = h & 0x3FFu;
  uint32_t bits;
  if (exponent == 0x1F) {
    bits = sign | 0x7F800000u | (mantissa << 13);
  } else if (exponent != 0) {
    bits = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else if (mantissa == 0) {
    bits = sign;
  } else {  // subnormal: shift until the leading one stands at bit 10
    exponent = 113;
    while ((mantissa & 0x400u) == 0) mantissa <<= 1, --exponent;
    bits = sign | (exponent << 23) | ((mantissa & 0x3FFu) << 13);
  }
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}

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
