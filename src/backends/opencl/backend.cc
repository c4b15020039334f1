// The OpenCL backend: asks ops for kernels, compiles partitions to plans, builds what they lack in
// one program, runs them.
#include "backends/opencl/backend.h"

#include <fmt/format.h>

#include <map>

#include "backends/opencl/compile/compile.h"
#include "backends/opencl/run/device.h"
#include "backends/opencl/run/executor.h"
#include "backends/opencl/run/program_cache.h"
#include "backends/opencl/run/session.h"

namespace tim::vx::opencl {
namespace {

/// What passes from Compile to Load: one partition with its kernels. The partitions of a graph
/// share the session.
struct Module {
  std::shared_ptr<Session> session;
  std::shared_ptr<const PartitionPlan> plan;
  std::vector<BuiltKernel> kernels;
};

class OpenClBackend : public Backend {
 public:
  OpenClBackend(std::shared_ptr<Device> device, BackendOptions options, std::string reason)
      : device_(std::move(device)), options_(std::move(options)), reason_(std::move(reason)) {
    const DeviceCaps& caps = device_->caps();
    info_ = {"opencl", caps.vendor, caps.driver, caps.name};
  }

  const BackendInfo& Info() const override { return info_; }
  const std::string& reason() const { return reason_; }
  uint64_t max_allocation() const { return device_->caps().max_allocation; }

  Status Partition(const GraphView& graph, Selection* selection) override {
    // Kernels chosen here are used by Compile, so that weights are packed once.
    chosen_.clear();
    for (const OpView& op : graph.Ops()) {
      TIMCL_TRY(CheckSizes(op));
      auto selected = SelectKernel(op, device_->caps());
      if (selected.ok()) {
        chosen_[op.id()] = std::move(*selected);
        selection->Select(op);
      } else if (selected.status().code() != Code::kUnsupported) {
        return selected.status();
      } else if (op.def().expand != nullptr) {
        selection->OnlyExpanded(op, "composed of ops that have kernels");
      } else {
        selection->Reject(op, selected.status().detail());
      }
    }
    return Status();
  }

  Status Compile(const std::vector<GraphView>& parts, const CompileEnv& env,
                 CompiledUnits* units) override {
    const std::map<int, Selected> chosen = std::exchange(chosen_, {});
    TIMCL_ASSIGN(std::shared_ptr<Session> session, Session::Create(device_));
    std::vector<std::shared_ptr<Module>> modules;
    std::vector<Variant> variants;
    for (const GraphView& part : parts) {
      TIMCL_ASSIGN(CompiledPartition compiled,
                   CompilePartition(part, chosen, device_->caps(), env.fuse, options_.kernel_dir));
      auto plan = std::make_shared<PartitionPlan>(std::move(compiled.plan));
      units->kernel_of.merge(compiled.kernel_of);
      units->refused_kernels.merge(compiled.refused);
      units->launches += plan->launches.size();
      for (const Constant& c : plan->constants)
        units->constant_bytes += c.data ? c.data->size() : c.memory->bytes();
      variants.insert(variants.end(), plan->variants.begin(), plan->variants.end());
      units->calls.push_back({modules.size(), "", plan->scratch_bytes, plan->persistent_bytes});
      modules.push_back(std::make_shared<Module>(Module{session, std::move(plan), {}}));
    }
    // What the whole graph lacks is built together.
    std::vector<BuiltKernel> kernels;
    BuildStats stats;
    TIMCL_TRY(device_->programs().Kernels(variants, env.dump_dir, &kernels, &stats));
    units->programs_built += stats.programs_built;
    units->programs_from_cache += stats.programs_from_cache;
    size_t at = 0;
    for (auto& module : modules) {
      const size_t count = module->plan->variants.size();
      module->kernels.assign(kernels.begin() + static_cast<std::ptrdiff_t>(at),
                             kernels.begin() + static_cast<std::ptrdiff_t>(at + count));
      at += count;
      units->modules.push_back({{}, module, "opencl"});
    }
    return Status();
  }

  Status Load(const CodeModule& code, const std::string&,
              std::unique_ptr<kernel::Kernel>* kernel) override {
    const auto module = std::static_pointer_cast<Module>(code.live);
    *kernel = std::make_unique<PartitionKernel>(module->session, module->plan, module->kernels);
    return Status();
  }

 private:
  /// Too large for the device is an error, not a refusal: the reference would take such an op and
  /// never end.
  Status CheckSizes(const OpView& op) const {
    const uint64_t limit = device_->caps().max_allocation;
    for (size_t i = 0; i < op.num_inputs() + op.num_outputs(); ++i) {
      const bool input = i < op.num_inputs();
      const size_t index = input ? i : i - op.num_inputs();
      const TensorView t = input ? op.in(index) : op.out(index);
      if (!t.present() || t.type().bytes() <= limit) continue;
      return op
          .Error(
              Code::kOutOfMemory,
              fmt::format("{} {} {} takes {} bytes, and the largest allocation of device '{}' is "
                          "{} bytes",
                          input ? "input" : "output", index, t.label(), t.type().bytes(),
                          info_.device, limit))
          .AtTensor(t.name());
    }
    return Status();
  }

  std::shared_ptr<Device> device_;
  BackendOptions options_;
  std::string reason_;
  BackendInfo info_;
  std::map<int, Selected> chosen_;
};

}  // namespace

Result<std::shared_ptr<Backend>> CreateBackend(const BackendOptions& options) {
  TIMCL_ASSIGN(DeviceChoice choice, ChooseDevice(options.device, options.icd_vendors));
  if (options.as_discrete_gpu) {
    DeviceCaps& caps = choice.entries[choice.index].caps;
    caps.is_cpu = caps.shared_memory = caps.register_tiles_pay = false;
  }
  ProgramCacheOptions cache;
  cache.cache_dir = options.cache_dir;
  cache.kernel_dir = options.kernel_dir;
  TIMCL_ASSIGN(std::shared_ptr<Device> device, Device::Open(choice.chosen(), cache));
  return std::shared_ptr<Backend>(
      std::make_shared<OpenClBackend>(std::move(device), options, choice.chosen().verdict));
}

uint64_t MaxAllocationOf(const Backend& backend) {
  const auto* opencl = dynamic_cast<const OpenClBackend*>(&backend);
  return opencl ? opencl->max_allocation() : 0;
}

std::string ReasonOf(const Backend& backend) {
  const auto* opencl = dynamic_cast<const OpenClBackend*>(&backend);
  return opencl ? opencl->reason() : std::string();
}

}  // namespace tim::vx::opencl
