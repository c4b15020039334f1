// FLOAT16 numbers as float32, for operators that pack constants.
#ifndef TIM_VX_FLOAT16_H_
#define TIM_VX_FLOAT16_H_

#include <cstdint>
#include <cstring>

#include "tim/vx/types.h"

namespace tim::vx {

/// Subnormals and NaN are kept.
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

/// The numbers of a float32 or float16 constant.
class RealValues {
 public:
  RealValues(const void* data, DataType dtype) : half_(dtype == DataType::FLOAT16), data_(data) {}
  float operator[](int64_t i) const {
    return half_ ? HalfToFloat(static_cast<const uint16_t*>(data_)[i])
                 : static_cast<const float*>(data_)[i];
  }

 private:
  bool half_;
  const void* data_;
};

}  // namespace tim::vx
#endif  // TIM_VX_FLOAT16_H_
