// The OpenCL backend: asks ops for kernels, compiles partitions to plans, builds what they lack in
// one program, runs them.
#include "backends/opencl/backend.h"

#include <fmt/format.h>

#include <map>

#include "backends/opencl/compile/unit.h"
#include "backends/opencl/run/device.h"
#include "backends/opencl/run/executor.h"
#include "backends/opencl/run/program_cache.h"
#include "backends/opencl/run/session.h"

namespace tim::vx::opencl {
namespace {

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
    for (const OpView& op : graph.Ops()) {
      TIMCL_TRY(CheckSizes(op));
      const auto selected = SelectKernel(op, device_->caps());
      if (selected.ok()) {
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
    std::vector<Unit> compiled(parts.size());
    for (size_t p = 0; p < parts.size(); ++p) {
      Unit& unit = compiled[p];
      TIMCL_TRY(Select(parts[p], device_->caps(), &unit));
      if (env.fuse) Fuse(&unit);
      Alias(&unit);
      TIMCL_ASSIGN(Emitted emitted, Emit(&unit, device_->caps(), options_.kernel_dir));
      units->refusals.merge(unit.refusals);
      auto plan = std::make_shared<PartitionPlan>(std::move(emitted.plan));
      units->kernel_of.merge(emitted.kernel_of);
      units->refused_kernels.merge(emitted.refused);
      units->launches += plan->launches.size();
      for (const Constant& c : plan->constants)
        units->constant_bytes += c.data ? c.data->size() : c.memory->bytes();
      units->calls.push_back(
          {units->modules.size(), "", plan->scratch_bytes, plan->persistent_bytes});
      units->modules.push_back({{}, std::move(plan), "opencl"});
    }
    return Status();
  }

  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv& env, LoadedUnits* units) override {
    TIMCL_ASSIGN(std::shared_ptr<Session> session, Session::Create(device_));
    std::vector<std::shared_ptr<const PartitionPlan>> plans;
    std::vector<Variant> variants;
    for (const Call& call : calls) {
      plans.push_back(std::static_pointer_cast<const PartitionPlan>(modules[call.module].live));
      variants.insert(variants.end(), plans.back()->variants.begin(), plans.back()->variants.end());
    }
    // What the whole graph lacks is built together.
    std::vector<BuiltKernel> kernels;
    BuildStats stats;
    if (const Status built = device_->programs().Kernels(variants, env.dump_dir, &kernels, &stats);
        !built.ok()) {
      return FindCulprits(built, plans, env, units);
    }
    units->programs_built = stats.programs_built;
    units->programs_from_cache = stats.programs_from_cache;
    auto at = kernels.begin();
    for (const auto& plan : plans) {
      const auto end = at + static_cast<std::ptrdiff_t>(plan->variants.size());
      units->kernels.push_back(
          std::make_unique<PartitionKernel>(session, plan, std::vector<BuiltKernel>(at, end)));
      at = end;
    }
    return Status();
  }

 private:
  /// Something does not build: the ops whose kernels do not build alone are refused. The failure
  /// itself where none is found, or where it is not about kernels.
  Status FindCulprits(const Status& failure,
                      const std::vector<std::shared_ptr<const PartitionPlan>>& plans,
                      const CompileEnv& env, LoadedUnits* units) {
    if (failure.code() != Code::kKernelBuild) return failure;
    for (const auto& plan : plans) {
      for (size_t v = 0; v < plan->variants.size(); ++v) {
        std::vector<BuiltKernel> kernels;
        BuildStats stats;
        const Status alone =
            device_->programs().Kernels({plan->variants[v]}, env.dump_dir, &kernels, &stats);
        if (alone.ok()) continue;
        for (const Launch& launch : plan->launches) {
          if (launch.variant == v) units->refusals.emplace(launch.op, alone);
        }
      }
    }
    return units->refusals.empty() ? failure : Status();
  }

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
          .Error(Code::kOutOfMemory,
                 fmt::format("{} takes {} bytes, and the largest allocation of device '{}' is {} "
                             "bytes",
                             input ? op.in_label(index) : op.out_label(index), t.type().bytes(),
                             info_.device, limit))
          .AtTensor(t.name());
    }
    return Status();
  }

  std::shared_ptr<Device> device_;
  BackendOptions options_;
  std::string reason_;
  BackendInfo info_;
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
