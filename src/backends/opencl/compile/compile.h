// The compile half of the OpenCL backend: from a partition to launches as plain data. Needs
// capabilities, not a device.
#ifndef TIMCL_BACKENDS_OPENCL_COMPILE_COMPILE_H_
#define TIMCL_BACKENDS_OPENCL_COMPILE_COMPILE_H_

#include <map>
#include <string>
#include <vector>

#include "backends/opencl/run/plan.h"
#include "kernels/prelude.h"
#include "tim/vx/backend.h"

namespace tim::vx::opencl {

/// The candidate that accepted an op, and why those before it refused.
struct Selected {
  std::string kernel;
  Launches launches;
  std::vector<std::string> refusals;
};
/// Asks the op's candidates in order. kUnsupported lists every refusal.
Result<Selected> SelectKernel(const OpView& op, const DeviceCaps& caps);

/// True when the op moves no bytes (Reshape between equal encodings): it may become no launch at
/// all.
bool MovesNothing(const OpView& op);

/// A point-wise op fused behind another op's store.
struct FusedChain {
  std::vector<kernels::Stage> stages;
  std::vector<int> nodes;   // the ops that vanish, in order
  std::vector<int> others;  // the values that stages with two operands read, in order
};
/// For each anchor node: the chain of point-wise ops that its store can take along. `selected`
/// holds the kernels by node.
std::map<int, FusedChain> FindFusions(const GraphView& part,
                                      const std::map<int, Selected>& selected);

struct CompiledPartition {
  PartitionPlan plan;
  std::map<int, std::string> kernel_of;
  std::map<int, std::vector<std::string>> refused;
};
/// Fuses, makes the kernel texts, lays out internal values. `selected` holds the kernels by node
/// (Partition chose them).
Result<CompiledPartition> CompilePartition(const GraphView& part,
                                           const std::map<int, Selected>& selected,
                                           const DeviceCaps& caps, bool fuse,
                                           const std::string& kernel_dir);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_COMPILE_COMPILE_H_
