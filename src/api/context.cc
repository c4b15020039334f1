// ContextImpl: chooses the device, holds operators and backends.
#include "api/context.h"

#include <algorithm>
#include <exception>

#include "api/graph.h"
#include "backends/opencl/backend.h"
#include "backends/reference/backend.h"
#include "base/log.h"

namespace tim::vx {
namespace ops {
void RegisterBuiltinOps(OpRegistry& registry);  // generated: op_table.cc
}

namespace {
constexpr int kOpenClPriority = -1000, kReferencePriority = -2000;
}

ContextImpl::ContextImpl(const ContextOptions& options)
    : env_(options.use_env ? base::Environment::Process() : base::Environment()) {
  ops::RegisterBuiltinOps(ops_);
  const std::string request =
      options.device.empty() ? env_.Get(base::Env::kDevice) : options.device;
  const bool host_only = options.host_only || request == "reference";
  if (!host_only) {
    opencl::BackendOptions backend_options;
    backend_options.device = request;
    backend_options.cache_dir = options.cache_dir.empty() ? env_.CacheDir() : options.cache_dir;
    if (!options.use_disk_cache) backend_options.cache_dir.clear();
    backend_options.kernel_dir = env_.Get(base::Env::kKernelDir);
    backend_options.icd_vendors = env_.Get(base::Env::kIcdVendors);
    auto backend = opencl::CreateBackend(backend_options);
    if (backend.ok()) {
      device_name_ = (*backend)->Info().device;
      device_reason_ = opencl::ReasonOf(**backend);
      max_allocation_ = opencl::MaxAllocationOf(**backend);
      backends_.push_back({std::move(*backend), kOpenClPriority, false});
    } else {
      device_status_ = backend.status();
    }
  } else {
    device_name_ = "reference";
    device_reason_ = "host code, as asked for";
  }
  backends_.push_back({reference::CreateBackend(), kReferencePriority, !host_only});
}

Status ContextImpl::AddBackend(std::shared_ptr<Backend> backend, int priority) {
  if (backend == nullptr)
    return Status::Error(Code::kInvalidArgument, "AddBackend was given a null backend");
  for (const auto& b : backends_) {
    if (b.backend->Info().name == backend->Info().name) {
      return Status::Error(Code::kAlreadyExists,
                           "there is a backend named '" + backend->Info().name + "' already");
    }
  }
  Status ready;
  try {
    ready = backend->Init();
  } catch (const std::exception& e) {
    ready = Status::Error(Code::kInternal, std::string("the backend's Init threw: ") + e.what());
  } catch (...) {
    ready = Status::Error(Code::kInternal, "the backend's Init threw");
  }
  TIMCL_TRY(ready);
  const auto at = std::find_if(backends_.begin(), backends_.end(),
                               [&](const auto& b) { return b.priority < priority; });
  backends_.insert(at, {std::move(backend), priority, false});
  return Status();
}

std::shared_ptr<Graph> ContextImpl::CreateGraph() {
  return CreateGraph(CompileOption::DefaultOptions);
}
std::shared_ptr<Graph> ContextImpl::CreateGraph(const CompileOption& options) {
  return std::make_shared<GraphImpl>(shared_from_this(), options);
}

std::shared_ptr<Context> Context::Create() { return Create(ContextOptions()); }
std::shared_ptr<Context> Context::Create(const ContextOptions& options) {
  return std::make_shared<ContextImpl>(options);
}

}  // namespace tim::vx
