// How a resident plan is launched, posted to and sent away: see resident.h.
#include "backends/opencl/run/resident.h"

#include <atomic>

#include "backends/opencl/run/process.h"

namespace tim::vx::opencl {
namespace {

/// Turns of waiting for the next Run, and for the end of one before the caller sleeps; a turn takes
/// 10 to 50 ns.
constexpr uint32_t kPatience = 6000;
constexpr uint32_t kWatch = 100000;

std::atomic_ref<uint32_t> StateOf(uint32_t* words) { return std::atomic_ref(words[0]); }

}  // namespace

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
  // Nobody is there, whatever an earlier failure has left in the word; and before the seat is
  // taken, which is free where the word says so.
  StateOf(words_) = kPosted;
  const bool waits = seats_.Take(session_->device(), 1, words_, kGone);
  std::atomic_ref(words_[kPatienceAt]).store(waits ? kPatience : 0);
  launched_ = true;
  const Status launched = kernel_->Execute();
  if (launched.ok()) {
    clFlush(session_->queue()());
  } else {
    launched_ = false;
    StateOf(words_) = kGone;
    seats_.Leave();
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
  TIMCL_TRY(WaitUntilGone());
  if (StateOf(words_) == kPosted)
    return Status::Error(Code::kInternal, "the resident kernel ended without the Run");
  return Status();
}

Status Resident::SendAway() {
  if (!launched_) return Status();
  uint32_t idle = kIdle;
  StateOf(words_).compare_exchange_strong(idle, kGone);
  return WaitUntilGone();
}

Status Resident::WaitUntilGone() {
  // Where that fails, it may still be there.
  TIMCL_TRY(kernel_->Wait());
  launched_ = false;
  seats_.Leave();
  return Status();
}

}  // namespace tim::vx::opencl
