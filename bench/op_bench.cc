// Time per run of single operators: the cases that each op marks for benchmarks, each beside a copy
// that reads and writes as many bytes on the same device (of_copy: 1 is as fast, 0.5 takes twice as
// long), and the register-tile matmul beside the general kernel and the core's measured FMA peak.
//   op_bench --benchmark_filter=Conv2d1x1      the acceptance shape; --threads=1 keeps PoCL to one
//   core
//   op_bench --plugin=libtimcl_x.so --benchmark_filter=acme.    operators of a plugin
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "bench/bench_support.h"
#include "bench/machine_limits.h"
#include "tim/vx/compile_option.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/matmul.h"
#include "tim/vx/ops/reduce.h"
#include "tim/vx/ops/simple_operations.h"
#include "tim/vx/ops/softmax.h"

namespace tim::vx::bench {
namespace {

void FmaPeakRow(benchmark::State& state) {
  double flops = 0;
  for (auto _ : state) flops += FmaRun(100000);
  if (flops == 0) return state.SkipWithError("no vector FMA known for this processor");
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsRate);
}

/// A float32 tensor copied by a kernel, half of `bytes` read and half written.
Result<std::unique_ptr<OneOp>> BuildCopy(double bytes) {
  const auto def = Ops().Find("DataConvert");
  if (def == nullptr) return Status::Error(Code::kNotFound, "no DataConvert to copy with");
  Case c;
  c.attrs = AnyAttrs(def->schema, def->schema ? def->schema->make_default() : nullptr);
  c.inputs = {{cases::F32({std::max<int64_t>(static_cast<int64_t>(bytes / 8), 1)})}};
  c.outputs = {cases::F32()};
  return BuildOne(*def, c, OpenCl());
}

double Middle(std::vector<double>* values) {
  std::sort(values->begin(), values->end());
  return (*values)[values->size() / 2];
}

void RunOne(benchmark::State& state, const OpDef& def, const Case& c, int candidate,
            bool against_peak) {
  auto one = BuildOne(def, c, OpenCl(), candidate);
  if (!one.ok()) return state.SkipWithError(one.status().message().c_str());
  runtime::Executable& exe = *(*one)->executable;
  if (Status s = exe.Run(); !s.ok()) return state.SkipWithError(s.message().c_str());
  auto copy = BuildCopy((*one)->bytes);
  if (!copy.ok()) return state.SkipWithError(copy.status().message().c_str());
  runtime::Executable& copying = *(*copy)->executable;
  if (Status s = copying.Run(); !s.ok()) return state.SkipWithError(s.message().c_str());
  std::vector<double> of_peak, took, copied;
  for (auto _ : state) {
    const double seconds = Seconds([&] { (void)exe.Run(); });
    state.SetIterationTime(seconds);
    took.push_back(seconds);
    if (against_peak) {
      // The peak is measured beside every run: neighbours on the machine slow both alike.
      double flops = 0;
      const double peak_seconds = Seconds([&] { flops = FmaRun(40000); });
      if (flops > 0) of_peak.push_back((*one)->flops / seconds / (flops / peak_seconds));
    }
  }
  // Afterwards: a copy between the runs would empty their caches.
  for (size_t i = 0; i < std::clamp<size_t>(took.size(), 3, 50); ++i)
    copied.push_back(Seconds([&] { (void)copying.Run(); }));
  const double runs = static_cast<double>(state.iterations());
  if ((*one)->flops > 0)
    state.counters["FLOP/s"] =
        benchmark::Counter((*one)->flops * runs, benchmark::Counter::kIsRate);
  state.counters["B/s"] = benchmark::Counter((*one)->bytes * runs, benchmark::Counter::kIsRate);
  state.counters["launches"] = static_cast<double>((*one)->report.launches);
  state.counters["compile_ms"] = (*one)->report.compile_ms;
  state.counters["of_copy"] = Middle(&copied) / Middle(&took);
  if (!of_peak.empty()) {
    state.counters["of_peak"] = Middle(&of_peak);
    state.counters["of_peak_p90"] = of_peak[of_peak.size() * 9 / 10];
  }
  if (!(*one)->report.ops.empty()) state.SetLabel((*one)->report.ops[0].kernel);
}

/// A convolution or its like, once per kernel candidate; with `type` INT8 or INT16 of quantized
/// tensors and 8-bit weights, with FLOAT16 of such tensors alone.
void RegisterEach(const char* name, const char* kind, const AttrMap& attrs, const Shape& x,
                  const Shape& w, const Shape& b, DataType type = DataType::FLOAT32) {
  const auto def = Ops().Find(kind);
  if (def == nullptr) return;
  auto parsed = def->schema->from_map(attrs);
  if (!parsed.ok()) {
    std::fprintf(stderr, "%s\n", parsed.status().message().c_str());
    return;
  }
  Case c;
  c.attrs = AnyAttrs(def->schema, *parsed);
  if (type == DataType::FLOAT32 || type == DataType::FLOAT16) {
    c.inputs = {
        {cases::Plain(type, x)}, {cases::Plain(type, w), true}, {cases::Plain(type, b), true}};
    c.outputs = {cases::Plain(type, {})};
  } else {
    c.inputs = {{cases::Affine(type, x, type == DataType::INT8 ? 0.03f : 0.0001f, 0)},
                {cases::Affine(DataType::INT8, w, 0.008f, 0), true},
                {cases::I32(b), true}};
    c.outputs = {cases::Affine(type, {}, type == DataType::INT8 ? 0.08f : 0.0003f, 0)};
  }
  for (int k = 0; k < static_cast<int>(def->kernels.size()); ++k) {
    const std::string label = fmt::format("{}/{}", name, def->kernels.begin()[k].name);
    benchmark::RegisterBenchmark(label.c_str(),
                                 [def, c, k](benchmark::State& s) { RunOne(s, *def, c, k, true); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

std::shared_ptr<Tensor> Real(Graph& graph, DataType dtype, const ShapeType& shape,
                             TensorAttribute attribute) {
  const auto t = graph.CreateTensor(TensorSpec(dtype, shape, attribute));
  if (attribute != TensorAttribute::INPUT) return t;
  const auto data = RandomData({dtype, Shape(shape), {}}, -1, 1, 7);
  t->CopyDataToTensor(data->data());
  return t;
}

std::shared_ptr<Tensor> Float(Graph& graph, const ShapeType& shape, TensorAttribute attribute) {
  return Real(graph, DataType::FLOAT32, shape, attribute);
}

/// Two graphs of the same arithmetic in turns, `whole` with fewer passes through memory. of_apart:
/// 2 is twice as fast as the other; of_apart_cpu: with half of the processor time.
void InTurns(benchmark::State& state, Graph& whole, Graph& apart, double flops) {
  for (Graph* const graph : {&whole, &apart}) {
    if (!graph->Compile() || !graph->Run())
      return state.SkipWithError(graph->LastStatus().message().c_str());
  }
  std::vector<double> took, other, cpu, other_cpu;
  const auto run = [](Graph& graph, std::vector<double>* wall, std::vector<double>* of_process) {
    const std::clock_t begin = std::clock();  // of all threads, which neighbours disturb less
    wall->push_back(Seconds([&] { (void)graph.Run(); }));
    of_process->push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  };
  for (auto _ : state) {
    run(whole, &took, &cpu);
    state.SetIterationTime(took.back());
    run(apart, &other, &other_cpu);
  }
  if (flops > 0) state.counters["FLOP/cpu_s"] = flops / Middle(&cpu);
  state.counters["apart_us"] = Middle(&other) * 1e6;
  state.counters["of_apart"] = Middle(&other) / Middle(&took);
  state.counters["of_apart_cpu"] = Middle(&other_cpu) / Middle(&cpu);
}

/// Attention of 12 heads of 64: as one op beside the same without pass fuse_attention.
void AttentionRow(benchmark::State& state, DataType dtype, uint32_t tokens, bool masked) {
  const auto context = Context::Create();
  const auto build = [&](const char* choice) {
    const auto graph =
        context->CreateGraph(CompileOption().SetOption("compiler", "fuse_attention", choice));
    const auto tensor = [&](const ShapeType& shape, TensorAttribute attribute) {
      return Real(*graph, dtype, shape, attribute);
    };
    const ShapeType heads = {64, tokens, 12};
    const auto query = tensor(heads, INPUT), key = tensor(heads, INPUT),
               value = tensor(heads, INPUT);
    const auto inside = [&] { return tensor({}, TRANSIENT); };
    auto scores = inside(), scaled = inside(), weights = inside();
    const auto eighth = RandomData({dtype, Shape({1}), {}}, 0.125, 0.125, 7);
    const auto factor = graph->CreateTensor(TensorSpec(dtype, {1}, CONSTANT), eighth->data());
    graph->CreateOperation<ops::Matmul>(false, true)->BindInputs({query, key}).BindOutput(scores);
    graph->CreateOperation<ops::Multiply>()->BindInputs({scores, factor}).BindOutput(scaled);
    if (masked) {
      const auto sum = inside();
      graph->CreateOperation<ops::Add>()
          ->BindInputs({scaled, tensor({tokens, tokens}, INPUT)})
          .BindOutput(sum);
      scaled = sum;
    }
    graph->CreateOperation<ops::Softmax>(1.0f, 0)->BindInput(scaled).BindOutput(weights);
    graph->CreateOperation<ops::Matmul>()
        ->BindInputs({weights, value})
        .BindOutput(tensor(heads, OUTPUT));
    return graph;
  };
  const auto whole = build("on"), apart = build("off");
  InTurns(state, *whole, *apart, 4.0 * 64 * 12 * tokens * tokens);
}

/// A mean of squared differences, or the softmax of a sum, over lines of 1024: in one launch,
/// beside a graph that wants what is between as an output of its own, so that there are two.
void FrontRow(benchmark::State& state, bool softmax, uint32_t lines) {
  const auto context = Context::Create();
  const auto build = [&](TensorAttribute between) {
    const auto graph = context->CreateGraph();
    const ShapeType shape = {1024, lines};
    const auto x = Float(*graph, shape, INPUT), y = Float(*graph, shape, INPUT);
    auto last = Float(*graph, shape, softmax ? between : TRANSIENT);
    if (softmax) {
      graph->CreateOperation<ops::Add>()->BindInputs({x, y}).BindOutput(last);
      graph->CreateOperation<ops::Softmax>(1.0f, 0)->BindInput(last).BindOutput(
          Float(*graph, shape, OUTPUT));
      return graph;
    }
    graph->CreateOperation<ops::Sub>()->BindInputs({x, y}).BindOutput(last);
    const auto square = Float(*graph, shape, between);
    graph->CreateOperation<ops::Square>()->BindInput(last).BindOutput(square);
    graph->CreateOperation<ops::ReduceMean>(std::vector<int32_t>{0}, false)
        ->BindInput(square)
        .BindOutput(Float(*graph, {lines}, OUTPUT));
    return graph;
  };
  const auto whole = build(TRANSIENT), apart = build(OUTPUT);
  InTurns(state, *whole, *apart, 0);
}

/// A row for each case that an op marks for benchmarks; for an op that marks none, its largest case
/// in float32, else its largest.
class Registrar : public CaseMaker {
 public:
  explicit Registrar(const OpDef& def) : def_(def) {}
  const OpDef& def() const override { return def_; }
  void Add(Case c) override {
    if (c.bench) {
      marked_ = true;
      return Row(std::move(c));
    }
    bool is_float = true;
    int64_t count = 0;
    for (const CaseTensor& t : c.inputs) {
      if (t.type.dtype == DataType::UNKNOWN) continue;
      is_float = is_float && t.type.dtype == DataType::FLOAT32;
      count += t.type.count();
    }
    const std::pair<bool, int64_t> rank = {is_float, count};
    if (largest_.inputs.empty() || rank > rank_) rank_ = rank, largest_ = std::move(c);
  }
  /// All cases were added.
  void End() {
    if (!marked_ && !largest_.inputs.empty()) Row(std::move(largest_));
  }

 private:
  void Row(Case c) {
    std::string name(def_.name), before = "/";
    for (const CaseTensor& t : c.inputs) {
      name += before + (t.type.dtype == DataType::UNKNOWN ? "-" : t.type.ToString());
      before = " ";
    }
    benchmark::RegisterBenchmark(
        name.c_str(), [def = &def_, c](benchmark::State& s) { RunOne(s, *def, c, -1, false); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }

  const OpDef& def_;
  bool marked_ = false;
  Case largest_;
  std::pair<bool, int64_t> rank_;
};

}  // namespace
}  // namespace tim::vx::bench

int main(int argc, char** argv) {
  using namespace tim::vx;
  // Before the first OpenCL call: PoCL reads these once. Workers stay on different cores;
  // --threads=1 keeps to one.
  setenv("POCL_AFFINITY", "1", 0);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--threads=", 10) == 0) {
      setenv("POCL_MAX_PTHREAD_COUNT", argv[i] + 10, 1);
    } else if (std::strncmp(argv[i], "--plugin=", 9) == 0) {
      bench::AddPlugin(argv[i] + 9);
    } else {
      continue;
    }
    std::move(argv + i + 1, argv + argc, argv + i);
    --argc, --i;
  }
  benchmark::RegisterBenchmark("FmaPeak/one_core", bench::FmaPeakRow);
  const AttrMap conv = {{"stride", std::vector<int64_t>{1, 1}},
                        {"dilation", std::vector<int64_t>{1, 1}}};
  struct Shape4 {
    int64_t w, h, c, oc;
  };
  for (const Shape4 s : {Shape4{56, 56, 256, 64}, Shape4{56, 56, 64, 256}, Shape4{28, 28, 512, 128},
                         Shape4{7, 7, 2048, 512}}) {
    bench::RegisterEach(fmt::format("Conv2d1x1/{}->{}@{}x{}", s.c, s.oc, s.w, s.h).c_str(),
                        "Conv2d", conv, {s.w, s.h, s.c, 1}, {1, 1, s.c, s.oc}, {s.oc});
  }
  for (const int64_t batch : {1, 8, 64}) {
    bench::RegisterEach(fmt::format("FullyConnected/1024->1000@batch{}", batch).c_str(),
                        "FullyConnected", {{"axis", int64_t{0}}}, {1024, batch}, {1024, 1000},
                        {1000});
  }
  for (const uint32_t tokens : {16, 128, 512, 1024, 2048}) {
    for (const bool masked : {false, true}) {
      for (const DataType dtype : {DataType::FLOAT32, DataType::FLOAT16}) {
        const char* const half = dtype == DataType::FLOAT16 ? "/f16" : "";
        benchmark::RegisterBenchmark(
            fmt::format("Attention/{}{}{}", tokens, masked ? "/mask" : "", half).c_str(),
            [=](benchmark::State& s) { bench::AttentionRow(s, dtype, tokens, masked); })
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
  for (const bool softmax : {false, true}) {
    for (const uint32_t lines : {64, 1024, 16384}) {
      benchmark::RegisterBenchmark(
          fmt::format("Front/{}/{}", softmax ? "softmax" : "mean", lines).c_str(),
          [=](benchmark::State& s) { bench::FrontRow(s, softmax, lines); })
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
  using List = std::vector<int64_t>;
  // In float32, float16, i8 and i16.
  const auto windows = [](const std::string& name, const char* kind, const AttrMap& attrs,
                          const Shape& x, const Shape& w, const Shape& b) {
    for (const auto& [type, of] : {std::pair(DataType::FLOAT32, ""),
                                   {DataType::FLOAT16, " f16"},
                                   {DataType::INT8, " i8"},
                                   {DataType::INT16, " i16"}})
      bench::RegisterEach(("Windows/" + name + of).c_str(), kind, attrs, x, w, b, type);
  };
  windows("Conv1d 3 64->64@1024", "Conv1d", {{"pad", List{1, 1}}}, {1024, 64, 1}, {3, 64, 64},
          {64});
  windows("Conv3d 3x3x3 16->32@32x32x32", "Conv3d", {{"pad", List{1, 1, 1, 1, 1, 1}}},
          {32, 32, 32, 16, 1}, {3, 3, 3, 16, 32}, {32});
  for (const Shape4 s : {Shape4{56, 56, 128, 32}, Shape4{56, 56, 256, 32}, Shape4{14, 14, 1024, 32},
                         Shape4{28, 28, 240, 3}}) {  // oc: groups
    windows(fmt::format("GroupedConv2d 3x3 {} in {}@{}x{}", s.c, s.oc, s.w, s.h), "GroupedConv2d",
            {{"pad", List{1, 1, 1, 1}}, {"group", s.oc}}, {s.w, s.h, s.c, 1},
            {3, 3, s.c / s.oc, s.c}, {s.c});
  }
  for (const int64_t k : {2, 3, 4}) {
    windows(fmt::format("DeConv2d {}x{} stride 2 64->32@32x32", k, k), "DeConv2d",
            {{"stride", List{2, 2}}, {"pad", List(4, k / 2 - k / 4)}}, {32, 32, 64, 1},
            {k, k, 64, 32}, {32});
  }
  windows("DeConv1d 16 stride 8 256->128@256", "DeConv1d",
          {{"stride", int64_t{8}}, {"pad", List{4, 4}}}, {256, 256, 1}, {16, 256, 128}, {128});
  windows("Conv1d depthwise 31 256@512", "Conv1d",
          {{"multiplier", int64_t{1}}, {"pad", List{15, 15}}}, {512, 256, 1}, {31, 256, 1}, {256});
  for (const auto& def : bench::Ops().All()) {
    if (def->cases == nullptr) continue;
    bench::Registrar registrar(*def);
    def->cases(registrar);
    registrar.End();
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
