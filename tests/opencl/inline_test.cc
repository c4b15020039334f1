// Graphs in the caller's thread, on PoCL's second device: the same results, one graph per thread,
// the choice and its reasons. A program of its own, as PoCL shows the device only to who asks
// first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "layers/fault_layer.h"
#include "layers/layer_access.h"
#include "support/api_support.h"
#include "tim/vx/backend.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/custom_base.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/pool2d.h"
#include "tim/vx/ops/simple_operations.h"
#include "tim/vx/ops/softmax.h"
#include "tim/vx/profile.h"

namespace tim::vx::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<Context> ContextWith(InlineDevice device, const std::string& name = "") {
  ContextOptions options;
  options.use_env = false;
  options.use_disk_cache = false;
  options.inline_device = device;
  options.device = name;
  return Context::Create(options);
}

/// The first one asks PoCL for its devices. Another variable of the same name is the user's own.
const std::shared_ptr<Context>& Inline() {
  static const std::shared_ptr<Context> context = [] {
    setenv("POCL_DEVICES", "pthread", 1);
    auto first = ContextWith(InlineDevice::kAllGraphs);
    EXPECT_STREQ(getenv("POCL_DEVICES"), "pthread") << "it is the user's";
    unsetenv("POCL_DEVICES");
    return first;
  }();
  return context;
}
const std::shared_ptr<Context>& Small() {
  static const std::shared_ptr<Context> context =
      (Inline(), ContextWith(InlineDevice::kSmallGraphs));
  return context;
}
const std::shared_ptr<Context>& Main() {
  static const std::shared_ptr<Context> context = (Inline(), ContextWith(InlineDevice::kOff));
  return context;
}

class InlineTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Inline()->LastStatus().ok()) << Inline()->LastStatus().message();
    auto graph = Inline()->CreateGraph();
    Bind<ops::Relu>(graph, {Input(graph, {3})}, {Output(graph, {3})});
    ASSERT_TRUE(graph->Compile());
    if (graph->Report().device.find("inline device for") == std::string::npos)
      GTEST_SKIP() << graph->Report().device;
  }
};

std::string NoteOf(const GraphPtr& graph) { return graph->Report().parts.at(0).note; }

CompileOption With(const std::string& key, const std::string& value) {
  CompileOption options;
  options.SetOption("opencl", key, value);
  return options;
}

std::vector<float> Numbers(size_t count, int seed) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i)
    v[i] = static_cast<float>((static_cast<int>(i) * 37 + seed * 11) % 101 - 50) / 50;
  return v;
}

/// Convolution, pooling, two products, softmax; two outputs, one of which others read too.
struct Network {
  GraphPtr graph;
  TensorPtr x, y, hidden;
  explicit Network(const std::shared_ptr<Context>& context,
                   const CompileOption& options = CompileOption())
      : graph(context->CreateGraph(options)) {
    x = Input(graph, {9, 9, 2, 1});
    hidden = Output(graph, {20, 1});
    y = Output(graph, {7, 1});
    auto sums = Between(graph), pooled = Between(graph), scaled = Between(graph),
         logits = Between(graph);
    graph
        ->CreateOperation<ops::Conv2d>(PadType::SAME, std::array<uint32_t, 2>{1, 1},
                                       std::array<uint32_t, 2>{1, 1})
        ->BindInputs({x, Constant(graph, {3, 3, 2, 5}, Numbers(90, 1))})
        .BindOutput(sums);
    graph
        ->CreateOperation<ops::Pool2d>(PoolType::MAX, PadType::VALID, std::array<uint32_t, 2>{2, 2},
                                       std::array<uint32_t, 2>{2, 2})
        ->BindInput(sums)
        .BindOutput(pooled);
    graph->CreateOperation<ops::FullyConnected>(2, 20)
        ->BindInputs({pooled, Constant(graph, {80, 20}, Numbers(1600, 2)),
                      Constant(graph, {20}, Numbers(20, 3))})
        .BindOutput(hidden);
    Bind<ops::Tanh>(graph, {hidden}, {scaled});
    graph->CreateOperation<ops::FullyConnected>(0, 7)
        ->BindInputs({scaled, Constant(graph, {20, 7}, Numbers(140, 4))})
        .BindOutput(logits);
    Bind<ops::Softmax>(graph, {logits}, {y}, 1.0f, 0);
  }
  /// "" or what went wrong.
  std::string Run(int seed) {
    Write(x, Numbers(162, seed));
    return graph->Run() ? "" : graph->LastStatus().message();
  }
};

