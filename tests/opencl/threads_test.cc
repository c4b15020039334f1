// Threads that share a context: under the tsan preset a lock that is missing shows.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/simple_operations.h"

namespace tim::vx::test {
namespace {

/// |x| + k * x for a k of the thread's own, "" or what went wrong.
std::string CompileAndRun(const std::shared_ptr<Context>& context, int k) {
  auto graph = context->CreateGraph();
  auto x = Input(graph, {8}), y = Output(graph, {8}), a = Between(graph), b = Between(graph);
  Bind<ops::Abs>(graph, {x}, {a});
  Bind<ops::Multiply>(graph, {x, Constant(graph, {1}, {static_cast<float>(k)})}, {b});
  Bind<ops::Add>(graph, {a, b}, {y});
  if (!graph->Compile()) return graph->LastStatus().message();
  for (int round = 0; round < 5; ++round) {
    const auto value = static_cast<float>(round - 2);
    Write<float>(x, std::vector<float>(8, value));
    if (!graph->Run()) return graph->LastStatus().message();
    const float want = (value < 0 ? -value : value) + static_cast<float>(k) * value;
    if (Read(y, 8) != std::vector<float>(8, want)) return "wrong result";
  }
  return "";
}

void InThreads(const std::vector<std::shared_ptr<Context>>& contexts) {
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(contexts.size(), "did not end");
  for (size_t t = 0; t < contexts.size(); ++t) {
    threads.emplace_back([&, t] {
      std::string all;
      for (int i = 0; i < 4 && all.empty(); ++i)
        all = CompileAndRun(contexts[t], static_cast<int>(t) * 10 + i);
      wrong[t] = all;
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::string& w : wrong) EXPECT_EQ(w, "");
}

TEST(Threads, GraphsOfOneContext) {
  InThreads(std::vector<std::shared_ptr<Context>>(4, SharedContext()));
}

TEST(Threads, ContextsOfTheirOwn) {
  std::vector<std::shared_ptr<Context>> contexts;
  for (int i = 0; i < 4; ++i) contexts.push_back(Context::Create());
  InThreads(contexts);
}

}  // namespace
}  // namespace tim::vx::test
