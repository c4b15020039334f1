// Whole graphs under the layers: how often a Run waits, that it allocates nothing, and that it
// survives every single failure of OpenCL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layers/count_layer.h"
#include "layers/fault_layer.h"
#include "layers/layer_access.h"
#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/simple_operations.h"
#include "tim/vx/ops/softmax.h"

namespace tim::vx::test {
namespace {

timcl_counts Snapshot() {
  static const auto snapshot = FindInLayers<timcl_count_snapshot_fn>("timcl_count_snapshot");
  timcl_counts counts{};
  if (snapshot != nullptr) snapshot(&counts);
  return counts;
}

int64_t Created(const timcl_counts& c) {
  return c.create_buffer + c.create_sub_buffer + c.create_image + c.svm_alloc + c.create_kernel +
         c.program_with_source + c.program_with_binary + c.build_program + c.compile_program +
         c.link_program + c.create_queue + c.create_context;
}

class CountTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(FindInLayers<timcl_count_snapshot_fn>("timcl_count_snapshot"), nullptr)
        << "wants OPENCL_LAYERS set, as ctest does";
    ASSERT_TRUE(SharedContext()->LastStatus().ok()) << SharedContext()->LastStatus().message();
    graph_ = SharedContext()->CreateGraph();
  }

  /// Runs once, then twice more: each waits `syncs` times, which is what the report says, launches
  /// the same kernels and creates nothing.
  void ExpectSyncs(int64_t syncs) {
    ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
    EXPECT_EQ(static_cast<int64_t>(graph_->Report().syncs), syncs) << graph_->Report().ToText();
    for (int round = 0; round < 2; ++round) {
      const timcl_counts before = Snapshot();
      ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
      const timcl_counts after = Snapshot();
      EXPECT_EQ(timcl_count_syncs(&after) - timcl_count_syncs(&before), syncs);
      EXPECT_EQ(after.enqueue_kernel - before.enqueue_kernel,
                static_cast<int64_t>(graph_->Report().launches));
      EXPECT_EQ(Created(after) - Created(before), 0);
      EXPECT_EQ(after.live_mem_objects, before.live_mem_objects);
    }
  }

  GraphPtr graph_;
};

TEST_F(CountTest, OneOpWaitsOnce) {
  Bind<ops::Relu>(graph_, {Input(graph_, {5})}, {Output(graph_, {5})});
  ExpectSyncs(1);
  EXPECT_EQ(graph_->Report().steps, 1u);
}

TEST_F(CountTest, AChainWithTwoOutputsWaitsOnce) {
  auto x = Input(graph_, {7, 3});
  auto a = Between(graph_);
  auto b = Between(graph_);
  auto c = Between(graph_);
  auto w = Constant(graph_, {7, 2}, std::vector<float>(14, 0.5f));
  Bind<ops::Sin>(graph_, {x}, {a});
  Bind<ops::FullyConnected>(graph_, {a, w}, {b}, 0u);
  Bind<ops::Softmax>(graph_, {b}, {c}, 1.0f, 0);
  Bind<ops::Abs>(graph_, {c}, {Output(graph_, {})});
  Bind<ops::Neg>(graph_, {a}, {Output(graph_, {})});
  ExpectSyncs(1);
  EXPECT_EQ(graph_->Report().steps, 1u);
}

TEST_F(CountTest, PartsThatAreNotConnectedShareOneWait) {
  for (int i = 0; i < 3; ++i) {
    Bind<ops::Sin>(graph_, {Input(graph_, {4})}, {Output(graph_, {4})});
  }
  ExpectSyncs(1);
  EXPECT_EQ(graph_->Report().partitions, 1u);
}

TEST_F(CountTest, EachChangeToTheHostAddsOne) {
  TensorPtr t = Input(graph_, {6});
  for (int i = 0; i < 2; ++i) {
    auto on_device = Between(graph_);
    auto on_host = Between(graph_);
    Bind<ops::Sin>(graph_, {t}, {on_device});
    Bind<ops::Cos>(graph_, {on_device}, {on_host});
    t = on_host;
  }
  Bind<ops::Sin>(graph_, {t}, {Output(graph_, {})});
  graph_->SetCompileOption(CompileOption().Pin("Cos", "reference"));
  ExpectSyncs(3);
  EXPECT_EQ(graph_->Report().steps, 5u);
}

TEST_F(CountTest, HostStepAtTheEndAddsNone) {
  auto t = Between(graph_);
  Bind<ops::Sin>(graph_, {Input(graph_, {6})}, {t});
  Bind<ops::Cos>(graph_, {t}, {Output(graph_, {})});
  graph_->SetCompileOption(CompileOption().Pin("Cos", "reference"));
  ExpectSyncs(1);
}

TEST_F(CountTest, OnlyOnTheHostNeverWaits) {
  Bind<ops::Relu>(graph_, {Input(graph_, {6})}, {Output(graph_, {6})});
  graph_->SetCompileOption(CompileOption().Pin("Relu", "reference"));
  ExpectSyncs(0);
}

