// ContextImpl: the operators and backends that the graphs of one context share.
#ifndef TIMCL_API_CONTEXT_H_
#define TIMCL_API_CONTEXT_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/plugin/backend.h"
#include "base/env.h"
#include "base/trace.h"
#include "compiler/pipeline.h"
#include "tim/vx/backend.h"
#include "tim/vx/context.h"

namespace tim::vx {

class ContextImpl : public Context, public std::enable_shared_from_this<ContextImpl> {
 public:
  explicit ContextImpl(const ContextOptions& options);
  ~ContextImpl() override;

  std::shared_ptr<Graph> CreateGraph() override;
  std::shared_ptr<Graph> CreateGraph(const CompileOption& options) override;
  bool isClOnly() override { return true; }
  bool hasSP() override { return false; }
  const Status& LastStatus() const override { return device_status_; }
  Status AddBackend(std::shared_ptr<Backend> backend, int priority = 0) override;
  Status SetDelegate(std::shared_ptr<Delegate> delegate) override;
  Status AddDelegate(std::shared_ptr<Delegate> delegate) override;
  Status LoadPlugin(const std::string& file, std::vector<PluginInfo>* loaded = nullptr) override;
  Status LoadPlugins(const std::vector<std::string>& dirs, PluginScan* scan = nullptr) override;
  std::vector<BackendInfo> Backends() const override;
  std::string DeviceName() const override { return device_name_; }

  OpRegistry& Ops() override { return ops_; }
  const base::Environment& env() const { return env_; }
  const std::string& device_reason() const { return device_reason_; }
  /// Folder of what is compiled and worth keeping; "" = nothing is kept.
  const std::string& cache_dir() const { return cache_dir_; }
  /// Bytes of the device's largest allocation; 0 without a device.
  uint64_t max_allocation() const { return max_allocation_; }
  /// Delegates, then highest priority first, as they are now: others may be added while a graph
  /// compiles. A delegate whose Init failed is the error, unless it only does not want to: then it
  /// is left out and `warnings` says so.
  Result<std::vector<compiler::RankedBackend>> backends(std::vector<std::string>* warnings) const;
  /// What is wrong with the environment: each graph's report repeats it.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// The timeline that TIMCL_TRACE asks for; null: none.
  const std::shared_ptr<base::Trace>& trace() const { return trace_; }
  /// Compilations of one context take turns: backends need not be safe for concurrent use.
  std::mutex& compile_mutex();

 private:
  /// Loads one plugin; `info` receives what is known, also of one that is refused.
  Status Load(const std::string& file, PluginInfo* info);
  /// Adds what a plugin brings, all of it or nothing. The caller holds plugins_mutex_.
  Status Take(const std::vector<std::shared_ptr<const OpDef>>& ops, const plugin::Halves& halves);
  void Scan(const std::vector<std::string>& dirs, PluginScan* scan);
  /// Adds a delegate; `alone`: in the place of all others.
  Status Add(std::shared_ptr<Delegate> delegate, bool alone);
  /// The caller holds backends_mutex_.
  void Insert(std::shared_ptr<Backend> backend, int priority);
  /// kAlreadyExists: a backend of that name is there, delegates among them unless they are about to
  /// go. The caller holds backends_mutex_.
  Status CheckName(const std::string& name, bool delegates_go) const;

  base::Environment env_;
  OpRegistry ops_;
  mutable std::mutex backends_mutex_;
  std::vector<compiler::RankedBackend> backends_;  // guarded by it
  struct KnownDelegate {
    std::shared_ptr<Backend> backend;
    Status ready;  // what its Init answered
  };
  std::vector<KnownDelegate> delegates_;  // guarded by it too
  std::mutex plugins_mutex_;
  std::vector<PluginInfo> plugins_;                // guarded by it
  std::map<std::string, plugin::Halves> vendors_;  // guarded by it
  std::vector<std::string> warnings_;
  std::shared_ptr<base::Trace> trace_;
  Status device_status_;
  std::string device_name_, device_reason_, cache_dir_;
  uint64_t max_allocation_ = 0;

  struct Turns {
    pid_t process;
    Turns* parents;  // of the process that this one was forked from; owned
    std::mutex mutex;
  };
  std::atomic<Turns*> turns_;
};

}  // namespace tim::vx
#endif  // TIMCL_API_CONTEXT_H_