TEST_F(InlineTest, SameResultsOnBothDevicesHoweverLaunched) {
  Network main(Main(), With("one_kernel", "off")), joined(Inline()),
      each(Inline(), With("one_kernel", "off"));
  for (int seed = 0; seed < 3; ++seed) {
    ASSERT_EQ(main.Run(seed), "");
    ASSERT_EQ(joined.Run(seed), "");
    ASSERT_EQ(each.Run(seed), "");
    const auto y = Read(main.y, 7), hidden = Read(main.hidden, 20);
    ASSERT_NEAR(y[0] + y[1] + y[2] + y[3] + y[4] + y[5] + y[6], 1, 1e-5);
    EXPECT_EQ(Read(joined.y, 7), y);
    EXPECT_EQ(Read(joined.hidden, 20), hidden);
    EXPECT_EQ(Read(each.y, 7), y);
    EXPECT_EQ(Read(each.hidden, 20), hidden);
  }
  EXPECT_GT(main.graph->Report().launches, 3u);
  EXPECT_EQ(each.graph->Report().launches, main.graph->Report().launches);
  EXPECT_EQ(joined.graph->Report().launches, 1u);
  EXPECT_EQ(NoteOf(main.graph), "");
  EXPECT_THAT(NoteOf(joined.graph), HasSubstr("inline device, as asked for"));
  EXPECT_THAT(NoteOf(joined.graph), HasSubstr("launches in one kernel"));
  EXPECT_EQ(NoteOf(each.graph), "inline device, as asked for");
}

TEST_F(InlineTest, SmallGraphsGoThereAndLargeOnesDoNot) {
  Network small(Small());
  ASSERT_TRUE(small.graph->Compile()) << small.graph->LastStatus().message();
  EXPECT_THAT(NoteOf(small.graph), HasSubstr("inline device: about"));
  auto large = Small()->CreateGraph();
  constexpr uint32_t kSide = 1024, kRows = 4096;
  Bind<ops::FullyConnected>(
      large,
      {Input(large, {kSide, kRows}),
       Constant(large, {kSide, kSide}, std::vector<float>(kSide * kSide, 0.5f))},
      {Output(large, {kSide, kRows})}, 0u);
  ASSERT_TRUE(large->Compile()) << large->LastStatus().message();
  EXPECT_THAT(NoteOf(large), HasSubstr("main device: about"));
  Network kept(Small(), With("inline", "off"));
  ASSERT_TRUE(kept.graph->Compile());
  EXPECT_THAT(NoteOf(kept.graph), HasSubstr("main device, as asked for"));
  Network put(Small(), With("inline", "on"));
  ASSERT_TRUE(put.graph->Compile());
  EXPECT_THAT(NoteOf(put.graph), HasSubstr("inline device, as asked for"));
}

TEST_F(InlineTest, NothingChangesForOthers) {
  // The device in front of the others would have been the first, and everybody's default.
  EXPECT_EQ(ContextWith(InlineDevice::kOff, "0")->DeviceName(), Main()->DeviceName());
  EXPECT_EQ(Main()->DeviceName(), Inline()->DeviceName());
  auto graph = Main()->CreateGraph();
  Bind<ops::Relu>(graph, {Input(graph, {3})}, {Output(graph, {3})});
  ASSERT_TRUE(graph->Compile());
  EXPECT_THAT(graph->Report().device, Not(HasSubstr("inline")));
  for (const BackendInfo& b : Main()->Backends()) EXPECT_EQ(b.note, "");
  EXPECT_THAT(Inline()->Backends().at(0).note, HasSubstr("inline device for all graphs"));
  EXPECT_THAT(Small()->Backends().at(0).note, HasSubstr("inline device for small graphs"));
}

TEST_F(InlineTest, GraphsOnThreads) {
  Network main(Main());
  constexpr int kThreads = 6, kRuns = 200;
  std::vector<std::vector<float>> want;
  for (int seed = 0; seed < 4; ++seed) {
    ASSERT_EQ(main.Run(seed), "");
    want.push_back(Read(main.y, 7));
  }
  std::vector<std::string> wrong(kThreads, "did not end");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // Two in each thread; every other thread launches its steps one by one.
      std::vector<Network> networks;
      for (int n = 0; n < 2; ++n)
        networks.emplace_back(Inline(), With("one_kernel", t % 2 == 0 ? "on" : "off"));
      std::string text;
      for (int run = 0; run < kRuns && text.empty(); ++run) {
        for (Network& network : networks) {
          if (text.empty()) text = network.Run(run % 4);
          if (text.empty() && Read(network.y, 7) != want[static_cast<size_t>(run % 4)])
            text = "wrong result in run " + std::to_string(run);
        }
      }
      wrong[static_cast<size_t>(t)] = text;
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::string& w : wrong) EXPECT_EQ(w, "");
}

TEST_F(InlineTest, OneGraphAfterTheOtherInManyThreads) {
  Network network(Inline());
  for (int t = 0; t < 4; ++t) {
    std::string text = "did not end";
    std::thread([&] { text = network.Run(t); }).join();
    EXPECT_EQ(text, "");
  }
}

