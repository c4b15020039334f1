// Work-groups that stay on the device from Run to Run, residents and helpers, where something
// fails: a Resize, a call of OpenCL, an allocation. And that they leave a thread to others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/opencl/run/seats.h"
#include "layers/fault_layer.h"
#include "layers/host_memory.h"
#include "layers/layer_access.h"
#include "support/api_support.h"
#include "support/delayer.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/reduce.h"
#include "tim/vx/profile.h"

namespace tim::vx::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr int kOften = 8;

enum class Form { kHelped, kResident };

/// max_j relu(a_i * b_j): memory of length^2 elements between an input and an output that are
/// small.
struct Products {
  GraphPtr graph;
  TensorPtr a, b, y;
  uint32_t length;

  explicit Products(Form form, uint32_t count = 64) : length(count) {
    CompileOption options;
    options.SetOption("opencl", "inline", form == Form::kHelped ? "on" : "off");
    if (form == Form::kHelped) options.SetOption("opencl", "helpers", "on");
    if (form == Form::kResident) options.SetOption("opencl", "resident", "on");
    graph = SharedContext()->CreateGraph(options);
    a = Input(graph, {1, count}), b = Input(graph, {count, 1}), y = Output(graph, {});
    auto products = Between(graph), positive = Between(graph);
    Bind<ops::Multiply>(graph, {a, b}, {products});
    Bind<ops::Relu>(graph, {products}, {positive});
    Bind<ops::ReduceMax>(graph, {positive}, {y}, std::vector<int32_t>{0}, false);
  }
  bool Resize(uint32_t count) {
    if (!graph->Resize({{1, count}, {count, 1}})) return false;
    length = count;
    return true;
  }
  /// Whether there is a result, and not that of an earlier Run.
  bool Run() {
    ++runs_;
    std::vector<float> ones(length, 1), values(length);
    for (uint32_t i = 0; i < length; ++i) values[i] = static_cast<float>(i % 50 + runs_);
    EXPECT_TRUE(Write(a, values) && Write(b, ones));
    if (!graph->Run()) return false;
    EXPECT_EQ(Read(y, length), values) << "Run " << runs_;
    return true;
  }
  /// Runs that follow each other closely, so that whoever stays is there.
  void RunOften() const {
    for (int run = 0; run < kOften; ++run)
      EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
  }
  void ExpectRun() { EXPECT_TRUE(Run()) << graph->LastStatus().message(); }

 private:
  uint32_t runs_ = 0;
};

class StaysTest : public ::testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    ASSERT_NE(arm_, nullptr) << "wants OPENCL_LAYERS set, as ctest does";
    ASSERT_TRUE(SharedContext()->LastStatus().ok()) << SharedContext()->LastStatus().message();
    Products warm(GetParam());
    ASSERT_TRUE(warm.graph->Compile()) << warm.graph->LastStatus().message();
    const std::string note = warm.graph->Report().parts.at(0).note;
    const char* const words = GetParam() == Form::kResident ? "; resident on" : "with a helper";
    if (note.find(words) == std::string::npos) GTEST_SKIP() << note;
  }
  void EveryCallMayFail(uint32_t length) const;
  const timcl_fault_arm_fn arm_ = FindInLayers<timcl_fault_arm_fn>("timcl_fault_arm");
  const timcl_fault_arm_from_fn arm_from_ =
      FindInLayers<timcl_fault_arm_from_fn>("timcl_fault_arm_from");
  const timcl_fault_hits_fn hits_ = FindInLayers<timcl_fault_hits_fn>("timcl_fault_hits");
};
INSTANTIATE_TEST_SUITE_P(All, StaysTest, ::testing::Values(Form::kHelped, Form::kResident),
                         [](const auto& of) {
                           return of.param == Form::kHelped ? "Helped" : "Resident";
                         });

/// Its memory is not the last plan's any more when the work-group is told to leave.
TEST_P(StaysTest, AResizeThatFails) {
  Products products(GetParam(), 520);  // enough memory to go back to the system
  for (int round = 0; round < 3; ++round) {
    products.RunOften();
    EXPECT_FALSE(products.Resize(200000));
    EXPECT_EQ(products.graph->LastStatus().code(), Code::kOutOfMemory)
        << products.graph->LastStatus().message();
    for (int run = 0; run < 3; ++run) products.ExpectRun();
    ASSERT_TRUE(products.Resize(530 + static_cast<uint32_t>(round)));
  }
  products.ExpectRun();
}

TEST_P(StaysTest, AnyAllocationOfAResizeMayFail) {
  int failures = 0;
  bool hit = true;
  for (int n = 0; hit; n += 1 + n / 30) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 1000000);
    Products products(GetParam(), 520);
    products.RunOften();
    const std::vector<ShapeType> shapes = {{1, 530}, {530, 1}};
    timcl_host_memory::Arm(n);
    const bool resized = products.graph->Resize(shapes);
    hit = timcl_host_memory::Hits() > 0;
    timcl_host_memory::Arm(-1);
    if (resized) {
      products.length = 530;
    } else {
      EXPECT_TRUE(hit) << products.graph->LastStatus().message();
      EXPECT_EQ(products.graph->LastStatus().code(), Code::kOutOfMemory)
          << products.graph->LastStatus().message();
      ++failures;
    }
    for (int run = 0; run < 2; ++run) products.ExpectRun();
  }
  EXPECT_GT(failures, 50);
}

