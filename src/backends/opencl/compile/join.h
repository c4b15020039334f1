// Join: all launches of a partition as one. On a device of one thread a launch costs half a
// microsecond however little it does; on one of several, each launch wakes them up again.
#ifndef TIMCL_BACKENDS_OPENCL_COMPILE_JOIN_H_
#define TIMCL_BACKENDS_OPENCL_COMPILE_JOIN_H_

#include <string>

#include "backends/opencl/compile/unit.h"

namespace tim::vx::opencl {

/// A plan of one launch: a kernel that walks over a table of steps and calls the function of each,
/// work-item by work-item. Its text depends on the functions alone, not on shapes or the number of
/// steps, and each function is compiled once. kUnsupported, with the reason: users' kernels, local
/// memory, one launch, or more than such a kernel may hold.
/// The first constant is made of those of the other plan, by PlaceConstants.
/// `workers` > 1: so many work-groups share the work-items of each step, a few at a time, and wait
/// for each other's before the next. Whoever waits, waits for work-items that a running work-group
/// has begun, never for a work-group to start: one alone gets everything done.
Result<PartitionPlan> Join(const Emitted& emitted, const std::string& kernel_dir,
                           size_t workers = 1);
/// The same for one work-group, which `helpers` work-groups of another launch may help at any time:
/// PartitionPlan::helpers, for a device that shares the memory (run/helpers.h).
Result<PartitionPlan> JoinWithHelpers(const Emitted& emitted, const std::string& kernel_dir,
                                      size_t helpers);
/// The same for one work-group that stays on the device from Run to Run (run/resident.h). One
/// launch is enough.
Result<PartitionPlan> JoinResident(const Emitted& emitted, const std::string& kernel_dir);
/// OK, or why JoinWithHelpers refuses.
Status CanHaveHelpers(const Emitted& emitted, size_t helpers);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_COMPILE_JOIN_H_