TEST_F(CountTest, NewInputsAndMappedMemoryAddNone) {
  auto x = Input(graph_, {4});
  auto y = Output(graph_, {4});
  Bind<ops::Relu>(graph_, {x}, {y});
  ASSERT_TRUE(graph_->Run());
  const timcl_counts before = Snapshot();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Write<float>(x, {-1, 0, 1, static_cast<float>(i)}));
    ASSERT_TRUE(graph_->Run());
    EXPECT_EQ(Read(y, 4), (std::vector<float>{0, 0, 1, static_cast<float>(i)}));
    static_cast<float*>(x->map())[3] = 9;
    x->unmap();
    ASSERT_TRUE(graph_->Run());
    EXPECT_EQ(static_cast<const float*>(y->map(true))[3], 9.0f);
    y->unmap();
  }
  const timcl_counts after = Snapshot();
  EXPECT_EQ(timcl_count_syncs(&after) - timcl_count_syncs(&before), 6);
  EXPECT_EQ(Created(after), Created(before));
}

TEST_F(CountTest, StateChangesPlacesWithoutAllocation) {
  auto state = Make(graph_, TensorAttribute::VARIABLE, {4});
  Bind<ops::Add>(graph_, {Input(graph_, {4}), state}, {state});
  Bind<ops::Relu>(graph_, {state}, {Output(graph_, {4})});
  // The two places of the state are both known after two runs.
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  ExpectSyncs(1);
}

/// A graph with constants, a fused pair and two kernels, on a context of its own.
struct SmallGraph {
  std::shared_ptr<Context> context;
  GraphPtr graph;
  TensorPtr x, y;

  explicit SmallGraph(const ContextOptions& options) : context(Context::Create(options)) {
    graph = context->CreateGraph();
    x = Input(graph, {3, 2});
    y = Output(graph, {});
    auto a = Between(graph);
    auto b = Between(graph);
    auto w = Constant(graph, {3, 2}, {1, 2, 3, -1, 0, 1});
    Bind<ops::FullyConnected>(graph, {x, w}, {a}, 0u);
    Bind<ops::Relu>(graph, {a}, {b});
    Bind<ops::Add>(graph, {b, Constant(graph, {1, 2}, {10, 20})}, {y});
    Write<float>(x, {1, 1, 1, 0, -1, 2});
  }
  bool Right() const { return Read(y, 4) == std::vector<float>{16, 10, 24, 22}; }
};

class FaultTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(DiskCache, FaultTest, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? std::string("Warm") : std::string("Off");
});

TEST_P(FaultTest, EveryCallMayFail) {
  const auto arm = FindInLayers<timcl_fault_arm_fn>("timcl_fault_arm");
  const auto hits = FindInLayers<timcl_fault_hits_fn>("timcl_fault_hits");
  ASSERT_NE(arm, nullptr) << "wants OPENCL_LAYERS set, as ctest does";
  ContextOptions options;
  options.use_disk_cache = GetParam();
  options.cache_dir = testing::TempDir() + "timcl_fault_cache";
  {  // fills the cache; and drivers keep something for good when they are first used
    SmallGraph warm(options);
    ASSERT_TRUE(warm.graph->Run()) << warm.graph->LastStatus().message();
    ASSERT_TRUE(warm.Right());
  }
  const timcl_counts start = Snapshot();
  for (const char* kind :
       {"setup", "build", "kernel", "buffer", "write", "enqueue", "read", "wait"}) {
    int failures = 0;
    for (int n = 0;; ++n) {
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(n));
      ASSERT_LT(n, 100);
      ASSERT_EQ(arm(kind, n), 0);
      SmallGraph small(options);
      const bool ok = small.graph->Run();
      const bool hit = hits() == 1;
      arm("none", 0);
      const Status status = small.graph->LastStatus();
      EXPECT_EQ(status.ok(), ok);
      if (ok) {
        // A damaged cache entry is rebuilt; nothing else may hide a failure.
        EXPECT_TRUE(!hit || (GetParam() && std::string(kind) == "build")) << status.message();
        EXPECT_TRUE(small.Right());
      } else {
        EXPECT_TRUE(hit) << status.message();
        EXPECT_TRUE(status.code() == Code::kDevice || status.code() == Code::kOutOfMemory ||
                    status.code() == Code::kKernelBuild)
            << status.message();
        EXPECT_THAT(status.message(), testing::HasSubstr("CL_"));
        if (small.context->LastStatus().ok()) {
          // Any edit lets a failed Compile be tried again; the context is still good.
          small.graph->SetCompileOption(CompileOption());
          EXPECT_TRUE(small.graph->Run()) << small.graph->LastStatus().message();
          EXPECT_TRUE(small.Right());
        } else {
          SmallGraph next(options);
          EXPECT_TRUE(next.graph->Run()) << next.graph->LastStatus().message();
          EXPECT_TRUE(next.Right());
        }
      }
      if (!hit) break;
      ++failures;
    }
    RecordProperty(kind, failures);
    std::printf("%s: %d calls failed, one at a time\n", kind, failures);
    if (std::string(kind) != "read" && std::string(kind) != "write") {
      EXPECT_GT(failures, 0) << kind;
    }
  }
  const timcl_counts end = Snapshot();
  EXPECT_EQ(end.live_mem_objects, start.live_mem_objects);
  EXPECT_EQ(end.live_kernels, start.live_kernels);
  EXPECT_EQ(end.live_programs, start.live_programs);
  EXPECT_EQ(end.live_queues, start.live_queues);
  EXPECT_EQ(end.live_contexts, start.live_contexts);
}

}  // namespace
}  // namespace tim::vx::test
