// Whether helpers are worth their core.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_TRIALS_H_
#define TIMCL_BACKENDS_OPENCL_RUN_TRIALS_H_

#include <cstdint>

namespace tim::vx::opencl {

/// Judges helpers by what Runs take with and without them, again and again: what cores cost each
/// other changes. Other programs come and go, and the host of a virtual machine moves its cores, so
/// that what the one wrote takes the other 20 ns or 200.
class Trials {
 public:
  /// What they have counted up to now: Runs that they took part in until the end, and how often the
  /// caller waited long for one.
  struct Counts {
    uint32_t helped = 0, late = 0;
  };
  struct Best {
    double alone = 0, shared = 0;  // seconds; 0: there were none
  };

  /// Before each Run. `close`: it may be compared with others, since it began soon after the last.
  void Before(bool close);
  /// Whether helpers may come, after at least so many close Runs in a row.
  bool MayLaunch(uint32_t close_runs) const;
  void Launched(Counts counts);
  /// After each Run, which took so long. True: helpers are to be judged now.
  bool After(double seconds, bool shared, uint32_t late);
  /// False: they are of no use now, and to leave. Not asked after each Run, as what helpers count
  /// is in their core's cache.
  bool AreOfUse(Counts counts);
  /// They have left. True if that was before they could be judged, as on the wrong core.
  bool LeftSoon();

  /// Of the Runs that were judged last, and what follows from it.
  const Best& best() const { return judged_; }
  uint32_t runs_until_next() const { return runs_until_next_; }

 private:
  /// Helpers come later, `times` as late as the last time.
  void Later(uint32_t times);

  Counts begun_;  // at the beginning of this trial
  Best best_;     // with helpers: of this trial; without: since they were of no use
  Best judged_;
  uint32_t close_runs_ = 0;       // up to now, in a row
  uint32_t shared_runs_ = 0;      // since they came
  uint32_t later_ = 0;            // close Runs that passed by after they were of no use, and
  uint32_t runs_until_next_ = 0;  // how many of these are left
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_TRIALS_H_
