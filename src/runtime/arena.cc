// Pack: see arena.h. Greedy by size, as in "Efficient Memory Management for Deep Neural Net
// Inference" (Pisarchyk, Lee 2020).
#include "runtime/arena.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>

#include "base/checked.h"

namespace tim::vx::runtime {

namespace {

/// Slots that have their place, for questions about those that live at the same time. In a chain
/// these are few among many; where they are many, looking at all in order is faster.
class Placed {
 public:
  void Add(const Slot* slot) {
    by_offset_.insert(std::upper_bound(by_offset_.begin(), by_offset_.end(), slot, Lower), slot);
    by_start_[LengthClass(*slot)].emplace(slot->first, slot);
  }

  /// Those that live while `slot` does, by offset. Others may be among them.
  const std::vector<const Slot*>& Around(const Slot& slot) {
    const size_t few = by_offset_.size() / 8;
    around_.clear();
    for (size_t k = 0; k < by_start_.size(); ++k) {
      const auto& starts = by_start_[k];
      // None of this class lives longer than 2^(k+1) steps.
      for (auto it = starts.lower_bound(slot.first - (int64_t{2} << k));
           it != starts.end() && it->first <= slot.last; ++it) {
        if (around_.size() >= few) return by_offset_;
        around_.push_back(it->second);
      }
    }
    std::sort(around_.begin(), around_.end(), Lower);
    return around_;
  }

 private:
  static bool Lower(const Slot* a, const Slot* b) { return a->offset < b->offset; }
  /// Rounded down, the logarithm of how many steps it lives.
  static size_t LengthClass(const Slot& s) {
    return static_cast<size_t>(std::bit_width(static_cast<unsigned>(s.last - s.first) + 1) - 1);
  }
  std::vector<const Slot*> by_offset_, around_;
  std::array<std::multimap<int64_t, const Slot*>, 33> by_start_;  // by length class
};

}  // namespace

Result<size_t> Pack(std::vector<Slot>& slots, size_t alignment) {
  std::vector<size_t> order(slots.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return slots[a].bytes > slots[b].bytes; });
  size_t total = 0;
  Placed placed;
  for (size_t index : order) {
    Slot& slot = slots[index];
    if (slot.bytes > (static_cast<size_t>(1) << 62)) {
      return Status::Error(Code::kOutOfMemory,
                           "one intermediate value is larger than the address space");
    }
    const size_t bytes = base::AlignUp(std::max<size_t>(slot.bytes, 1), alignment);
    size_t best = static_cast<size_t>(-1), best_gap = static_cast<size_t>(-1), end = 0;
    for (const Slot* other : placed.Around(slot)) {
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
    placed.Add(&slot);
  }
  return total;
}

}  // namespace tim::vx::runtime
