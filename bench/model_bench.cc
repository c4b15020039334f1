// Whole models: the LeNet of samples/lenet. Time per run, images per second, cold and warm compile,
// steps and launches per run. Rows "delegates": a float32 network on OpenCL, on the oneDNN
// delegate, and with every second op on the one and the other.
// OpenMP spins while it waits: OMP_WAIT_POLICY=passive where the machine is not idle.
//   model_bench                       cold compile: PoCL's own cache is switched off
//   POCL_KERNEL_CACHE=1 model_bench   warm compile: from PoCL's cache, once it is filled
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "digits.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#ifdef TIMCL_HAS_ONEDNN
#include "tim/vx/delegates/onednn.h"
#endif

namespace {

using tim::vx::Context;
using tim::vx::ContextOptions;
using tim::vx::Graph;

const digits::Model& Model() {
  static const auto model = digits::Model::Load(std::string(DIGITS_DIR) + "/digits.weights");
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.status().message().c_str());
    std::exit(1);
  }
  return *model;
}

bool Prepare(benchmark::State& state, Graph& graph) {
  if (graph.Compile()) return true;
  state.SkipWithError(graph.LastStatus().message().c_str());
  return false;
}

void Counters(benchmark::State& state, const Graph& graph) {
  const auto& report = graph.Report();
  state.counters["steps"] = static_cast<double>(report.steps);
  state.counters["launches"] = static_cast<double>(report.launches);
  state.counters["syncs"] = static_cast<double>(report.syncs);
  state.counters["arena_B"] = static_cast<double>(report.arena_bytes);
  state.counters["programs_built"] = static_cast<double>(report.programs_built);
  state.counters["from_cache"] = static_cast<double>(report.programs_from_cache);
}

void Run(benchmark::State& state, bool fuse) {
  auto context = Context::Create();
  tim::vx::CompileOption options;
  options.SetFusion(fuse);
  auto graph = context->CreateGraph(options);
  const auto batch = static_cast<uint32_t>(state.range(0));
  digits::Build(*graph, Model(), batch);
  if (!Prepare(state, *graph)) return;
  if (!graph->Run()) return state.SkipWithError(graph->LastStatus().message().c_str());
  for (auto _ : state) {
    if (!graph->Run()) return state.SkipWithError(graph->LastStatus().message().c_str());
  }
  state.counters["images/s"] =
      benchmark::Counter(static_cast<double>(batch) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
  // 24*24*16*25 + 8*8*32*400 + 512*96 + 96*10 multiplications and as many additions per picture.
  const double ops = 2.0 * (24 * 24 * 16 * 25 + 8 * 8 * 32 * 400 + 512 * 96 + 96 * 10) * batch;
  state.counters["OP/s"] = benchmark::Counter(ops * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate);
  Counters(state, *graph);
}

void Compile(benchmark::State& state, bool warm) {
  auto once = [&] {
    // A new context each time: programs live in the context, so only a cache on disk can help.
    auto context = Context::Create();
    auto graph = context->CreateGraph();
    digits::Build(*graph, Model());
    if (!Prepare(state, *graph) || !graph->Run()) return false;
    Counters(state, *graph);
    return true;
  };
  if (warm && !once()) return;  // fills the cache
  for (auto _ : state) {
    if (!once()) return;
  }
}

#ifdef TIMCL_HAS_ONEDNN
constexpr uint32_t kSide = 28, kChannels = 32;
constexpr int kLayers = 8;

/// Convolutions of 3x3 with a Tanh behind each.
void BuildLayers(Graph& graph) {
  using namespace tim::vx;
  const ShapeType shape = {kSide, kSide, kChannels, 1};
  auto at = graph.CreateTensor(TensorSpec(DataType::FLOAT32, shape, TensorAttribute::INPUT));
  std::vector<float> weights(3 * 3 * kChannels * kChannels);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = (static_cast<float>(i * 7919 % 1013) / 1013 - 0.5f) / 8;
  const auto kernel = graph.CreateTensor(
      TensorSpec(DataType::FLOAT32, {3, 3, kChannels, kChannels}, TensorAttribute::CONSTANT),
      weights.data());
  auto next = [&](bool last) {
    return graph.CreateTensor(TensorSpec(
        DataType::FLOAT32, shape, last ? TensorAttribute::OUTPUT : TensorAttribute::TRANSIENT));
  };
  const std::array<uint32_t, 2> one = {1, 1};
  for (int layer = 0; layer < kLayers; ++layer) {
    const auto sums = next(false), results = next(layer + 1 == kLayers);
    graph.CreateOperation<ops::Conv2d>(PadType::SAME, one, one)
        ->BindInputs({at, kernel})
        .BindOutput(sums);
    graph.CreateOperation<ops::Tanh>()->BindInput(sums).BindOutput(results);
    at = results;
  }
}

/// kinds: what oneDNN gets; empty: all.
void Delegates(benchmark::State& state, bool onednn, const std::set<std::string>& kinds) {
  auto context = Context::Create();
  if (onednn) {
    tim::vx::OneDnnOptions options;
    options.kinds = kinds;
    const tim::vx::Status set = context->SetDelegate(tim::vx::CreateOneDnnDelegate(options));
    if (!set.ok()) return state.SkipWithError(set.message().c_str());
  }
  auto graph = context->CreateGraph();
  BuildLayers(*graph);
  if (!Prepare(state, *graph) || !graph->Run()) return;
  for (auto _ : state) {
    if (!graph->Run()) return state.SkipWithError(graph->LastStatus().message().c_str());
  }
  const double ops = 2.0 * kLayers * kSide * kSide * 9 * kChannels * kChannels;
  state.counters["OP/s"] = benchmark::Counter(ops * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate);
  state.counters["partitions"] = static_cast<double>(graph->Report().partitions);
  Counters(state, *graph);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  setenv("POCL_AFFINITY", "1", 0);
  setenv("POCL_KERNEL_CACHE", "0", 0);
  benchmark::RegisterBenchmark("LeNet/run", Run, true)
      ->Arg(1)
      ->Arg(16)
      ->Arg(100)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("LeNet/run_unfused", Run, false)
      ->Arg(1)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
#ifdef TIMCL_HAS_ONEDNN
  const struct {
    const char* name;
    bool onednn;
    std::set<std::string> kinds;
  } rows[] = {{"delegates/opencl", false, {}},
              {"delegates/onednn", true, {}},
              {"delegates/split", true, {"Conv2d"}}};
  for (const auto& r : rows) {
    benchmark::RegisterBenchmark(r.name, Delegates, r.onednn, r.kinds)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
#endif
  const bool warm = std::string_view(getenv("POCL_KERNEL_CACHE")) != "0";
  benchmark::RegisterBenchmark(
      warm ? "LeNet/create_compile_first_run_warm" : "LeNet/create_compile_first_run_cold", Compile,
      warm)
      ->Iterations(warm ? 5 : 3)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
