// Which device a graph runs on: the main one, whose threads have to be woken, or the one that runs
// kernels in the caller's thread.
#ifndef TIMCL_BACKENDS_OPENCL_COMPILE_PLACE_H_
#define TIMCL_BACKENDS_OPENCL_COMPILE_PLACE_H_

#include <string>
#include <vector>

#include "backends/opencl/run/plan.h"

namespace tim::vx::opencl {

/// Microseconds of a Run, estimated.
struct RunEstimate {
  double work = 0;       // of one core on the kernels alone
  double main = 0;       // on the main device, wake-ups included
  double in_caller = 0;  // on the inline device
  double helped = 0;     // there, with a helper on the main device
  bool early = false;    // the helper comes with each Run (run/helpers.h)
  bool small() const { return in_caller < main; }
  bool HelpersPay() const { return helped < 0.9 * in_caller; }
  /// How many, of `most`.
  size_t Helpers(size_t most) const;
};
/// `plans`: the partitions of one graph. `threads`: of the main device.
RunEstimate EstimateRun(const std::vector<const PartitionPlan*>& plans, uint32_t threads);

/// Microseconds of one core, estimated.
double WorkOf(const Launch& launch, const PartitionPlan& plan);

/// Whether a plan of one kernel takes one of the main device's threads no longer than all of them,
/// who meet after each step.
bool OneWorkerIsEnough(const PartitionPlan& plan, uint32_t threads);

/// "inline device: about 27 us of work, which takes 33 us in the caller's thread and 80 us on the
/// main device".
std::string Describe(const RunEstimate& estimate, bool run_inline);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_COMPILE_PLACE_H_
