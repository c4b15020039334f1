// How a resident plan is launched, posted to and sent away: see resident.h.
#include "backends/opencl/run/resident.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "backends/opencl/run/process.h"

namespace tim::vx::opencl {
namespace {

/// Turns of waiting for the next Run, and for the end of one before the caller sleeps; a turn takes
/// 10 to 50 ns.
constexpr uint32_t kPatience = 6000;
constexpr uint32_t kWatch = 100000;

std::atomic_ref<uint32_t> StateOf(uint32_t* words) { return std::atomic_ref(words[0]); }

}  // namespace

/// Threads of devices that residents keep, in the whole process.
class Resident::Seats {
 public:
  /// Whether `one` may wait on the device: a thread is left beside those of all that do.
  static bool Take(const Resident* one) {
    const std::lock_guard lock(mutex_);
    const Device* const device = &one->session_->device();
    // Some have left, and their callers do not know yet.
    std::erase_if(taken_, [](const auto& seat) { return StateOf(seat.first->words_) == kGone; });
    const auto here = std::count_if(taken_.begin(), taken_.end(),
                                    [&](const auto& seat) { return seat.second == device; });
    if (here + 1 >= int64_t{device->caps().compute_units}) return false;
    taken_[one] = device;
    return true;
  }
  static void Leave(const Resident* one) {
    const std::lock_guard lock(mutex_);
    taken_.erase(one);
  }

 private:
  static inline std::mutex mutex_;
  static inline std::map<const Resident*, const Device*> taken_;
};

Resident::Resident(std::shared_ptr<Session> session, PartitionKernel* kernel)
    : session_(std::move(session)), kernel_(kernel) {}

Resident::~Resident() { (void)SendAway(); }

Status Resident::Prepare(const kernel::Io& io) {
  TIMCL_TRY(SendAway());
  // A rehearsal finds that nothing is posted.
  TIMCL_TRY(kernel_->Prepare(io));
  words_ = static_cast<uint32_t*>(io.persistent.Data());
  return Status();
}

bool Resident::Post(uint32_t from) {
  return StateOf(words_).compare_exchange_strong(from, kPosted);
}

Status Resident::Execute() {
  TIMCL_TRY(CheckProcess());
  if (words_ == nullptr) return Status::Error(Code::kInternal, "Execute before Prepare");
  if (launched_ && !kernel_->Moved() && Post(kIdle)) return Status();
  TIMCL_TRY(SendAway());
  std::atomic_ref(words_[kPatienceAt]).store(Seats::Take(this) ? kPatience : 0);
  (void)Post(kGone);
  const Status launched = kernel_->Execute();
  if (launched.ok()) {
    launched_ = true;
    clFlush(session_->queue()());
  } else {
    StateOf(words_) = kGone;
    Seats::Leave(this);
  }
  return launched;
}

Status Resident::Wait() {
  for (uint32_t turn = 0; turn < kWatch; ++turn) {
    if (StateOf(words_).load(std::memory_order_acquire) != kPosted) return Status();
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
  }
  // A long Run, or threads that have other work: until it has left.
  launched_ = false;
  const Status ended = kernel_->Wait();
  Seats::Leave(this);
  TIMCL_TRY(ended);
  if (StateOf(words_) == kPosted)
    return Status::Error(Code::kInternal, "the resident kernel ended without the Run");
  return Status();
}

Status Resident::SendAway() {
  if (!launched_) return Status();
  launched_ = false;
  uint32_t idle = kIdle;
  StateOf(words_).compare_exchange_strong(idle, kGone);
  const Status ended = kernel_->Wait();
  Seats::Leave(this);
  return ended;
}

}  // namespace tim::vx::opencl
