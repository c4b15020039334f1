// Estimates behind the choice of a device: see place.h.
#include "backends/opencl/compile/place.h"

#include <fmt/format.h>

#include <algorithm>

namespace tim::vx::opencl {
namespace {

// Measured with bench/small_bench on two Zen 4 cores under PoCL 3.1. They only have to be right to
// a factor of two: near the border both devices take about as long.
constexpr double kWakeUp = 30;         // us, once per partition: enqueue + clFinish of nothing
constexpr double kLaunch = 2.2;        // us, each launch in a chain
constexpr double kLateThreads = 25;    // us before the other threads join a launch
constexpr double kInlineLaunch = 0.6;  // us, each launch in the caller's thread
// Of one core: what matrix products, convolutions and pooling, which say their flops, do at least;
// the second one where they wait for weights from the cache.
constexpr double kFlopsPerUs = 25e3, kFlopsBytesPerUs = 40e3;
constexpr double kBytesPerUs = 4e3;  // read and written by kernels that do not say their flops
constexpr double kLeast = 0.05;      // us, any launch
// With helpers: us for each launch, until one core has seen what the other did, as in one kernel
// for several threads; and up to where. Beyond it they would keep a core for long; they come with
// each Run instead (early), where there are few kernels, as the driver compiles them for both
// devices then.
constexpr double kMeeting = 0.4, kMostHelped = 1500;
constexpr size_t kFewLaunches = 4;
// us of work beyond which a wake-up is no matter at all.
constexpr double kMostEarly = 100e3;

}  // namespace

double WorkOf(const Launch& launch, const PartitionPlan& plan) {
  const auto bytes = static_cast<double>(BytesOf(launch, plan));
  if (launch.flops <= 0) return std::max(kLeast, bytes / kBytesPerUs);
  return std::max({kLeast, bytes / kFlopsBytesPerUs, launch.flops / kFlopsPerUs});
}

RunEstimate EstimateRun(const std::vector<const PartitionPlan*>& plans, uint32_t threads) {
  RunEstimate e;
  const double others = std::max(1u, threads);
  for (const PartitionPlan* plan : plans) {
    e.main += kWakeUp;
    for (const Launch& launch : plan->launches) {
      const double work = WorkOf(launch, *plan);
      const double late = std::min(work, kLateThreads);
      e.work += work;
      e.main += kLaunch + late + (work - late) / others;
      e.in_caller += kInlineLaunch + work;
      e.helped += kInlineLaunch + std::min(work, kMeeting + work / 2);
    }
  }
  const bool one = plans.size() == 1;
  e.early = one && e.work > kMostHelped && e.work <= kMostEarly &&
            plans[0]->launches.size() <= kFewLaunches;
  const bool may_help = one && (e.work <= kMostHelped || e.early);
  if (threads < 2 || !may_help) e.helped = e.in_caller;
  return e;
}

bool OneWorkerIsEnough(const PartitionPlan& plan, uint32_t threads) {
  if (threads < 2) return false;  // nobody meets
  double work = 0, shared = 0;
  for (const Launch& launch : plan.launches) {
    const double step = WorkOf(launch, plan);
    work += step;
    shared += kMeeting + step / threads;
  }
  return work <= shared;
}

size_t RunEstimate::Helpers(size_t most) const {
  constexpr double kEach = 20;  // us of work
  return std::clamp(static_cast<size_t>(work / kEach), size_t{1}, std::max<size_t>(most, 1));
}

std::string Describe(const RunEstimate& e, bool run_inline) {
  const std::string helped =
      e.HelpersPay() ? fmt::format(" ({:.0f} us with a helper)", e.helped) : std::string();
  return fmt::format(
      "{} device: about {:.0f} us of work, which takes {:.0f} us in the caller's thread{} and "
      "{:.0f} us on the main device",
      run_inline ? "inline" : "main", e.work, e.in_caller, helped, e.main);
}

}  // namespace tim::vx::opencl
