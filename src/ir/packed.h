// 4-bit tensors in memory that the host shares: two elements per byte along dimension 0, the even
// one in the low half; each row starts at a byte, so the last high half of an odd row is unused.
// Inside the library such an element has a byte of its own (TensorType::bytes).
#ifndef TIMCL_IR_PACKED_H_
#define TIMCL_IR_PACKED_H_

#include <cstddef>

#include "tim/vx/tensor_type.h"

namespace tim::vx {

inline bool IsPacked(DataType dtype) { return BitsOf(dtype) == 4; }
/// Bytes of the tensor as the host sees it; TensorType::bytes for all that is not packed.
size_t HostBytes(const TensorType& type);
/// `bytes` has one for each element; unused halves of `packed` become 0.
void Pack(const TensorType& type, const void* bytes, void* packed);
void Unpack(const TensorType& type, const void* packed, void* bytes);
/// Copies `count` elements of a byte each: the low half counts, extended as the type says.
void ExtendNibbles(DataType dtype, const void* from, size_t count, void* bytes);

}  // namespace tim::vx
#endif  // TIMCL_IR_PACKED_H_
