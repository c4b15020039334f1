// The OpenCL backend: asks ops for kernels, compiles partitions to plans, builds what they lack in
// one program, runs them.
#include "backends/opencl/backend.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "backends/opencl/compile/join.h"
#include "backends/opencl/compile/place.h"
#include "backends/opencl/compile/unit.h"
#include "backends/opencl/run/device.h"
#include "backends/opencl/run/executor.h"
#include "backends/opencl/run/joined_kernel.h"
#include "backends/opencl/run/packing.h"
#include "backends/opencl/run/peaks.h"
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

/// What CompileOption::SetOption("opencl", name, ...) says, or nothing.
std::string OptionOf(const CompileEnv& env, const char* name) {
  const auto it = env.options.find(name);
  return it == env.options.end() ? std::string() : it->second;
}
/// All of CompileOption::SetOption("opencl", ...). "off" leaves a step of the compiler out.
const std::vector<KnownOption>& AllOptions() {
  static const auto* const all = [] {
    const std::vector<std::string> on_off = {"on", "off"};
    return new std::vector<KnownOption>{
        {"private_layouts", on_off},
        {"alias", on_off},
        {"pieces", on_off},
        {"in_place", on_off},
        {"one_kernel", on_off},
        {"workers", {"one", "all"}},          // of one kernel on the main device
        {"inline", on_off},                   // for a graph, whatever its size
        {"helpers", {"on", "off", "early"}},  // on: whatever they cost; early: with each Run
        {"resident", on_off},                 // waits on the device for the next Run
        {"tuning"},                           // off, or a file
        {"without_kernels", {}, true},
        {"first_kernels", {}, true},
    };
  }();
  return *all;
}
bool Enabled(const CompileEnv& env, const char* name) { return OptionOf(env, name) != "off"; }

/// What became of relaxed mode.
std::string DescribeRelaxed(size_t bf16_ops, const DeviceCaps& caps) {
  if (bf16_ops > 0)
    return fmt::format("relaxed: {} operation{} in bfloat16 (kernels '... bf16')", bf16_ops,
                       bf16_ops == 1 ? "" : "s");
  return fmt::format("relaxed, but all in float32: {}",
                     caps.dot_product_bf16 ? "no operation has a kernel with products of bfloat16"
                                           : "the device has no products of bfloat16");
}

/// What Compile hands to Load.
struct Part {
  std::shared_ptr<const PartitionPlan> plan;
  /// What the report says of it: in general, of its launches as one, of helpers.
  std::string general, joined, helped;

  void Note(const std::string& text) { general += (general.empty() ? "" : "; ") + text; }
  std::string Notes() const {
    std::string all = general;
    for (const std::string* each : {&joined, &helped}) {
      if (!each->empty()) all += (all.empty() ? "" : "; ") + *each;
    }
    return all;
  }
};

/// "plus_one:3:2: error: not here; TIMCL_LOG=compile=info prints all", of what was logged with it.
std::string InShort(const Status& failure) {
  std::string line = failure.detail().substr(0, failure.detail().find('\n'));
  std::istringstream lines(failure.detail());
  for (std::string each; std::getline(lines, each);) {
    if (each.find("error: ") == std::string::npos) continue;
    line = each;
    break;
  }
  constexpr size_t kMost = 200;
  if (line.size() > kMost) line = line.substr(0, kMost) + "...";
  return line + "; TIMCL_LOG=compile=info prints all";
}

class OpenClBackend : public Backend {
 public:
  /// `beside`: the inline device, null without one; `note` says which it is or why there is none.
  OpenClBackend(const std::shared_ptr<Device>& device, const std::shared_ptr<Device>& beside,
                const std::string& note, const ProgramCacheOptions& cache, BackendOptions options)
      : main_(device, cache), options_(std::move(options)), reason_(device->entry().verdict) {
    if (beside != nullptr) inline_.emplace(beside, cache);
    const DeviceCaps& caps = device->caps();
    info_ = {"opencl", caps.vendor, caps.driver, caps.name};
    info_.note = note;
    if (!note.empty()) reason_ += "; " + note;
    ReadTuning();
  }

  const BackendInfo& Info() const override { return info_; }
  const std::vector<KnownOption>* KnownOptions() const override { return &AllOptions(); }
  const std::string& reason() const { return reason_; }
  uint64_t max_allocation() const { return main_.device->caps().max_allocation; }

