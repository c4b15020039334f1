// PluginBackend: Partition and Compile ask the vendor's compiler, Load its dispatcher.
#include "backends/plugin/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/plugin/dispatch.h"

namespace tim::vx::plugin {
namespace {

std::string Join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The compiler's side of one compilation.
struct Compilation {
  Compilation(std::shared_ptr<const Compiler> compiler, const CompileEnv& env)
      : half(std::move(compiler)),
        model(env.target.model),
        options(OptionsOf(env)),
        assets(env.assets) {}
  ~Compilation() {
    if (object != nullptr) Tell(half->origin, "destroy", [&] { half->api.destroy(object); });
  }
  Compilation(const Compilation&) = delete;

  const std::shared_ptr<const Compiler> half;
  const std::string model;
  const timcl_options options;
  const timcl_assets assets;
  void* object = nullptr;
};

/// What one call of compile made. The compiler outlives it.
struct Compiled {
  explicit Compiled(std::shared_ptr<Compilation> made_by) : compilation(std::move(made_by)) {}
  ~Compiled() {
    if (object == nullptr) return;
    Tell(compilation->half->origin, "destroy_result",
         [&] { compilation->half->api.destroy_result(object); });
  }
  Compiled(const Compiled&) = delete;

  const std::shared_ptr<Compilation> compilation;
  void* object = nullptr;
};

class PluginBackend : public Backend {
 public:
  explicit PluginBackend(Halves halves) : halves_(std::move(halves)) {
    const Origin& origin =
        halves_.compiler != nullptr ? halves_.compiler->origin : halves_.dispatcher->origin;
    info_ = {origin.vendor, origin.vendor, origin.version, "plugin", origin.sdk_version};
    if (halves_.compiler != nullptr) info_.models = halves_.compiler->models;
    info_.compiles = halves_.compiler != nullptr;
    info_.executes = halves_.dispatcher != nullptr;
  }

  const BackendInfo& Info() const override { return info_; }

  Status Begin(const CompileEnv& env) override {
    compilation_.reset();
    if (halves_.dispatcher == nullptr && env.executes) {
      return Status::Error(Code::kUnsupported,
                           "it has a compiler and no dispatcher: nothing runs its code here");
    }
    // Modules that were compiled before may still be loaded: Partition says no.
    if (halves_.compiler == nullptr) return Status();
    TIMCL_TRY(CheckModel(env.target));
    auto made = std::make_shared<Compilation>(halves_.compiler, env);
    const timcl_compiler_api& api = made->half->api;
    TIMCL_TRY(Refusal(Ask(made->half->origin, "create", &made->object, [&](void** object) {
      return api.create(&Host(), &made->options, &made->assets, object);
    })));
    if (api.check_target != nullptr) {
      bool answered = false;
      const Status checked = Ask(made->half->origin, "check_target", [&] {
        const timcl_status answer = api.check_target(made->object, made->model.c_str());
        answered = true;
        return answer;
      });
      if (!answered) return checked;
      if (!checked.ok()) return Status::Error(Code::kUnsupported, Reason(checked));
    }
    compilation_ = made;
    env.keep->push_back(std::move(made));
    return Status();
  }

  Status Partition(const GraphView& graph, Selection* selection) override {
    if (halves_.compiler == nullptr) {
      for (const OpView& op : graph.Ops())
        selection->Reject(op, "it has a dispatcher and no compiler: nothing compiles for it here");
      return Status();
    }
    TIMCL_ASSIGN(const auto compilation, Current());
    const timcl_graph shown(graph);
    timcl_selection answer;
    answer.graph = &shown;
    const Compiler& half = *compilation->half;
    const Status asked = Ask(half.origin, "partition", [&] {
      return half.api.partition(compilation->object, compilation->model.c_str(), &shown, &answer);
    });
    const std::string reason = Reason(asked);
    if (!answer.mistake.ok()) {
      return Status::Error(
          answer.mistake.code(),
          fmt::format("plugin '{}': partition: {}", half.origin.name, answer.mistake.detail()));
    }
    if (!asked.ok() && asked.code() != Code::kUnsupported) return asked;
    for (size_t i = 0; i < graph.Ops().size(); ++i) {
      const timcl_selection::Answer& a = answer.answers[i];
      if (!asked.ok()) {
        selection->Reject(graph.Ops()[i], reason);
      } else if (a.selected) {
        selection->Select(graph.Ops()[i], a.partition_index);
      } else if (!a.why.empty()) {
        selection->Reject(graph.Ops()[i], a.why);
      }
    }
    return Status();
  }

