// Plans written by hand, run on the device: arguments, values inside a partition, moved memory,
// errors. Each runs on shared memory and as on a device with memory of its own.
#include "backends/opencl/run/executor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "backends/opencl/run/cl_error.h"
#include "run_fixture.h"

namespace tim::vx::opencl {
namespace {

using testing::HasSubstr;

const char* const kScaleSource =
    "__kernel void scale(__global const float* x, __global float* y, float a, int n) {\n"
    "  int i = get_global_id(0);\n"
    "  if (i < n) y[i] = a * x[i];\n"
    "}\n";
const char* const kAddSource =
    "__kernel void add(__global const float* x, __global const float* c, __global float* y) {\n"
    "  int i = get_global_id(0);\n"
    "  y[i] = x[i] + c[i];\n"
    "}\n";

class Executor : public OnBothMemories {
 protected:
  std::unique_ptr<PartitionKernel> Make(const PartitionPlan& plan) {
    return std::make_unique<PartitionKernel>(session_, std::make_shared<PartitionPlan>(plan),
                                             Build(device_, plan));
  }
  static void Run(PartitionKernel& kernel) {
    Status s = kernel.Execute();
    ASSERT_TRUE(s.ok()) << s.message();
    s = kernel.Wait();
    ASSERT_TRUE(s.ok()) << s.message();
  }
};
INSTANTIATE_TEST_SUITE_P(Memory, Executor, testing::Bool(), OnBothMemories::Name);

/// y = 2 * (3 * x) + c, with 3 * x inside the partition.
PartitionPlan ThreeSteps(size_t n) {
  PartitionPlan plan;
  SetPrograms(&plan, {BuiltInText(kScaleSource, "scale"), UserText(kAddSource, "add")});
  const size_t bytes = n * sizeof(float);
  plan.scratch_bytes = 512 + 2 * 512;
  const auto size = static_cast<int32_t>(n);
  plan.launches = {
      LaunchOf(
          0,
          {ArgOf(Arg::Kind::kInput, 0), InternalArg(512, bytes), ScalarArg(3.0f), ScalarArg(size)},
          {n}),
      LaunchOf(
          0, {InternalArg(512, bytes), InternalArg(1024, bytes), ScalarArg(2.0f), ScalarArg(size)},
          {n}),
      LaunchOf(
          1,
          {InternalArg(1024, bytes), ArgOf(Arg::Kind::kConstant, 0), ArgOf(Arg::Kind::kOutput, 0)},
          {n})};
  plan.launches[0].local = plan.launches[1].local = {8, 1, 1};  // global is rounded up to it
  std::vector<float> c(n);
  for (size_t i = 0; i < n; ++i) c[i] = 100.0f + static_cast<float>(i);
  auto data = std::make_shared<std::vector<std::byte>>(bytes);
  std::memcpy(data->data(), c.data(), bytes);
  plan.constants.push_back({nullptr, data, F32({static_cast<int64_t>(n)})});
  return plan;
}

TEST_P(Executor, ValuesInsideThePartition) {
  constexpr size_t kN = 13;
  auto kernel = Make(ThreeSteps(kN));
  std::vector<float> values(kN), expected(kN);
  for (size_t i = 0; i < kN; ++i) {
    values[i] = static_cast<float>(i) - 5.0f;
    expected[i] = 6.0f * values[i] + 100.0f + static_cast<float>(i);
  }
  auto x = FloatStorage(values), y = FloatStorage(std::vector<float>(kN, NAN));
  auto arena = base::Storage::Allocate(128 + 1536);
  kernel::Io io;
  io.inputs = {BufferOf(F32({kN}), x.get(), "x")};
  io.outputs = {BufferOf(F32({kN}), y.get(), "y")};
  io.scratch = BufferOf({}, arena.get(), "", 128);
  const Status s = kernel->Prepare(io);
  ASSERT_TRUE(s.ok()) << s.message();
  Run(*kernel);
  EXPECT_EQ(Floats(*y), expected);
  EXPECT_TRUE(kernel->Warnings().empty());

  // New contents of the same memory are seen.
  static_cast<float*>(x->data())[2] = 1000.0f;
  x->MarkWritten();
  Run(*kernel);
  EXPECT_EQ(Floats(*y)[2], 6102.0f);
  EXPECT_EQ(kernel->SyncDomain(), session_.get());
}

PartitionPlan OneScale(int32_t n, float factor = 2.0f) {
  PartitionPlan plan;
  SetPrograms(&plan, {BuiltInText(kScaleSource, "scale")});
  plan.launches = {LaunchOf(
      0,
      {ArgOf(Arg::Kind::kInput, 0), ArgOf(Arg::Kind::kOutput, 0), ScalarArg(factor), ScalarArg(n)},
      {static_cast<size_t>(n)})};
  plan.host_inputs = {true};
  return plan;
}

/// A kernel is compiled once for small grids and once for large ones.
TEST_P(Executor, ProgressEndsWhereItSays) {
  if (!device_->entry().compiles_when_run) GTEST_SKIP() << "nothing is left to compile";
  PartitionPlan plan = OneScale(8);
  plan.launches.push_back(plan.launches[0]);
  plan.launches[0].local = plan.launches[1].local = {8, 1, 1};
  plan.launches[1].global = {80000};
  std::vector<std::string> told;
  PartitionKernel kernel(session_, std::make_shared<PartitionPlan>(plan), Build(device_, plan),
                         [&](const std::string& what, size_t done, size_t total) {
                           told.push_back(fmt::format("{} {}/{}", what, done, total));
                         });
  auto x = FloatStorage(std::vector<float>(8, 1)), y = FloatStorage(std::vector<float>(8, 0));
  kernel::Io io;
  io.inputs = {BufferOf(F32({8}), x.get(), "x")};
  io.outputs = {BufferOf(F32({8}), y.get(), "y")};
  const Status s = kernel.Prepare(io);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_THAT(told, testing::ElementsAre("compiling kernels 0/2", "compiling kernels 1/2"));
}

/// There may be no room for a margin around the memory that results go to while kernels are
/// compiled. Its pages are not touched.
TEST_P(Executor, AnOutputAsLargeAsTheDeviceHasThem) {
  if (GetParam()) GTEST_SKIP() << "the device would copy it";
  const size_t limit = device_->caps().max_allocation;
  for (const size_t bytes : {limit, limit - 128, limit - (size_t{64} << 10)}) {
    auto kernel = Make(OneScale(4));
    auto x = FloatStorage({1, 2, 3, 4});
    auto y = base::Storage::Allocate(bytes);
    if (y == nullptr) GTEST_SKIP() << "the host has no " << bytes << " bytes";
    kernel::Io io;
    io.inputs = {BufferOf(F32({4}), x.get(), "x")};
    io.outputs = {BufferOf(F32({static_cast<int64_t>(bytes / sizeof(float))}), y.get(), "y")};
    const Status s = kernel->Prepare(io);
    ASSERT_TRUE(s.ok()) << s.message();
    Run(*kernel);
    EXPECT_EQ(static_cast<const float*>(y->data())[3], 8.0f);
  }
}

TEST_P(Executor, SwappedMemory) {
  auto kernel = Make(OneScale(4));
  auto x = FloatStorage({1, 2, 3, 4}), y = FloatStorage({0, 0, 0, 0});
  kernel::Io io;
  io.inputs = {BufferOf(F32({4}), x.get(), "x")};
  io.outputs = {BufferOf(F32({4}), y.get(), "y")};
  ASSERT_TRUE(kernel->Prepare(io).ok());
  Run(*kernel);
  EXPECT_EQ(Floats(*y), (std::vector<float>{2, 4, 6, 8}));

  alignas(64) float mine[4] = {10, 20, 30, 40};
  alignas(64) float results[4] = {0, 0, 0, 0};
  for (int round = 0; round < 3; ++round) {
    mine[3] += 1;
    void* const before_x = x->SwapPointer(mine);
    void* const before_y = y->SwapPointer(results);
    Run(*kernel);
    EXPECT_EQ(results[0], 20.0f);
    EXPECT_EQ(results[3], 2 * mine[3]);
    x->SwapPointer(before_x);
    y->SwapPointer(before_y);
    static_cast<float*>(x->data())[0] = static_cast<float>(round);
    Run(*kernel);
    EXPECT_EQ(Floats(*y)[0], 2.0f * static_cast<float>(round));
    EXPECT_EQ(results[0], 20.0f) << "memory that was swapped away is left alone";
  }

  auto other = FloatStorage({7, 7, 7, 7});
  x->SwapWith(*other);
  Run(*kernel);
  EXPECT_EQ(Floats(*y), (std::vector<float>{14, 14, 14, 14}));
}

TEST_P(Executor, MoreAddressesThanAreKept) {
  auto kernel = Make(OneScale(1));
  alignas(64) float memory[20][16];
  auto x = base::Storage::Wrap(memory[0], 4);
  auto y = FloatStorage({0});
  kernel::Io io;
  io.inputs = {BufferOf(F32({1}), x.get(), "x")};
  io.outputs = {BufferOf(F32({1}), y.get(), "y")};
  ASSERT_TRUE(kernel->Prepare(io).ok());
  for (int i = 0; i < 60; ++i) {
    float* const place = memory[(i * 7) % 20];
    x->SwapPointer(place);
    *place = static_cast<float>(i);
    Run(*kernel);
    ASSERT_EQ(Floats(*y)[0], 2.0f * static_cast<float>(i));
  }
}

TEST_P(Executor, PartitionsOfOneSessionChain) {
  // x -> t in the first partition, t -> y in the second, without a Wait between; t lies in the
  // arena.
  auto first = Make(OneScale(3, 2.0f)), second = Make(OneScale(3, 5.0f));
  auto plan = OneScale(3, 5.0f);
  plan.host_inputs.clear();
  second = Make(plan);
  auto x = FloatStorage({1, 2, 3}), y = FloatStorage({0, 0, 0});
  auto arena = base::Storage::Allocate(1024);
  const kernel::Buffer t = BufferOf(F32({3}), arena.get(), "t", 384);
  kernel::Io io;
  io.inputs = {BufferOf(F32({3}), x.get(), "x")};
  io.outputs = {t};
  ASSERT_TRUE(first->Prepare(io).ok());
  io.inputs = {t};
  io.outputs = {BufferOf(F32({3}), y.get(), "y")};
  ASSERT_TRUE(second->Prepare(io).ok());
  for (int round = 1; round < 4; ++round) {
    static_cast<float*>(x->data())[0] = static_cast<float>(round);
    x->MarkWritten();
    ASSERT_TRUE(first->Execute().ok());
    Run(*second);
    EXPECT_EQ(Floats(*y), (std::vector<float>{10.0f * static_cast<float>(round), 20, 30}));
  }
  // A step of another backend writes t between the runs, and tells nobody.
  static_cast<float*>(t.Data())[0] = 9.0f;
  Run(*second);
  EXPECT_EQ(Floats(*y)[0], 45.0f);
}

TEST_P(Executor, Errors) {
  auto x = FloatStorage({1, 2}), y = FloatStorage({0, 0});
  kernel::Io io;
  io.inputs = {BufferOf(F32({2}), x.get(), "x")};
  io.outputs = {BufferOf(F32({2}), y.get(), "y")};

  PartitionPlan plan = OneScale(2);
  plan.launches[0].args.pop_back();
  Status s = Make(plan)->Prepare(io);
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_THAT(s.message(),
              HasSubstr("function 'scale' has 4 parameters, but 3 arguments are passed"));

  plan = OneScale(2);
  plan.launches[0].global[0] = 0;
  EXPECT_EQ(Make(plan)->Prepare(io).code(), Code::kInvalidArgument);

  plan = OneScale(2);
  plan.launches[0].local = {device_->caps().max_work_group * 2, 1, 1};
  auto kernel = Make(plan);
  s = kernel->Prepare(io);  // where the driver compiles what runs, it ran there
  if (s.ok()) s = kernel->Execute();
  EXPECT_EQ(s.code(), Code::kDevice);
  EXPECT_THAT(s.message(), HasSubstr("clEnqueueNDRangeKernel failed with CL_INVALID_WORK_"));
  EXPECT_THAT(s.message(), HasSubstr("Test#0"));

  plan = OneScale(2);
  kernel = Make(plan);
  EXPECT_EQ(kernel->Execute().code(), Code::kInternal) << "not prepared";
  kernel::Io lacking = io;
  lacking.outputs.clear();
  EXPECT_EQ(kernel->Prepare(lacking).code(), Code::kInternal);
  ASSERT_TRUE(kernel->Prepare(io).ok());
  Run(*kernel);
  EXPECT_EQ(Floats(*y), (std::vector<float>{2, 4})) << "a failed Prepare harms no later one";
}

TEST_P(Executor, LargestAllocation) {
  DeviceEntry entry = device_->entry();
  entry.caps.max_allocation = 1000;
  auto device = Device::Open(entry);
  ASSERT_TRUE(device.ok());
  auto session = Session::Create(*device);
  ASSERT_TRUE(session.ok());
  const PartitionPlan plan = OneScale(251);
  const BuiltPrograms kernels = Build(*device, plan);
  PartitionKernel kernel(*session, std::make_shared<PartitionPlan>(plan), kernels);
  auto x = base::Storage::Allocate(1004), y = base::Storage::Allocate(1004);
  kernel::Io io;
  io.inputs = {BufferOf(F32({251}), x.get(), "big")};
  io.outputs = {BufferOf(F32({251}), y.get(), "y")};
  const Status s = kernel.Prepare(io);
  EXPECT_EQ(s.code(), Code::kOutOfMemory);
  EXPECT_THAT(s.message(), HasSubstr("input 'big' f32[251] takes 1004 bytes, and the device's "
                                     "largest allocation is 1000"));
  // An arena beyond the limit is no obstacle as long as each value fits.
  auto arena = base::Storage::Allocate(8192);
  std::memcpy(static_cast<std::byte*>(arena->data()) + 1152, std::vector<float>(8, 4.0f).data(),
              32);
  PartitionKernel small(*session, std::make_shared<PartitionPlan>(OneScale(8)), kernels);
  io.inputs = {BufferOf(F32({8}), arena.get(), "x", 1152)};
  io.outputs = {BufferOf(F32({8}), y.get(), "y")};
  const Status fits = small.Prepare(io);
  ASSERT_TRUE(fits.ok()) << fits.message();
  Run(small);
  EXPECT_EQ(Floats(*y)[7], 8.0f);
}

TEST_P(Executor, SessionsOfSeveralThreads) {
  // Built here, so that threads differ only in their sessions and share the programs.
  const auto plan = std::make_shared<PartitionPlan>(OneScale(64));
  const BuiltPrograms kernels = Build(device_, *plan);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, -1);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      auto session = Session::Create(device_);
      if (!session.ok()) return;
      PartitionKernel kernel(*session, plan, kernels);
      auto x = FloatStorage(std::vector<float>(64)), y = FloatStorage(std::vector<float>(64));
      kernel::Io io;
      io.inputs = {BufferOf(F32({64}), x.get(), "x")};
      io.outputs = {BufferOf(F32({64}), y.get(), "y")};
      if (!kernel.Prepare(io).ok()) return;
      int differing = 0;
      for (int round = 0; round < 50; ++round) {
        const auto value = static_cast<float>(100 * t) + static_cast<float>(round);
        for (int i = 0; i < 64; ++i) static_cast<float*>(x->data())[i] = value;
        x->MarkWritten();
        if (!kernel.Execute().ok() || !kernel.Wait().ok()) return;
        for (const float got : Floats(*y)) differing += got != 2 * value;
      }
      wrong[t] = differing;
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST_P(Executor, LocalMemory) {
  PartitionPlan plan;
  SetPrograms(
      &plan,
      {UserText(
          "__kernel void reverse(__global const float* x, __global float* y, __local float* t) {\n"
          "  int i = get_local_id(0), n = get_local_size(0);\n"
          "  t[i] = x[get_global_id(0)];\n"
          "  barrier(CLK_LOCAL_MEM_FENCE);\n"
          "  y[get_global_id(0)] = t[n - 1 - i];\n"
          "}\n",
          "reverse")});
  Arg local;
  local.kind = Arg::Kind::kLocal, local.bytes = 16;
  plan.launches = {
      LaunchOf(0, {ArgOf(Arg::Kind::kInput, 0), ArgOf(Arg::Kind::kOutput, 0), local}, {8})};
  plan.launches[0].local = {4, 1, 1};
  auto kernel = Make(plan);
  auto x = FloatStorage({1, 2, 3, 4, 5, 6, 7, 8}), y = FloatStorage(std::vector<float>(8));
  kernel::Io io;
  io.inputs = {BufferOf(F32({8}), x.get(), "x")};
  io.outputs = {BufferOf(F32({8}), y.get(), "y")};
  ASSERT_TRUE(kernel->Prepare(io).ok());
  Run(*kernel);
  EXPECT_EQ(Floats(*y), (std::vector<float>{4, 3, 2, 1, 8, 7, 6, 5}));
}

TEST(ClError, Names) {
  EXPECT_EQ(ClErrorName(CL_INVALID_WORK_GROUP_SIZE), "CL_INVALID_WORK_GROUP_SIZE");
  EXPECT_EQ(ClErrorName(-9999), "OpenCL error -9999");
  EXPECT_TRUE(ClStatus(CL_SUCCESS, "clFinish", "").ok());
  EXPECT_EQ(ClStatus(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clCreateBuffer", "x").code(),
            Code::kOutOfMemory);
}

}  // namespace
}  // namespace tim::vx::opencl
