// Packing of 4-bit tensors: see packed.h.
#include "ir/packed.h"

#include <cstdint>

namespace tim::vx {
namespace {

uint8_t Extended(DataType dtype, unsigned nibble) {
  nibble &= 0xF;
  return static_cast<uint8_t>(dtype == DataType::INT4 && nibble >= 8 ? nibble | 0xF0 : nibble);
}

/// Calls f(element, byte, shift) for each element, in order.
template <class F>
void ForEachNibble(const Shape& shape, F f) {
  const Shape::Lines rows = shape.SplitAt(0);
  size_t element = 0, row = 0;
  for (int64_t r = 0; r < rows.outer; ++r) {
    for (int64_t i = 0; i < rows.n; ++i)
      f(element++, row + static_cast<size_t>(i / 2), i % 2 == 0 ? 0 : 4);
    row += static_cast<size_t>((rows.n + 1) / 2);
  }
}

}  // namespace

size_t HostBytes(const TensorType& type) {
  if (!IsPacked(type.dtype)) return type.bytes();
  const Shape::Lines rows = type.shape.SplitAt(0);
  return static_cast<size_t>((rows.n + 1) / 2 * rows.outer);
}

void Pack(const TensorType& type, const void* bytes, void* packed) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  auto* to = static_cast<uint8_t*>(packed);
  ForEachNibble(type.shape, [&](size_t element, size_t byte, int shift) {
    const unsigned nibble = from[element] & 0xFu;
    to[byte] = static_cast<uint8_t>(shift == 0 ? nibble : to[byte] | nibble << 4);
  });
}

void Unpack(const TensorType& type, const void* packed, void* bytes) {
  const auto* from = static_cast<const uint8_t*>(packed);
  auto* to = static_cast<uint8_t*>(bytes);
  ForEachNibble(type.shape, [&](size_t element, size_t byte, int shift) {
    to[element] = Extended(type.dtype, static_cast<unsigned>(from[byte]) >> shift);
  });
}

void ExtendNibbles(DataType dtype, const void* from, size_t count, void* bytes) {
  for (size_t i = 0; i < count; ++i) {
    static_cast<uint8_t*>(bytes)[i] = Extended(dtype, static_cast<const uint8_t*>(from)[i]);
  }
}

}  // namespace tim::vx
