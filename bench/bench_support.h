// What the benchmarks share: one-op graphs, forced kernel candidates, the machine's measured FMA
// peak.
#ifndef TIMCL_BENCH_BENCH_SUPPORT_H_
#define TIMCL_BENCH_BENCH_SUPPORT_H_

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api/delegate_library.h"
#include "backends/delegate/backend.h"
#include "backends/opencl/backend.h"
#include "base/env.h"
#include "compiler/pipeline.h"
#include "tim/vx/context.h"
#include "tim/vx/testing.h"

namespace tim::vx {
namespace ops {
void RegisterBuiltinOps(OpRegistry& registry);  // generated: op_table.cc
}
namespace bench {

inline OpRegistry& Ops() {
  static OpRegistry* const ops = [] {
    auto* r = new OpRegistry();
    ops::RegisterBuiltinOps(*r);
    return r;
  }();
  return *ops;
}

/// Adds the operators of a plugin to Ops(); ends the program with the reason where it does not
/// load.
inline void AddPlugin(const std::string& file) {
  ContextOptions host;
  host.host_only = true;
  const auto context = Context::Create(host);
  std::vector<PluginInfo> loaded;
  Status status = context->LoadPlugin(file, &loaded);
  for (const PluginInfo& plugin : loaded) {
    for (const std::string& name : plugin.ops) {
      if (status.ok()) status = Ops().Register(context->Ops().Find(name));
    }
  }
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

/// The OpenCL backend on the chosen device; ends the program with the reason when there is none.
inline std::shared_ptr<Backend> OpenCl(bool disk_cache = true) {
  opencl::BackendOptions options;
  const base::Environment& env = base::Environment::Process();
  options.device = env.Get(base::Env::kDevice);
  options.kernel_dir = env.Get(base::Env::kKernelDir);
  if (disk_cache) options.cache_dir = env.CacheDir();
  auto backend = opencl::CreateBackend(options);
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.status().message().c_str());
    std::exit(1);
  }
  return *backend;
}

/// What TIMCL_DELEGATE names, which takes what it can from OpenCL; null where it names nothing.
/// Ends the program with the reason where it cannot be had.
inline const std::shared_ptr<Backend>& DelegateOfEnvironment() {
  static const auto* const backend = new std::shared_ptr<Backend>([]() -> std::shared_ptr<Backend> {
    const std::string& name = base::Environment::Process().Get(base::Env::kDelegate);
    if (name.empty()) return nullptr;
    auto delegate = OpenDelegate(name);
    auto made = delegate.ok() ? delegate::CreateBackend(*delegate)
                              : Result<std::shared_ptr<Backend>>(delegate.status());
    const Status ready = made.ok() ? (*made)->Init() : made.status();
    if (ready.ok()) return *made;
    std::fprintf(stderr, "%s\n", ready.message().c_str());
    std::exit(1);
  }());
  return *backend;
}

/// Random real values in the tensor's own encoding.
inline std::shared_ptr<base::Storage> RandomData(const TensorType& type, double lo, double hi,
                                                 uint32_t seed) {
  auto storage = base::Storage::Allocate(type.bytes());
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(lo, hi);
  ref::Output out(storage->data(), type);
  for (int64_t i = 0, n = type.count(); i < n; ++i) out.Set(i, real(random));
  return storage;
}

/// One op as a graph. `candidate` >= 0 leaves it only that kernel.
struct OneOp {
  std::shared_ptr<ir::Graph> shared = std::make_shared<ir::Graph>();
  ir::Graph& graph = *shared;
  std::shared_ptr<OpDef> def;
  std::unique_ptr<runtime::Executable> executable;
  CompileReport report;
  double bytes = 0, flops = 0;
};

inline Result<std::unique_ptr<OneOp>> BuildOne(const OpDef& def, const Case& c,
                                               const std::shared_ptr<Backend>& backend,
                                               int candidate = -1) {
  auto one = std::make_unique<OneOp>();
  one->def = std::make_shared<OpDef>(def);
  if (candidate >= 0) {
    one->def->kernels = KernelList(def.kernels.begin() + candidate, 1);
  }
  ir::Node n;
  n.def = one->def;
  n.attrs = c.attrs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const CaseTensor& t = c.inputs[i];
    if (t.type.dtype == DataType::UNKNOWN) {
      n.inputs.push_back(-1);
      continue;
    }
    ir::Value v;
    v.type = t.type;
    v.role = t.constant ? ir::Role::kConstant : ir::Role::kInput;
    v.storage = RandomData(t.type, t.lo, t.hi, static_cast<uint32_t>(i) + 1);
    one->bytes += static_cast<double>(t.type.bytes());
    n.inputs.push_back(one->graph.AddValue(std::move(v)));
  }
  for (const TensorType& t : c.outputs) {
    ir::Value v;
    v.type = t;
    v.role = ir::Role::kOutput;
    v.infer_shape = t.shape.empty();
    n.outputs.push_back(one->graph.AddValue(std::move(v)));
  }
  for (int out : n.outputs) {
    if (!one->graph.value(out).infer_shape) {
      one->graph.value(out).storage = base::Storage::Allocate(one->graph.value(out).type.bytes());
    }
  }
  one->graph.AddNode(std::move(n));
  std::vector<compiler::RankedBackend> backends = {{backend, 0, false}};
  if (const auto& delegate = DelegateOfEnvironment(); delegate && candidate < 0)
    backends.insert(backends.begin(), {delegate, 1, false});
  auto executable = compiler::Compile(one->shared, Ops(), backends, {}, &one->report);
  if (!executable.ok()) return executable.status();
  one->executable = std::move(*executable);
  for (int out : one->graph.node(0).outputs)
    one->bytes += static_cast<double>(one->graph.value(out).type.bytes());
  // The arithmetic that the kernel declares.
  const OpView op = one->graph.view(0);
  for (const KernelCandidate& k : one->def->kernels) {
    if (one->report.ops.empty() || one->report.ops[0].kernel != k.name) continue;
    if (auto launches = k.make(op, {DeviceCaps()}); launches.ok()) {
      for (const KernelSpec& s : *launches) one->flops += s.flops;
      break;
    }
  }
  return one;
}

}  // namespace bench
}  // namespace tim::vx
#endif  // TIMCL_BENCH_BENCH_SUPPORT_H_
