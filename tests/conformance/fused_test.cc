// Fused equals unfused: random chains of point-wise ops behind any operator whose kernel can take
// them along, between random encodings, compiled with and without fusion. Integers agree bit for
// bit, floats within a tolerance.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "backends/opencl/compile/unit.h"
#include "support/conformance.h"

namespace tim::vx {
namespace conformance {
namespace {

struct Flags {
  uint64_t seed = 42;
  int chains = 70;
  int only = -1;
};
Flags flags;

/// Encodings that a chain passes through; neighbours differ, so that values are rounded on the way.
std::vector<TensorType> Encodings() {
  using Q = Quantization;
  return {
      {DataType::FLOAT32, {}, Q()},
      {DataType::FLOAT16, {}, Q()},
      {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 0.021f, 101)},
      {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 0.05f, 3)},
      {DataType::INT8, {}, Q(QuantType::ASYMMETRIC, 0.033f, -11)},
      {DataType::INT8, {}, Q(QuantType::DYNAMIC_FIXED_POINT, static_cast<int8_t>(5))},
      {DataType::INT16, {}, Q(QuantType::ASYMMETRIC, 0.0011f, 3)},
  };
}

/// Functions of OpenCL's library differ from call to call of the compiler only where it computes
/// one with other instructions; a chain of smooth functions multiplies that by little.
bool Steep(std::string_view op) {
  static const char* const kSteep[] = {"Exp", "Log",   "Rcp",  "Rsqrt", "Tan",
                                       "Pow", "Erf",   "Selu", "Sqrt",  "ATanh",
                                       "Cos", "ACosh", "ASin", "ACos",  "Sin"};
  return std::any_of(std::begin(kSteep), std::end(kSteep), [&](const char* s) { return op == s; });
}

struct Menu {
  std::vector<NamedCase> anchors;             // one entry per op and case
  std::vector<std::vector<NamedCase>> unary;  // by op
  std::vector<NamedCase> binary;              // ops on two tensors, one entry each
};

Menu MakeMenu() {
  Menu menu;
  for (const auto& def : Registry().All()) {
    if (def->kernels.empty()) continue;
    std::vector<NamedCase> cases;
    for (NamedCase& named : CasesOf(*def)) {
      double elements = 0;
      for (const CaseTensor& t : named.c.inputs) elements += static_cast<double>(t.type.count());
      if (named.c.outputs.size() == 1 && elements < 20000) cases.push_back(std::move(named));
    }
    const bool pointwise = def->pointwise != nullptr;
    if (pointwise && std::strchr(def->inputs, ' ') == nullptr && !Steep(def->name))
      menu.unary.push_back(cases);
    if (pointwise && cases[0].c.inputs.size() == 2 && !Steep(def->name))
      menu.binary.push_back(cases[0]);
    // Point-wise ops are many: as anchors a few stand for all.
    const std::string_view name = def->name;
    if (pointwise && name != "Add" && name != "Multiply" && name != "Relu" && name != "Sigmoid")
      continue;
    menu.anchors.insert(menu.anchors.end(), cases.begin(), cases.end());
  }
  return menu;
}

struct Chain {
  std::string text;
  std::vector<int> results;  // graph outputs: the last value, and those in between that are watched
  size_t length = 0;
};

/// The same chain for the same number, in any graph.
Chain AddChain(TestGraph& graph, const Menu& menu, int number) {
  uint64_t state = Hash(fmt::format("chain {} {}", number, flags.seed));
  auto pick = [&](size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth, MMIX
    return static_cast<size_t>((state >> 33) % n);
  };
  Chain chain;
  // Operators in turn, so that each is an anchor equally often, whatever the number of its cases.
  std::vector<std::string_view> kinds;
  for (const NamedCase& named : menu.anchors) {
    if (kinds.empty() || kinds.back() != named.def->name) kinds.push_back(named.def->name);
  }
  const std::string_view kind = kinds[static_cast<size_t>(number) % kinds.size()];
  std::vector<const NamedCase*> of_kind;
  for (const NamedCase& named : menu.anchors) {
    if (named.def->name == kind) of_kind.push_back(&named);
  }
  const NamedCase& anchor = *of_kind[pick(of_kind.size())];
  const std::vector<TensorType> encodings = Encodings();
  std::vector<int> inputs;
  for (size_t i = 0; i < anchor.c.inputs.size(); ++i) {
    const CaseTensor& t = anchor.c.inputs[i];
    if (t.type.dtype == DataType::UNKNOWN) {
      inputs.push_back(-1);
      continue;
    }
    std::vector<std::byte> data(t.type.bytes());
    FillInput(t, anchor.c.outputs[0], state + i, data.data());
    // One variable input at least, else the whole chain would be folded away.
    inputs.push_back(graph.AddInput(t.type, t.constant && i > 0, data.data()));
  }
  const size_t length = 1 + pick(4);
  int value = graph.AddResult(anchor.c.outputs[0], false);
  if (Status s = graph.AddOp(std::make_shared<OpDef>(*anchor.def), anchor.c.attrs, inputs, {value});
      !s.ok()) {
    ADD_FAILURE() << s.message();
    return chain;
  }
  chain.text = anchor.text;
  for (size_t k = 0; k < length; ++k) {
    const bool last = k + 1 == length;
    for (int attempt = 0; attempt < 20; ++attempt) {
      const bool two = pick(4) == 0;
      const auto& cases = menu.unary[pick(menu.unary.size())];
      const NamedCase& step =
          two ? menu.binary[pick(menu.binary.size())] : cases[pick(cases.size())];
      const TensorType& type = encodings[pick(encodings.size())];
      // Some values in between are results too: fusion must leave those alone.
      const bool output = last || pick(6) == 0;
      const int next = graph.AddResult(type, output);
      std::vector<int> operands = {value};
      if (two) {
        CaseTensor other = {encodings[pick(encodings.size())], false, 0.3, 4, {}};
        other.type.shape = graph.TypeOf(value).shape;
        std::vector<std::byte> data(other.type.bytes());
        FillInput(other, type, state, data.data());
        const int id = graph.AddInput(other.type, pick(2) == 0, data.data());
        operands.insert(pick(2) == 0 ? operands.begin() : operands.end(), id);
      }
      if (!graph.AddOp(std::make_shared<OpDef>(*step.def), step.c.attrs, operands, {next}).ok())
        continue;
      if (output) chain.results.push_back(next);
      chain.text += fmt::format(
          " | {}{}{}{} -> {}", step.def->name, two ? " with another tensor" : "",
          step.c.attrs.Map().size() == 0 ? "" : " ", step.c.attrs.Map().ToText(), TypeText(type));
      value = next;
      ++chain.length;
      break;
    }
  }
  return chain;
}

/// The kernel of each op of a little graph, in the order of the ops, and its last result.
struct Residual {
  std::vector<std::string> kernels;
  std::vector<float> result;
};

/// Two ops over the same inputs, `first` and `second`; their difference or, if `twice`, that of the
/// second from itself; then Relu. The ops' values have this shape and encoding.
Residual RunResidual(const std::shared_ptr<Backend>& device, bool fuse, const TensorType& type,
                     const char* first, const char* second, bool twice = false) {
  TestGraph graph;
  const TensorType f32 = {DataType::FLOAT32, {20, 3}, Quantization()};
  std::vector<float> x(60), y(60);
  for (size_t i = 0; i < 60; ++i) {
    x[i] = static_cast<float>(i % 13) - 6, y[i] = static_cast<float>(i % 7) * 0.5f;
  }
  const int in0 = graph.AddInput(f32, false, x.data()), in1 = graph.AddInput(f32, false, y.data());
  const int a = graph.AddResult(type, false), b = graph.AddResult(type, false);
  const int sum = graph.AddResult(f32, false), out = graph.AddResult(f32, true);
  auto add = [&](const char* name, const std::vector<int>& in, int result) {
    const OpDef& def = *Registry().Find(name);
    const Status s =
        graph.AddOp(std::make_shared<OpDef>(def), CasesOf(def)[0].c.attrs, in, {result});
    EXPECT_TRUE(s.ok()) << s.message();
  };
  if (!twice) add(first, {in0, in1}, a);
  add(second, {in0, in1}, b);
  add("Sub", {twice ? b : a, b}, sum);
  add("Relu", {sum}, out);
  const Status run = graph.Run(device, Registry(), fuse);
  EXPECT_TRUE(run.ok()) << run.message();
  Residual r;
  r.kernels = graph.kernels();
  const auto* data = reinterpret_cast<const float*>(graph.Result(out));
  r.result.assign(data, data + 60);
  return r;
}

TEST(Fusion, ASecondTensorIsReadByTheKernelThatComesLater) {
  const auto device = OpenDevice();
  ASSERT_TRUE(device.ok()) << device.status().message();
  const TensorType f32 = {DataType::FLOAT32, {}, Quantization()};
  const TensorType i8 = {DataType::INT8, {}, Quantization(QuantType::ASYMMETRIC, 0.1f, -7)};
  for (const TensorType& type : {f32, i8}) {
    // The first op's value is there when the second one runs, and not the other way round.
    const Residual fused = RunResidual(*device, true, type, "Add", "Maximum");
    ASSERT_EQ(fused.kernels.size(), 4u);
    EXPECT_EQ(fused.kernels[0].find("fused"), std::string::npos);
    EXPECT_EQ(fused.kernels[1].find("fused"), std::string::npos);
    EXPECT_NE(fused.kernels[2].find("fused into Maximum"), std::string::npos) << fused.kernels[2];
    EXPECT_NE(fused.kernels[3].find("fused into Maximum"), std::string::npos) << fused.kernels[3];
    const Residual separate = RunResidual(*device, false, type, "Add", "Maximum");
    for (const std::string& k : separate.kernels) EXPECT_EQ(k.find("fused"), std::string::npos);
    EXPECT_EQ(fused.result, separate.result);
  }
  // A value that fusion would remove cannot be the second tensor.
  const Residual twice = RunResidual(*device, true, f32, "", "Maximum", true);
  ASSERT_EQ(twice.kernels.size(), 3u);
  EXPECT_EQ(twice.kernels[1].find("fused"), std::string::npos);
  EXPECT_EQ(twice.result, std::vector<float>(60));
}

TEST(Fusion, AConstantOfOneNumber) {
  const auto device = OpenDevice();
  ASSERT_TRUE(device.ok()) << device.status().message();
  const TensorType f32 = {DataType::FLOAT32, {37, 3}, Quantization()};
  const TensorType i8 = {DataType::INT8, {37, 3}, Quantization(QuantType::ASYMMETRIC, 0.1f, -7)};
  const TensorType number = {DataType::FLOAT32, {1}, Quantization()};
  std::vector<float> x(111);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6.25f;
  const float three = 3.0f, half = 0.5f;
  for (const TensorType& type : {f32, i8}) {
    std::vector<std::vector<std::byte>> results;
    for (const bool fuse : {true, false}) {
      TestGraph graph;
      const int in = graph.AddInput(f32, false, x.data());
      const int a = graph.AddInput(number, true, &three), b = graph.AddInput(number, true, &half);
      const int first = graph.AddResult(type, false), second = graph.AddResult(type, false);
      const int out = graph.AddResult(type, true);
      auto add = [&](const char* name, const std::vector<int>& ins, int result) {
        const OpDef& def = *Registry().Find(name);
        const Status s =
            graph.AddOp(std::make_shared<OpDef>(def), CasesOf(def)[0].c.attrs, ins, {result});
        EXPECT_TRUE(s.ok()) << s.message();
      };
      add("Relu", {in}, first);
      add("Sub", {a, first}, second);  // the number first
      add("Multiply", {second, b}, out);
      const Status run = graph.Run(*device, Registry(), fuse);
      ASSERT_TRUE(run.ok()) << run.message();
      for (size_t k : {1, 2})
        EXPECT_EQ(graph.kernels()[k].find("fused") != std::string::npos, fuse) << k;
      const auto* data = static_cast<const std::byte*>(graph.Result(out));
      results.emplace_back(data, data + type.bytes());
      if (type.dtype != DataType::FLOAT32) continue;
      const auto* real = reinterpret_cast<const float*>(data);
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(real[i], (three - std::max(x[i], 0.0f)) * half) << i;
    }
    EXPECT_EQ(results[0], results[1]) << type.ToString();
  }
}

/// Whether this kernel with register tiles of float32 accepts the case.
bool ServedByTiles(const NamedCase& named, std::string_view kernel) {
  TestGraph graph;
  std::vector<int> inputs;
  for (const CaseTensor& t : named.c.inputs) {
    const std::vector<std::byte> zeros(t.type.bytes());
    const bool left_out = t.type.dtype == DataType::UNKNOWN;
    inputs.push_back(left_out ? -1 : graph.AddInput(t.type, t.constant, zeros.data()));
  }
  DeviceCaps caps;
  caps.is_cpu = caps.register_tiles_pay = true;
  int node = -1;
  if (!graph
           .AddOp(std::make_shared<OpDef>(*named.def), named.c.attrs, inputs,
                  {graph.AddResult(named.c.outputs[0], true)}, &node)
           .ok())
    return false;
  const KernelList& kernels = named.def->kernels;
  return std::any_of(kernels.begin(), kernels.end(), [&](const KernelCandidate& candidate) {
    return candidate.name == kernel &&
           opencl::AskKernel(candidate, graph.graph().view(node), caps).ok();
  });
}

/// Whole and partial vectors of the register tiles: every case that they serve, in float32, float16
/// or u8, minus another tensor.
TEST(Fusion, RegisterTilesReadASecondTensor) {
  const auto device = OpenDevice();
  ASSERT_TRUE(device.ok()) << device.status().message();
  TestGraph fused, unfused;
  std::vector<int> results;
  std::vector<std::string> lines;
  const OpDef& sub = *Registry().Find("Sub");
  constexpr struct {
    const char *name, *kernel;
    DataType type = DataType::FLOAT32, bias = DataType::FLOAT32;
  } kServed[] = {{"Conv2d", "tile"},
                 {"FullyConnected", "tile"},
                 {"Conv1d", "window"},
                 {"DeConv2d", "window"},
                 {"DeConv2d", "window", DataType::FLOAT16, DataType::FLOAT16},
                 {"DeConv2d", "window bytes", DataType::UINT8, DataType::INT32}};
  for (const auto& [name, kernel, type, bias] : kServed) {
    for (const NamedCase& named : CasesOf(*Registry().Find(name))) {
      bool of_types = named.c.outputs[0].dtype == type && !named.c.bench;
      for (const CaseTensor& t : named.c.inputs)
        of_types = of_types && (t.type.dtype == type || t.type.dtype == bias ||
                                t.type.dtype == DataType::UNKNOWN);
      if (!of_types || !ServedByTiles(named, kernel)) continue;
      for (TestGraph* g : {&fused, &unfused}) {
        std::vector<int> inputs;
        for (const CaseTensor& t : named.c.inputs) {
          std::vector<std::byte> data(t.type.bytes());
          FillInput(t, named.c.outputs[0], Hash(named.text) + inputs.size(), data.data());
          const bool left_out = t.type.dtype == DataType::UNKNOWN;
          inputs.push_back(left_out ? -1 : g->AddInput(t.type, t.constant, data.data()));
        }
        const int middle = g->AddResult(named.c.outputs[0], false);
        ASSERT_TRUE(
            g->AddOp(std::make_shared<OpDef>(*named.def), named.c.attrs, inputs, {middle}).ok());
        CaseTensor other = {g->TypeOf(middle), false, -4, 4, {}};
        std::vector<std::byte> data(other.type.bytes());
        FillInput(other, other.type, 7, data.data());
        const int y = g->AddInput(other.type, false, data.data());
        const int out = g->AddResult(named.c.outputs[0], true);
        ASSERT_TRUE(
            g->AddOp(std::make_shared<OpDef>(sub), CasesOf(sub)[0].c.attrs, {middle, y}, {out})
                .ok());
        if (g == &fused) results.push_back(out), lines.push_back(named.text);
      }
    }
  }
  const Status with = fused.Run(*device, Registry(), true);
  ASSERT_TRUE(with.ok()) << with.message();
  const Status without = unfused.Run(*device, Registry(), false);
  ASSERT_TRUE(without.ok()) << without.message();
  ASSERT_GE(results.size(), 5u);
  for (size_t k = 0; k < results.size(); ++k) {
    EXPECT_NE(fused.kernels()[2 * k + 1].find("fused"), std::string::npos) << lines[k];
    const auto damage = fused.Damage(results[k]);
    EXPECT_FALSE(damage) << *damage << "\n  " << lines[k];
    const auto wrong = Compare(fused.TypeOf(results[k]), unfused.Result(results[k]),
                               fused.Result(results[k]), Tolerance::Exact());
    EXPECT_FALSE(wrong) << *wrong << "\n  " << lines[k];
  }
}

TEST(Fusion, FusedEqualsUnfused) {
  const auto device = OpenDevice();
  ASSERT_TRUE(device.ok()) << device.status().message();
  const Menu menu = MakeMenu();
  ASSERT_FALSE(menu.anchors.empty());
  ASSERT_FALSE(menu.unary.empty());
  TestGraph fused, unfused;
  std::vector<Chain> chains;
  size_t steps = 0;
  for (int n = 0; n < flags.chains; ++n) {
    if (flags.only >= 0 && n != flags.only) continue;
    Chain a = AddChain(fused, menu, n), b = AddChain(unfused, menu, n);
    ASSERT_EQ(a.text, b.text);
    ASSERT_EQ(a.results, b.results);
    a.text = fmt::format("chain {}: {}\n  repeat: --chain={} --seed={}", n, a.text, n, flags.seed);
    steps += a.length;
    chains.push_back(std::move(a));
  }
  const Status with = fused.Run(*device, Registry(), true);
  ASSERT_TRUE(with.ok()) << with.message();
  const Status without = unfused.Run(*device, Registry(), false);
  ASSERT_TRUE(without.ok()) << without.message();
  auto taken_along = [](const TestGraph& g) {
    return static_cast<size_t>(
        std::count_if(g.kernels().begin(), g.kernels().end(),
                      [](const std::string& k) { return k.find("fused") != std::string::npos; }));
  };
  EXPECT_EQ(taken_along(unfused), 0u);
  // Else this test would compare like with like.
  if (flags.only < 0) {
    EXPECT_GT(taken_along(fused), steps / 3);
  }
  std::cout << taken_along(fused) << " of " << steps << " point-wise ops were fused in "
            << chains.size() << " chains\n";
  for (const Chain& chain : chains) {
    for (int v : chain.results) {
      const auto damage = fused.Damage(v);
      EXPECT_FALSE(damage) << *damage << "\n  " << chain.text;
      const auto wrong =
          Compare(fused.TypeOf(v), unfused.Result(v), fused.Result(v), Tolerance::Ulp(8, 0, 1e-6));
      EXPECT_FALSE(wrong) << *wrong << "\n  " << chain.text;
    }
  }
}

}  // namespace

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  CLI::App app("Chains of operators, fused and unfused.");
  app.add_option("--seed", flags.seed, "of the chains and their inputs");
  app.add_option("--chains", flags.chains, "how many");
  app.add_option("--chain", flags.only, "only this one");
  CLI11_PARSE(app, argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace conformance
}  // namespace tim::vx

int main(int argc, char** argv) { return tim::vx::conformance::Main(argc, argv); }