/// Calls of OpenCL that fail while the work-group is there, comes or leaves: no Run is right that
/// did not run, and the next one works.
void StaysTest::EveryCallMayFail(uint32_t length) const {
  Products products(GetParam(), length);
  products.ExpectRun();
  for (const char* kind : {"enqueue", "wait"}) {
    for (const bool for_good : {false, true}) {
      bool hit = true;
      for (int n = 0; hit; ++n) {
        SCOPED_TRACE(std::to_string(length) + " " + kind + " " + std::to_string(n) +
                     (for_good ? " and all that follow" : ""));
        ASSERT_LT(n, 1000);
        products.RunOften();
        ASSERT_EQ((for_good ? arm_from_ : arm_)(kind, n), 0);
        for (int run = 0; run < 5; ++run) {
          if (run == 2) std::this_thread::sleep_for(2ms);  // it leaves
          if (products.Run()) continue;
          EXPECT_GT(hits_(), 0) << products.graph->LastStatus().message();
          EXPECT_THAT(products.graph->LastStatus().message(), HasSubstr("CL_"));
        }
        hit = hits_() > 0;
        arm_("none", 0);
        for (int run = 0; run < 2; ++run) products.ExpectRun();
      }
    }
  }
}

TEST_P(StaysTest, EveryCallOfAShortRunMayFail) { EveryCallMayFail(64); }
/// Longer than the caller watches the work-group.
TEST_P(StaysTest, EveryCallOfALongRunMayFail) { EveryCallMayFail(4096); }
/// A caller whose helper does not get on waits more than once, and the last time may fail: the next
/// Run is not the rest of this one.
TEST_P(StaysTest, ARunMayFailWhileAWorkerIsHeldUp) {
  const Delayer delayer(1ms, 2ms);
  Products products(GetParam(), 300);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    products.RunOften();
    arm_from_("wait", round % 4);
    for (int run = 0; run < 4; ++run) (void)products.Run();
    arm_("none", 0);
    products.ExpectRun();
  }
}

/// Launches that `run` makes.
template <class Run>
int64_t LaunchesOf(const Run& run) {
  const int64_t before = Snapshot().enqueue_kernel;
  run();
  return Snapshot().enqueue_kernel - before;
}

std::shared_ptr<opencl::Device> OpenDevice() {
  auto choice = opencl::ChooseDevice("", "");
  if (!choice.ok()) return nullptr;
  auto device = opencl::Device::Open(choice->chosen());
  return device.ok() ? *device : nullptr;
}

/// Two threads of the device: where somebody stays on one, the other is left to others.
TEST_P(StaysTest, AThreadIsLeftToOthers) {
  const auto device = OpenDevice();
  ASSERT_NE(device, nullptr);
  if (device->caps().compute_units != 2) GTEST_SKIP() << "the number of threads was not heeded";
  Products products(GetParam(), 1000);
  products.ExpectRun();
  uint32_t word = 1;
  opencl::Seats mine;
  while (!mine.Take(*device, 1, &word, 0)) std::this_thread::sleep_for(1ms);
  // A helper would be one launch more; a resident one for all Runs.
  for (int i = 0; i < 10; ++i) EXPECT_EQ(LaunchesOf([&] { products.RunOften(); }), kOften);
  EXPECT_FALSE(opencl::Seats().Take(*device, 1, &word, 0));
  // Where nobody has it, it is taken as soon as the system lets both sides run.
  word = 0;
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    while (!stop) products.RunOften();
  });
  bool taken = false;
  for (int i = 0; i < 10000 && !taken; ++i) {
    std::this_thread::sleep_for(1ms);
    uint32_t there = 1;
    taken = !opencl::Seats().Take(*device, 1, &there, 0);
  }
  stop = true;
  caller.join();
  EXPECT_TRUE(taken);
  // It leaves, and does not know.
  word = 1;
  bool left = false;
  for (int i = 0; i < 10000 && !left; ++i) {
    std::this_thread::sleep_for(1ms);
    left = mine.Take(*device, 1, &word, 0);
  }
  EXPECT_TRUE(left);
}

TEST(Seats, OfAllOwnersOfADevice) {
  (void)SharedContext();  // which asks PoCL for its devices, and for the caller's thread
  auto choice = opencl::ChooseDevice("", "");
  if (!choice.ok()) GTEST_SKIP() << choice.status().message();
  opencl::DeviceEntry entry = choice->chosen();
  entry.caps.compute_units = 100;
  // Contexts open devices of their own, with the same threads.
  const auto one = opencl::Device::Open(entry), other = opencl::Device::Open(entry);
  ASSERT_TRUE(one.ok() && other.ok());
  uint32_t a = 1, b = 1;
  opencl::Seats first;
  EXPECT_FALSE(first.Take(**one, 100, &a, 0));
  EXPECT_TRUE(first.Take(**one, 99, &a, 0));
  EXPECT_TRUE(first.Take(**one, 90, &a, 0)) << "in the place of what it had";
  {
    opencl::Seats second;
    EXPECT_FALSE(second.Take(**other, 10, &b, 0));
    EXPECT_TRUE(second.Take(**other, 9, &b, 0));
  }
  opencl::Seats second, third;
  EXPECT_TRUE(second.Take(**other, 9, &b, 7));
  EXPECT_FALSE(third.Take(**one, 5, &a, 0));
  a = 7;
  EXPECT_FALSE(third.Take(**one, 5, &a, 0)) << "the first's word is 0 when it has left";
  b = 7;
  EXPECT_TRUE(third.Take(**one, 5, &a, 0));
}

}  // namespace
}  // namespace tim::vx::test
