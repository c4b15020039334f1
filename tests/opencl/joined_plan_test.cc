// Plans of one launch, whose work-groups wait for each other's finished work: with a worker that is
// held up, with more graphs than cores, on a single core, and with a process that is killed on the
// way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/pool2d.h"

namespace tim::vx::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr uint32_t kSide = 24, kChannels = 16;
constexpr size_t kResults = kSide / 2 * (kSide / 2) * kChannels;

std::vector<float> Numbers(size_t count, int seed) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i)
    v[i] = static_cast<float>((static_cast<int>(i) * 37 + seed * 11) % 101 - 50) / 50;
  return v;
}

/// Four convolutions, each of which needs all of the one before; a residual sum; a pooling.
struct Network {
  GraphPtr graph;
  TensorPtr x, y;
  explicit Network(const std::shared_ptr<Context>& context, bool joined = true) {
    CompileOption options;
    if (!joined) options.SetOption("opencl", "one_kernel", "off");
    graph = context->CreateGraph(options);
    x = Input(graph, {kSide, kSide, kChannels, 1});
    y = Output(graph, {kSide / 2, kSide / 2, kChannels, 1});
    TensorPtr at = x;
    for (int layer = 0; layer < 4; ++layer) {
      auto sums = Between(graph), next = Between(graph);
      graph
          ->CreateOperation<ops::Conv2d>(PadType::SAME, std::array<uint32_t, 2>{1, 1},
                                         std::array<uint32_t, 2>{1, 1})
          ->BindInputs({at, Constant(graph, {3, 3, kChannels, kChannels},
                                     Numbers(9 * kChannels * kChannels, layer))})
          .BindOutput(sums);
      if (layer % 2 == 0) {
        Bind<ops::Relu>(graph, {sums}, {next});
      } else {
        Bind<ops::Add>(graph, {sums, at}, {next});
      }
      at = next;
    }
    graph
        ->CreateOperation<ops::Pool2d>(PoolType::MAX, PadType::VALID, std::array<uint32_t, 2>{2, 2},
                                       std::array<uint32_t, 2>{2, 2})
        ->BindInput(at)
        .BindOutput(y);
  }
  /// Why its launches are not one; "": they are.
  std::string WhyNotJoined() const {
    if (!graph->Compile()) return graph->LastStatus().message();
    const std::string& note = graph->Report().parts.at(0).note;
    return note.find("launches in one kernel") != std::string::npos ? "" : "not joined: " + note;
  }
  std::vector<float> Run(int seed) {
    Write(x, Numbers(kSide * kSide * kChannels, seed));
    if (!graph->Run()) ADD_FAILURE() << graph->LastStatus().message();
    return Read(y, kResults);
  }
};

/// What the launches one by one give.
std::vector<std::vector<float>> Wanted(const std::shared_ptr<Context>& context, int seeds) {
  Network apart(context, false);
  std::vector<std::vector<float>> results;
  for (int seed = 0; seed < seeds; ++seed) results.push_back(apart.Run(seed));
  return results;
}

/// Holds up one of the process's other threads after the other, wherever it is just now: a signal
/// whose handler sleeps.
class Delayer {
 public:
  explicit Delayer(std::chrono::microseconds pause) {
    pause_us = static_cast<unsigned>(pause.count());
    struct sigaction action {};
    action.sa_handler = [](int) {
      usleep(pause_us);
      ++held_up;
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, &before_);
    const pid_t caller = gettid();
    thread_ = std::thread([this, caller] {
      for (size_t turn = 0; !stop_; ++turn) {
        std::vector<pid_t> others;
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
          const pid_t id = std::stoi(task.path().filename());
          if (id != caller && id != gettid()) others.push_back(id);
        }
        if (!others.empty()) syscall(SYS_tgkill, getpid(), others[turn % others.size()], SIGUSR1);
        std::this_thread::sleep_for(7ms);  // most of the time nobody sleeps
      }
    });
  }
  ~Delayer() {
    stop_ = true;
    thread_.join();
    std::this_thread::sleep_for(50ms);  // for handlers that still sleep
    sigaction(SIGUSR1, &before_, nullptr);
  }
  static std::atomic<int> held_up;

 private:
  static std::atomic<unsigned> pause_us;
  std::atomic<bool> stop_{false};
  struct sigaction before_ {};
  std::thread thread_;
};
std::atomic<int> Delayer::held_up{0};
std::atomic<unsigned> Delayer::pause_us{0};

class JoinedPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL device is used";
    // The device may have one core, or be no CPU.
    if (const std::string why = Network(SharedContext()).WhyNotJoined(); !why.empty())
      GTEST_SKIP() << why;
  }
};

TEST_F(JoinedPlan, AWorkerThatIsHeldUp) {
  constexpr int kSeeds = 3;
  const auto wanted = Wanted(SharedContext(), kSeeds);
  Network joined(SharedContext());
  ASSERT_EQ(joined.WhyNotJoined(), "");
  const Delayer delayer(3ms);
  // The delayer counts: what is tested happened.
  for (int round = 0; round < 100000 && (round < 20 || Delayer::held_up < 20); ++round)
    ASSERT_EQ(joined.Run(round % kSeeds), wanted[round % kSeeds]) << round;
  EXPECT_GE(Delayer::held_up, 20);
}

TEST_F(JoinedPlan, MoreGraphsThanCores) {
  constexpr int kRounds = 25;
  const size_t graphs = 3 * std::max(2u, std::thread::hardware_concurrency());
  const auto wanted = Wanted(SharedContext(), kRounds);
  std::vector<std::string> wrong(graphs, "did not end");
  std::vector<std::thread> threads;
  for (size_t g = 0; g < graphs; ++g) {
    threads.emplace_back([&, g] {
      Network network(SharedContext());
      std::string all = network.WhyNotJoined();
      for (int i = 0; i < kRounds && all.empty(); ++i) {
        const int seed = (i + static_cast<int>(g)) % kRounds;
        if (network.Run(seed) != wanted[seed]) all = "other results";
      }
      wrong[g] = all;
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::string& w : wrong) EXPECT_EQ(w, "");
}

/// All threads on the first of the CPUs that the process has: workers run one after the other, in
/// slices of time.
TEST_F(JoinedPlan, OnOneCore) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  const auto set_all = [](const cpu_set_t& set) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
      sched_setaffinity(std::stoi(task.path().filename()), sizeof set, &set);
  };
  const auto wanted = Wanted(SharedContext(), 4);
  Network joined(SharedContext());
  ASSERT_EQ(joined.WhyNotJoined(), "");
  set_all(one);
  for (int round = 0; round < 40; ++round) EXPECT_EQ(joined.Run(round % 4), wanted[round % 4]);
  set_all(all);
}

/// Nothing that the killed one left (files of caches, locks) keeps the next one from its work.
TEST_F(JoinedPlan, AProcessKilledOnTheWay) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, as a fork has no driver
  for (const auto pause : {5ms, 40ms}) {
    EXPECT_EXIT(
        {
          Network joined(SharedContext());
          joined.Run(0);
          std::thread([pause] {
            std::this_thread::sleep_for(pause);
            raise(SIGKILL);
          }).detach();
          for (int round = 0;; ++round) joined.Run(round % 7);
        },
        ::testing::KilledBySignal(SIGKILL), "");
  }
  Network joined(SharedContext());
  ASSERT_EQ(joined.WhyNotJoined(), "");
  EXPECT_EQ(joined.Run(3), Wanted(SharedContext(), 4)[3]);
}

}  // namespace
}  // namespace tim::vx::test
