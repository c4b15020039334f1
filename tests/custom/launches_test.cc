// Several launches of one operator, local and scratch memory, work sizes, the device's limits.
#include <numeric>

#include "user_op.h"

namespace custom_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char kSum[] = R"CL(
__kernel void sums(__read_only image2d_t x, __global float* partial, __local float* tile, uint n) {
  uint i = get_global_id(0), k = get_local_id(0);
  tile[k] = i < n ? read_imagef(x, (int2)(i, 0)).x : 0.0f;
  for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k < half_size) tile[k] += tile[k + half_size];
  }
  if (k == 0) partial[get_group_id(0)] = tile[0];
}
__kernel void total(__global const float* partial, __write_only image2d_t y, uint groups) {
  float sum = 0;
  for (uint g = 0; g < groups; ++g) sum += partial[g];
  write_imagef(y, (int2)(0, 0), (float4)(sum));
}
__kernel void twice(__write_only image2d_t y) {
  write_imagef(y, (int2)(0, 0), 2 * read_imagef(y, (int2)(0, 0)));
}
)CL";

using Sizes = std::vector<size_t>;

class SeveralLaunches : public UserKernel {
 protected:
  std::shared_ptr<FreeOp> Free(const char* source, FreeOp::Enqueue enqueue,
                               std::vector<vx::ShapeType> outputs = {{1}}, uint32_t inputs = 1) {
    Plan plan;
    plan.source = source;
    plan.inputs = inputs;
    plan.outputs = std::move(outputs);
    return graph_->CreateOperation<FreeOp>(plan, enqueue);
  }
  /// The message of an operator over one input and one output of four floats.
  std::string Fails(const char* source, FreeOp::Enqueue enqueue,
                    Code code = Code::kInvalidArgument) {
    SetUp();
    Free(source, enqueue)->BindInput(Input<float>({4})).BindOutput(Output<float>({1}));
    EXPECT_EQ(CompileFails(), code);
    return Message();
  }
};

TEST_F(SeveralLaunches, ATreeOfSumsWithScratchAndLocalMemory) {
  constexpr uint32_t kCount = 1000, kGroup = 16;
  const auto enqueue = [](FreeOp& op, uint32_t&, Sizes&, Sizes&) {
    const uint32_t n = op.inputs_size_[0][0], groups = (n + kGroup - 1) / kGroup;
    op.AddLaunch("sums")
        .Input(0)
        .Scratch(0, groups * sizeof(float))
        .Local(kGroup * sizeof(float))
        .Value(n)
        .Items(FreeOp::RoundUp(n, kGroup))
        .Group(kGroup);
    op.AddLaunch("total").Scratch(0, groups * sizeof(float)).Output(0).Value(groups).Items(1);
    op.AddLaunch("twice").Output(0).Items(1);
  };
  // Twice in one graph, over different inputs: scratch is each operator's own.
  const auto a = Input<float>({kCount}), b = Input<float>({37}), ya = Output<float>({1}),
             yb = Output<float>({1});
  Free(kSum, enqueue)->BindInput(a).BindOutput(ya);
  Free(kSum, enqueue)->BindInput(b).BindOutput(yb);
  Compile();
  EXPECT_EQ(graph_->Report().launches, 6u);
  EXPECT_EQ(graph_->Report().syncs, 1u);
  EXPECT_LE(graph_->Report().programs_built, 1u) << "three kernels of one source";
  for (const float scale : {1.0f, -3.0f}) {
    std::vector<float> x(kCount);
    for (uint32_t i = 0; i < kCount; ++i) x[i] = scale * static_cast<float>(i);
    Write(a, x);
    Write(b, std::vector<float>(x.begin(), x.begin() + 37));
    Run();
    EXPECT_THAT(Read<float>(ya, 1), ElementsAre(2 * scale * 499500));
    EXPECT_THAT(Read<float>(yb, 1), ElementsAre(2 * scale * 666));
  }
}

TEST_F(SeveralLaunches, LocalMemoryInTheTuple) {
  const char source[] =
      "__kernel void f(__global const float* x, __global float* y, __local float* tile, int n) {"
      "  int i = get_local_id(0); tile[i] = x[i]; barrier(CLK_LOCAL_MEM_FENCE);"
      "  y[i] = tile[n - 1 - i]; }";
  Plan plan;
  plan.source = source;
  plan.function = "f";
  plan.global = plan.local = {4, 1, 1};
  plan.dim = 1;
  const auto x = Input<float>({4}), y = Output<float>({4});
  Op(plan, vx::ops::LocalMemory(16), 4)->BindInput(x).BindOutput(y);
  Compile();
  Write<float>(x, {1, 2, 3, 4});
  Run();
  EXPECT_THAT(Read<float>(y, 4), ElementsAre(4, 3, 2, 1));
}

