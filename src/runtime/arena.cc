// Pack: see arena.h. Greedy by size is as in "Efficient Memory Management for Deep Neural Net
// Inference" (Pisarchyk, Lee 2020, arXiv 2001.03288), section 5.2.
#include "runtime/arena.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <queue>
#include <random>
#include <set>
#include <utility>

#include "base/checked.h"

namespace tim::vx::runtime {

namespace {

/// Orders that are tried for a plan of so many slots at most.
constexpr size_t kSwaps = 200, kFewSlots = 256;

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

/// Memory that grows at its end, with holes.
class Heap {
 public:
  size_t Take(size_t bytes) {
    if (const auto fits = by_size_.lower_bound({bytes, 0}); fits != by_size_.end()) {
      const auto [room, at] = *fits;
      Erase(holes_.find(at));
      if (room > bytes) Add(at + bytes, room - bytes);
      return at;
    }
    size_t at = end_;
    if (!holes_.empty() && holes_.rbegin()->first + holes_.rbegin()->second == end_) {
      at = holes_.rbegin()->first;
      Erase(std::prev(holes_.end()));
    }
    end_ = at + bytes;
    return at;
  }
  void Give(size_t at, size_t bytes) {
    auto next = holes_.upper_bound(at);
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at) {
        at = before->first, bytes += before->second;
        Erase(before);
      }
    }
    if (next != holes_.end() && at + bytes == next->first) {
      bytes += next->second;
      Erase(next);
    }
    Add(at, bytes);
  }
  size_t end() const { return end_; }

 private:
  void Add(size_t at, size_t bytes) {
    holes_.emplace(at, bytes);
    by_size_.emplace(bytes, at);
  }
  void Erase(std::map<size_t, size_t>::iterator hole) {
    by_size_.erase({hole->second, hole->first});
    holes_.erase(hole);
  }
  std::map<size_t, size_t> holes_;               // offset -> bytes
  std::set<std::pair<size_t, size_t>> by_size_;  // bytes, offset
  size_t end_ = 0;
};

/// In the order in which the slots begin. Their sizes are multiples of the alignment, and their sum
/// is an address.
size_t PackByTime(std::vector<Slot>& slots) {
  std::vector<Slot*> order;
  for (Slot& slot : slots) order.push_back(&slot);
  std::stable_sort(order.begin(), order.end(), [](const Slot* a, const Slot* b) {
    return a->first != b->first ? a->first < b->first : a->bytes > b->bytes;
  });
  const auto later = [](const Slot* a, const Slot* b) { return a->last > b->last; };
  std::priority_queue<const Slot*, std::vector<const Slot*>, decltype(later)> alive(later);
  Heap heap;
  for (Slot* slot : order) {
    for (; !alive.empty() && alive.top()->last < slot->first; alive.pop())
      heap.Give(alive.top()->offset, alive.top()->bytes);
    slot->offset = heap.Take(slot->bytes);
    alive.push(slot);
  }
  return heap.end();
}

using Order = std::vector<size_t>;

/// The largest first; of equal ones those first that live longest.
Order BySize(const std::vector<Slot>& slots) {
  Order order(slots.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Slot &x = slots[a], &y = slots[b];
    return x.bytes != y.bytes ? x.bytes > y.bytes : x.last - x.first > y.last - y.first;
  });
  return order;
}

/// One after the other in this order, each into the smallest gap between those before it that live
/// with it. Sizes as above.
size_t PackInOrder(std::vector<Slot>& slots, const Order& order) {
  size_t total = 0;
  Placed placed;
  for (size_t index : order) {
    Slot& slot = slots[index];
    size_t best = static_cast<size_t>(-1), best_gap = static_cast<size_t>(-1), end = 0;
    for (const Slot* other : placed.Around(slot)) {
      if (other->last < slot.first || other->first > slot.last) continue;
      if (other->offset > end && other->offset - end >= slot.bytes &&
          other->offset - end < best_gap) {
        best = end;
        best_gap = other->offset - end;
      }
      end = std::max(end, other->offset + other->bytes);
    }
    slot.offset = best == static_cast<size_t>(-1) ? end : best;
    total = std::max(total, slot.offset + slot.bytes);
    placed.Add(&slot);
  }
  return total;
}

}  // namespace

size_t LiveBytes(const std::vector<Slot>& slots) {
  std::map<int64_t, int64_t> changes;  // by step
  for (const Slot& slot : slots) {
    changes[slot.first] += static_cast<int64_t>(slot.bytes);
    changes[int64_t{slot.last} + 1] -= static_cast<int64_t>(slot.bytes);
  }
  int64_t live = 0, most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, live += change);
  return static_cast<size_t>(most);
}

Result<size_t> Pack(std::vector<Slot>& slots, size_t alignment) {
  std::vector<Slot> aligned = slots;
  size_t sum = 0;
  for (Slot& slot : aligned) {
    if (slot.bytes > (static_cast<size_t>(1) << 62)) {
      return Status::Error(Code::kOutOfMemory,
                           "one intermediate value is larger than the address space");
    }
    slot.bytes = base::AlignUp(std::max<size_t>(slot.bytes, 1), alignment);
    if (!base::Add(sum, slot.bytes, &sum) || sum > (static_cast<size_t>(1) << 62)) {
      return Status::Error(Code::kOutOfMemory,
                           "the intermediate values are larger than the address space");
    }
  }
  const size_t bound = LiveBytes(aligned);
  size_t total = PackByTime(aligned);
  const auto attempt = [&](const Order& order) {
    std::vector<Slot> other = aligned;
    const size_t needs = PackInOrder(other, order);
    if (needs >= total) return needs;
    aligned = std::move(other);
    return total = needs;
  };
  const auto take = [&] {
    for (size_t i = 0; i < slots.size(); ++i) slots[i].offset = aligned[i].offset;
    return total;
  };
  if (total == bound) return take();
  Order order = BySize(aligned);
  size_t best = attempt(order);
  // A few slots in another order may make all the difference. The same ones in every process, as
  // plans are kept.
  std::minstd_rand random(1);
  for (size_t k = 0; k < kSwaps && slots.size() <= kFewSlots && total > bound; ++k) {
    Order other = order;
    std::swap(other[random() % other.size()], other[random() % other.size()]);
    const size_t needs = attempt(other);
    if (needs > best) continue;
    best = needs;
    order = std::move(other);
  }
  return take();
}

}  // namespace tim::vx::runtime
