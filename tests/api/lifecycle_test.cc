// Who lives how long: contexts, graphs, tensors and operations in every order; several graphs and
// several threads on one context.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/api_support.h"
#include "support/host_backend.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/simple_operations.h"

namespace tim::vx::test {
namespace {

struct Small {
  GraphPtr graph;
  TensorPtr x, y;
  explicit Small(const std::shared_ptr<Context>& context) : graph(context->CreateGraph()) {
    x = Input(graph, {2});
    y = Output(graph, {});
    auto t = Between(graph);
    Bind<ops::Add>(graph, {x, Constant(graph, {1}, {1})}, {t});
    Bind<ops::Neg>(graph, {t}, {y});
  }
  bool Right(float value) {
    return Write<float>(x, {value, 0}) && graph->Run() &&
           Read(y, 2) == std::vector<float>{-value - 1, -1};
  }
};

TEST(LifecycleTest, TheContextMayGoFirst) {
  auto context = Context::Create();
  Small small(context);
  context.reset();
  EXPECT_TRUE(small.Right(3)) << small.graph->LastStatus().message();
  EXPECT_TRUE(small.Right(4));
}

TEST(LifecycleTest, TheGraphMayGoFirst) {
  auto context = Context::Create();
  TensorPtr x, y;
  std::shared_ptr<Operation> op;
  {
    Small small(context);
    ASSERT_TRUE(small.Right(5)) << small.graph->LastStatus().message();
    x = small.x, y = small.y;
    op = small.graph->OpVector()[0];
  }
  context.reset();
  EXPECT_EQ(Read(y, 2), (std::vector<float>{-6, -1})) << "tensors keep their memory";
  EXPECT_TRUE(Write<float>(x, {8, 9}));
  EXPECT_EQ(Read(x, 2), (std::vector<float>{8, 9}));
  alignas(64) static float other[2] = {};
  void* old = nullptr;
  EXPECT_TRUE(x->SwapHandle(other, false, &old));
  EXPECT_STREQ(op->Kind(), "Add");
}

TEST(LifecycleTest, OnlyTheGraphIsKept) {
  auto context = Context::Create();
  GraphPtr graph = Small(context).graph;
  context.reset();
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(graph->OutputsTensor()[0], 2), (std::vector<float>{-1, -1}));
}

TEST(LifecycleTest, UncompiledAndFailedGraphsGoQuietly) {
  auto context = Context::Create();
  { Small never_compiled(context); }
  auto failed = context->CreateGraph();
  Bind<ops::Add>(failed, {Input(failed, {1})}, {Output(failed, {})});
  EXPECT_FALSE(failed->Compile());
  failed.reset();
  EXPECT_TRUE(Small(context).Right(1));
}

TEST(LifecycleTest, SeveralGraphsOnOneContext) {
  auto context = Context::Create();
  std::vector<Small> all;
  for (int i = 0; i < 4; ++i) all.emplace_back(context);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(all[i].Right(static_cast<float>(10 * i + static_cast<size_t>(round))));
    }
  }
  all.erase(all.begin() + 1);
  EXPECT_TRUE(all.front().Right(1));
  EXPECT_TRUE(all.back().Right(2));
}

TEST(LifecycleTest, SeveralContexts) {
  auto a = Context::Create();
  auto b = Context::Create();
  Small in_a(a), in_b(b);
  EXPECT_TRUE(in_a.Right(1));
  a.reset();
  EXPECT_TRUE(in_b.Right(2));
  EXPECT_TRUE(in_a.Right(3));
  EXPECT_FALSE(b->hasSP());
  EXPECT_TRUE(b->isClOnly());
  EXPECT_NE(b->DeviceName(), "");
}

TEST(LifecycleTest, HostOnlyContext) {
  ContextOptions options;
  options.host_only = true;
  auto context = Context::Create(options);
  Small small(context);
  EXPECT_TRUE(small.Right(3)) << small.graph->LastStatus().message();
  for (const OpPlacement& op : small.graph->Report().ops) EXPECT_EQ(op.backend, "reference");
  EXPECT_TRUE(small.graph->Report().warnings.empty()) << "it was asked for, so nothing is amiss";
  EXPECT_EQ(small.graph->Report().syncs, 0u);
}

class Refusing : public HostBackend {
 public:
  explicit Refusing(Status init, bool throws = false)
      : HostBackend("refusing"), init_(std::move(init)), throws_(throws) {}
  Status Init() override {
    if (throws_) throw std::string("not an exception class");
    return init_;
  }
  Status Partition(const GraphView&, Selection*) override { return Status(); }  // takes nothing

 private:
  Status init_;
  bool throws_;
};

TEST(LifecycleTest, AddBackend) {
  auto context = Context::Create();
  EXPECT_EQ(context->AddBackend(nullptr).code(), Code::kInvalidArgument);
  const Status missing = Status::Error(Code::kUnsupported, "the accelerator is not there");
  EXPECT_EQ(context->AddBackend(std::make_shared<Refusing>(missing)).message(), missing.message());
  EXPECT_EQ(context->AddBackend(std::make_shared<Refusing>(Status(), true)).code(),
            Code::kInternal);
  EXPECT_TRUE(context->AddBackend(std::make_shared<Refusing>(Status())).ok());
  EXPECT_EQ(context->AddBackend(std::make_shared<Refusing>(Status())).code(), Code::kAlreadyExists);
  // It takes nothing, and its refusals are told.
  Small small(context);
  EXPECT_TRUE(small.Right(6)) << small.graph->LastStatus().message();
  EXPECT_THAT(testing::PrintToString(small.graph->Report().ops.at(0).refusals),
              testing::HasSubstr("refusing"));
}

TEST(LifecycleTest, ThreadsWithGraphsOfTheirOwn) {
  auto context = Context::Create();
  constexpr int kThreads = 4, kGraphs = 3;
  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<Small> graphs;
      for (int g = 0; g < kGraphs; ++g) graphs.emplace_back(context);
      for (int round = 0; round < 5; ++round) {
        for (int g = 0; g < kGraphs; ++g) {
          Small& small = graphs[static_cast<size_t>(g)];
          if (!small.Right(static_cast<float>(100 * t + 10 * g + round))) {
            wrong[static_cast<size_t>(t)] =
                "thread " + std::to_string(t) + " " + small.graph->LastStatus().message();
          }
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::string& w : wrong) EXPECT_EQ(w, "");
}

TEST(LifecycleTest, ThreadsWithContextsOfTheirOwn) {
  std::vector<int> right(3, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] { right[t] = Small(Context::Create()).Right(7); });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, (std::vector<int>{1, 1, 1}));
}

}  // namespace
}  // namespace tim::vx::test
