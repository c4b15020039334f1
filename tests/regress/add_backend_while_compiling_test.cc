// AddBackend while a graph compiles moved the list of backends under the compiler's feet, though a
// Context promises that all its members may be called by several threads.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "support/api_support.h"
#include "support/host_backend.h"
#include "tim/vx/ops/activations.h"

namespace tim::vx::test {
namespace {

/// Takes nothing; does something when it is asked.
class Asked : public HostBackend {
 public:
  explicit Asked(std::string name, std::function<void()> when = nullptr)
      : HostBackend(std::move(name)), when_(std::move(when)) {}
  Status Partition(const GraphView&, Selection*) override {
    ++times;
    if (when_) when_();
    return Status();
  }
  std::atomic<int> times{0};

 private:
  std::function<void()> when_;
};

void ExpectRuns(const std::shared_ptr<Context>& context) {
  auto graph = context->CreateGraph();
  Bind<ops::Relu>(graph, {Input(graph, {4})}, {Output(graph, {4})});
  EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
}

TEST(Regress, ABackendAddedWhileAGraphCompilesServesTheNextGraph) {
  auto context = NewHostContext();
  auto late = std::make_shared<Asked>("late");
  auto first = std::make_shared<Asked>("first", [&] {
    if (late.use_count() == 1) {
      EXPECT_TRUE(context->AddBackend(late, 20).ok());
    }
  });
  ASSERT_TRUE(context->AddBackend(first, 10).ok());
  ExpectRuns(context);
  EXPECT_EQ(first->times, 1) << "the list moved by one";
  EXPECT_EQ(late->times, 0);
  ExpectRuns(context);
  EXPECT_EQ(first->times, 2);
  EXPECT_EQ(late->times, 1);
}

TEST(Regress, AddBackendInSeveralThreads) {
  auto context = NewHostContext();
  std::vector<std::thread> threads;
  std::atomic<int> added{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        // Each name comes from two threads; one of them is refused.
        const std::string name = std::to_string(t / 2) + "." + std::to_string(i);
        added += context->AddBackend(std::make_shared<Asked>(name), i).ok();
        ExpectRuns(context);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(added, 16);
}

}  // namespace
}  // namespace tim::vx::test
