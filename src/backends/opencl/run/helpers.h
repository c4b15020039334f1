// Helpers: work-groups on the main device that take part in Runs in the caller's thread.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_HELPERS_H_
#define TIMCL_BACKENDS_OPENCL_RUN_HELPERS_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "backends/opencl/run/executor.h"
#include "backends/opencl/run/seats.h"
#include "backends/opencl/run/trials.h"

namespace tim::vx::opencl {

/// To wake a thread up for a small graph takes longer than the graph. So helpers are launched once
/// and stay for many Runs: each waits a moment for the next Run, and leaves when none comes. The
/// caller waits for nobody to come, only for work that a helper has begun: alone it gets everything
/// done. Where the system has put both on one core, each would wait for the other until its time is
/// up, which is milliseconds: so a helper that finds itself there leaves, and a caller that waits
/// for one pauses its Run and offers its core. Helpers are launched when Runs follow each other
/// closely, no other graph runs in its caller's thread, and they were of use the last time; they
/// are judged again and again, since what cores cost each other changes.
///
/// A Run that takes longer than the wake-up (HelperRules::early) is shared from its beginning,
/// whoever comes: helpers are launched with it, and stay only a moment for the next.
/// Threads: one at a time.
class Helpers {
 public:
  /// `plan` has one launch, which reads and writes the `Control` at the start of the persistent
  /// memory.
  Helpers(std::shared_ptr<Session> session, std::shared_ptr<const PartitionPlan> plan,
          const HelperRules& rules, BuiltPrograms programs);
  ~Helpers();
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// No helper is there when it returns.
  Status Prepare(const kernel::Io& io);
  /// Around each Run in the caller's thread.
  void BeforeRun();
  /// Whether the Run stopped half-way, as a helper that has begun work does not get on.
  bool Paused() const;
  /// Offers it the caller's core. `times`: how often this Run was paused before.
  static void Pause(int times);
  void AfterRun();
  /// Returns when no helper is left; where that fails, some may be.
  Status SendAway();

  /// What the kernels and the host tell each other, each in lines of the cache of its own. The text
  /// of both kernels has the same numbers (compile/join.cc).
  enum Control : size_t {
    kPosted,       // Runs that were shared; all counters of work stand at multiples of it
    kPresent,      // helpers that are waiting for the next Run
    kStop,         // not 0: helpers are to leave, whatever is posted after it
    kArrived,      // helpers that have come, and
    kLeft,         // those that have left
    kPatience,     // turns that a helper waits for the next Run
    kLate,         // how often the caller waited long for a helper
    kHelped,       // Runs that helpers took part in until the end
    kPaused,       // not 0: it gave up waiting, so the Run is to be taken up again
    kMostTurns,    // that one side waits for the other
    kCallersCore,  // counted from 1; 0: not known
    kAnyCore,      // not 0: helpers may be on that one
    kEarly,        // 1: all Runs are shared, by a helper that comes in the midst of one, too; or 0
    kControls
  };
  static constexpr size_t kLine = 32;  // of 32-bit numbers

 private:
  using Clock = std::chrono::steady_clock;
  uint32_t Get(Control what) const;
  void Set(Control what, uint32_t value);
  void Launch();
  Trials::Counts Counts() const;
  void LogOfNoUse() const;

  const std::shared_ptr<Session> session_;
  const HelperRules rules_;
  const uint32_t groups_;  // of work-items, one of which is not needed
  PartitionKernel kernel_;
  uint32_t* control_ = nullptr;
  bool launched_ = false;  // and not known to have left
  bool running_ = false;
  Seats seats_;
  Clock::time_point begun_, ended_;
  Trials trials_;
  uint32_t posted_ = 0;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_HELPERS_H_