TEST_F(InlineTest, ProfileTimesEachLaunch) {
  Network main(Main()), network(Inline());
  ASSERT_EQ(network.Run(1), "");
  const auto want = Read(network.y, 7);
  for (int round = 0; round < 2; ++round) {
    const GraphProfile profile = network.graph->Profile(2);
    const GraphProfile other = main.graph->Profile(2);
    ASSERT_EQ(profile.ops.size(), other.ops.size()) << network.graph->LastStatus().message();
    for (size_t i = 0; i < other.ops.size(); ++i) EXPECT_EQ(profile.ops[i].op, other.ops[i].op);
    EXPECT_EQ(Read(network.y, 7), want);
    ASSERT_EQ(network.Run(1), "");
    EXPECT_EQ(Read(network.y, 7), want);
  }
}

TEST_F(InlineTest, ResizedAndSwapped) {
  auto graph = Inline()->CreateGraph();
  auto x = Input(graph, {4}), y = Output(graph, {}), a = Between(graph);
  Bind<ops::Abs>(graph, {x}, {a});
  Bind<ops::Softmax>(graph, {a}, {y}, 1.0f, 0);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  ASSERT_TRUE(graph->Resize({{8}})) << graph->LastStatus().message();
  Write<float>(x, std::vector<float>(8, 2));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(y, 8), std::vector<float>(8, 0.125f));
  alignas(64) float other[8] = {-1, 1, -1, 1, -1, 1, -1, 1}, result[8] = {};
  void* was = nullptr;
  ASSERT_TRUE(x->SwapHandle(other, false, &was));
  ASSERT_TRUE(y->SwapHandle(result, false, &was));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(std::vector<float>(result, result + 8), std::vector<float>(8, 0.125f));
}

class Twice : public ops::CustomOpBase {
 public:
  explicit Twice(Graph* graph) : CustomOpBase(graph, 1, 1, -1, "tests.twice") {
    kernel_resource_ =
        "__kernel void twice(__global const float* x, __global float* y) {\n"
        "  y[get_global_id(0)] = 2 * x[get_global_id(0)];\n"
        "}\n";
  }
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<Twice>();
  }

 protected:
  void SetupShapeInfor() override { outputs_size_[0] = inputs_size_[0]; }
  void SetupParams(std::vector<DataType>, std::string&) override { func_name_ = "twice"; }
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global, std::vector<size_t>&) override {
    dim = 1;
    global = {4, 0, 0};
  }
};

TEST_F(InlineTest, KernelsOfTheUsersAreLaunchedOneByOne) {
  auto graph = Inline()->CreateGraph();
  auto x = Input(graph, {4}), y = Output(graph, {4}), a = Between(graph, {4});
  Bind<Twice>(graph, {x}, {a});
  Bind<ops::Softmax>(graph, {a}, {y}, 1.0f, 0);
  Write<float>(x, {1, 1, 1, 1});
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(y, 4), std::vector<float>(4, 0.25f));
  EXPECT_THAT(NoteOf(graph), HasSubstr("launches one by one: "));
  EXPECT_THAT(NoteOf(graph), HasSubstr("is a kernel of the user's"));
}

/// Compile() failed when the helpers' program did, and said nothing when the caller's did.
TEST_F(InlineTest, ProgramsThatDoNotBuild) {
  const auto arm = FindInLayers<timcl_fault_arm_fn>("timcl_fault_arm");
  ASSERT_NE(arm, nullptr) << "wants OPENCL_LAYERS set, as ctest does";
  Network main(Main());
  ASSERT_EQ(main.Run(1), "");
  const auto want = Read(main.y, 7);
  const size_t apart = main.graph->Profile(1).ops.size();
  // Calls: create and build for the caller, create and build for the helper.
  for (const int failing : {-1, 1, 2, 3}) {
    SCOPED_TRACE(failing);
    const auto context = ContextWith(InlineDevice::kAllGraphs);  // which has no programs yet
    Network network(context, With("helpers", "on"));
    ASSERT_EQ(failing < 0 ? arm("none", 0) : arm("build", failing), 0);
    ASSERT_TRUE(network.graph->Compile()) << network.graph->LastStatus().message();
    arm("none", 0);
    const std::string note = NoteOf(network.graph);
    const size_t launches = network.graph->Report().launches;
    if (failing < 0 && note.find("with a helper") == std::string::npos)
      GTEST_SKIP() << "no helpers: " << note;
    if (failing == 1) {
      EXPECT_THAT(note, HasSubstr("launches one by one: the joined kernel does not build ("));
      EXPECT_THAT(note, Not(HasSubstr("helper on")));
      EXPECT_GT(launches, 3u);
      EXPECT_LE(launches, apart);
    } else {
      EXPECT_THAT(note, HasSubstr("launches in one kernel; "));
      EXPECT_THAT(note, HasSubstr(failing < 0 ? "with a helper on" : "; no helpers: "));
      EXPECT_EQ(launches, 1u);
    }
    for (int run = 0; run < 3; ++run) {
      ASSERT_EQ(network.Run(1), "");
      EXPECT_EQ(Read(network.y, 7), want);
    }
  }
}

}  // namespace
}  // namespace tim::vx::test