  Status Compile(const std::vector<GraphView>& parts, const CompileEnv&,
                 CompiledUnits* units) override {
    TIMCL_ASSIGN(const auto compilation, Current());
    std::vector<std::unique_ptr<timcl_graph>> shown;
    std::vector<const timcl_graph*> all;
    for (const GraphView& part : parts) {
      shown.push_back(std::make_unique<timcl_graph>(part));
      all.push_back(shown.back().get());
    }
    const Status joint = CompileTogether(compilation, all, units);
    if (joint.code() != Code::kUnsupported) {
      TIMCL_TRY(joint);
    } else {
      for (size_t p = 0; p < parts.size(); ++p) {
        const Status alone =
            parts.size() == 1 ? joint : CompileTogether(compilation, {all[p]}, units);
        if (alone.ok()) continue;
        if (alone.code() != Code::kUnsupported) return alone;
        for (const OpView& op : parts[p].Ops()) units->refusals[op.id()] = alone;
      }
    }
    for (size_t p = 0; p < units->calls.size() && units->refusals.empty(); ++p) {
      for (const OpView& op : parts[p].Ops()) units->kernel_of[op.id()] = units->calls[p].entry;
    }
    return Status();
  }

  Status Load(const std::vector<CodeModule>& modules, const std::vector<Call>& calls,
              const CompileEnv& env, LoadedUnits* units) override {
    if (halves_.dispatcher == nullptr) {
      return Status::Error(Code::kUnsupported,
                           fmt::format("vendor '{}' has no dispatcher here", info_.name));
    }
    const Origin& origin = halves_.dispatcher->origin;
    for (size_t m = 0; m < modules.size(); ++m) {
      if (modules[m].stamp.vendor == info_.vendor) continue;
      return Status::Error(
          Code::kVersionMismatch,
          fmt::format("module {} was compiled by vendor '{}', and plugin '{}' is of vendor '{}'", m,
                      modules[m].stamp.vendor, origin.name, info_.vendor));
    }
    auto opened = OpenDevice(halves_.dispatcher, env);
    if (opened.status().code() == Code::kUnsupported) {
      for (size_t c = 0; c < calls.size(); ++c) units->refused_calls[c] = opened.status();
      return Status();
    }
    TIMCL_ASSIGN(const auto device, std::move(opened));
    std::vector<std::shared_ptr<const LoadedCode>> codes;
    for (const CodeModule& module : modules) {
      TIMCL_TRY(CheckStamp(*device, module.stamp));
      auto live = std::static_pointer_cast<const Live>(module.live);
      if (live != nullptr && live->library != origin.library.get()) live = nullptr;
      codes.push_back(std::make_shared<LoadedCode>(LoadedCode{module.bytes, std::move(live)}));
    }
    for (size_t c = 0; c < calls.size(); ++c) {
      if (calls[c].module >= codes.size()) {
        return Status::Error(Code::kInternal, fmt::format("call {} is of module {} of {}", c,
                                                          calls[c].module, codes.size()));
      }
      auto kernel = MakeKernel(device, codes[calls[c].module], calls[c]);
      if (kernel.ok()) {
        units->kernels.push_back(std::move(*kernel));
      } else if (kernel.status().code() == Code::kUnsupported) {
        units->refused_calls[c] = kernel.status();
      } else {
        return kernel.status();
      }
    }
    return Status();
  }

 private:
  /// Whether the compiler compiles for what the target asks for.
  Status CheckModel(const Target& target) const {
    const std::vector<std::string>& models = info_.models;
    if (target.model.empty() ||
        std::find(models.begin(), models.end(), target.model) != models.end())
      return Status();
    if (target.vendor.empty()) {
      return Status::Error(Code::kUnsupported,
                           fmt::format("the target is model '{}', and {}", target.model,
                                       models.empty() ? "it has no models to choose from"
                                                      : "it compiles for " + Join(models)));
    }
    // Without a list it is for check_target to say what it knows.
    if (models.empty()) return Status();
    return Status::Error(Code::kNotFound,
                         fmt::format("the target's model is '{}', and vendor '{}' compiles for: {}",
                                     target.model, info_.vendor, Join(models)));
  }

  /// A kUnsupported with the plugin's words alone. Right behind the Ask.
  static Status Refusal(const Status& status) {
    if (status.code() != Code::kUnsupported) return status;
    return Status::Error(Code::kUnsupported, Reason(status));
  }

