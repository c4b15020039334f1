// Whole networks: those of bench/networks in float32 and int8, the LeNet of samples/lenet,
// delegates, and what the API alone costs. README.md beside this file says how to read the rows.
//   model_bench                       cold compile: PoCL's own cache is switched off
//   POCL_KERNEL_CACHE=1 model_bench   warm compile: from PoCL's cache, once it is filled
//   model_bench --serve NETWORK FORM  answers a line on stdout for each line on stdin, for peers.py
// OpenMP spins while it waits: OMP_WAIT_POLICY=passive where the machine is not idle.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine_limits.h"
#include "digits.h"
#include "networks.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/layernormalization.h"
#include "tim/vx/ops/matmul.h"
#include "tim/vx/ops/softmax.h"
#include "tim/vx/profile.h"
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
  state.counters["live_B"] = static_cast<double>(report.live_bytes_bound);
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

// The networks of bench/networks.

using networks::Built;
using networks::Difference;
using networks::Network;
using networks::Type;
using tim::vx::Code;
using tim::vx::Result;
using tim::vx::Status;

/// A form in which a network is measured.
struct Variant {
  const char* name;
  Type type;
  bool relaxed;  // CompileOption::setRelaxMode: lower precision than float32 is welcome
};
constexpr Variant kFloat32 = {"f32", Type::kFloat32, false};
constexpr Variant kVariants[] = {
    kFloat32, {"int8", Type::kInt8, false}, {"relaxed", Type::kFloat32, true}};

/// What outputs may differ by before a time counts.
///   float32   a part of the largest expected value: sums in another order, Winograd
///   int8      1 step where all is int8, as softmax and sigmoid may be off by one. Where float32
///             lies between, a rounding that falls the other way goes on through all layers: root
///             of the mean square, as a part of that of what is expected
///   relaxed   the same
constexpr double kFloatTolerance = 1e-3, kSteps = 1, kMixedTolerance = 0.1;
/// Multiplications that the scalar reference backend does in a second or so.
constexpr double kReferenceMacs = 15e6;

double Milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
      .count();
}
double CpuMicroseconds() {
  timespec at{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) * 1e6 + static_cast<double>(at.tv_nsec) * 1e-3;
}

/// A network that has run once.
struct Ready {
  std::shared_ptr<Graph> graph;
  Built built;
  double build_ms = 0, compile_ms = 0, first_run_ms = 0;
};

Result<Ready> Prepare(Context& context, const Network& network, const Variant& variant,
                      tim::vx::CompileOption options = {}) {
  Ready ready;
  auto start = std::chrono::steady_clock::now();
  options.setRelaxMode(variant.relaxed);
  ready.graph = context.CreateGraph(options);
  TIMCL_ASSIGN(ready.built, Built::Into(*ready.graph, network, variant.type));
  ready.build_ms = Milliseconds(start);
  start = std::chrono::steady_clock::now();
  if (!ready.graph->Compile()) return ready.graph->LastStatus();
  ready.compile_ms = Milliseconds(start);
  TIMCL_TRY(ready.built.SetInputs());
  start = std::chrono::steady_clock::now();
  if (!ready.graph->Run()) return ready.graph->LastStatus();
  ready.first_run_ms = Milliseconds(start);
  return ready;
}

Status Within(const Difference& difference, const Built& built, const Variant& variant,
              const char* of) {
  const Network& network = built.network();
  std::string allowed;
  if (variant.relaxed || (variant.type == Type::kInt8 && network.int8 != "all")) {
    if (difference.rms() <= kMixedTolerance) return {};
    allowed = "a difference of " + std::to_string(difference.rms()) + " in the mean square, " +
              std::to_string(kMixedTolerance) + " is allowed";
  } else {
    double largest = kFloatTolerance * difference.scale;
    if (variant.type == Type::kInt8) {
      largest = 0;
      for (const std::string& tensor : network.outputs)
        largest = std::max<double>(largest, built.StepOf(tensor) * kSteps * 1.001);
    }
    if (difference.largest <= largest) return {};
    allowed = "a difference of " + std::to_string(largest) + " is allowed";
  }
  return Status::Error(Code::kInternal, network.file + ", " + variant.name + ", differs from " +
                                            of + ": " + difference.where + "; " + allowed);
}

