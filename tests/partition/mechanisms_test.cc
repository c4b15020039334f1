// What is promised of every way to bring a backend, once for all of them: a C++ Backend, a
// delegate, a vendor's library and a vendor's two libraries, OpenCL. Each takes Add and Relu here,
// and the reference runs the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "delegates/support.h"
#include "support/host_backend.h"

namespace tim::vx::test {
namespace {

namespace fs = std::filesystem;

const std::set<std::string> kTaken = {"Add", "Relu"};

struct Mechanism {
  const char* name;
  const char* backend;  // what reports call it
  /// Adds it to a context that has the reference alone.
  std::function<Status(Context&)> add;
};

Status Load(Context& context, std::initializer_list<const char*> plugins) {
  for (const char* plugin : plugins)
    TIMCL_TRY(context.LoadPlugin(std::string(MADE) + "/" + plugin + ".so"));
  return Status();
}

const Mechanism kMechanisms[] = {
    {"backend", "npu",
     [](Context& c) {
       return c.AddBackend(std::make_shared<HostBackend>("npu", [](const OpView& op) {
         return kTaken.count(std::string(op.kind())) != 0 ? "" : "no such unit";
       }));
     }},
    {"delegate", "npu",
     [](Context& c) { return c.SetDelegate(std::make_shared<TakesKinds>("npu", kTaken)); }},
    {"plugin", "acme", [](Context& c) { return Load(c, {"vendor"}); }},
    {"two_plugins", "acme",
     [](Context& c) {
       return Load(c, {"vendor_dispatch", "vendor_compiler"});
     }},
    {"opencl", "opencl", nullptr},
};

class Mechanisms : public ::testing::TestWithParam<Mechanism> {
 protected:
  Mechanisms() {
    std::string path = (fs::temp_directory_path() / "timcl_mechanisms_XXXXXX").string();
    folder_ = mkdtemp(path.data());
    context_ = Open();
  }
  ~Mechanisms() override { fs::remove_all(folder_); }
  void SetUp() override {
    if (GetParam().add == nullptr && !HasOpenCl())
      GTEST_SKIP() << "TIMCL_DEVICE=reference: no OpenCL";
  }
  /// A context as of a new process.
  std::shared_ptr<Context> Open() const {
    if (GetParam().add == nullptr) return SharedContext();
    ContextOptions options;
    options.host_only = true;
    options.cache_dir = folder_;
    auto context = Context::Create(options);
    const Status added = GetParam().add(*context);
    EXPECT_TRUE(added.ok()) << added.message();
    return context;
  }
  static CompileOption Choices() {
    CompileOption options;
    options.SetFallback(Fallback::kAllow);
    // OpenCL would take these too.
    options.Pin("Neg", "reference").Pin("Abs", "reference");
    return options;
  }
  /// The two runs of what `build` makes: with the mechanism, and by the reference alone.
  using Build = std::function<std::vector<TensorPtr>(Net&)>;
  void ExpectSame(const Build& build, Net* net) {
    const std::vector<TensorPtr> ours = build(*net);
    Net reference(HostContext());
    const std::vector<TensorPtr> expected = build(reference);
    ASSERT_TRUE(net->graph->Run()) << net->graph->LastStatus().message();
    ASSERT_TRUE(reference.graph->Run()) << reference.graph->LastStatus().message();
    for (size_t i = 0; i < ours.size(); ++i)
      EXPECT_THAT(Read(ours[i], 4), ::testing::ElementsAreArray(Read(expected[i], 4))) << i;
    for (const OpPlacement& op : net->graph->Report().ops) {
      if (op.partition < 0) continue;  // another one does its work, too
      EXPECT_EQ(op.backend, kTaken.count(op.kind) != 0 ? GetParam().backend : "reference") << op.op;
    }
  }

