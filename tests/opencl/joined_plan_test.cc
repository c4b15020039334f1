// Plans whose work-groups wait for each other's finished work, in one launch or as helpers of the
// caller's thread, or for the next Run: with a worker that is held up, with more graphs than cores,
// on a single core, and with a process that is killed on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/api_support.h"
#include "support/delayer.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/pool2d.h"
#include "tim/vx/ops/reshape.h"
#include "tim/vx/ops/simple_operations.h"
#include "tim/vx/ops/unidirectional_sequence_rnn.h"
#include "tim/vx/profile.h"

namespace tim::vx::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr uint32_t kSide = 24, kChannels = 16;
/// Of a recurrent layer over what the others compute, large enough to be shared at each of its
/// steps.
constexpr uint32_t kUnits = 131, kFeatures = 96;
constexpr uint32_t kSteps = kSide / 2 * (kSide / 2) * kChannels / kFeatures;
constexpr size_t kResults = kUnits * kSteps;

std::vector<float> Numbers(size_t count, int seed) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i)
    v[i] = static_cast<float>((static_cast<int>(i) * 37 + seed * 11) % 101 - 50) / 50;
  return v;
}

/// How the launches of a network become one.
enum class Form { kApart, kJoined, kHelped, kHelpedAtTimes, kHelpedEarly, kResident };

CompileOption OptionsOf(Form form) {
  CompileOption options;
  const bool in_caller =
      form == Form::kHelped || form == Form::kHelpedAtTimes || form == Form::kHelpedEarly;
  options.SetOption("opencl", "inline", in_caller ? "on" : "off");
  options.SetOption("opencl", "workers", "all");
  if (form == Form::kHelped) options.SetOption("opencl", "helpers", "on");
  if (form == Form::kHelpedEarly) options.SetOption("opencl", "helpers", "early");
  if (form == Form::kResident) options.SetOption("opencl", "resident", "on");
  if (form == Form::kApart) options.SetOption("opencl", "one_kernel", "off");
  return options;
}

/// Four convolutions, each of which needs all of the one before; a residual sum; a pooling; a
/// recurrent layer, whose work-groups wait for each other on their own.
struct Network {
  GraphPtr graph;
  TensorPtr x, y;
  Form form;
  Network(const std::shared_ptr<Context>& context, Form wanted) : form(wanted) {
    graph = context->CreateGraph(OptionsOf(form));
    x = Input(graph, {kSide, kSide, kChannels, 1});
    y = Output(graph, {kUnits, 1, kSteps});
    auto pooled = Between(graph), sequence = Between(graph);
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
        .BindOutput(pooled);
    Bind<ops::Reshape>(graph, {pooled}, {sequence}, std::vector<uint32_t>{kFeatures, 1, kSteps});
    const TensorPtr none = graph->CreateTensorPlaceHolder();
    std::vector<float> input = Numbers(kFeatures * kUnits, 5), own = Numbers(kUnits * kUnits, 6);
    for (float& w : input) w *= 0.01f;
    for (float& w : own) w *= 0.1f;
    Bind<ops::UnidirectionalSequenceRnn>(graph,
                                         {sequence, Constant(graph, {kFeatures, kUnits}, input),
                                          Constant(graph, {kUnits, kUnits}, own), none, none, none},
                                         {Output(graph, {kUnits, 1}), y},
                                         ops::UnidirectionalSequenceRnn::kTANH, true);
  }
  /// Why its launches are not one; "": they are.
  std::string WhyNotJoined() const {
    if (!graph->Compile()) return graph->LastStatus().message();
    const std::string& note = graph->Report().parts.at(0).note;
    const char* const words = form == Form::kJoined     ? "launches in one kernel"
                              : form == Form::kResident ? "resident on the main device"
                                                        : "; with ";
    return note.find(words) != std::string::npos ? "" : "not joined: " + note;
  }
  std::vector<float> Run(int seed) {
    Write(x, Numbers(kSide * kSide * kChannels, seed));
    if (!graph->Run()) ADD_FAILURE() << graph->LastStatus().message();
    return Read(y, kResults);
  }
};