/// Against the reference backend, if the network is small enough, else in its small form.
Status CheckAgainstReference(Context& context, const std::string& name, const Variant& variant) {
  TIMCL_ASSIGN(Network network, networks::Load(networks::FileOf(name)));
  if (network.macs > kReferenceMacs && networks::HasSmall(name)) {
    TIMCL_ASSIGN(network, networks::Load(networks::FileOf("small/" + name)));
  }
  ContextOptions host;
  host.host_only = true;
  const auto reference_context = Context::Create(host);
  TIMCL_ASSIGN(const Ready ours, Prepare(context, network, variant));
  Variant exact = variant;
  exact.relaxed = false;
  TIMCL_ASSIGN(const Ready reference, Prepare(*reference_context, network, exact));
  TIMCL_ASSIGN(const Difference difference, networks::Compare(ours.built, reference.built));
  return Within(difference, ours.built, variant, "the reference backend");
}

/// Outputs of the full network against those that calibrate.py computed.
Status CheckExpected(const Built& built, const Variant& variant) {
  TIMCL_ASSIGN(const Difference difference, networks::CompareExpected(built, variant.type));
  return Within(difference, built, variant, "what NumPy computed");
}

bool g_check = true;  // --no-check

/// The network of the row that runs now. Google Benchmark calls a row several times; building and
/// checking BERT takes longer than measuring it.
struct Row {
  std::string name;
  Variant variant = kFloat32;
  double macs = 0;
  std::shared_ptr<Context> context;
  Ready ready;
};

Result<Row> MakeRow(const std::string& name, const Variant& variant) {
  Row row{name, variant, 0, Context::Create(), {}};
  TIMCL_ASSIGN(const Network network, networks::Load(networks::FileOf(name)));
  row.macs = network.macs;
  TIMCL_ASSIGN(row.ready, Prepare(*row.context, network, variant));
  if (g_check) {
    TIMCL_TRY(CheckExpected(row.ready.built, variant));
    TIMCL_TRY(CheckAgainstReference(*row.context, name, variant));
  }
  return row;
}

