// Join: all launches of a partition as one, for a device of one thread, where a launch costs half a
// microsecond however little it does.
#ifndef TIMCL_BACKENDS_OPENCL_COMPILE_JOIN_H_
#define TIMCL_BACKENDS_OPENCL_COMPILE_JOIN_H_

#include <string>

#include "backends/opencl/compile/unit.h"

namespace tim::vx::opencl {

/// A plan of one launch: a kernel that walks over a table of steps and calls the function of each,
/// work-item by work-item. Its text depends on the functions alone, not on shapes or the number of
/// steps, and each function is compiled once. kUnsupported, with the reason: users' kernels, local
/// memory, one launch, or more than such a kernel may hold.
Result<PartitionPlan> Join(const Emitted& emitted, const std::string& kernel_dir);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_COMPILE_JOIN_H_
