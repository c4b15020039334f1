// The first Context::Create() of a process, called by several threads at once, crashed in the
// driver or found no device: each try is a process of its own, in which nobody has asked for
// devices yet.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tim/vx/context.h"

namespace {

[[noreturn]] void CreateByEightThreads() {
  constexpr int kThreads = 8;
  std::atomic<int> ready{0}, opened{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ++ready;
      while (ready.load() < kThreads) std::this_thread::yield();
      const auto context = tim::vx::Context::Create();
      if (context->LastStatus().ok()) {
        ++opened;
      } else {
        std::fprintf(stderr, "%s\n", context->LastStatus().message().c_str());
      }
    });
  }
  for (std::thread& t : threads) t.join();
  std::_Exit(opened.load() == kThreads ? 0 : 1);
}

TEST(RegressDeathTest, FirstContextFromManyThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process each time
  for (int attempt = 0; attempt < 3; ++attempt)
    EXPECT_EXIT(CreateByEightThreads(), testing::ExitedWithCode(0), "");
}

}  // namespace