void RunNetwork(benchmark::State& state, const std::string& name, const Variant& variant) {
  static Result<Row>& row = *new Result<Row>(Row{});
  if (!row.ok() || row->name != name || row->variant.name != variant.name) {
    row = Row{};  // frees the one before
    row = MakeRow(name, variant);
  }
  if (!row.ok()) return state.SkipWithError(row.status().message().c_str());
  Graph& graph = *row->ready.graph;
  for (auto _ : state) {
    if (!graph.Run()) return state.SkipWithError(graph.LastStatus().message().c_str());
  }
  Counters(state, graph);
  state.counters["OP/s"] = benchmark::Counter(
      2 * row->macs * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["compile_ms"] = row->ready.compile_ms;
  state.counters["first_run_ms"] = row->ready.first_run_ms;
}

/// Arithmetic that needs no memory and cannot be left out.
double Spin(int64_t rounds) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t x = 1;
  for (int64_t i = 0; i < rounds; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  benchmark::DoNotOptimize(x);
  return Milliseconds(start);
}
double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
struct Spread {
  double longest_us = 0, median_us = 0;
  size_t longest_at = 0;
  double ratio() const { return longest_us / median_us; }
};
Spread SpreadOf(const std::vector<double>& times) {
  const auto longest = std::max_element(times.begin(), times.end());
  return {*longest * 1e3, Median(times) * 1e3, static_cast<size_t>(longest - times.begin())};
}

/// The longest of 10,000 Runs that follow a compile, against their median: what is still built or
/// allocated then shows. Pieces of plain arithmetic as long as a Run come after them: "machine" is
/// what neighbours and the system do to those.
nlohmann::json Steady(Graph& graph) {
  std::vector<double> times(10000), spins(times.size());
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (double& time : times) {
    const auto start = std::chrono::steady_clock::now();
    if (!graph.Run()) return {{"error", graph.LastStatus().message()}};
    time = Milliseconds(start);
  }
  getrusage(RUSAGE_SELF, &after);
  const Spread runs = SpreadOf(times);
  constexpr int64_t kTrial = 20000;
  double trial = Spin(kTrial);
  for (int i = 0; i < 9; ++i) trial = std::min(trial, Spin(kTrial));
  const auto rounds = static_cast<int64_t>(kTrial * runs.median_us / 1e3 / trial);
  for (double& spin : spins) spin = Spin(rounds);
  return {{"longest/median", runs.ratio()},
          {"longest_us", runs.longest_us},
          {"longest_at", runs.longest_at},
          {"median_us", runs.median_us},
          {"machine_longest/median", SpreadOf(spins).ratio()},
          {"page_faults", after.ru_minflt - before.ru_minflt},
          {"preempted", after.ru_nivcsw - before.ru_nivcsw}};
}

/// A chain of additions of one element each, none of which is fused: what a step costs.
void Steps(benchmark::State& state) {
  using namespace tim::vx;
  auto context = Context::Create();
  CompileOption options;
  options.SetFusion(false);
  auto graph = context->CreateGraph(options);
  const auto steps = state.range(0);
  const float one = 1;
  auto at = graph->CreateTensor(TensorSpec(DataType::FLOAT32, {1}, TensorAttribute::INPUT));
  const auto input = at;
  const auto addend =
      graph->CreateTensor(TensorSpec(DataType::FLOAT32, {1}, TensorAttribute::CONSTANT), &one);
  for (int64_t i = 0; i < steps; ++i) {
    const auto next = graph->CreateTensor(
        TensorSpec(DataType::FLOAT32, {1},
                   i + 1 == steps ? TensorAttribute::OUTPUT : TensorAttribute::TRANSIENT));
    graph->CreateOperation<ops::Add>()->BindInputs({at, addend}).BindOutput(next);
    at = next;
  }
  if (!Prepare(state, *graph)) return;
  float result = 0;
  input->CopyDataToTensor(&result);
  if (!graph->Run()) return state.SkipWithError(graph->LastStatus().message().c_str());
  at->CopyDataFromTensor(&result);
  if (result != static_cast<float>(steps)) return state.SkipWithError("the sum is wrong");
  for (auto _ : state) {
    if (!graph->Run()) return state.SkipWithError(graph->LastStatus().message().c_str());
  }
  Counters(state, *graph);
}

/// One operation on 1M elements, 1024 lines of 1024.
void Million(benchmark::State& state, const std::string& op) {
  using namespace tim::vx;
  constexpr uint32_t kLine = 1024;
  auto context = Context::Create();
  auto graph = context->CreateGraph();
  const ShapeType shape = {kLine, kLine};
  const auto in = graph->CreateTensor(TensorSpec(DataType::FLOAT32, shape, TensorAttribute::INPUT));
  const auto out =
      graph->CreateTensor(TensorSpec(DataType::FLOAT32, shape, TensorAttribute::OUTPUT));
  std::vector<float> x = networks::Values("million", size_t{kLine} * kLine);
  for (float& value : x) value *= 4;
  // What the op does to one line, in double.
  std::vector<double> line(x.begin(), x.begin() + kLine);
  if (op == "Tanh") {
    graph->CreateOperation<ops::Tanh>()->BindInput(in).BindOutput(out);
    for (double& v : line) v = std::tanh(v);
  } else if (op == "Sigmoid") {
    graph->CreateOperation<ops::Sigmoid>()->BindInput(in).BindOutput(out);
    for (double& v : line) v = 1 / (1 + std::exp(-v));
  } else if (op == "Softmax") {
    graph->CreateOperation<ops::Softmax>(1.0f, 0)->BindInput(in).BindOutput(out);
    double sum = 0;
    for (double& v : line) sum += v = std::exp(v);
    for (double& v : line) v /= sum;
  } else {
    const std::vector<float> zeros(kLine, 0.0f), ones(kLine, 1.0f);
    const TensorSpec parameter(DataType::FLOAT32, {kLine}, TensorAttribute::CONSTANT);
    graph->CreateOperation<ops::LayerNormalization>(0, 1e-5f)
        ->BindInputs({in, graph->CreateTensor(parameter, zeros.data()),
                      graph->CreateTensor(parameter, ones.data())})
        .BindOutput(out);
    double mean = 0, variance = 0;
    for (const double v : line) mean += v / kLine;
    for (const double v : line) variance += (v - mean) * (v - mean) / kLine;
    for (double& v : line) v = (v - mean) / std::sqrt(variance + 1e-5);
  }
  if (!Prepare(state, *graph)) return;
  in->CopyDataToTensor(x.data());
  if (!graph->Run()) return state.SkipWithError(graph->LastStatus().message().c_str());
  out->CopyDataFromTensor(x.data());
  for (size_t i = 0; i < kLine; ++i) {
    if (!(std::fabs(x[i] - line[i]) <= 1e-5)) return state.SkipWithError("the result is wrong");
  }
  for (auto _ : state) {
    if (!graph->Run()) return state.SkipWithError(graph->LastStatus().message().c_str());
  }
  state.SetItemsProcessed(state.iterations() * kLine * kLine);
  Counters(state, *graph);
}

/// The median of the times of `count` Runs that follow each other, in seconds; 0 where one fails.
double MedianRun(tim::vx::Graph& graph, size_t count) {
  std::vector<double> seconds(count);
  for (double& one : seconds) {
    const auto start = std::chrono::steady_clock::now();
    if (!graph.Run()) return 0;
    one = Milliseconds(start) / 1000;
  }
  return Median(std::move(seconds));
}

/// Share of the FMA peak that the convolutions of a network reach together: in its profile, where
/// each is a launch of its own, and in a Run, whose whole time is counted as theirs.
void Convolutions(benchmark::State& state, const std::string& name, bool winograd) {
  const auto network = networks::Load(networks::FileOf(name));
  if (!network.ok()) return state.SkipWithError(network.status().message().c_str());
  auto context = Context::Create();
  tim::vx::CompileOption options;
  if (!winograd) options.SetOption("opencl", "without_kernels", "winograd");
  const auto ready = Prepare(*context, *network, kFloat32, options);
  if (!ready.ok()) return state.SkipWithError(ready.status().message().c_str());
  std::vector<double> shares, of_run, copies;
  for (auto _ : state) {
    const double before = tim::vx::bench::FmaPeak();
    const auto profile = ready->graph->Profile(5);
    const double between = tim::vx::bench::FmaPeak();
    const double run = MedianRun(*ready->graph, 5);
    const double after = tim::vx::bench::FmaPeak();
    if (profile.ops.empty() || run == 0)
      return state.SkipWithError(ready->graph->LastStatus().message().c_str());
    double flops = 0, seconds = 0;
    size_t steps = 0;
    for (const auto& op : profile.ops) {
      if (op.kind != "Conv2d") continue;
      flops += op.flops;
      seconds += op.median_ms / 1000;
      ++steps;
    }
    if (steps == 0 || before == 0)
      return state.SkipWithError("no convolution, or no peak, is known");
    state.SetIterationTime(seconds);
    shares.push_back(flops / seconds / ((before + between) / 2));
    of_run.push_back(flops / run / ((between + after) / 2));
    copies.push_back(tim::vx::bench::CopyRate());
    state.counters["steps"] = static_cast<double>(steps);
    state.counters["FLOP/s"] = flops / seconds;
  }
  state.counters["of_peak"] = Median(shares);
  state.counters["of_peak_in_run"] = Median(of_run);
  state.counters["copy_B/s"] = Median(copies);
}

/// Products of square matrices, both computed before, as a share of the FMA peak that is measured
/// around every few Runs, which follow each other: neighbours on the machine slow both alike. An
/// iteration is the median of these.
void Gemm(benchmark::State& state) {
  using namespace tim::vx;
  const auto n = static_cast<uint32_t>(state.range(0));
  auto context = Context::Create();
  auto graph = context->CreateGraph();
  const auto make = [&](TensorAttribute attribute) {
    return graph->CreateTensor(TensorSpec(DataType::FLOAT32, {n, n}, attribute));
  };
  const auto a = make(INPUT), b = make(INPUT), out = make(OUTPUT);
  graph->CreateOperation<ops::Matmul>()->BindInputs({a, b}).BindOutput(out);
  const std::vector<float> x = networks::Values("gemm/a", size_t{n} * n),
                           y = networks::Values("gemm/b", size_t{n} * n);
  std::vector<float> result(x.size());
  if (!Prepare(state, *graph)) return;
  a->CopyDataToTensor(x.data());
  b->CopyDataToTensor(y.data());
  if (!graph->Run()) return state.SkipWithError(graph->LastStatus().message().c_str());
  out->CopyDataFromTensor(result.data());
  for (const size_t row : {size_t{0}, size_t{n} / 2, size_t{n} - 1}) {
    const size_t column = n - 1 - row;
    double sum = 0;
    for (size_t k = 0; k < n; ++k) sum += double{x[row * n + k]} * y[k * n + column];
    if (!(std::fabs(result[row * n + column] - sum) <= 1e-4))
      return state.SkipWithError("the product is wrong");
  }
  const double flops = 2.0 * n * n * n;
  std::vector<double> shares, copies;
  for (auto _ : state) {
    const double before = tim::vx::bench::FmaPeak();
    const double median = MedianRun(*graph, 9);
    const double peak = (before + tim::vx::bench::FmaPeak()) / 2;
    if (median == 0) return state.SkipWithError(graph->LastStatus().message().c_str());
    state.SetIterationTime(median);
    if (peak > 0) shares.push_back(flops / median / peak);
    copies.push_back(bench::CopyRate());
  }
  Counters(state, *graph);
  state.counters["FLOP/s"] = benchmark::Counter(flops * static_cast<double>(state.iterations()),
                                                benchmark::Counter::kIsRate);
  if (!shares.empty()) state.counters["of_peak"] = Median(shares);
  state.counters["copy_B/s"] = Median(copies);
}

/// What a process of its own (--serve) says of a network, and its answer to `command`, if there is
/// one. `environment`: assignments as a shell takes them.
std::vector<nlohmann::json> AskProcess(const std::string& environment, const std::string& name,
                                       const std::string& command = "") {
  std::error_code ignored;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  std::vector<nlohmann::json> answers;
  FILE* const out = popen(("cd / && echo '" + command + "\nquit' | " + environment + " '" + self +
                           "' --serve " + name + " f32")
                              .c_str(),
                          "r");
  if (out == nullptr) return answers;
  std::string text;
  for (int c; (c = std::fgetc(out)) != EOF;) text += static_cast<char>(c);
  pclose(out);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    answers.push_back(nlohmann::json::parse(line, nullptr, false));
  return answers;
}

/// An empty folder for the caches of such processes, for as long as this lives.
class CacheFolder {
 public:
  CacheFolder()
      : path_(std::filesystem::temp_directory_path(ignored_) /
              ("model_bench-" + std::to_string(getpid()))) {
    Clear();
  }
  ~CacheFolder() { std::filesystem::remove_all(path_, ignored_); }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  void Clear() {
    std::filesystem::remove_all(path_, ignored_);
    std::filesystem::create_directories(path_ / "pocl", ignored_);
  }
  std::string Environment() const {
    return "POCL_KERNEL_CACHE=1 POCL_CACHE_DIR='" + path_.string() + "/pocl' TIMCL_CACHE_DIR='" +
           path_.string() + "/timcl'";
  }

 private:
  std::error_code ignored_;
  std::filesystem::path path_;
};

/// What a user waits for: Compile() and the first Run in a process that did nothing before, with
/// empty caches (cold) and with what the process before left there (warm).
void Start(benchmark::State& state, const std::string& name, bool warm) {
  CacheFolder folder;
  if (warm) AskProcess(folder.Environment(), name);
  for (auto _ : state) {
    if (!warm) folder.Clear();
    const auto answers = AskProcess(folder.Environment(), name);
    if (answers.empty() || !answers[0].contains("ready"))
      return state.SkipWithError("no answer from another process");
    const double compile = answers[0]["compile_ms"], run = answers[0]["first_run_ms"];
    state.SetIterationTime((compile + run) / 1000);
    state.counters["compile_ms"] = compile;
    state.counters["first_run_ms"] = run;
    state.counters["context_ms"] = answers[0]["context_ms"];
  }
}

/// The command "steady" of a process that compiled with empty caches. The driver's threads are not
/// bound to cores there, as in any program that does not ask for it. `alone`: the driver has one
/// thread, so that nobody helps the caller's, and the system has a core for what else it does.
void SteadyRow(benchmark::State& state, const std::string& name, bool alone) {
  for (auto _ : state) {
    const CacheFolder folder;
    std::string environment = folder.Environment() + " POCL_AFFINITY=0";
    if (alone) environment += " POCL_MAX_PTHREAD_COUNT=1";
    const auto answers = AskProcess(environment, name, "steady");
    if (answers.size() < 2 || !answers[1].contains("longest/median"))
      return state.SkipWithError("no answer from another process");
    for (const auto& [counter, value] : answers[1].items()) state.counters[counter] = value;
  }
}

// --serve: one process with one network, for a runner that measures several runtimes in turns.

/// Answers one command; every answer is one line of JSON, {"error": ...} where something failed.
nlohmann::json Answer(Ready& ready, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  words >> command;
  const auto failed = [](const std::string& why) { return nlohmann::json{{"error", why}}; };
  if (command == "run") {
    int count = 0;
    if (!(words >> count) || count < 1) return failed("run needs a number of runs");
    std::vector<double> wall, cpu;
    for (int i = 0; i < count; ++i) {
      const double cpu_start = CpuMicroseconds();
      const auto start = std::chrono::steady_clock::now();
      if (!ready.graph->Run()) return failed(ready.graph->LastStatus().message());
      wall.push_back(Milliseconds(start) * 1e3);
      cpu.push_back(CpuMicroseconds() - cpu_start);
    }
    return {{"wall_us", wall}, {"cpu_us", cpu}};
  }
  if (command == "input") {
    int number = 0;
    if (!(words >> number) || number < 0) return failed("input needs the number of an input");
    const Status set = ready.built.SetInputs(number);
    return set.ok() ? nlohmann::json{{"input", number}} : failed(set.message());
  }
  if (command == "output") {
    std::string file;
    std::getline(words >> std::ws, file);
    std::ofstream out(file, std::ios::binary);
    nlohmann::json sizes = nlohmann::json::object();
    for (const std::string& tensor : ready.built.network().outputs) {
      const auto values = ready.built.Output(tensor);
      if (!values.ok()) return failed(values.status().message());
      out.write(reinterpret_cast<const char*>(values->data()),
                static_cast<std::streamsize>(values->size() * sizeof(float)));
      sizes[tensor] = values->size();
    }
    out.close();
    return out ? nlohmann::json{{"output", file}, {"elements", sizes}}
               : failed("cannot write " + file);
  }
  if (command == "steady") return Steady(*ready.graph);
  if (command == "report") return nlohmann::json::parse(ready.graph->Report().ToJson());
  return failed("unknown command '" + line +
                "': run N, input K, output FILE, steady, report, quit");
}

int Serve(const std::string& name, const std::string& variant_name) {
  const auto say = [](const nlohmann::json& answer) { std::cout << answer.dump() << std::endl; };
  const auto fail = [&](const std::string& why) {
    say({{"error", why}});
    return 1;
  };
  const auto* const variant =
      std::find_if(std::begin(kVariants), std::end(kVariants),
                   [&](const Variant& v) { return v.name == variant_name; });
  if (variant == std::end(kVariants))
    return fail("the form '" + variant_name + "' is none of f32, int8, relaxed");
  const auto network = networks::Load(networks::FileOf(name));
  if (!network.ok()) return fail(network.status().message());
  auto start = std::chrono::steady_clock::now();
  const auto context = Context::Create();
  const double context_ms = Milliseconds(start);
  auto ready = Prepare(*context, *network, *variant);
  if (!ready.ok()) return fail(ready.status().message());
  const Status same = CheckExpected(ready->built, *variant);
  const auto difference = networks::CompareExpected(ready->built, variant->type);
  const auto& report = ready->graph->Report();
  say({{"ready", name},
       {"type", variant->name},
       {"device", context->DeviceName()},
       {"context_ms", context_ms},
       {"build_ms", ready->build_ms},
       {"compile_ms", ready->compile_ms},
       {"first_run_ms", ready->first_run_ms},
       {"steps", report.steps},
       {"launches", report.launches},
       {"syncs", report.syncs},
       {"arena_bytes", report.arena_bytes},
       {"live_bytes_bound", report.live_bytes_bound},
       {"constant_bytes", report.constant_bytes},
       {"macs", network->macs},
       {"check", same.ok() ? "as expected" : same.message()},
       {"rms_error", difference.ok() ? difference->rms() : -1.0}});
  std::string line;
  while (std::getline(std::cin, line) && line != "quit") say(Answer(*ready, line));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("POCL_AFFINITY", "1", 0);
  setenv("POCL_KERNEL_CACHE", "0", 0);
  setenv("TIMCL_INLINE", "1", 0);
  if (argc > 1 && std::string_view(argv[1]) == "--serve") {
    if (argc == 4) return Serve(argv[2], argv[3]);
    std::fprintf(stderr, "usage: model_bench --serve NETWORK f32|int8|relaxed\n");
    return 2;
  }
  if (argc > 1 && std::string_view(argv[1]) == "--no-check") {
    g_check = false;
    argv[1] = argv[0];
    ++argv, --argc;
  }
  for (const std::string& name : networks::Names()) {
    for (const Variant& variant : kVariants) {
      const std::string row = name + "/" + variant.name;
      benchmark::RegisterBenchmark(row.c_str(), RunNetwork, name, variant)
          ->UseRealTime()
          ->MeasureProcessCPUTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
  for (const auto& [name, alone] :
       {std::pair("lenet", false), std::pair("lenet", true), std::pair("mobilenet_v2", false)}) {
    const std::string row =
        std::string(name) + "/f32/10000_runs_after_compile" + (alone ? "_alone" : "");
    benchmark::RegisterBenchmark(row.c_str(), SteadyRow, name, alone)
        ->Iterations(1)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  for (const bool warm : {false, true}) {
    benchmark::RegisterBenchmark(
        warm ? "mobilenet_v2/f32/start_warm" : "mobilenet_v2/f32/start_cold", Start, "mobilenet_v2",
        warm)
        ->Iterations(warm ? 5 : 1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  for (const bool winograd : {true, false}) {
    benchmark::RegisterBenchmark(
        winograd ? "resnet50/f32/convolutions" : "resnet50/f32/convolutions_direct", Convolutions,
        "resnet50", winograd)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RegisterBenchmark("gemm", Gemm)
      ->Arg(512)
      ->Arg(1024)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("steps", Steps)
      ->Arg(1)
      ->Arg(1000)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
  for (const char* op : {"Tanh", "Sigmoid", "Softmax", "LayerNorm"}) {
    benchmark::RegisterBenchmark((std::string("million/") + op).c_str(), Million, op)
        ->UseRealTime()
        ->MeasureProcessCPUTime()
        ->Unit(benchmark::kMicrosecond);
  }
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
