// What the run half asks of OpenCL: one synchronisation per run, nothing allocated after the first;
// and a Status, no leak and a working next run whichever call fails.
#include "layers/fault_layer.h"
#include "layers/layer_access.h"
#include "run_fixture.h"

namespace tim::vx::opencl {
namespace {

const char* const kSource =
    "__kernel void f(__read_only image2d_t x, __global const float* c, __write_only image2d_t y) "
    "{\n"
    "  int2 at = (int2)(get_global_id(0), 0);\n"
    "  write_imagef(y, at, read_imagef(x, at).x + c[at.x]);\n"
    "}\n";

/// x + c in memory of the user's, which has no room for the headers of images.
struct Work {
  std::shared_ptr<Device> device;
  std::shared_ptr<PartitionPlan> plan;
  std::unique_ptr<PartitionKernel> kernel;
  alignas(64) float x[4] = {1, 2, 3, 4};
  std::shared_ptr<base::Storage> in = base::Storage::Wrap(x, sizeof x);
  std::shared_ptr<base::Storage> out = base::Storage::Allocate(16);

  explicit Work(const DeviceEntry& entry) : entry_(entry) {
    plan = std::make_shared<PartitionPlan>();
    SetPrograms(plan.get(), {UserText(kSource, "f", true)});
    auto c = std::make_shared<std::vector<std::byte>>(16);
    const float values[4] = {10, 20, 30, 40};
    std::memcpy(c->data(), values, sizeof values);
    plan->constants.push_back({nullptr, c, F32({4})});
    plan->launches = {LaunchOf(
        0,
        {ArgOf(Arg::Kind::kInput, 0), ArgOf(Arg::Kind::kConstant, 0), ArgOf(Arg::Kind::kOutput, 0)},
        {4})};
  }
  /// Everything that is not there yet, then one run.
  Status Run() {
    if (device == nullptr) {
      TIMCL_ASSIGN(device, Device::Open(entry_));
    }
    if (kernel == nullptr) {
      TIMCL_ASSIGN(auto session, Session::Create(device));
      BuiltPrograms kernels;
      BuildStats stats;
      ProgramCache programs(device, {});
      TIMCL_TRY(programs.Build(plan->programs, "", &kernels, &stats));
      kernel::Io io;
      io.inputs = {BufferOf(F32({4}), in.get(), "x")};
      io.outputs = {BufferOf(F32({4}), out.get(), "y")};
      auto made = std::make_unique<PartitionKernel>(session, plan, kernels);
      TIMCL_TRY(made->Prepare(io));
      kernel = std::move(made);
    }
    TIMCL_TRY(kernel->Execute());
    return kernel->Wait();
  }

 private:
  DeviceEntry entry_;
};

class Layers : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_NE(FindInLayers<timcl_count_snapshot_fn>("timcl_count_snapshot"), nullptr)
        << "wants OPENCL_LAYERS set, as ctest does";
    auto choice = ChooseDevice("", "");
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    entry_ = choice->chosen();
    entry_.caps.shared_memory = entry_.caps.shared_memory && !GetParam();
  }
  DeviceEntry entry_;
};
INSTANTIATE_TEST_SUITE_P(Memory, Layers, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? std::string("Copies") : std::string("Shared");
});

TEST_P(Layers, OneSynchronisationAndNoAllocation) {
  Work work(entry_);
  ASSERT_TRUE(work.Run().ok());
  for (int round = 0; round < 2; ++round) {
    work.x[0] = static_cast<float>(round);
    const timcl_counts before = Snapshot();
    ASSERT_TRUE(work.Run().ok());
    const timcl_counts after = Snapshot();
    EXPECT_EQ(timcl_count_syncs(&after) - timcl_count_syncs(&before), 1);
    EXPECT_EQ(after.create_buffer, before.create_buffer);
    EXPECT_EQ(after.create_sub_buffer, before.create_sub_buffer);
    EXPECT_EQ(after.create_kernel, before.create_kernel);
    EXPECT_EQ(after.enqueue_kernel - before.enqueue_kernel, 1);
    EXPECT_EQ(after.nonblocking_transfer - before.nonblocking_transfer,
              entry_.caps.shared_memory ? 0 : 2);
    EXPECT_EQ(Floats(*work.out)[0], 10.0f + static_cast<float>(round));
  }
}

/// Two launches of one partition.
struct TwoLaunches : Work {
  explicit TwoLaunches(const DeviceEntry& entry) : Work(entry) {
    plan->launches.push_back(plan->launches[0]);
  }
};

