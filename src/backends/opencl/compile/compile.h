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
  std::vector<int> nodes;  // the ops that vanish, in order
};
/// For each anchor node: the chain of point-wise ops that its store can take along. `selected`
/// holds the kernels by node.
std::map<int, FusedChain> FindFusions(const GraphView& part,
                                      const std::map<int, Selected>& selected);

/// The text of one kernel function before it is put into a program.
struct Variant {
  std::string text;     // kernels::VariantText::text, or the user's source with its prelude
  std::string entry;    // function in the text; built-in ones are renamed in the program
  std::string origin;   // source file or op label, for messages
  std::string options;  // user's build options; built-in ones have none
  bool user = false;    // a program of its own
  bool images = false;  // see ProgramText
};

struct CompiledPartition {
  PartitionPlan plan;             // programs and kernels are set by AssemblePrograms
  std::vector<Variant> variants;  // Launch::variant counts these
  std::map<int, std::string> kernel_of;
  std::map<int, std::vector<std::string>> refused;
};
/// Fuses, makes the kernel texts, lays out internal values. `selected` holds the kernels by node
/// (Partition chose them).
Result<CompiledPartition> CompilePartition(const GraphView& part,
                                           const std::map<int, Selected>& selected,
                                           const DeviceCaps& caps, bool fuse,
                                           const std::string& kernel_dir);

/// Puts the variants of one graph's partitions into programs: all built-in ones into one, sorted,
/// so that its text (which is what caches know it by) depends on the graph alone and not on the
/// order of its ops or on graphs compiled before; each user's one into its own.
void AssemblePrograms(const std::vector<CompiledPartition*>& partitions,
                      const std::string& kernel_dir);

/// The image prelude, then `#line 1 "<origin>"`, then the source unchanged, so that messages of the
/// compiler speak of the user's lines. `kernel_dir`: value of TIMCL_KERNEL_DIR.
Result<std::string> WithImagePrelude(const std::string& user_source, const std::string& origin,
                                     const std::string& kernel_dir = "");

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_COMPILE_COMPILE_H_
