// PartitionKernel: runs one PartitionPlan on a device.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_EXECUTOR_H_
#define TIMCL_BACKENDS_OPENCL_RUN_EXECUTOR_H_

#include <CL/opencl.hpp>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/opencl/run/plan.h"
#include "backends/opencl/run/program_cache.h"
#include "backends/opencl/run/session.h"
#include "runtime/live_bytes.h"

namespace tim::vx::opencl {

/// CompileEnv::progress.
using BuildProgress = std::function<void(const std::string& what, size_t done, size_t total)>;

/// Partitions of one session run in order without a Wait between them. Threads: one at a time.
class PartitionKernel : public kernel::Kernel, public runtime::HasLiveBytes {
 public:
  PartitionKernel(std::shared_ptr<Session> session, std::shared_ptr<const PartitionPlan> plan,
                  BuiltPrograms programs, BuildProgress progress = nullptr)
      : session_(std::move(session)),
        plan_(std::move(plan)),
        programs_(std::move(programs)),
        progress_(std::move(progress)) {}
  ~PartitionKernel() override;

  /// Allocates everything and sets every argument. kInvalidArgument where a launch and its function
  /// do not fit: it names the function and both sides.
  Status Prepare(const kernel::Io& io) override;
  /// Enqueues all launches and returns.
  Status Execute() override;
  Status Wait() override { return session_->Finish(); }
  /// Whether memory lies elsewhere than at the last Execute.
  bool Moved();
  /// Each launch and each copy by the device's clock.
  Status Profile(std::vector<kernel::Timing>* timings) override;
  const void* SyncDomain() const override { return session_.get(); }

  /// What costs time, and what the device's compiler knows of a kernel's parameters that hardly
  /// fits what is passed.
  std::vector<std::string> Warnings() const override { return warnings_; }
  size_t live_bytes() const override { return plan_->live_bytes; }

 private:
  struct Step {
    cl::Kernel kernel;
    std::array<size_t, 3> global{}, local{};
    bool has_local = false;
    std::vector<size_t> staged;  // entries of bindings_ that may be copied
  };
  /// One argument that is memory of the graph.
  struct Binding {
    size_t step = 0, mirror = 0, offset = 0, bytes = 0;
    cl_uint index = 0;
    bool image = false, room = false, reads = false, writes = false;
    ImageHeader header;
    // An image whose memory has no room for a header is copied through this.
    cl::Buffer stage;
    bool use_stage = false;
    cl_mem piece = nullptr;
  };
  struct Watched {
    DeviceMirror* mirror = nullptr;
    uint64_t generation = 0;  // of the arguments that are set
  };
  /// A command that is being timed.
  struct Timed {
    kernel::Timing timing;
    cl::Event event;
  };
  size_t Watch(kernel::Memory* memory);
  Status CheckLaunch(const Launch& launch, const cl::Kernel& kernel, const Signature* signature);
  Status PrepareStep(const kernel::Io& io, size_t launch);
  Status AddBinding(const kernel::Io& io, size_t launch, size_t argument, bool image);
  Status Bind(Binding* binding);
  Status CopyStage(const Binding& binding, bool in);
  /// Has the driver compile now what it would compile when it first runs.
  Status Rehearse();
  /// Memory outside of the partition that a launch writes, and not by way of a stage.
  bool IsResult(const Binding& binding) const;
  Status EnqueueAll();
  Status WriteInputs();
  Status ReadOutputs();
  /// Where the event of the next command goes; null: nobody asked. `launch` null: a copy.
  cl_event* Time(const Launch* launch, const std::string& what, uint64_t bytes);
  Status TimeAll(std::vector<kernel::Timing>* timings);

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<const PartitionPlan> plan_;
  const BuiltPrograms programs_;  // by PartitionPlan::programs
  const BuildProgress progress_;
  kernel::Io io_;
  std::vector<Step> steps_;
  std::vector<Binding> bindings_;
  std::vector<Watched> watched_;
  std::vector<std::string> warnings_;
  std::vector<Timed>* timed_ = nullptr;  // while Profile enqueues
  bool prepared_ = false;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_EXECUTOR_H_
