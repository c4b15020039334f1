// What the compile half hands to the run half: one partition as plain data. A binary graph will
// store the same.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_PLAN_H_
#define TIMCL_BACKENDS_OPENCL_RUN_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tim/vx/backend.h"

namespace tim::vx::opencl {

/// The complete text of one OpenCL program.
struct ProgramText {
  std::string source;
  std::string options;                 // a user's build options; built-in programs have none
  std::string origin;                  // source files or op labels, for messages
  std::vector<std::string> functions;  // kernel functions that launches want
  bool user = false;                   // the user's own text, which may ask for another OpenCL C
  bool images = false;  // image parameters are emulated: read which ones with clGetKernelArgInfo
                        // after the build
  /// By function: a program of it alone, to find the one that does not build. Empty: there is only
  /// one.
  std::vector<std::shared_ptr<const ProgramText>> alone = {};
};

/// One kernel function that launches use.
struct KernelRef {
  size_t program = 0;  // PartitionPlan::programs[program]
  std::string function;
};

/// One kernel argument.
struct Arg {
  enum class Kind {
    kInput,       // partition input `index`
    kOutput,      // partition output `index`
    kInternal,    // a value inside the partition: `offset` bytes into the scratch, `bytes` long
    kPersistent,  // the same in the persistent memory (header of 128 bytes directly before
                  // `offset`)
    kConstant,    // PartitionPlan::constants[index]
    kLocal,       // `bytes` of local memory
    kScalar,      // `bytes` of `value`
  };
  Kind kind = Kind::kScalar;
  size_t index = 0, offset = 0, bytes = 0;
  std::array<std::byte, 128> value{};  // the largest type of OpenCL C is double16
  /// A number that says how much there is to do: a launch with 0 does nothing.
  bool is_amount = false;
  /// What the kernel does with memory that it is given.
  bool reads = true, writes = true;
  /// kPersistent: no other value lies directly before it.
  bool has_header_room = true;
  /// Tensor operands of user kernels: what the emulated image is told. Unused for built-in kernels.
  TensorType type;
  /// For messages about user kernels: "input 0 'x' f32[4]", "param_list_[1]", and the OpenCL type
  /// of a scalar.
  std::string what, type_name;
};

struct Launch {
  size_t variant = 0;  // PartitionPlan::kernels[variant]
  std::vector<Arg> args;
  uint32_t dims = 1;
  std::array<size_t, 3> global{1, 1, 1};
  std::array<size_t, 3> local{0, 0, 0};  // {0,0,0}: the runtime chooses (user kernels only)
  int op = -1;                           // id of the op whose kernel it is
  std::string label;                     // op label(s), for messages, profiles and traces
  std::string kernel;                    // candidate name
  std::string tile = {};                 // what its text was made for, for profiles
  double flops = 0;
  /// Whether one work-group of it may run before the first Run, over inputs that hold anything.
  bool may_rehearse = true;
};

/// Read-only memory: a graph constant, or data packed at Compile().
struct Constant {
  std::shared_ptr<const kernel::Memory> memory;  // a graph constant's storage
  std::shared_ptr<const std::vector<std::byte>> data;
  TensorType type;
  /// Instead of both, until PlaceConstants gives it memory: Operand::fill and its bytes.
  std::function<void(std::byte*)> fill = {};
  size_t fill_bytes = 0;
  /// Of a joined plan, likewise: the constants of the separate one, each with its first byte.
  std::vector<std::pair<size_t, size_t>> parts = {};

  size_t bytes() const { return memory ? memory->bytes() : data ? data->size() : fill_bytes; }
};

class Packing;

/// When helpers are launched (run/helpers.h).
struct HelperRules {
  uint32_t close_runs = 4;  // after so many Runs that follow each other closely
  uint32_t work_us = 0;     // what a Run takes without them, about
  bool always = false;      // whatever they cost and whoever else computes
  bool early = false;       // with each Run, which is longer than their wake-up
};

struct PartitionPlan {
  /// Partitions of one graph share their programs.
  std::vector<std::shared_ptr<const ProgramText>> programs;
  std::vector<KernelRef> kernels;
  std::vector<Launch> launches;
  std::vector<Constant> constants;
  size_t scratch_bytes = 0, persistent_bytes = 0;
  size_t live_bytes = 0;  // in the scratch, the most at one moment
  /// host_inputs[i]: partition input i is a graph input, so only the host writes it, and a device
  /// with memory of its own receives it only when its host_version() changed. Shorter or empty: not
  /// known, written in every run.
  std::vector<bool> host_inputs;
  /// Made for the device that runs kernels in the caller's thread.
  bool run_inline = false;
  /// The persistent memory is zeros before the first run.
  bool zero_persistent = false;
  /// The launches that this plan's only one does as well; null: it is as they are.
  std::shared_ptr<const PartitionPlan> separate = {};
  /// What is still to be written to the memory of constants; null: nothing.
  std::shared_ptr<Packing> packing = {};
  /// Beside a plan for the caller's thread: one launch of helpers on the main device, over the same
  /// memory.
  std::shared_ptr<PartitionPlan> helpers = {};
  HelperRules helper_rules = {};
  /// Its one work-group stays on the device from Run to Run (run/resident.h).
  bool resident = false;
};

/// Bytes of the operands that a launch reads and writes.
uint64_t BytesOf(const Launch& launch, const PartitionPlan& plan);
/// Whether its arithmetic is on bytes: it reads an 8-bit tensor.
bool ReadsBytes(const Launch& launch);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_PLAN_H_
