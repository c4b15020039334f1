// Compile() of graphs of many small ops, kernels built before: the library's own time per op, which
// must not grow with the number of ops. items_per_second counts ops.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tim/vx/backend.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/delegate.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"

namespace {

using namespace tim::vx;
using TensorPtr = std::shared_ptr<Tensor>;

TensorPtr Make(Graph& graph, TensorAttribute attr) {
  return graph.CreateTensor(TensorSpec(DataType::FLOAT32, {4}, attr));
}

/// Relu after Relu.
void Chain(Graph& graph, int64_t ops) {
  TensorPtr at = Make(graph, TensorAttribute::INPUT);
  for (int64_t i = 0; i < ops; ++i) {
    auto next = Make(graph, i + 1 == ops ? TensorAttribute::OUTPUT : TensorAttribute::TRANSIENT);
    graph.CreateOperation<ops::Relu>()->BindInput(at).BindOutput(next);
    at = next;
  }
}

/// Adds in pairs until one is left: half of the values live at once.
void Tree(Graph& graph, int64_t ops) {
  const TensorPtr x = Make(graph, TensorAttribute::INPUT);
  std::vector<TensorPtr> level(static_cast<size_t>(ops) + 1, x);
  while (level.size() > 1) {
    std::vector<TensorPtr> next;
    for (size_t i = 0; i + 1 < level.size(); i += 2) {
      next.push_back(
          Make(graph, level.size() == 2 ? TensorAttribute::OUTPUT : TensorAttribute::TRANSIENT));
      graph.CreateOperation<ops::Add>()
          ->BindInput(level[i])
          .BindInput(level[i + 1])
          .BindOutput(next.back());
    }
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
}

/// All of one input.
void Wide(Graph& graph, int64_t ops) {
  const TensorPtr x = Make(graph, TensorAttribute::INPUT);
  for (int64_t i = 0; i < ops; ++i)
    graph.CreateOperation<ops::Relu>()->BindInput(x).BindOutput(
        Make(graph, TensorAttribute::OUTPUT));
}

/// Takes every second op, so that two of them divide a graph as finely as it can be.
class Half : public Backend {
 public:
  Half(std::string name, int which) : info_{std::move(name), "", "", "host"}, which_(which) {}
  const BackendInfo& Info() const override { return info_; }
  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : graph.Ops()) {
      if (op.id() % 2 == which_) selection->Select(op);
    }
    return Status();
  }
  Status Compile(const std::vector<GraphView>& parts, const CompileEnv&,
                 CompiledUnits* units) override {
    units->modules.resize(1);
    units->calls.resize(parts.size());
    return Status();
  }
  Status Load(const std::vector<CodeModule>&, const std::vector<Call>& calls, const CompileEnv&,
              LoadedUnits* units) override {
    class Nothing : public kernel::Kernel {
      Status Execute() override { return Status(); }
    };
    for (size_t i = 0; i < calls.size(); ++i) units->kernels.push_back(std::make_unique<Nothing>());
    return Status();
  }

 private:
  BackendInfo info_;
  int which_;
};

/// Replaces every second op by a kernel of its own: as many partitions as ops.
class EverySecond : public Delegate {
 public:
  Status Init() override { return RET_OK; }
  Status Build(DelegateModel* model) override {
    KernelIter at = model->BeginKernelIterator();
    for (bool mine = true; at != model->EndKernelIterator(); mine = !mine) {
      at = mine ? model->Replace(at, at + 1,
                                 new Relu(model->SubgraphInputs(at, at + 1),
                                          model->SubgraphOutputs(at, at + 1)))
                : at + 1;
    }
    return RET_OK;
  }

 private:
  class Relu : public kernel::Kernel {
   public:
    using kernel::Kernel::Kernel;
    Status Execute() override {
      const auto* x = static_cast<const float*>(inputs()[0].Data().get());
      auto* y = static_cast<float*>(outputs()[0].MutableData());
      for (int64_t i = 0; i < outputs()[0].ElementNum(); ++i) y[i] = std::max(x[i], 0.0f);
      return RET_OK;
    }
  };
};

void Compile(benchmark::State& state, void (*build)(Graph&, int64_t), bool host_only,
             bool delegated = false) {
  ContextOptions options;
  options.host_only = host_only;
  const auto context = Context::Create(options);
  if (delegated) (void)context->SetDelegate(std::make_shared<EverySecond>());
  bool warm = false;
  // The ops of a tree are all twins, and would be few.
  const auto choices = CompileOption().SetOption("compiler", "merge_twins", "off");
  for (auto _ : state) {
    state.PauseTiming();
    auto graph = context->CreateGraph(choices);
    build(*graph, state.range(0));
    if (!warm) {
      auto first = context->CreateGraph(choices);
      build(*first, state.range(0));
      first->Compile();
      warm = true;
    }
    state.ResumeTiming();
    if (!graph->Compile()) return state.SkipWithError(graph->LastStatus().message().c_str());
    state.PauseTiming();
    graph.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// The time of the stage "partition" alone.
void Partition(benchmark::State& state, void (*build)(Graph&, int64_t),
               PartitionStrategy strategy) {
  ContextOptions host;
  host.host_only = true;
  const auto context = Context::Create(host);
  (void)context->AddBackend(std::make_shared<Half>("even", 0));
  (void)context->AddBackend(std::make_shared<Half>("odd", 1));
  for (auto _ : state) {
    auto graph = context->CreateGraph(
        CompileOption().SetPartition(strategy).SetOption("compiler", "merge_twins", "off"));
    build(*graph, state.range(0));
    if (!graph->Compile()) return state.SkipWithError(graph->LastStatus().message().c_str());
    for (const StageReport& s : graph->Report().stages) {
      if (s.stage == "partition") state.SetIterationTime(s.ms / 1e3);
    }
    state.counters["partitions"] = static_cast<double>(graph->Report().partitions);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Sizes(benchmark::internal::Benchmark* b) {
  b->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(Compile, chain, Chain, false)->Apply(Sizes);
BENCHMARK_CAPTURE(Compile, tree, Tree, false)->Apply(Sizes);
BENCHMARK_CAPTURE(Compile, chain_reference, Chain, true)->Apply(Sizes);
BENCHMARK_CAPTURE(Compile, tree_reference, Tree, true)->Apply(Sizes);
BENCHMARK_CAPTURE(Compile, chain_delegated, Chain, true, true)->Apply(Sizes);
void Manual(benchmark::internal::Benchmark* b) { b->UseManualTime()->Apply(Sizes); }
BENCHMARK_CAPTURE(Partition, chain, Chain, PartitionStrategy::kConvex)->Apply(Manual);
BENCHMARK_CAPTURE(Partition, tree, Tree, PartitionStrategy::kConvex)->Apply(Manual);
BENCHMARK_CAPTURE(Partition, wide, Wide, PartitionStrategy::kConvex)->Apply(Manual);
BENCHMARK_CAPTURE(Partition, tree_in_order, Tree, PartitionStrategy::kExecutionOrder)
    ->Apply(Manual);
BENCHMARK_CAPTURE(Partition, wide_per_op, Wide, PartitionStrategy::kPerOp)->Apply(Manual);

}  // namespace

BENCHMARK_MAIN();
