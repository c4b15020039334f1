// A thousand rounds of create, compile, run and destroy hold memory flat.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIMCL_SANITIZED 1
#endif

namespace tim::vx::test {
namespace {

constexpr int64_t kLimitKib = 512;

/// What the process holds, of all threads. Not the resident set: how much of what was freed goes
/// back to the system depends on the machine's cores and load.
int64_t HeldKib() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>((info.uordblks + info.hblkhd) / 1024);
}

void OneRound(const std::shared_ptr<Context>& context, int round) {
  auto graph = context->CreateGraph();
  auto x = Input(graph, {64, 4});
  auto y = Output(graph, {});
  auto a = Between(graph);
  auto b = Between(graph);
  auto w = Constant(graph, {64, 32}, std::vector<float>(64 * 32, 0.25f));
  Bind<ops::FullyConnected>(graph, {x, w}, {a}, 0u);
  Bind<ops::Relu>(graph, {a}, {b});
  Bind<ops::Add>(graph, {b, Constant(graph, {1}, {1})}, {y});
  const std::vector<float> ones(64 * 4, 1.0f);
  ASSERT_TRUE(Write(x, ones));
  ASSERT_TRUE(graph->Run()) << "round " << round << ": " << graph->LastStatus().message();
  ASSERT_EQ(Read(y, 128)[127], 17.0f);
}

void ExpectFlat(const char* what, int warm_up, int rounds,
                const std::function<void(int)>& one_round) {
  for (int i = 0; i < warm_up; ++i) one_round(i);
  const int64_t before = HeldKib();
  ASSERT_GT(before, 0);
  for (int i = 0; i < rounds && !testing::Test::HasFatalFailure(); ++i) one_round(i);
  const int64_t after = HeldKib();
  std::printf("%s: %lld KiB after %d rounds, %lld KiB after %d more: %+lld KiB\n", what,
              static_cast<long long>(before), warm_up, static_cast<long long>(after), rounds,
              static_cast<long long>(after - before));
  EXPECT_LT(after - before, kLimitKib);
}

class MemoryTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef TIMCL_SANITIZED
    GTEST_SKIP()
        << "under a sanitizer freed memory is kept for a while, so the figure says nothing";
#endif
    ASSERT_TRUE(SharedContext()->LastStatus().ok()) << SharedContext()->LastStatus().message();
  }
};

TEST_F(MemoryTest, AThousandGraphsOfOneContext) {
  ExpectFlat("graphs", 100, 1000, [](int i) { OneRound(SharedContext(), i); });
}

TEST_F(MemoryTest, AThousandGraphsOnTheHost) {
  ContextOptions options;
  options.host_only = true;
  const auto host = Context::Create(options);
  ExpectFlat("graphs on the host", 100, 1000, [&](int i) { OneRound(host, i); });
}

}  // namespace
}  // namespace tim::vx::test