  std::string Limits() override {
    const std::string text = main_.device->peaks().ToText();
    if (text.empty() || !inline_) return text;
    return text + "; inline device: " + inline_->device->peaks().ToText();
  }

  Status Begin(const CompileEnv& env) override {
    named_ = {};
    TIMCL_ASSIGN(wishes_, WishesOf(env));
    return Status();
  }

  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : graph.Ops()) {
      TIMCL_TRY(CheckSizes(op));
      const auto selected = SelectKernel(op, main_.device->caps(), wishes_);
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
    if (!tuning_warning_.empty()) units->warnings.push_back(tuning_warning_);
    TIMCL_ASSIGN(const Where where, Choose(parts, env, units, &emitted));
    const Lane& lane = where.run_inline ? *inline_ : main_;
    if (emitted.empty()) TIMCL_TRY(EmitAll(parts, env, lane, 1 + where.helpers, units, &emitted));
    std::vector<Emitted*> all;
    for (Emitted& one : emitted) all.push_back(&one);
    std::vector<std::shared_ptr<PartitionPlan>> joined(emitted.size());
    std::vector<Part> made(emitted.size());
    for (size_t i = 0; i < emitted.size(); ++i) {
      made[i].general = where.note;
      if (const size_t n = emitted[i].in_place; n > 0)
        made[i].Note(fmt::format("{} result{} in place", n, n == 1 ? "" : "s"));
      if (env.relaxed) made[i].Note(DescribeRelaxed(emitted[i].bf16, lane.device->caps()));
      if (Enabled(env, "one_kernel")) {
        TIMCL_ASSIGN(joined[i], JoinAll(emitted[i], where, OptionOf(env, "workers"), &made[i]));
      }
    }
    AssemblePrograms(all, options_.kernel_dir);
    for (size_t i = 0; i < emitted.size(); ++i) {
      Emitted& one = emitted[i];
      TIMCL_TRY(PlaceConstants(&one.plan, joined[i].get()));
      auto plan = std::make_shared<PartitionPlan>(std::move(one.plan));
      plan->run_inline = where.run_inline;
      if (joined[i] != nullptr) {
        joined[i]->run_inline = where.run_inline;
        joined[i]->separate = std::exchange(plan, joined[i]);
      }
      units->kernel_of.merge(one.kernel_of);
      units->refused_kernels.merge(one.refused);
      units->launches += plan->launches.size();
      for (const Constant& c : plan->constants) units->constant_bytes += c.bytes();
      units->calls.push_back({units->modules.size(), "", plan->scratch_bytes,
                              plan->persistent_bytes, made[i].Notes()});
      made[i].plan = std::move(plan);
      units->modules.push_back({{}, std::make_shared<Part>(std::move(made[i])), "opencl"});
    }
    return Status();
  }

  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv& env, LoadedUnits* units) override {
    std::map<Lane*, std::shared_ptr<Session>> sessions;
    std::vector<std::shared_ptr<Packing>> packing;
    for (const Call& call : calls) {
      if (const auto& work = PartOf(modules, call).plan->packing) packing.push_back(work);
    }
    Packers packers(std::move(packing));
    for (size_t c = 0; c < calls.size(); ++c) {
      Part part = PartOf(modules, calls[c]);
      Lane& lane = LaneOf(*part.plan);
      std::shared_ptr<Session>& session = sessions[&lane];
      if (session == nullptr) {
        TIMCL_ASSIGN(session, Session::Create(lane.device));
      }
      if (env.progress) env.progress("building programs", units->kernels.size(), calls.size());
      // Partitions share programs: the first that has one builds it, the others find it.
      BuiltPrograms programs;
      Status built = Build(lane, *part.plan, env, &programs, units);
      if (built.code() == Code::kKernelBuild && part.plan->separate != nullptr) {
        // A kernel that cannot do without the work-items of OpenCL, or a wrong one.
        part.plan = part.plan->separate;
        const size_t launches = part.plan->launches.size();
        base::Log("compile", base::LogLevel::kInfo, "one by one: {}", built.message());
        part.joined = fmt::format("{} launch{} one by one: the joined kernel does not build ({})",
                                  launches, launches == 1 ? "" : "es", InShort(built));
        part.helped = "";
        units->more_launches += launches - 1;
        units->notes[c] = part.Notes();
        built = Build(lane, *part.plan, env, &programs, units);
      }
      if (built.code() == Code::kKernelBuild)
        return FindCulprits(built, *part.plan->programs[programs.size()], modules, calls, env,
                            units);
      TIMCL_TRY(built);
      if (part.plan->separate == nullptr) {
        units->kernels.push_back(std::make_unique<PartitionKernel>(
            session, part.plan, std::move(programs), env.progress));
        continue;
      }
      std::unique_ptr<Helpers> helpers;
      if (part.plan->helpers != nullptr) {
        auto loaded = LoadHelpers(*part.plan, env, units);
        if (loaded.ok()) {
          helpers = std::move(*loaded);
        } else {
          // The caller does all of the work then.
          base::Log("compile", base::LogLevel::kInfo, "no helpers: {}", loaded.status().message());
          part.helped = fmt::format("no helpers{}: {}",
                                    part.plan->helper_rules.close_runs == 0
                                        ? ", without whom it would be on the main device"
                                        : "",
                                    InShort(loaded.status()));
          units->notes[c] = part.Notes();
        }
      }
      units->kernels.push_back(std::make_unique<JoinedKernel>(session, part.plan,
                                                              std::move(programs), lane.programs,
                                                              env.progress, std::move(helpers)));
    }
    packers.Finish();
    return Status();
  }

 private:
  /// Whatever was tuned for the device. A file that somebody named and that cannot be used is told
  /// of with each graph; one of the cache that is out of date is as good as none.
  void ReadTuning() {
    const DeviceCaps& caps = main_.device->caps();
    const bool named = !options_.tuning_file.empty();
    const std::string file =
        named ? options_.tuning_file : Tuning::FileFor(options_.cache_dir, caps.name, caps.driver);
    std::error_code error;
    if (file.empty() || (!named && !std::filesystem::exists(file, error))) return;
    auto tuning = Tuning::Read(file, caps.name, caps.driver);
    if (tuning.ok()) {
      tuning_ = std::make_shared<const Tuning>(std::move(*tuning));
    } else if (named) {
      tuning_warning_ = tuning.status().detail();
    } else {
      base::Log("tuning", base::LogLevel::kInfo, "{}", tuning.status().detail());
    }
  }

  /// "tuning": "off", or another file than the context's, read once per compilation. Null: none.
  Result<std::shared_ptr<const Tuning>> TuningOf(const CompileEnv& env) {
    const std::string asked = OptionOf(env, "tuning");
    if (asked.empty()) return tuning_;
    if (asked == "off") return std::shared_ptr<const Tuning>();
    if (named_.file != asked) {
      const DeviceCaps& caps = main_.device->caps();
      TIMCL_ASSIGN(Tuning read, Tuning::Read(asked, caps.name, caps.driver));
      named_ = {asked, std::make_shared<const Tuning>(std::move(read))};
    }
    return named_.tuning;
  }

  Result<Wishes> WishesOf(const CompileEnv& env) {
    Wishes wishes;
    TIMCL_ASSIGN(wishes.tuning, TuningOf(env));
    wishes.relaxed = env.relaxed;
    for (const auto& [option, names] : {std::pair("without_kernels", &wishes.without),
                                        std::pair("first_kernels", &wishes.first)}) {
      std::stringstream list(OptionOf(env, option));
      for (std::string name; std::getline(list, name, ',');) names->insert(name);
    }
    return wishes;
  }

  /// A device with the programs that are built for it.
  struct Lane {
    Lane(const std::shared_ptr<Device>& opened, const ProgramCacheOptions& cache)
        : device(opened), programs(std::make_shared<ProgramCache>(opened, cache)) {}
    std::shared_ptr<Device> device;
    std::shared_ptr<ProgramCache> programs;
  };
  Lane& LaneOf(const PartitionPlan& plan) { return plan.run_inline && inline_ ? *inline_ : main_; }

  static Status Build(Lane& lane, const PartitionPlan& plan, const CompileEnv& env,
                      BuiltPrograms* programs, LoadedUnits* units) {
    BuildStats stats;
    const Status built = lane.programs->Build(plan.programs, env.dump_dir, programs, &stats);
    units->programs_built += stats.built;
    units->programs_from_cache += stats.from_disk;
    return built;
  }

  /// The helpers of a plan, on the main device.
  Result<std::unique_ptr<Helpers>> LoadHelpers(const PartitionPlan& plan, const CompileEnv& env,
                                               LoadedUnits* units) {
    BuiltPrograms programs;
    TIMCL_TRY(Build(main_, *plan.helpers, env, &programs, units));
    TIMCL_ASSIGN(auto session, Session::Create(main_.device));
    return std::make_unique<Helpers>(std::move(session), plan.helpers, plan.helper_rules,
                                     std::move(programs));
  }

  /// The passes, over all partitions of a graph. `workers`: that share each launch at least.
  Status EmitAll(const std::vector<GraphView>& parts, const CompileEnv& env, const Lane& lane,
                 size_t workers, CompiledUnits* units, std::vector<Emitted>* emitted) {
    kernels::Sources sources(options_.kernel_dir);
    DeviceCaps caps = lane.device->caps();
    caps.compute_units = std::max(caps.compute_units, static_cast<uint32_t>(workers));
    TIMCL_ASSIGN(const Wishes wishes, WishesOf(env));
    for (const GraphView& part : parts) {
      Unit unit;
      TIMCL_TRY(Select(part, caps, &unit, wishes));
      if (Enabled(env, "private_layouts")) TIMCL_TRY(ChooseForms(caps, &unit, wishes));
      if (env.fuse) Fuse(&unit);
      Convert(&unit);
      if (env.alias && Enabled(env, "alias")) Alias(&unit);
      if (env.alias && Enabled(env, "pieces")) PlacePieces(caps, &unit);
      const size_t in_place = env.alias && Enabled(env, "in_place") ? PlaceInPlace(&unit) : 0;
      if (!env.dump_dir.empty())
        Dump(fmt::format("{}/opencl_{}.txt", env.dump_dir, emitted->size()), Print(unit));
      TIMCL_ASSIGN(Emitted one, Emit(&unit, caps, &sources, wishes));
      one.in_place = in_place;
      units->refusals.merge(unit.refusals);
      emitted->push_back(std::move(one));
    }
    return Status();
  }

  /// Where a graph runs.
  struct Where {
    bool run_inline = false;
    bool resident = false;  // on the main device, from Run to Run
    size_t helpers = 0;     // of the thread that it runs in
    HelperRules rules;
    std::string note;
  };
  /// Sets `emitted` where that was made for the device that is chosen.
  Result<Where> Choose(const std::vector<GraphView>& parts, const CompileEnv& env,
                       CompiledUnits* units, std::vector<Emitted>* emitted) {
    Where where;
    const bool asked = OptionOf(env, "resident") == "on";
    const std::string why_not = asked ? WhyNotResident(parts, env) : "";
    if (asked && why_not.empty()) {
      where.resident = true;
      return where;
    }
    if (inline_) {
      TIMCL_ASSIGN(where, ChooseInline(parts, env, units, emitted));
    }
    if (asked) where.note += (where.note.empty() ? "not resident: " : "; not resident: ") + why_not;
    return where;
  }
  /// "": the main device can keep a plan of the graph from Run to Run.
  std::string WhyNotResident(const std::vector<GraphView>& parts, const CompileEnv& env) const {
    const DeviceCaps& caps = main_.device->caps();
    if (!Enabled(env, "one_kernel")) return "option 'one_kernel' is off";
    if (parts.size() != 1) return fmt::format("there are {} partitions", parts.size());
    if (!caps.is_cpu || !caps.shared_memory)
      return "the host and the device do not work on the same memory";
    return caps.compute_units < 2 ? "the device has one thread" : "";
  }
  /// Whether the graph runs on the inline device. One graph stays on one device: a change between
  /// the two costs as much as the wake-up that it saves.
  Result<Where> ChooseInline(const std::vector<GraphView>& parts, const CompileEnv& env,
                             CompiledUnits* units, std::vector<Emitted>* emitted) {
    Where where;
    const std::string choice = OptionOf(env, "inline"), helpers = OptionOf(env, "helpers");
    if (choice == "off") {
      where.note = "main device, as asked for";
      return where;
    }
    CompiledUnits tried;
    std::vector<Emitted> made;
    TIMCL_TRY(EmitAll(parts, env, main_, 1, &tried, &made));
    std::vector<const PartitionPlan*> plans;
    for (const Emitted& one : made) plans.push_back(&one.plan);
    const DeviceCaps& main = main_.device->caps();
    const RunEstimate estimate = EstimateRun(plans, main.compute_units);
    const bool asked = choice == "on" || options_.inline_device == InlineDevice::kAllGraphs;
    const bool may_help = main.compute_units > 1 && main.shared_memory && main.register_tiles_pay &&
                          parts.size() == 1 && helpers != "off";
    where.run_inline = asked || estimate.small() ||
                       (may_help && estimate.helped < estimate.main &&
                        CanHaveHelpers(made[0], CapsOf(true, true), main.compute_units - 1).ok());
    where.note = asked ? "inline device, as asked for" : Describe(estimate, where.run_inline);
    where.rules.always = helpers == "on";
    where.rules.early = estimate.early || helpers == "early";
    where.rules.work_us = static_cast<uint32_t>(std::min(estimate.work, 1e6));
    if (where.run_inline && may_help &&
        (where.rules.always || where.rules.early || estimate.HelpersPay()))
      where.helpers = estimate.Helpers(main.compute_units - 1);
    // What would run on the main device without them gets them at once.
    if (!asked && !estimate.small()) where.rules.close_runs = 0;
    if (!where.run_inline) {
      units->refusals.merge(tried.refusals);
      *emitted = std::move(made);
    }
    return where;
  }

  /// What all devices have on which the launches of a graph are one.
  DeviceCaps CapsOf(bool run_inline, bool helped) const {
    const DeviceCaps& main = main_.device->caps();
    if (!run_inline) return main;
    DeviceCaps caps = inline_->device->caps();
    if (helped) {
      caps.max_allocation = std::min(caps.max_allocation, main.max_allocation);
      caps.rdtscp_tells_core = caps.rdtscp_tells_core && main.rdtscp_tells_core;
    }
    return caps;
  }

  /// All launches as one on the main device, whose threads are woken up once per Run then, instead
  /// of once per launch; one of them where steps are short.
  Result<PartitionPlan> JoinOnMain(const Emitted& emitted, const std::string& workers) const {
    const DeviceCaps& caps = main_.device->caps();
    const char* const why = !caps.is_cpu          ? "the device is no CPU"
                            : !caps.shared_memory ? "the host and the device do not work on the "
                                                    "same memory"
                            : !caps.register_tiles_pay
                                ? "register tiles are not known to pay on the device"
                                : nullptr;
    if (why != nullptr) return Status::Error(Code::kUnsupported, why);
    const bool one = workers == "one" || OneWorkerIsEnough(emitted.plan, caps.compute_units);
    if (one && workers != "all") {
      auto plan = Join(emitted, caps, options_.kernel_dir);
      if (plan.status().code() != Code::kUnsupported) return plan;
    }
    return JoinForWorkers(emitted, caps, options_.kernel_dir, caps.compute_units);
  }

  /// All launches of a partition as one. Null where they stay as they are; `part` is told why, if
  /// there is more than one.
  Result<std::shared_ptr<PartitionPlan>> JoinAll(const Emitted& emitted, const Where& where,
                                                 const std::string& workers, Part* part) const {
    const size_t launches = emitted.plan.launches.size();
    const DeviceCaps caps = CapsOf(where.run_inline, where.helpers > 0);
    auto plan = Result<PartitionPlan>(Status::Error(Code::kUnsupported, ""));
    if (where.resident) {
      plan = JoinResident(emitted, caps, options_.kernel_dir);
    } else if (where.helpers > 0) {
      plan = JoinWithHelpers(emitted, caps, options_.kernel_dir, where.helpers);
    }
    if (plan.status().code() == Code::kUnsupported) {
      if (const std::string& why = plan.status().detail(); !why.empty())
        part->Note((where.resident ? "not resident: " : "no helpers: ") + why);
      if (launches < 2) return std::shared_ptr<PartitionPlan>();
      plan = where.run_inline ? Join(emitted, caps, options_.kernel_dir)
                              : JoinOnMain(emitted, workers);
    }
    if (plan.status().code() == Code::kUnsupported) {
      part->joined = fmt::format("{} launches one by one: {}", launches, plan.status().detail());
      return std::shared_ptr<PartitionPlan>();
    }
    TIMCL_TRY(plan.status());
    part->joined = fmt::format("{} launches in one kernel", launches);
    if (plan->resident) {
      part->joined += "; resident on the main device";
    } else if (!where.run_inline && plan->launches[0].global[0] < caps.compute_units) {
      part->joined += " by one thread of the device";
    }
    if (plan->helpers)
      part->helped =
          fmt::format("with {} on the main device",
                      where.helpers == 1 ? "a helper" : fmt::format("{} helpers", where.helpers));
    plan->helper_rules = where.rules;
    return std::make_shared<PartitionPlan>(std::move(*plan));
  }

  static const Part& PartOf(const std::vector<CodeModule>& modules, const Call& call) {
    return *static_cast<const Part*>(modules[call.module].live.get());
  }

  /// `failed` does not build: the ops whose kernels do not build alone are refused, in whatever
  /// partition they are. The failure itself where none is found.
  Status FindCulprits(const Status& failure, const ProgramText& failed,
                      const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
                      const CompileEnv& env, LoadedUnits* units) {
    std::map<const ProgramText*, Status> tried = {{&failed, failure}};
    for (const Call& call : calls) {
      auto plan = PartOf(modules, call).plan;
      if (plan->separate != nullptr) plan = plan->separate;
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
          it->second = LaneOf(*plan).programs->Build({text}, env.dump_dir, &programs, &stats);
        }
        if (!it->second.ok()) units->refusals.emplace(launch.op, it->second);
      }
    }
    return units->refusals.empty() ? failure : Status();
  }

  /// Too large for the device is an error, not a refusal: the reference would take such an op and
  /// never end.
  Status CheckSizes(const OpView& op) const {
    const uint64_t limit = main_.device->caps().max_allocation;
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

  Lane main_;
  std::optional<Lane> inline_;
  BackendOptions options_;
  std::string reason_;
  BackendInfo info_;
  Wishes wishes_;
  std::shared_ptr<const Tuning> tuning_;
  std::string tuning_warning_;
  struct {
    std::string file;
    std::shared_ptr<const Tuning> tuning;
  } named_;  // by the options of this compilation
};

}  // namespace