/// What the launches one by one give.
std::vector<std::vector<float>> Wanted(const std::shared_ptr<Context>& context, int seeds) {
  Network apart(context, Form::kApart);
  std::vector<std::vector<float>> results;
  for (int seed = 0; seed < seeds; ++seed) results.push_back(apart.Run(seed));
  return results;
}

class JoinedPlan : public ::testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL device is used";
    // The device may have one core, or be no CPU.
    if (const std::string why = Network(SharedContext(), GetParam()).WhyNotJoined(); !why.empty())
      GTEST_SKIP() << why;
  }
};

TEST_P(JoinedPlan, AWorkerThatIsHeldUp) {
  constexpr int kSeeds = 3;
  const auto wanted = Wanted(SharedContext(), kSeeds);
  Network joined(SharedContext(), GetParam());
  ASSERT_EQ(joined.WhyNotJoined(), "");
  const Delayer delayer(3ms);
  // The delayer counts: what is tested happened.
  for (int round = 0; round < 100000 && (round < 20 || Delayer::held_up < 20); ++round)
    ASSERT_EQ(joined.Run(round % kSeeds), wanted[round % kSeeds]) << round;
  EXPECT_GE(Delayer::held_up, 20);
}

TEST_P(JoinedPlan, MoreGraphsThanCores) {
  constexpr int kRounds = 25;
  const size_t graphs = 3 * std::max(2u, std::thread::hardware_concurrency());
  const auto wanted = Wanted(SharedContext(), kRounds);
  std::vector<std::string> wrong(graphs, "did not end");
  std::vector<std::thread> threads;
  for (size_t g = 0; g < graphs; ++g) {
    threads.emplace_back([&, g] {
      Network network(SharedContext(), GetParam());
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

/// Lets all threads of the process run on the first of its CPUs alone, or on all again.
class Cores {
 public:
  Cores() {
    sched_getaffinity(0, sizeof all_, &all_);
    CPU_ZERO(&one_);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one_) == 0; ++cpu)
      if (CPU_ISSET(cpu, &all_)) CPU_SET(cpu, &one_);
  }
  ~Cores() { All(); }
  void All() const { SetAll(all_); }
  void One() const { SetAll(one_); }

 private:
  static void SetAll(const cpu_set_t& set) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
      sched_setaffinity(std::stoi(task.path().filename()), sizeof set, &set);
  }
  cpu_set_t all_, one_;
};

/// Workers run one after the other, in slices of time.
TEST_P(JoinedPlan, OnOneCore) {
  const auto wanted = Wanted(SharedContext(), 4);
  Network joined(SharedContext(), GetParam());
  ASSERT_EQ(joined.WhyNotJoined(), "");
  const Cores cores;
  cores.One();
  for (int round = 0; round < 40; ++round) EXPECT_EQ(joined.Run(round % 4), wanted[round % 4]);
}

/// Workers that are at it, in the midst of a layer of whatever kind, find themselves on one core.
TEST_P(JoinedPlan, MovedToOneCore) {
  const auto wanted = Wanted(SharedContext(), 4);
  Network joined(SharedContext(), GetParam());
  ASSERT_EQ(joined.WhyNotJoined(), "");
  const Cores cores;
  for (int round = 0; round < 100; ++round) {
    cores.All();
    for (int run = 0; run < 10; ++run) ASSERT_TRUE(joined.graph->Run());
    std::thread mover([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(round * 7 % 400));
      cores.One();
    });
    for (int run = 0; run < 4; ++run) EXPECT_EQ(joined.Run(run), wanted[run]) << round;
    mover.join();
  }
}

