// The OpenCL backend: asks ops for kernels, compiles partitions to plans, builds what they lack in
// one program, runs them.
#include "backends/opencl/backend.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

#include "backends/opencl/compile/unit.h"
#include "backends/opencl/run/device.h"
#include "backends/opencl/run/executor.h"
#include "backends/opencl/run/program_cache.h"
#include "backends/opencl/run/session.h"
#include "base/log.h"

namespace tim::vx::opencl {
namespace {

void Dump(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) base::Log("dump", base::LogLevel::kWarn, "cannot write '{}'", path);
}

/// CompileOption::SetOption("opencl", name, "off") leaves a step of the compiler out.
bool Enabled(const CompileEnv& env, const char* name) {
  const auto it = env.options.find(name);
  return it == env.options.end() || it->second != "off";
}

Wishes WishesOf(const CompileEnv& env) {
  Wishes wishes;
  wishes.relaxed = env.relaxed;
  const auto it = env.options.find("without_kernels");
  std::stringstream names(it == env.options.end() ? std::string() : it->second);
  for (std::string name; std::getline(names, name, ',');) wishes.without.insert(name);
  return wishes;
}

class OpenClBackend : public Backend {
 public:
  OpenClBackend(std::shared_ptr<Device> device, const ProgramCacheOptions& cache,
                BackendOptions options, std::string reason)
      : device_(std::move(device)),
        programs_(device_, cache),
        options_(std::move(options)),
        reason_(std::move(reason)) {
    const DeviceCaps& caps = device_->caps();
    info_ = {"opencl", caps.vendor, caps.driver, caps.name};
  }

  const BackendInfo& Info() const override { return info_; }
  const std::string& reason() const { return reason_; }
  uint64_t max_allocation() const { return device_->caps().max_allocation; }

  Status Begin(const CompileEnv& env) override {
    wishes_ = WishesOf(env);
    return Status();
  }

  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : graph.Ops()) {
      TIMCL_TRY(CheckSizes(op));
      const auto selected = SelectKernel(op, device_->caps(), wishes_);
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
    std::vector<Emitted> emitted;
    kernels::Sources sources(options_.kernel_dir);
    const Wishes wishes = WishesOf(env);
    for (const GraphView& part : parts) {
      Unit unit;
      TIMCL_TRY(Select(part, device_->caps(), &unit, wishes));
      if (Enabled(env, "private_layouts")) TIMCL_TRY(ChooseForms(device_->caps(), &unit, wishes));
      if (env.fuse) Fuse(&unit);
      Convert(&unit);
      if (env.alias) {
        Alias(&unit);
        PlacePieces(device_->caps(), &unit);
      }
      if (!env.dump_dir.empty())
        Dump(fmt::format("{}/opencl_{}.txt", env.dump_dir, emitted.size()), Print(unit));
      TIMCL_ASSIGN(Emitted one, Emit(&unit, device_->caps(), &sources, wishes));
      units->refusals.merge(unit.refusals);
      emitted.push_back(std::move(one));
    }
    std::vector<Emitted*> all;
    for (Emitted& one : emitted) all.push_back(&one);
    AssemblePrograms(all, options_.kernel_dir);
    for (Emitted& one : emitted) {
      auto plan = std::make_shared<PartitionPlan>(std::move(one.plan));
      units->kernel_of.merge(one.kernel_of);
      units->refused_kernels.merge(one.refused);
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
    for (const Call& call : calls) {
      const auto plan = PlanOf(modules, call);
      // Partitions share programs: the first that has one builds it, the others find it.
      BuiltPrograms programs;
      BuildStats stats;
      const Status built = programs_.Build(plan->programs, env.dump_dir, &programs, &stats);
      if (built.code() == Code::kKernelBuild)
        return FindCulprits(built, *plan->programs[programs.size()], modules, calls, env, units);
      TIMCL_TRY(built);
      units->programs_built += stats.built;
      units->programs_from_cache += stats.from_disk;
      units->kernels.push_back(
          std::make_unique<PartitionKernel>(session, plan, std::move(programs)));
    }
    return Status();
  }

 private:
  static std::shared_ptr<const PartitionPlan> PlanOf(const std::vector<CodeModule>& modules,
                                                     const Call& call) {
    return std::static_pointer_cast<const PartitionPlan>(modules[call.module].live);
  }

  /// `failed` does not build: the ops whose kernels do not build alone are refused, in whatever
  /// partition they are. The failure itself where none is found.
  Status FindCulprits(const Status& failure, const ProgramText& failed,
                      const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
                      const CompileEnv& env, LoadedUnits* units) {
    std::map<const ProgramText*, Status> tried = {{&failed, failure}};
    for (const Call& call : calls) {
      const auto plan = PlanOf(modules, call);
      for (const Launch& launch : plan->launches) {
        const KernelRef& kernel = plan->kernels[launch.variant];
        std::shared_ptr<const ProgramText> text = plan->programs[kernel.program];
        for (size_t f = 0; f < text->alone.size(); ++f) {
          if (text->functions[f] != kernel.function) continue;
          text = text->alone[f];
          break;
        }
        const auto [it, first] = tried.try_emplace(text.get());
        if (first) {
          BuiltPrograms programs;
          BuildStats stats;
          it->second = programs_.Build({text}, env.dump_dir, &programs, &stats);
        }
        if (!it->second.ok()) units->refusals.emplace(launch.op, it->second);
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
  ProgramCache programs_;
  BackendOptions options_;
  std::string reason_;
  BackendInfo info_;
  Wishes wishes_;
};

}  // namespace

Result<std::shared_ptr<Backend>> CreateBackend(const BackendOptions& options) {
  TIMCL_ASSIGN(DeviceChoice choice, ChooseDevice(options.device, options.icd_vendors));
  DeviceCaps& caps = choice.entries[choice.index].caps;
  if (options.as_discrete_gpu) {
    caps.is_cpu = caps.shared_memory = false;
    caps.register_tiles_pay = caps.dot_product_u8s8 = false;
  }
  if (options.as_cpu) caps.is_cpu = caps.register_tiles_pay = true;
  ProgramCacheOptions cache;
  cache.cache_dir = options.cache_dir;
  cache.even_if_driver_caches = options.cache_even_if_driver_does;
  TIMCL_ASSIGN(std::shared_ptr<Device> device, Device::Open(choice.chosen()));
  return std::shared_ptr<Backend>(
      std::make_shared<OpenClBackend>(std::move(device), cache, options, choice.chosen().verdict));
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
