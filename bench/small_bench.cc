// What a Run of a small graph costs: on the main device (/main; by one of its threads, /main_one,
// or by all, /main_all), in the caller's thread launch by launch (/inline) and as one kernel
// (/one_kernel), where the library puts it (/chosen), and as a plan that stays on the main device
// (/resident). Of one element, of a chain of 1,000 one-element steps, of LeNet (uint8) and of the
// autoencoder of MLPerf Tiny (float32, ten FullyConnected). Counters: launches per Run, and for the
// chain ns_per_step = (Run of 1,000 - Run of one) / 999. --benchmark_repetitions=9 gives medians.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cmath>
#include <string>
#include <vector>

#include "bench/machine_limits.h"
#include "digits.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/fullyconnected.h"

namespace {

using namespace tim::vx;
using TensorPtr = std::shared_ptr<Tensor>;

TensorPtr Make(Graph& graph, const ShapeType& shape, TensorAttribute attr,
               const void* data = nullptr) {
  return graph.CreateTensor(TensorSpec(DataType::FLOAT32, shape, attr), data);
}

/// `steps` launches of one element; Relu after Relu would be the same kernel but a longer story.
void Chain(Graph& graph, int steps) {
  TensorPtr at = Make(graph, {1}, TensorAttribute::INPUT);
  for (int i = 0; i < steps; ++i) {
    auto next =
        Make(graph, {1}, i + 1 == steps ? TensorAttribute::OUTPUT : TensorAttribute::TRANSIENT);
    graph.CreateOperation<ops::Relu>()->BindInput(at).BindOutput(next);
    at = next;
  }
}
void One(Graph& graph) { Chain(graph, 1); }
void Thousand(Graph& graph) { Chain(graph, 1000); }

/// Rows of 1024 elements: some work, one launch.
void Row(Graph& graph) {
  graph.CreateOperation<ops::Tanh>()
      ->BindInput(Make(graph, {1024}, TensorAttribute::INPUT))
      .BindOutput(Make(graph, {1024}, TensorAttribute::OUTPUT));
}

void LeNet(Graph& graph) {
  static const auto model = digits::Model::Load(std::string(DIGITS_DIR) + "/digits.weights");
  if (model.ok()) digits::Build(graph, *model);
}

/// 640-128-128-128-128-8-128-128-128-128-640 with Relu between.
void Autoencoder(Graph& graph) {
  const std::vector<uint32_t> widths = {640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640};
  TensorPtr at = Make(graph, {widths[0], 1}, TensorAttribute::INPUT);
  for (size_t l = 0; l + 1 < widths.size(); ++l) {
    const uint32_t in = widths[l], out = widths[l + 1];
    const bool last = l + 2 == widths.size();
    std::vector<float> weights(size_t{in} * out), bias(out, 0.01f);
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = (static_cast<float>(i * 7919 % 1013) / 1013 - 0.5f) / std::sqrt(float(in));
    const auto sums =
        Make(graph, {out, 1}, last ? TensorAttribute::OUTPUT : TensorAttribute::TRANSIENT);
    graph.CreateOperation<ops::FullyConnected>(0, out)
        ->BindInputs({at, Make(graph, {in, out}, TensorAttribute::CONSTANT, weights.data()),
                      Make(graph, {out}, TensorAttribute::CONSTANT, bias.data())})
        .BindOutput(sums);
    if (last) break;
    at = Make(graph, {out, 1}, TensorAttribute::TRANSIENT);
    graph.CreateOperation<ops::Relu>()->BindInput(sums).BindOutput(at);
  }
}

struct Network {
  void (*build)(Graph&);
  bool fuse = true;
};
/// How it runs: on which device, and there as one kernel or launch by launch.
struct Way {
  const char* name;
  InlineDevice device;
  bool join = true;
  bool stays = false;
  const char* workers = nullptr;
};

std::shared_ptr<Graph> Prepare(benchmark::State& state, const Network& network, Way way) {
  ContextOptions options;
  options.inline_device = way.device;
  CompileOption compile;
  compile.SetOption("opencl", "one_kernel", way.join ? "on" : "off");
  compile.SetOption("opencl", "resident", way.stays ? "on" : "off");
  if (way.workers != nullptr) compile.SetOption("opencl", "workers", way.workers);
  compile.SetFusion(network.fuse);
  auto graph = Context::Create(options)->CreateGraph(compile);
  network.build(*graph);
  if (graph->Run()) return graph;
  state.SkipWithError(graph->LastStatus().message().c_str());
  return nullptr;
}

void Run(benchmark::State& state, Network network, Way way) {
  const auto graph = Prepare(state, network, way);
  if (graph == nullptr) return;
  for (auto _ : state) graph->Run();
  state.counters["launches"] = static_cast<double>(graph->Report().launches);
  state.SetLabel(graph->Report().parts[0].note);
}

void Steps(benchmark::State& state, Way way) {
  const auto one = Prepare(state, {One, false}, way);
  const auto all = Prepare(state, {Thousand, false}, way);
  if (one == nullptr || all == nullptr) return;
  double seconds = 0;
  for (auto _ : state) {
    const double a = bench::Seconds([&] { one->Run(); }), b = bench::Seconds([&] { all->Run(); });
    state.SetIterationTime(b);
    seconds += b - a;
  }
  state.counters["launches"] = static_cast<double>(all->Report().launches);
  state.counters["ns_per_step"] = seconds / static_cast<double>(state.iterations()) * 1e9 / 999;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("POCL_AFFINITY", "1", 0);
  // PoCL shows the device only to who asks first.
  ContextOptions first;
  first.inline_device = InlineDevice::kSmallGraphs;
  const auto keep = Context::Create(first);
  const struct {
    const char* name;
    Network network;
  } rows[] = {{"one", {One}}, {"row", {Row}}, {"autoencoder", {Autoencoder}}, {"lenet", {LeNet}}};
  const Way ways[] = {{"/main", InlineDevice::kOff},
                      {"/main_one", InlineDevice::kOff, true, false, "one"},
                      {"/main_all", InlineDevice::kOff, true, false, "all"},
                      {"/inline", InlineDevice::kAllGraphs, false},
                      {"/one_kernel", InlineDevice::kAllGraphs},
                      {"/chosen", InlineDevice::kSmallGraphs},
                      {"/resident", InlineDevice::kOff, true, true}};
  for (const auto& row : rows) {
    for (const Way& way : ways) {
      benchmark::RegisterBenchmark((std::string(row.name) + way.name).c_str(), Run, row.network,
                                   way)
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
  for (const Way& way : ways) {
    benchmark::RegisterBenchmark((std::string("steps_1000") + way.name).c_str(), Steps, way)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
