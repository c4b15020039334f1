// Whole models: the LeNet of samples/lenet. Time per run, images per second, cold and warm compile,
// steps and launches per run.
//   model_bench                         cold = no cache at all (PoCL's own is switched off); warm =
//   programs from the disk cache
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "digits.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"

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

/// A folder of this process's own for compiled programs, removed at the end.
struct CacheDir {
  std::string path;
  CacheDir() {
    std::string name = (std::filesystem::temp_directory_path() / "timcl_bench_XXXXXX").string();
    path = mkdtemp(name.data()) ? name : "";
  }
  ~CacheDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

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
  const CacheDir dir;
  ContextOptions options;
  options.cache_dir = dir.path;
  options.use_disk_cache = warm;
  auto once = [&](bool run) {
    // A new context each time: programs live in the context, so only the disk can help.
    auto context = Context::Create(options);
    auto graph = context->CreateGraph();
    digits::Build(*graph, Model());
    const bool ok = Prepare(state, *graph) && graph->Run();
    if (run) Counters(state, *graph);
    return ok;
  };
  if (warm && !once(false)) return;  // fills the folder
  for (auto _ : state) {
    if (!once(true)) return;
  }
}

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
  benchmark::RegisterBenchmark("LeNet/create_compile_first_run_cold", Compile, false)
      ->Iterations(3)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("LeNet/create_compile_first_run_warm", Compile, true)
      ->Iterations(5)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
