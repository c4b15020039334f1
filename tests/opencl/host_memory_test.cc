// Memory of the host runs out at any allocation of Compile or Run: a Status comes back, nothing of
// the driver's is leaked, and the graph works when there is memory again.
#include "layers/host_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "layers/layer_access.h"
#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/profile.h"

namespace tim::vx::test {
namespace {

struct SmallGraph {
  GraphPtr graph = SharedContext()->CreateGraph();
  TensorPtr x = Input(graph, {3, 2}), y = Output(graph, {});
  SmallGraph() {
    auto a = Between(graph), b = Between(graph);
    auto w = Constant(graph, {3, 2}, {1, 2, 3, -1, 0, 1});
    Bind<ops::FullyConnected>(graph, {x, w}, {a}, 0u);
    Bind<ops::Relu>(graph, {a}, {b});
    Bind<ops::Add>(graph, {b, Constant(graph, {1, 2}, {10, 20})}, {y});
    Write<float>(x, {1, 1, 1, 0, -1, 2});
  }
  bool Right() const { return Read(y, 4) == std::vector<float>{16, 10, 24, 22}; }
};

TEST(HostMemory, AnyAllocationMayFail) {
  ASSERT_NE(FindInLayers<timcl_count_snapshot_fn>("timcl_count_snapshot"), nullptr)
      << "wants OPENCL_LAYERS set, as ctest does";
  ASSERT_TRUE(SharedContext()->LastStatus().ok()) << SharedContext()->LastStatus().message();
  {
    SmallGraph warm;
    ASSERT_TRUE(warm.graph->Run()) << warm.graph->LastStatus().message();
    ASSERT_TRUE(warm.Right());
  }
  const timcl_counts start = Snapshot();
  int failures = 0;
  // Every one of the first, then ever fewer: a compile allocates thousands of times.
  for (int n = 0;; n += 1 + n / 50) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 1000000);
    SmallGraph small;
    timcl_host_memory::Arm(n);
    const bool ok = small.graph->Run();
    const bool hit = timcl_host_memory::Hits() > 0;
    timcl_host_memory::Arm(-1);
    if (!ok) {
      EXPECT_TRUE(hit) << small.graph->LastStatus().message();
      EXPECT_EQ(small.graph->LastStatus().code(), Code::kOutOfMemory)
          << small.graph->LastStatus().message();
      small.graph->SetCompileOption(CompileOption());
      EXPECT_TRUE(small.graph->Run()) << small.graph->LastStatus().message();
    }
    EXPECT_TRUE(small.Right());
    if (!hit) break;
    ++failures;
  }
  EXPECT_GT(failures, 100);
  const timcl_counts end = Snapshot();
  EXPECT_EQ(end.live_mem_objects, start.live_mem_objects);
  EXPECT_EQ(end.live_kernels, start.live_kernels);
  EXPECT_EQ(end.live_programs, start.live_programs);
  EXPECT_EQ(end.live_queues, start.live_queues);
}

/// Runs are not timed after a Profile that fails, in whatever way.
TEST(HostMemory, AnyAllocationOfAProfileMayFail) {
  ASSERT_TRUE(SharedContext()->LastStatus().ok()) << SharedContext()->LastStatus().message();
  SmallGraph small;
  // What is timed and what runs are the same launches.
  small.graph->SetCompileOption(CompileOption().SetOption("opencl", "one_kernel", "off"));
  // The device's limits are measured once.
  ASSERT_FALSE(small.graph->Profile(1).ops.empty()) << small.graph->LastStatus().message();
  int failures = 0;
  bool hit = true;
  for (int n = 0; hit; ++n) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 10000);
    timcl_host_memory::Arm(n);
    const bool ok = !small.graph->Profile(1).ops.empty();
    hit = timcl_host_memory::Hits() > 0;
    timcl_host_memory::Arm(-1);
    EXPECT_TRUE(ok || hit) << small.graph->LastStatus().message();
    failures += !ok;
    EXPECT_TRUE(small.graph->Run()) << small.graph->LastStatus().message();
    EXPECT_TRUE(small.Right());
  }
  EXPECT_GT(failures, 10);
}

/// Nor may what tells of the failure need memory.
TEST(HostMemory, ItMayStayGone) {
  ASSERT_TRUE(SharedContext()->LastStatus().ok()) << SharedContext()->LastStatus().message();
  int failures = 0;
  for (int n = 0;; n += 1 + n / 20) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 1000000);
    SmallGraph small;
    timcl_host_memory::ArmForGood(n);
    const bool ok = small.graph->Run();
    const bool hit = timcl_host_memory::Hits() > 0;
    timcl_host_memory::Arm(-1);
    EXPECT_TRUE(ok || hit) << small.graph->LastStatus().message();
    if (!ok) {
      EXPECT_EQ(small.graph->LastStatus().code(), Code::kOutOfMemory)
          << small.graph->LastStatus().message();
    }
    if (!hit) break;
    ++failures;
  }
  EXPECT_GT(failures, 50);
}

}  // namespace
}  // namespace tim::vx::test