Result<std::shared_ptr<Backend>> CreateBackend(const BackendOptions& options) {
  const bool inline_too = options.inline_device != InlineDevice::kOff && !options.as_discrete_gpu;
  TIMCL_ASSIGN(DeviceChoice choice, ChooseDevice(options.device, options.icd_vendors, inline_too));
  DeviceCaps& caps = choice.entries[choice.index].caps;
  if (options.as_discrete_gpu) {
    caps.is_cpu = caps.shared_memory = false;
    caps.register_tiles_pay = caps.dot_product_u8s8 = caps.dot_product_bf16 = false;
  }
  if (options.as_cpu) caps.is_cpu = caps.register_tiles_pay = true;
  for (DeviceEntry& entry : choice.entries) {
    if (options.max_allocation != 0) entry.caps.max_allocation = options.max_allocation;
    if (!options.as_avx2) continue;
    entry.caps.vector_registers = 16, entry.caps.vector_floats = 8;
    entry.caps.dot_product_u8s8 = entry.caps.dot_product_bf16 = false;
  }
  ProgramCacheOptions cache;
  cache.cache_dir = options.cache_dir;
  cache.even_if_driver_caches = options.cache_even_if_driver_does;
  std::string note;
  TIMCL_ASSIGN(std::shared_ptr<Device> device, Device::Open(choice.chosen()));
  std::shared_ptr<Device> beside;
  if (choice.beside.index) {
    const DeviceEntry& entry = choice.entries[*choice.beside.index];
    TIMCL_ASSIGN(beside, Device::Open(entry));
    note = fmt::format(
        "inline device for {}: {}",
        options.inline_device == InlineDevice::kAllGraphs ? "all graphs" : "small graphs",
        entry.caps.name);
  } else if (inline_too) {
    note = "no inline device: " + choice.beside.why_not;
  }
  return std::shared_ptr<Backend>(
      std::make_shared<OpenClBackend>(device, beside, note, cache, options));
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