/// Nothing that the killed one left (files of caches, locks) keeps the next one from its work.
TEST_P(JoinedPlan, AProcessKilledOnTheWay) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, as a fork has no driver
  for (const auto pause : {5ms, 40ms}) {
    EXPECT_EXIT(
        {
          Network joined(SharedContext(), GetParam());
          joined.Run(0);
          std::thread([pause] {
            std::this_thread::sleep_for(pause);
            raise(SIGKILL);
          }).detach();
          for (int round = 0;; ++round) joined.Run(round % 7);
        },
        ::testing::KilledBySignal(SIGKILL), "");
  }
  Network joined(SharedContext(), GetParam());
  ASSERT_EQ(joined.WhyNotJoined(), "");
  EXPECT_EQ(joined.Run(3), Wanted(SharedContext(), 4)[3]);
}

std::string NameOf(const ::testing::TestParamInfo<Form>& form) {
  switch (form.param) {
    case Form::kApart:
      return "Apart";
    case Form::kJoined:
      return "Joined";
    case Form::kHelped:
      return "Helped";
    case Form::kHelpedAtTimes:
      return "HelpedAtTimes";
    case Form::kHelpedEarly:
      return "HelpedEarly";
    case Form::kResident:
      return "Resident";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(All, JoinedPlan,
                         ::testing::Values(Form::kJoined, Form::kHelped, Form::kHelpedEarly,
                                           Form::kResident),
                         NameOf);

/// Helpers and residents stay from Run to Run, so these are about what happens between two of them.
using PlanThatStays = JoinedPlan;
INSTANTIATE_TEST_SUITE_P(All, PlanThatStays,
                         ::testing::Values(Form::kHelped, Form::kHelpedAtTimes, Form::kHelpedEarly,
                                           Form::kResident),
                         NameOf);

/// Helpers "at times" are those of a graph without the option: they come after a few Runs, if they
/// are of use.
TEST_P(PlanThatStays, OneRunAfterTheOtherAndPauses) {
  constexpr int kSeeds = 5;
  const auto wanted = Wanted(SharedContext(), kSeeds);
  Network network(SharedContext(), GetParam());
  ASSERT_EQ(network.WhyNotJoined(), "");
  for (int round = 0; round < 3000; ++round) {
    ASSERT_EQ(network.Run(round % kSeeds), wanted[round % kSeeds]) << round;
    // Some are there, some are about to leave, some have left.
    if (round % 100 == 99) std::this_thread::sleep_for(std::chrono::microseconds(round % 700));
  }
}

/// Pauses about as long as they wait: what is posted in the moment in which they leave is not lost.
TEST_P(PlanThatStays, AroundTheMomentOfLeaving) {
  constexpr int kSeeds = 5;
  const auto wanted = Wanted(SharedContext(), kSeeds);
  Network network(SharedContext(), GetParam());
  ASSERT_EQ(network.WhyNotJoined(), "");
  for (int round = 0; round < 3000; ++round) {
    ASSERT_EQ(network.Run(round % kSeeds), wanted[round % kSeeds]) << round;
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(round * 131);
    while (std::chrono::steady_clock::now() < until) {
    }
  }
}

/// What lies elsewhere in the next Run is not read, or written, where it was.
TEST_P(PlanThatStays, MemoryThatMoves) {
  constexpr size_t kCount = kSide * kSide * kChannels;
  auto graph = SharedContext()->CreateGraph(OptionsOf(GetParam()));
  alignas(64) static std::array<std::array<float, kCount>, 2> in;
  alignas(64) static std::array<std::array<float, kCount>, 3> out;
  for (int i = 0; i < 2; ++i) std::ranges::copy(Numbers(kCount, i), in[i].begin());
  const ShapeType shape = {kSide, kSide, kChannels, 1};
  auto x = graph->CreateIOTensor(TensorSpec(DataType::FLOAT32, shape, TensorAttribute::INPUT),
                                 in[0].data());
  auto y = graph->CreateIOTensor(TensorSpec(DataType::FLOAT32, shape, TensorAttribute::OUTPUT),
                                 out[0].data());
  std::vector<float> weights(kChannels * kChannels);
  for (size_t c = 0; c < kChannels; ++c) weights[c * (kChannels + 1)] = 2;
  TensorPtr at = x;
  for (int layer = 0; layer < 2; ++layer) {
    auto twice = Between(graph);
    graph
        ->CreateOperation<ops::Conv2d>(PadType::SAME, std::array<uint32_t, 2>{1, 1},
                                       std::array<uint32_t, 2>{1, 1})
        ->BindInputs({at, Constant(graph, {1, 1, kChannels, kChannels}, weights)})
        .BindOutput(twice);
    at = twice;
  }
  Bind<ops::Add>(graph, {at, x}, {y});
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  ASSERT_THAT(graph->Report().parts.at(0).note,
              HasSubstr(GetParam() == Form::kResident ? "resident on" : "; with "));
  for (size_t round = 0; round < 300; ++round) {
    const size_t from = round % 2, to = round % 3;
    void* before = nullptr;
    ASSERT_TRUE(x->SwapHandle(in[from].data(), false, &before));
    ASSERT_TRUE(y->SwapHandle(out[to].data(), false, &before));
    ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
    for (size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(out[to][i], 4 * in[from][i] + in[from][i]) << round << " " << i;
    out[(round + 1) % 3].fill(0);
    // Until a helper is there when the memory changes.
    for (int run = 0; run < 12; ++run) ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  }
}

/// Those of one graph do not keep another one on the main device from its work, nor the profile.
TEST_P(PlanThatStays, BesideOthers) {
  constexpr int kSeeds = 3;
  const auto wanted = Wanted(SharedContext(), kSeeds);
  Network joined(SharedContext(), Form::kJoined), stays(SharedContext(), GetParam());
  ASSERT_EQ(joined.WhyNotJoined(), "");
  ASSERT_EQ(stays.WhyNotJoined(), "");
  for (int round = 0; round < 60; ++round) {
    EXPECT_EQ(stays.Run(round % kSeeds), wanted[round % kSeeds]);
    EXPECT_EQ(joined.Run(round % kSeeds), wanted[round % kSeeds]);
    if (round % 20 == 7) {
      EXPECT_GT(stays.graph->Profile(1).ops.size(), 4u);
    } else if (round % 20 == 13) {
      EXPECT_TRUE(stays.graph->Compile());
    }
  }
}

/// The report says why a graph that asks for it is not resident.
TEST(Resident, OrTheReason) {
  if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL device is used";
  const auto note = [](const CompileOption& options) {
    auto graph = SharedContext()->CreateGraph(options);
    auto a = Between(graph), b = Between(graph);
    Bind<ops::Relu>(graph, {Input(graph, {4})}, {a});
    Bind<ops::Square>(graph, {a}, {b});
    Bind<ops::Relu>(graph, {b}, {Output(graph, {4})});
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    return graph->Report().parts.at(0).note;
  };
  EXPECT_THAT(note(OptionsOf(Form::kResident)),
              AnyOf(HasSubstr("; resident on the main device"),
                    HasSubstr("not resident: the device has one thread"),
                    HasSubstr("not resident: the host and the device")));
  EXPECT_THAT(note(OptionsOf(Form::kResident).SetOption("opencl", "one_kernel", "off")),
              HasSubstr("not resident: option 'one_kernel' is off"));
  EXPECT_THAT(note(OptionsOf(Form::kResident).Pin("Square", "reference")),
              HasSubstr("not resident: there are 2 partitions"));
}

/// A child of fork() has nobody to send away.
TEST_P(PlanThatStays, AChildOfAFork) {
  auto stays = std::make_unique<Network>(SharedContext(), GetParam());
  ASSERT_EQ(stays->WhyNotJoined(), "");
  stays->Run(0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    stays.reset();
    _exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(stays->Run(1), Wanted(SharedContext(), 2)[1]);
}

}  // namespace
}  // namespace tim::vx::test
