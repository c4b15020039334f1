// Resident: a plan that stays on the device from Run to Run.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_RESIDENT_H_
#define TIMCL_BACKENDS_OPENCL_RUN_RESIDENT_H_

#include <cstdint>
#include <memory>

#include "backends/opencl/run/executor.h"
#include "backends/opencl/run/seats.h"

namespace tim::vx::opencl {

/// To wake a thread of the device up takes longer than a small graph. One work-group that has done
/// a Run waits a moment for the next one, which the caller posts in memory that both see, and
/// leaves when none comes: then the next Run launches it again. It costs a core for as long as it
/// waits, and the caller's while it works, so graphs ask for it. It waits only where the device has
/// threads left for others; elsewhere each Run is a launch. Threads: one at a time.
class Resident {
 public:
  /// `kernel`: of a plan by JoinResident, whose persistent memory begins with the words below. It
  /// is another's, and prepared by Prepare.
  Resident(std::shared_ptr<Session> session, PartitionKernel* kernel);
  ~Resident();
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  Status Prepare(const kernel::Io& io);
  /// Has a Run begin, and waits for its end.
  Status Execute();
  Status Wait();
  /// Returns when it has left.
  Status SendAway();

  /// Word 0, which both sides change by compare-exchange. Only the caller posts, and only where
  /// somebody is there; only whoever is idle leaves. Memory begins as zeros: nobody is there.
  enum State : uint32_t { kGone, kIdle, kPosted };
  /// The word that says how many turns it waits for the next Run.
  static constexpr size_t kPatienceAt = 1;

 private:
  bool Post(uint32_t from);
  Status WaitUntilGone();

  const std::shared_ptr<Session> session_;
  PartitionKernel* const kernel_;
  uint32_t* words_ = nullptr;
  bool launched_ = false;  // and not known to have left
  Seats seats_;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_RESIDENT_H_