TEST_F(SeveralLaunches, LimitsOfTheDeviceAndWorkSizes) {
  const char source[] = "__kernel void f(__global const float* x, __global float* y) {}";
  int calls = 0;
  const auto op = Free(source, [&](FreeOp& self, uint32_t& dim, Sizes& global, Sizes& local) {
    ++calls;
    const vx::ops::DeviceLimits& device = self.Device();
    EXPECT_EQ(device.name, context_->DeviceName());
    EXPECT_GE(device.compute_units, 1u);
    EXPECT_GE(device.max_work_group, 16u);
    EXPECT_GE(device.max_work_items[0], 16u);
    EXPECT_GE(device.local_memory, 16384u);
    EXPECT_GE(device.max_allocation, 1u << 20);
    EXPECT_GE(device.opencl_version, 120);
    EXPECT_EQ(FreeOp::RoundUp(7, 3), 9u);
    EXPECT_EQ(FreeOp::RoundUp(9, 3), 9u);
    self.SetWorkItems(vx::ShapeType{5, 3, 2, 7}, dim, global, local);
    EXPECT_EQ(dim, 3u);
    EXPECT_THAT(global, ElementsAre(5, 3, 14));
    EXPECT_THAT(local, Each(0u));
    for (const size_t n : {1u, 3u, 1000u}) {
      self.SetWorkItems(n, dim, global, local);
      EXPECT_EQ(dim, 1u);
      EXPECT_GE(global[0], n);
      EXPECT_LT(global[0], n + local[0]);
      EXPECT_EQ(global[0] % local[0], 0u);
      EXPECT_LE(local[0], device.max_work_group);
    }
  });
  op->BindInput(Input<float>({4})).BindOutput(Output<float>({1}));
  EXPECT_FALSE(graph_->Compile()) << "no kernel is named";
  EXPECT_EQ(calls, 1);
}

TEST_F(SeveralLaunches, MoreThanTheDeviceHas) {
  EXPECT_THAT(Fails(
                  kSum,
                  [](FreeOp& op, uint32_t&, Sizes&, Sizes&) {
                    op.AddLaunch("sums").Input(0).Scratch(0, 4).Local(size_t{1} << 40).Value(1u);
                  },
                  Code::kUnsupported),
              ::testing::AllOf(HasSubstr("kernel function 'sums'"),
                               HasSubstr("1099511627776 bytes of local memory")));
  EXPECT_THAT(Fails(kSum,
                    [](FreeOp& op, uint32_t&, Sizes&, Sizes&) {
                      const size_t group = op.Device().max_work_group * 2;
                      op.AddLaunch("twice").Output(0).Items(group, 1).Group(group, 1);
                    }),
              HasSubstr("launch 'twice'"));
}

TEST_F(SeveralLaunches, MistakesOfAnAuthor) {
  EXPECT_THAT(Fails(kSum, [](FreeOp& op, uint32_t&, Sizes&,
                             Sizes&) { op.AddLaunch("twice").Output(1).Items(1); }),
              HasSubstr("launch 'twice' takes output 1, but there are 1"));
  EXPECT_THAT(Fails(kSum, [](FreeOp& op, uint32_t&, Sizes&,
                             Sizes&) { op.AddLaunch("twice").Scratch(0, 0).Items(1); }),
              HasSubstr("argument 0 is memory of 0 bytes"));
  EXPECT_THAT(Fails(kSum, [](FreeOp& op, uint32_t&, Sizes&,
                             Sizes&) { op.AddLaunch("twice").Scratch(0, 64).Items(1); }),
              ::testing::AllOf(HasSubstr("parameter 0 of kernel function 'twice' is an image"),
                               HasSubstr("scratch 0 of 64 bytes")));
  EXPECT_THAT(Fails(
                  kSum,
                  [](FreeOp& op, uint32_t&, Sizes&, Sizes&) {
                    op.AddLaunch("twice").Output(0).Items(1);
                    op.AddLaunch("thrice").Output(0).Items(1);
                  },
                  Code::kKernelBuild),
              HasSubstr("'thrice'"));
  EXPECT_THAT(Fails(kSum, [](FreeOp& op, uint32_t&, Sizes&,
                             Sizes&) { op.AddLaunch("twice").Output(0).Items(7).Group(2); }),
              HasSubstr("launch 'twice': global size 7 of dimension 0 is not a multiple"));
}

}  // namespace
}  // namespace custom_test
