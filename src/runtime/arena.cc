// Pack: see arena.h. Greedy by size, as in "Efficient Memory Management for Deep Neural Net
// Inference" (Pisarchyk, Lee 2020).
#include "runtime/arena.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace tim::vx::runtime {

Result<size_t> Pack(std::vector<Slot>& slots, size_t alignment) {
  std::vector<size_t> order(slots.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return slots[a].bytes > slots[b].bytes; });
  size_t total = 0;
  std::vector<const Slot*> placed;  // by offset
  for (size_t index : order) {
    Slot& slot = slots[index];
    if (slot.bytes > (static_cast<size_t>(1) << 62)) {
      return Status::Error(Code::kOutOfMemory,
                           "one intermediate value is larger than the address space");
    }
    const size_t bytes = base::AlignUp(std::max<size_t>(slot.bytes, 1), alignment);
    size_t best = static_cast<size_t>(-1), best_gap = static_cast<size_t>(-1), end = 0;
    for (const Slot* other : placed) {
      if (other->last < slot.first || other->first > slot.last) continue;
      if (other->offset > end && other->offset - end >= bytes && other->offset - end < best_gap) {
        best = end;
        best_gap = other->offset - end;
      }
      end = std::max(end,
                     other->offset + base::AlignUp(std::max<size_t>(other->bytes, 1), alignment));
    }
    slot.offset = best == static_cast<size_t>(-1) ? end : best;
    size_t slot_end = 0;
    if (!base::Add(slot.offset, bytes, &slot_end)) {
      return Status::Error(Code::kOutOfMemory,
                           "the intermediate values are larger than the address space");
    }
    total = std::max(total, slot_end);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &slot,
                         [](const Slot* a, const Slot* b) { return a->offset < b->offset; }),
        &slot);
  }
  return total;
}

}  // namespace tim::vx::runtime
