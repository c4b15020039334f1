// float32 numbers as bfloat16 and as pairs of them, for kernels that multiply these (bf16.clh).
#ifndef TIM_VX_BFLOAT16_H_
#define TIM_VX_BFLOAT16_H_

#include <cstdint>
#include <cstring>

namespace tim::vx {

/// Rounds to nearest even; a NaN stays one.
inline uint16_t ToBfloat16(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  if (v != v) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// Two numbers in an int, the first in its low half.
inline int32_t ToBfloat16Pair(float first, float second) {
  const uint32_t pair = ToBfloat16(first) | uint32_t{ToBfloat16(second)} << 16;
  return static_cast<int32_t>(pair);
}

}  // namespace tim::vx
#endif  // TIM_VX_BFLOAT16_H_