  std::string folder_;
  std::shared_ptr<Context> context_;
};
INSTANTIATE_TEST_SUITE_P(All, Mechanisms, ::testing::ValuesIn(kMechanisms),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(Mechanisms, AWholeGraphIsOnePartition) {
  Net net(context_, Choices());
  ExpectSame(
      [](Net& n) {
        auto a = n.Op("Add", {n.x, n.x}, "a");
        auto b = n.Op("Relu", {a}, "b");
        return std::vector{n.Op("Add", {b, n.x}, "c", true)};
      },
      &net);
  EXPECT_EQ(net.graph->Report().partitions, 1u);
}

TEST_P(Mechanisms, OneOperator) {
  Net net(context_, Choices());
  ExpectSame([](Net& n) { return std::vector{n.Op("Relu", {n.x}, "a", true)}; }, &net);
}

TEST_P(Mechanisms, AnotherOperatorInTheMiddle) {
  Net net(context_, Choices());
  ExpectSame(
      [](Net& n) {
        auto a = n.Op("Relu", {n.x}, "a");
        auto b = n.Op("Neg", {a}, "b");
        return std::vector{n.Op("Add", {b, n.x}, "c", true)};
      },
      &net);
  EXPECT_EQ(net.graph->Report().partitions, 3u);
}

TEST_P(Mechanisms, ADiamondWithAnArmThatIsNotTaken) {
  Net net(context_, Choices());
  ExpectSame(
      [](Net& n) {
        auto a = n.Op("Relu", {n.x}, "a");
        auto left = n.Op("Add", {a, n.x}, "left"), right = n.Op("Abs", {a}, "right");
        return std::vector{n.Op("Add", {left, right}, "y", true)};
      },
      &net);
  EXPECT_EQ(net.graph->Report().partitions, 3u);
}

TEST_P(Mechanisms, InnerValuesThatOthersRead) {
  Net net(context_, Choices());
  ExpectSame(
      [](Net& n) {
        auto a = n.Op("Add", {n.x, n.x}, "a", true);  // an output of the graph, too
        auto b = n.Op("Relu", {a}, "b");
        auto c = n.Op("Add", {b, a}, "c");
        auto d = n.Op("Neg", {b}, "d", true);
        return std::vector{a, d, n.Op("Relu", {c}, "e", true)};
      },
      &net);
}

TEST_P(Mechanisms, RandomGraphs) {
  for (unsigned seed = 0; seed < (GetParam().add == nullptr ? 5u : 60u); ++seed) {
    SCOPED_TRACE(seed);
    Net net(context_, Choices());
    ExpectSame(
        [&](Net& n) {
          std::mt19937 random(seed);
          std::vector<TensorPtr> all = {n.x}, outputs;
          const auto any = [&] { return all[random() % all.size()]; };
          for (int i = 0; i < 12; ++i) {
            static const char* const kKinds[] = {"Add", "Relu", "Neg", "Abs"};
            const std::string kind = kKinds[random() % 4];
            const bool output = i == 11 || random() % 5 == 0;
            std::vector<TensorPtr> operands = {any()};
            if (kind == "Add") operands.push_back(any());
            all.push_back(n.Op(kind, operands, "t" + std::to_string(i), output));
            if (output) outputs.push_back(all.back());
          }
          return outputs;
        },
        &net);
  }
}

TEST_P(Mechanisms, StrategiesAndLimits) {
  for (const PartitionStrategy strategy :
       {PartitionStrategy::kConvex, PartitionStrategy::kExecutionOrder,
        PartitionStrategy::kPerOp}) {
    for (const size_t most : {0, 1}) {
      for (const size_t least : {1, 2}) {
        Net net(context_, Choices().SetPartition(strategy, most, least));
        Net reference(HostContext());
        std::vector<TensorPtr> results;
        for (Net* n : {&net, &reference}) {
          auto a = n->Op("Add", {n->x, n->x}, "a");
          auto b = n->Op("Relu", {a}, "b");
          auto c = n->Op("Neg", {b}, "c");
          results.push_back(n->Op("Relu", {c}, "d", true));
          ASSERT_TRUE(n->graph->Run()) << n->graph->LastStatus().message();
        }
        EXPECT_EQ(Read(results[0], 4), Read(results[1], 4));
        const CompileReport& report = net.graph->Report();
        EXPECT_TRUE(report.fallbacks.empty());
        for (const BackendReport& backend : report.backends) {
          if (backend.name != GetParam().backend || GetParam().add == nullptr) continue;
          EXPECT_LE(backend.partitions, most == 0 ? 3 : most);
          EXPECT_GE(backend.ops, backend.partitions * least);
        }
      }
    }
  }
}

TEST_P(Mechanisms, OtherShapes) {
  Net net(context_, Choices());
  auto a = net.Op("Relu", {net.x}, "a");
  auto b = net.Op("Neg", {a}, "b");
  auto y = net.Op("Add", {b, net.x}, "y", true);
  ASSERT_TRUE(net.Compile().ok()) << net.Compile().message();
  for (const uint32_t count : {2u, 7u, 4u}) {
    ASSERT_TRUE(net.graph->Resize({{count}})) << net.graph->LastStatus().message();
    std::vector<float> x(count, -2);
    x[0] = 3;
    Write<float>(net.x, x);
    ASSERT_TRUE(net.graph->Run()) << net.graph->LastStatus().message();
    std::vector<float> expected(count, -2);
    expected[0] = 0;
    EXPECT_THAT(Read(y, count), ::testing::ElementsAreArray(expected));
  }
}

TEST_P(Mechanisms, ASecondProcessGivesTheSame) {
  for (int i = 0; i < 2; ++i) {
    Net net(Open(), Choices());
    ExpectSame(
        [](Net& n) {
          auto a = n.Op("Add", {n.x, n.x}, "a");
          auto b = n.Op("Abs", {a}, "b");
          return std::vector{n.Op("Relu", {b}, "c", true)};
        },
        &net);
  }
}

TEST_P(Mechanisms, MemoryMayChangeBetweenRuns) {
  alignas(64) float first[4] = {1, -1, 2, -2}, second[4] = {-5, 6, -7, 8};
  alignas(64) float out[4] = {}, elsewhere[4] = {};
  auto graph = context_->CreateGraph(Choices());
  auto x = graph->CreateIOTensor(TensorSpec(DataType::FLOAT32, {4}, TensorAttribute::INPUT), first);
  auto y = graph->CreateIOTensor(TensorSpec(DataType::FLOAT32, {4}, TensorAttribute::OUTPUT), out);
  (*graph->CreateOperation("Relu")).BindInput(x).BindOutput(y);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(out, ElementsAre(1, 0, 2, 0));
  void* before = nullptr;
  ASSERT_TRUE(x->SwapHandle(second, false, &before));
  ASSERT_TRUE(y->SwapHandle(elsewhere, false, &before));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(elsewhere, ElementsAre(0, 6, 0, 8));
  EXPECT_THAT(out, ElementsAre(1, 0, 2, 0));
}

TEST_P(Mechanisms, GraphsOnThreads) {
  std::vector<std::thread> threads;
  std::vector<int> right(3, 0);
  for (size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) {
        auto graph = context_->CreateGraph(Choices());
        auto x = Input(graph, {4}), y = Output(graph, {4});
        auto a = Between(graph);
        (*graph->CreateOperation("Add")).BindInputs({x, x}).BindOutput(a);
        (*graph->CreateOperation("Relu")).BindInput(a).BindOutput(y);
        for (int run = 0; run < 10; ++run) {
          const float v = static_cast<float>(t + 1) * static_cast<float>(run);
          Write<float>(x, {v, -v, v, -v});
          if (graph->Run() && Read(y, 4) == std::vector<float>{2 * v, 0, 2 * v, 0}) ++right[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, ::testing::Each(30));
}

TEST_P(Mechanisms, TheContextMayGoBeforeItsGraphs) {
  if (GetParam().add == nullptr) GTEST_SKIP() << "other tests share the context of OpenCL";
  auto net = std::make_unique<Net>(context_, Choices());
  auto y = net->Op("Relu", {net->x}, "y", true);
  ASSERT_TRUE(net->Compile().ok()) << net->Compile().message();
  context_.reset();
  EXPECT_THAT(net->Run(y), ElementsAre(0, 0, 0, 1));
}

}  // namespace
}  // namespace tim::vx::test
