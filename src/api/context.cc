// ContextImpl: chooses the device, holds operators and backends.
#include "api/context.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "api/delegate_library.h"
#include "api/graph.h"
#include "api/plugin.h"
#include "backends/delegate/backend.h"
#include "backends/kept/backend.h"
#include "backends/opencl/backend.h"
#include "backends/reference/backend.h"
#include "base/float_env.h"
#include "base/log.h"

namespace tim::vx {
namespace ops {
void RegisterBuiltinOps(OpRegistry& registry);  // generated: op_table.cc
}

namespace {
constexpr int kOpenClPriority = -1000, kReferencePriority = -2000;

/// A value of TIMCL_INLINE; nothing for one that means nothing.
std::optional<InlineDevice> InlineFrom(const std::string& value) {
  if (value.empty() || value == "0") return InlineDevice::kOff;
  if (value == "1") return InlineDevice::kSmallGraphs;
  if (value == "all") return InlineDevice::kAllGraphs;
  return std::nullopt;
}

/// What the environment asks for and cannot have. Logged once per process, as it is read once.
const std::vector<std::string>& EnvironmentWarnings() {
  static const std::vector<std::string> warnings = [] {
    const base::Environment& env = base::Environment::Process();
    std::vector<std::string> found;
    for (const std::string& word :
         base::ParseLogLevels(env.Get(base::Env::kLog), env.Get(base::Env::kVsiLogLevel)).unknown) {
      found.push_back(
          fmt::format("{} does not say a level and is passed over; there are off, "
                      "error, warn, info, debug and trace, also for one topic: "
                      "warn,select=debug",
                      word));
    }
    const std::string& kernels = env.Get(base::Env::kKernelDir);
    std::error_code error;
    if (!kernels.empty() && !std::filesystem::is_directory(kernels, error)) {
      found.push_back(fmt::format(
          "TIMCL_KERNEL_DIR '{}' is no folder: the built-in kernels are used", kernels));
    }
    const std::string& use = env.Get(base::Env::kInline);
    if (!InlineFrom(use)) {
      found.push_back(fmt::format(
          "TIMCL_INLINE is '{}'; it can be 1 (small graphs), all, or 0: no inline device is opened",
          use));
    }
    for (const std::string& w : found) base::Log("env", base::LogLevel::kWarn, "{}", w);
    return found;
  }();
  return warnings;
}

}  // namespace

ContextImpl::ContextImpl(const ContextOptions& options)
    : env_(options.use_env ? base::Environment::Process() : base::Environment()),
      turns_(new Turns{getpid(), nullptr, {}}) {
  if (options.use_env) warnings_ = EnvironmentWarnings();
  if (const std::string& file = env_.Get(base::Env::kTrace); !file.empty()) {
    trace_ = base::Trace::To(file);
    warnings_.push_back(
        trace_ != nullptr
            ? fmt::format("TIMCL_TRACE: a timeline goes to '{}'; each launch is made and timed on "
                          "its own, so that runs take longer",
                          file)
            : fmt::format("TIMCL_TRACE: '{}' cannot be written", file));
  }
  ops::RegisterBuiltinOps(ops_);
  const std::string request =
      options.device.empty() ? env_.Get(base::Env::kDevice) : options.device;
  const bool host_only = options.host_only || request == "reference";
  if (options.use_disk_cache)
    cache_dir_ = options.cache_dir.empty() ? env_.CacheDir() : options.cache_dir;
  if (!host_only) {
    opencl::BackendOptions backend_options;
    backend_options.device = request;
    backend_options.cache_dir = cache_dir_;
    backend_options.kernel_dir = env_.Get(base::Env::kKernelDir);
    backend_options.icd_vendors = env_.Get(base::Env::kIcdVendors);
    backend_options.tuning_file = env_.Get(base::Env::kTuning);
    backend_options.inline_device = options.inline_device;
    if (backend_options.inline_device == InlineDevice::kOff) {
      backend_options.inline_device =
          InlineFrom(env_.Get(base::Env::kInline)).value_or(InlineDevice::kOff);
    }
    auto backend = opencl::CreateBackend(backend_options);
    if (backend.ok()) {
      device_name_ = (*backend)->Info().device;
      device_reason_ = opencl::ReasonOf(**backend);
      max_allocation_ = opencl::MaxAllocationOf(**backend);
      backends_.push_back({std::move(*backend), kOpenClPriority, false, true});
    } else {
      device_status_ = backend.status();
      base::Log("device", base::LogLevel::kError, "{}", device_status_.message());
    }
  } else {
    device_name_ = "reference";
    device_reason_ = "host code, as asked for";
  }
  backends_.push_back({reference::CreateBackend(), kReferencePriority, !host_only, true});
  if (const std::string& name = env_.Get(base::Env::kDelegate); !name.empty()) {
    auto delegate = OpenDelegate(name);
    const Status added = delegate.ok() ? Add(*delegate, false) : delegate.status();
    if (!added.ok()) warnings_.push_back(added.detail());
  }
}

ContextImpl::~ContextImpl() {
  for (Turns* turns = turns_.load(); turns != nullptr;) {
    Turns* const parents = turns->parents;
    delete turns;
    turns = parents;
  }
}

std::mutex& ContextImpl::compile_mutex() {
  // A child made by fork() has our memory, but not the thread that may hold the mutex: it gets one
  // of its own, and the other is left as it is until the context ends.
  Turns* turns = turns_.load();
  while (turns->process != getpid()) {
    auto fresh = std::make_unique<Turns>();
    fresh->process = getpid();
    fresh->parents = turns;
    if (turns_.compare_exchange_strong(turns, fresh.get())) turns = fresh.release();
  }
  return turns->mutex;
}

Result<std::vector<compiler::RankedBackend>> ContextImpl::backends(
    std::vector<std::string>* warnings) const {
  const std::lock_guard lock(backends_mutex_);
  std::vector<compiler::RankedBackend> all;
  for (const KnownDelegate& d : delegates_) {
    if (d.ready.ok()) {
      all.push_back({d.backend, std::numeric_limits<int>::max(), false});
    } else if (d.ready.code() == Code::kUnsupported) {
      warnings->push_back(d.ready.detail());
    } else {
      return d.ready;
    }
  }
  all.insert(all.end(), backends_.begin(), backends_.end());
  return all;
}

std::vector<BackendInfo> ContextImpl::Backends() const {
  const std::lock_guard lock(backends_mutex_);
  std::vector<BackendInfo> all;
  for (const KnownDelegate& d : delegates_) all.push_back(d.backend->Info());
  for (const compiler::RankedBackend& b : backends_) all.push_back(b.backend->Info());
  return all;
}

Status ContextImpl::CheckName(const std::string& name, bool delegates_go) const {
  const auto same = [&](const auto& b) { return b.backend->Info().name == name; };
  if (std::any_of(backends_.begin(), backends_.end(), same) ||
      (!delegates_go && std::any_of(delegates_.begin(), delegates_.end(), same)))
    return Status::Error(Code::kAlreadyExists, "there is a backend named '" + name + "' already");
  return Status();
}

Status ContextImpl::AddBackend(std::shared_ptr<Backend> backend, int priority) {
  if (backend == nullptr)
    return Status::Error(Code::kInvalidArgument, "AddBackend was given a null backend");
  const std::string name = backend->Info().name;
  std::unique_lock lock(backends_mutex_);
  TIMCL_TRY(CheckName(name, false));
  lock.unlock();
  Status ready;
  try {
    ready = backend->Init();
  } catch (const std::exception& e) {
    ready = Status::Error(Code::kInternal, std::string("the backend's Init threw: ") + e.what());
  } catch (...) {
    ready = Status::Error(Code::kInternal, "the backend's Init threw");
  }
  TIMCL_TRY(ready);
  lock.lock();
  TIMCL_TRY(CheckName(name, false));  // meanwhile
  Insert(std::move(backend), priority);
  return Status();
}

void ContextImpl::Insert(std::shared_ptr<Backend> backend, int priority) {
  const auto at = std::find_if(backends_.begin(), backends_.end(),
                               [&](const auto& b) { return b.priority < priority; });
  backends_.insert(at, {std::move(backend), priority, false});
}

Status ContextImpl::SetDelegate(std::shared_ptr<Delegate> delegate) {
  if (delegate != nullptr) return Add(std::move(delegate), true);
  std::vector<KnownDelegate> gone;  // their destructors run without the lock
  const std::lock_guard lock(backends_mutex_);
  gone.swap(delegates_);
  return Status();
}
Status ContextImpl::AddDelegate(std::shared_ptr<Delegate> delegate) {
  return Add(std::move(delegate), false);
}

Status ContextImpl::Add(std::shared_ptr<Delegate> delegate, bool alone) {
  const base::FloatEnv usual;
  TIMCL_ASSIGN(auto backend, delegate::CreateBackend(std::move(delegate)));
  std::vector<KnownDelegate> gone;
  std::unique_lock lock(backends_mutex_);
  TIMCL_TRY(CheckName(backend->Info().name, alone));
  lock.unlock();
  const Status ready = backend->Init();
  if (ready.code() == Code::kUnsupported)
    base::Log("delegate", base::LogLevel::kWarn, "{}", ready.detail());
  lock.lock();
  TIMCL_TRY(CheckName(backend->Info().name, alone));  // meanwhile
  if (alone) gone.swap(delegates_);
  delegates_.push_back({std::move(backend), ready});
  lock.unlock();
  return ready;
}

Status ContextImpl::Load(const std::string& file, PluginInfo* info) {
  const std::string label = fmt::format("plugin '{}'", file);
  try {
    // One at a time: whoever comes second to a name learns of it.
    const std::lock_guard lock(plugins_mutex_);
    const bool stay = env_.Get(base::Env::kPluginNodelete) == "1";
    auto library = PluginLibrary::Open(file, stay, info);
    if (!library.ok()) return library.status().AtOp(label);
    for (const PluginInfo& other : plugins_) {
      if (other.name != info->name) continue;
      return Status::Error(
                 Code::kAlreadyExists,
                 fmt::format("plugin '{}' {} of '{}' is loaded already, {} from '{}'", info->name,
                             info->version, info->file, other.version, other.file))
          .AtOp(label);
    }
    auto ops = (*library)->Ops();
    if (!ops.ok()) return ops.status().AtOp(label);
    for (const auto& def : *ops) info->ops.emplace_back(def->name);
    const auto halves = (*library)->Halves();
    if (!halves.ok()) return halves.status().AtOp(label);
    if (halves->compiler != nullptr) info->models = halves->compiler->models;
    const Status taken = Take(*ops, *halves);
    if (!taken.ok()) return taken.AtOp(label);
    plugins_.push_back(*info);
    return Status();
  } catch (const std::exception& e) {
    return Status::Error(Code::kInternal, e.what()).AtOp(label);
  }
}

Status ContextImpl::Take(const std::vector<std::shared_ptr<const OpDef>>& ops,
                         const plugin::Halves& halves) {
  if (halves.compiler == nullptr && halves.dispatcher == nullptr) return ops_.RegisterAll(ops);
  const plugin::Origin& origin =
      halves.compiler != nullptr ? halves.compiler->origin : halves.dispatcher->origin;
  const auto twice = [&](const char* what, const plugin::Origin& first) {
    return Status::Error(Code::kAlreadyExists,
                         fmt::format("vendor '{}' has a {} already, of '{}'; this one is of '{}'",
                                     origin.vendor, what, first.file, origin.file));
  };
  const auto known = vendors_.find(origin.vendor);
  plugin::Halves both = halves;
  if (known != vendors_.end()) {
    const plugin::Halves& there = known->second;
    if (both.compiler != nullptr && there.compiler != nullptr)
      return twice("compiler", there.compiler->origin);
    if (both.dispatcher != nullptr && there.dispatcher != nullptr)
      return twice("dispatcher", there.dispatcher->origin);
    if (both.compiler == nullptr) both.compiler = there.compiler;
    if (both.dispatcher == nullptr) both.dispatcher = there.dispatcher;
  }
  auto backend = plugin::CreateBackend(both);
  if (both.compiler != nullptr) {
    // Another build of the compiler may make other code under the same version.
    backend = kept::KeepUnits(std::move(backend), [file = both.compiler->origin.file] {
      std::error_code error;
      const auto written = std::filesystem::last_write_time(file, error);
      return fmt::format("{} {}", file, error ? 0 : written.time_since_epoch().count());
    });
  }
  const std::lock_guard lock(backends_mutex_);
  if (known == vendors_.end()) TIMCL_TRY(CheckName(origin.vendor, false));
  TIMCL_TRY(ops_.RegisterAll(ops));
  if (known == vendors_.end()) {
    Insert(std::move(backend), 0);
  } else {
    // In the place of the one half; graphs that are being compiled keep that.
    for (compiler::RankedBackend& b : backends_) {
      if (b.backend->Info().name == origin.vendor) b.backend = backend;
    }
  }
  vendors_[origin.vendor] = std::move(both);
  return Status();
}

Status ContextImpl::LoadPlugin(const std::string& file, std::vector<PluginInfo>* loaded) {
  const base::FloatEnv usual;
  PluginInfo info;
  TIMCL_TRY(Load(file, &info));
  if (loaded != nullptr) loaded->push_back(std::move(info));
  return Status();
}

Status ContextImpl::LoadPlugins(const std::vector<std::string>& dirs, PluginScan* scan) {
  const base::FloatEnv usual;
  PluginScan own;
  try {
    Scan(dirs, &own);
  } catch (const std::exception& e) {  // no memory for the report
    return Status::Error(Code::kInternal, e.what());
  }
  if (scan != nullptr) {
    *scan = std::move(own);
    return Status();
  }
  for (const PluginScan::File& f : own.files) {
    if (!f.status.ok()) base::Log("plugin", base::LogLevel::kWarn, "{}", f.status.message());
  }
  return Status();
}

void ContextImpl::Scan(const std::vector<std::string>& dirs, PluginScan* scan) {
  for (const std::string& dir : dirs) {
    scan->directories.push_back(dir);
    auto files = PluginFiles(dir);
    if (!files.ok()) {
      scan->files.push_back({dir, files.status(), {}});
      continue;
    }
    for (const std::string& file : *files) {
      PluginScan::File one{file, {}, {}};
      one.status = Load(file, &one.plugin);
      scan->files.push_back(std::move(one));
    }
  }
}

std::shared_ptr<Graph> ContextImpl::CreateGraph() {
  return CreateGraph(CompileOption::DefaultOptions);
}
std::shared_ptr<Graph> ContextImpl::CreateGraph(const CompileOption& options) {
  return std::make_shared<GraphImpl>(shared_from_this(), options);
}

std::shared_ptr<Context> Context::Create() { return Create(ContextOptions()); }
std::shared_ptr<Context> Context::Create(const ContextOptions& options) {
  const base::FloatEnv usual;  // the driver's threads start with it
  return std::make_shared<ContextImpl>(options);
}

}  // namespace tim::vx