  Result<std::shared_ptr<Compilation>> Current() const {
    if (auto current = compilation_.lock()) return current;
    return Status::Error(Code::kInternal,
                         fmt::format("vendor '{}' is asked before Begin", info_.name));
  }

  /// One call of compile: adds its modules, and a call for each part.
  Status CompileTogether(const std::shared_ptr<Compilation>& compilation,
                         const std::vector<const timcl_graph*>& parts, CompiledUnits* units) const {
    const Compiler& half = *compilation->half;
    const timcl_compiler_api& api = half.api;
    const Origin& origin = half.origin;
    const auto wrong = [&](const std::string& text) {
      return Status::Error(Code::kPlugin,
                           fmt::format("plugin '{}': compile {}", origin.name, text));
    };
    auto result = std::make_shared<Compiled>(compilation);
    TIMCL_TRY(Refusal(Ask(origin, "compile", &result->object, [&](void** object) {
      return api.compile(compilation->object, compilation->model.c_str(), parts.data(),
                         parts.size(), object);
    })));
    size_t num_modules = 0, num_calls = 0;
    TIMCL_TRY(Ask(origin, "num_modules and num_calls", [&] {
      num_modules = api.num_modules(result->object);
      num_calls = api.num_calls(result->object);
      return TIMCL_OK;
    }));
    if (num_calls != parts.size())
      return wrong(fmt::format("gave {} calls for {} partitions", num_calls, parts.size()));
    std::vector<Call> calls;
    for (size_t c = 0; c < num_calls; ++c) {
      const char* entry = nullptr;
      size_t module = SIZE_MAX;
      TIMCL_TRY(Ask(origin, "call", [&] { return api.call(result->object, c, &entry, &module); }));
      if (entry == nullptr || *entry == 0) return wrong(fmt::format("gave call {} no entry", c));
      if (module >= num_modules) {
        return wrong(fmt::format("gave call {} '{}' module {}, and it made {}", c, entry,
                                 module == SIZE_MAX ? "none" : std::to_string(module),
                                 num_modules));
      }
      Call call;
      call.module = units->modules.size() + module;
      call.entry = entry;
      calls.push_back(std::move(call));
    }
    std::vector<CodeModule> modules;
    for (size_t m = 0; m < num_modules; ++m) {
      timcl_blob code = {nullptr, 0, -1, 0};
      TIMCL_TRY(Ask(origin, "module", [&] { return api.module(result->object, m, &code); }));
      if (code.data == nullptr || code.size == 0)
        return wrong(fmt::format("made module {} empty", m));
      CodeModule module;
      const auto* const bytes = static_cast<const std::byte*>(code.data);
      module.bytes.assign(bytes, bytes + code.size);
      module.format = origin.vendor;
      module.stamp = {origin.vendor, origin.version, origin.sdk_version, compilation->model};
      TIMCL_ASSIGN(module.live, LiveOf(result, m));
      modules.push_back(std::move(module));
    }
    std::move(modules.begin(), modules.end(), std::back_inserter(units->modules));
    std::move(calls.begin(), calls.end(), std::back_inserter(units->calls));
    return Status();
  }

  /// Asked for only where somebody takes it: a dispatcher of the same library.
  Result<std::shared_ptr<void>> LiveOf(const std::shared_ptr<Compiled>& result, size_t m) const {
    const Compiler& half = *result->compilation->half;
    if (half.api.live_handle == nullptr || halves_.dispatcher == nullptr ||
        halves_.dispatcher->origin.library != half.origin.library)
      return std::shared_ptr<void>();
    void* object = nullptr;
    const Status asked = Ask(half.origin, "live_handle",
                             [&] { return half.api.live_handle(result->object, m, &object); });
    if (asked.code() == Code::kUnsupported) return std::shared_ptr<void>();
    TIMCL_TRY(asked);
    if (object == nullptr) return std::shared_ptr<void>();
    return std::shared_ptr<void>(
        std::make_shared<Live>(Live{result, half.origin.library.get(), object}));
  }

  const Halves halves_;
  BackendInfo info_;
  // Of the compilation that runs, which owns it.
  std::weak_ptr<Compilation> compilation_;
};

}  // namespace

std::shared_ptr<Backend> CreateBackend(Halves halves) {
  return std::make_shared<PluginBackend>(std::move(halves));
}

}  // namespace tim::vx::plugin
