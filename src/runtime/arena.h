// The one packing routine: places pieces of memory with lifetimes into one block.
#ifndef TIMCL_RUNTIME_ARENA_H_
#define TIMCL_RUNTIME_ARENA_H_

#include <cstddef>
#include <vector>

#include "tim/vx/result.h"

namespace tim::vx::runtime {

/// Alive from step `first` to step `last`, both included.
struct Slot {
  size_t bytes = 0;
  int first = 0, last = 0;
  size_t offset = 0;  // set by Pack
};

/// Sets the offsets (multiples of `alignment`, a power of two) so that slots alive at the same time
/// do not overlap; returns the bytes of the block. The smallest plan is taken: slots in the order
/// in which they begin, each into the smallest hole that fits, as a program would allocate them;
/// and, until one needs no more than what lives at once, the largest slots first, each into the
/// smallest gap between those that live with it (greedy by size), and where they are few, orders
/// close to that.
Result<size_t> Pack(std::vector<Slot>& slots, size_t alignment);

/// The most bytes that are alive at one step: no plan takes less.
size_t LiveBytes(const std::vector<Slot>& slots);

}  // namespace tim::vx::runtime
#endif  // TIMCL_RUNTIME_ARENA_H_
