// Join: all launches of a partition as one. On a device of one thread a launch costs half a
// microsecond however little it does; on one of several, each launch wakes them up again.
#ifndef TIMCL_BACKENDS_OPENCL_COMPILE_JOIN_H_
#define TIMCL_BACKENDS_OPENCL_COMPILE_JOIN_H_

#include <string>

#include "backends/opencl/compile/unit.h"

namespace tim::vx::opencl {

/// A plan of one launch: a kernel that walks over a table of steps and calls the function of each,
/// work-item by work-item. Its text depends on the functions alone, not on shapes or the number of
/// steps, and each function is compiled once. For the one thread of a device (`caps`) that does
/// all. kUnsupported, with the reason: users' kernels, local memory, one launch, kernels that ask
/// more than WORK_ITEM, or more than such a kernel may hold, which takes all constants as one
/// memory and all values between kernels as another. The first constant is made of those of the
/// other plan, by PlaceConstants.
Result<PartitionPlan> Join(const Emitted& emitted, const DeviceCaps& caps,
                           const std::string& kernel_dir);
/// So many work-groups, perhaps one, share the work-items of each step, a few at a time, and wait
/// for each other's before the next. Whoever waits, waits for work-items that a running work-group
/// has begun, never for a work-group to start: one alone gets everything done.
Result<PartitionPlan> JoinForWorkers(const Emitted& emitted, const DeviceCaps& caps,
                                     const std::string& kernel_dir, size_t workers);
/// The same for one work-group, which `helpers` work-groups of another launch may help at any time:
/// PartitionPlan::helpers, for a device that shares the memory (run/helpers.h). `caps`: what both
/// devices have.
Result<PartitionPlan> JoinWithHelpers(const Emitted& emitted, const DeviceCaps& caps,
                                      const std::string& kernel_dir, size_t helpers);
/// The same for one work-group that stays on the device from Run to Run (run/resident.h). One
/// launch is enough.
Result<PartitionPlan> JoinResident(const Emitted& emitted, const DeviceCaps& caps,
                                   const std::string& kernel_dir);
/// OK, or why JoinWithHelpers refuses.
Status CanHaveHelpers(const Emitted& emitted, const DeviceCaps& caps, size_t helpers);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_COMPILE_JOIN_H_
