// Who has which threads: see seats.h.
#include "backends/opencl/run/seats.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace tim::vx::opencl {
namespace {

/// Never destroyed: a Context in static storage may end after every static object.
struct All {
  std::mutex mutex;
  std::vector<const Seats*> taken;
};
All& TheSeats() {
  static All* const all = new All();
  return *all;
}

}  // namespace

bool Seats::Free() const {
  return std::atomic_ref(*word_).load(std::memory_order_acquire) == gone_;
}

bool Seats::Take(const Device& device, size_t threads, uint32_t* word, uint32_t gone) {
  Leave();
  All& all = TheSeats();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.taken, [](const Seats* one) { return one->Free(); });
  // Contexts open a device each for themselves, and its threads are the same.
  const cl_device_id id = device.entry().device();
  size_t count = threads;
  for (const Seats* one : all.taken) count += one->device_ == id ? one->threads_ : 0;
  if (count >= device.caps().compute_units) return false;
  all.taken.push_back(this);
  device_ = id;
  threads_ = threads;
  word_ = word;
  gone_ = gone;
  return true;
}

void Seats::Leave() {
  All& all = TheSeats();
  const std::lock_guard lock(all.mutex);
  std::erase(all.taken, this);
}

}  // namespace tim::vx::opencl