TEST_P(Layers, AFailedExecuteWaits) {
  const auto arm = FindInLayers<timcl_fault_arm_fn>("timcl_fault_arm");
  TwoLaunches work(entry_);
  ASSERT_TRUE(work.Run().ok());
  // The first launch is under way by then: its input is copied, then it is enqueued, and its output
  // is copied where it is an image without room for its header.
  ASSERT_EQ(arm("enqueue", 3), 0);
  const timcl_counts before = Snapshot();
  const Status status = work.kernel->Execute();
  EXPECT_EQ(status.code(), Code::kDevice) << status.message();
  arm("none", 0);
  const timcl_counts after = Snapshot();
  EXPECT_GT(after.enqueue_kernel, before.enqueue_kernel);
  EXPECT_EQ(after.finish - before.finish, 1) << "nothing may still write when Execute has failed";
  EXPECT_TRUE(work.Run().ok());
}

TEST_P(Layers, WhatEndsWaits) {
  for (const bool session_alone : {false, true}) {
    Work work(entry_);
    ASSERT_TRUE(work.Run().ok());
    const timcl_counts before = Snapshot();
    if (session_alone) {
      auto session = Session::Create(work.device);
      ASSERT_TRUE(session.ok());
      (*session)->NoteWork();
      session->reset();
    } else {
      ASSERT_TRUE(work.kernel->Execute().ok());
      work.kernel.reset();
    }
    EXPECT_EQ(Snapshot().finish - before.finish, 1);
  }
}

/// After a failed wait nobody knows what has arrived on the device.
TEST_P(Layers, InputsAreSentAgainAfterAFailure) {
  const auto arm = FindInLayers<timcl_fault_arm_fn>("timcl_fault_arm");
  Work work(entry_);
  work.plan->host_inputs = {true};
  work.in = FloatStorage({1, 2, 3, 4});  // not the user's own, which is always sent
  ASSERT_TRUE(work.Run().ok());
  const timcl_counts steady = Snapshot();
  ASSERT_TRUE(work.Run().ok());
  EXPECT_EQ(Snapshot().nonblocking_transfer - steady.nonblocking_transfer,
            entry_.caps.shared_memory ? 0 : 1);
  ASSERT_EQ(arm("wait", 0), 0);
  EXPECT_FALSE(work.Run().ok());
  arm("none", 0);
  const timcl_counts before = Snapshot();
  EXPECT_TRUE(work.Run().ok());
  EXPECT_EQ(Snapshot().nonblocking_transfer - before.nonblocking_transfer,
            entry_.caps.shared_memory ? 0 : 2);
}

TEST_P(Layers, EveryCallMayFail) {
  const auto arm = FindInLayers<timcl_fault_arm_fn>("timcl_fault_arm");
  const auto hits = FindInLayers<timcl_fault_hits_fn>("timcl_fault_hits");
  ASSERT_NE(arm, nullptr);
  ASSERT_NE(hits, nullptr);
  const timcl_counts start = Snapshot();
  for (const char* kind :
       {"setup", "build", "kernel", "buffer", "write", "enqueue", "read", "wait"}) {
    int failures = 0;
    for (int n = 0;; ++n) {
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(n));
      ASSERT_LT(n, 100);
      Work work(entry_);
      ASSERT_EQ(arm(kind, n), 0);
      const Status status = work.Run();
      const bool hit = hits() == 1;
      arm("none", 0);
      EXPECT_EQ(status.ok(), !hit);
      if (!hit) break;
      ++failures;
      EXPECT_TRUE(status.code() == Code::kDevice || status.code() == Code::kOutOfMemory ||
                  status.code() == Code::kKernelBuild)
          << status.message();
      EXPECT_NE(status.message().find("CL_"), std::string::npos) << status.message();
      const Status again = work.Run();
      EXPECT_TRUE(again.ok()) << again.message();
      EXPECT_EQ(Floats(*work.out), (std::vector<float>{11, 22, 33, 44}));
    }
    const bool no_reads = std::string(kind) == "read" && entry_.caps.shared_memory;
    EXPECT_EQ(failures == 0, no_reads) << kind;
  }
  const timcl_counts end = Snapshot();
  EXPECT_EQ(end.live_mem_objects, start.live_mem_objects);
  EXPECT_EQ(end.live_kernels, start.live_kernels);
  EXPECT_EQ(end.live_programs, start.live_programs);
  EXPECT_EQ(end.live_queues, start.live_queues);
  EXPECT_EQ(end.live_contexts, start.live_contexts);
}

}  // namespace
}  // namespace tim::vx::opencl
