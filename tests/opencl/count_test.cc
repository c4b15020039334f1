// Whole graphs under the layers: how often a Run waits, that it allocates nothing, and that it
// survives every single failure of OpenCL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/backend.h"
#include "layers/fault_layer.h"
#include "layers/layer_access.h"
#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/simple_operations.h"
#include "tim/vx/ops/softmax.h"
#include "tim/vx/profile.h"

namespace tim::vx::test {
namespace {

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

  explicit SmallGraph(std::shared_ptr<Context> on) : context(std::move(on)) {
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

/// What the graphs of a fault test run on.
enum class On { kDefault, kOwnFiles, kOwnMemory };

/// The OpenCL backend as the user gets it; with our files of programs, which PoCL needs no more; as
/// on a device with memory of its own. `status`: why it could not be opened.
std::shared_ptr<Context> MakeContext(On on, Status* status) {
  if (on == On::kDefault) {
    auto context = Context::Create();
    *status = context->LastStatus();
    return context;
  }
  opencl::BackendOptions options;
  options.as_discrete_gpu = on == On::kOwnMemory;
  options.cache_even_if_driver_does = on == On::kOwnFiles;
  if (on == On::kOwnFiles) options.cache_dir = testing::TempDir() + "timcl_fault_cache";
  ContextOptions host;
  host.host_only = true;
  auto context = Context::Create(host);
  auto backend = opencl::CreateBackend(options);
  *status = backend.ok() ? context->AddBackend(*backend) : backend.status();
  return context;
}

class FaultTest : public testing::TestWithParam<On> {
 protected:
  void SetUp() override {
    ASSERT_NE(arm_, nullptr) << "wants OPENCL_LAYERS set, as ctest does";
    // Fills the cache; and drivers keep something for good when they are first used.
    Status status;
    SmallGraph warm(MakeContext(GetParam(), &status));
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(warm.graph->Run()) << warm.graph->LastStatus().message();
    ASSERT_TRUE(warm.Right());
    EXPECT_EQ(warm.graph->Report().ops.at(0).backend, "opencl");
  }
  static void ExpectNoLeak(const timcl_counts& start) {
    const timcl_counts end = Snapshot();
    EXPECT_EQ(end.live_mem_objects, start.live_mem_objects);
    EXPECT_EQ(end.live_kernels, start.live_kernels);
    EXPECT_EQ(end.live_programs, start.live_programs);
    EXPECT_EQ(end.live_queues, start.live_queues);
    EXPECT_EQ(end.live_contexts, start.live_contexts);
  }
  static void ExpectDeviceError(const Status& status) {
    EXPECT_TRUE(status.code() == Code::kDevice || status.code() == Code::kOutOfMemory ||
                status.code() == Code::kKernelBuild)
        << status.message();
    EXPECT_THAT(status.message(), testing::HasSubstr("CL_"));
  }
  static constexpr const char* kKinds[] = {"setup",   "build", "kernel", "buffer", "write",
                                           "enqueue", "read",  "wait",   "binary"};
  const timcl_fault_arm_fn arm_ = FindInLayers<timcl_fault_arm_fn>("timcl_fault_arm");
  const timcl_fault_arm_from_fn arm_from_ =
      FindInLayers<timcl_fault_arm_from_fn>("timcl_fault_arm_from");
  const timcl_fault_hits_fn hits_ = FindInLayers<timcl_fault_hits_fn>("timcl_fault_hits");
};
std::string NameOf(const testing::TestParamInfo<On>& info) {
  constexpr const char* kNames[] = {"Default", "OwnFiles", "OwnMemory"};
  return kNames[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(On, FaultTest,
                         testing::Values(On::kDefault, On::kOwnFiles, On::kOwnMemory), NameOf);

TEST_P(FaultTest, EveryCallMayFail) {
  const timcl_counts start = Snapshot();
  for (const char* kind : kKinds) {
    int failures = 0;
    for (int n = 0;; ++n) {
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(n));
      ASSERT_LT(n, 100);
      ASSERT_EQ(arm_(kind, n), 0);
      Status opened;
      SmallGraph small(MakeContext(GetParam(), &opened));
      if (!opened.ok()) {
        EXPECT_EQ(hits_(), 1);
        arm_("none", 0);
        ExpectDeviceError(opened);
        ++failures;
        continue;
      }
      const bool ok = small.graph->Run();
      const bool hit = hits_() == 1;
      arm_("none", 0);
      const Status status = small.graph->LastStatus();
      EXPECT_EQ(status.ok(), ok);
      if (ok) {
        // A cache entry that the driver refuses is rebuilt, and where one kernel for all launches
        // does not build there is one for each; nothing else may hide a failure.
        EXPECT_TRUE(!hit || std::string(kind) == "build") << status.message();
        EXPECT_TRUE(small.Right());
      } else {
        EXPECT_TRUE(hit) << status.message();
        ExpectDeviceError(status);
        // Any edit lets a failed Compile be tried again; the context is still good.
        small.graph->SetCompileOption(CompileOption());
        EXPECT_TRUE(small.graph->Run()) << small.graph->LastStatus().message();
        EXPECT_TRUE(small.Right());
      }
      if (!hit) break;
      ++failures;
    }
    std::printf("%s: %d calls failed, one at a time\n", kind, failures);
    const bool copies = std::string(kind) == "read" || std::string(kind) == "write";
    if (std::string(kind) != "binary" && (!copies || GetParam() == On::kOwnMemory)) {
      EXPECT_GT(failures, 0) << kind;
    }
  }
  ExpectNoLeak(start);
}

/// A device that is lost: from some call on each call fails. Whatever was tried meanwhile, it works
/// again when the device does.
TEST_P(FaultTest, EveryCallMayFailForGood) {
  const timcl_counts start = Snapshot();
  for (const char* kind : kKinds) {
    if (std::string(kind) == "setup" || std::string(kind) == "binary") continue;
    for (int n = 0; n < 8; ++n) {
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(n));
      Status opened;
      SmallGraph small(MakeContext(GetParam(), &opened));
      ASSERT_TRUE(opened.ok()) << opened.message();
      ASSERT_EQ(arm_from_(kind, n), 0);
      bool ok = true;
      for (int attempt = 0; attempt < 3; ++attempt) {
        ok = small.graph->Run();
        if (!ok) ExpectDeviceError(small.graph->LastStatus());
        small.graph->SetCompileOption(CompileOption());
        EXPECT_TRUE(Write<float>(small.x, {1, 1, 1, 0, -1, 2}));
      }
      const bool hit = hits_() > 0;
      arm_("none", 0);
      EXPECT_TRUE(small.graph->Run()) << small.graph->LastStatus().message();
      EXPECT_TRUE(small.Right());
      if (!hit) {
        EXPECT_TRUE(ok);
        break;
      }
    }
  }
  ExpectNoLeak(start);
}

TEST_P(FaultTest, EveryCallOfAProfileMayFail) {
  const timcl_counts start = Snapshot();
  for (const char* kind : {"setup", "enqueue", "wait", "read"}) {
    Status opened;
    SmallGraph small(MakeContext(GetParam(), &opened));
    ASSERT_TRUE(opened.ok()) << opened.message();
    // The device's limits are measured once; that may fail without harm (see below).
    ASSERT_FALSE(small.graph->Profile(1).ops.empty()) << small.graph->LastStatus().message();
    int failures = 0;
    for (bool hit = true; hit; ++failures) {
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(failures));
      ASSERT_LT(failures, 100);
      ASSERT_EQ(arm_(kind, failures), 0);
      const GraphProfile profile = small.graph->Profile(1);
      hit = hits_() == 1;
      arm_("none", 0);
      EXPECT_EQ(profile.ops.empty(), hit);
      if (hit) ExpectDeviceError(small.graph->LastStatus());
      EXPECT_TRUE(small.graph->Run()) << small.graph->LastStatus().message();
      EXPECT_TRUE(small.Right());
    }
    // Hosts whose memory the device shares have nothing to read back.
    EXPECT_TRUE(failures > 1 || (std::string(kind) == "read" && GetParam() != On::kOwnMemory))
        << kind;
  }
  ExpectNoLeak(start);
}

TEST_P(FaultTest, AProfileWithoutTheLimitsOfTheDevice) {
  const timcl_counts start = Snapshot();
  size_t without = 0;
  bool hit = true;
  for (int n = 0; hit; ++n) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 100);
    Status opened;
    SmallGraph small(MakeContext(GetParam(), &opened));
    ASSERT_TRUE(opened.ok()) << opened.message();
    ASSERT_TRUE(small.graph->Run()) << small.graph->LastStatus().message();
    ASSERT_EQ(arm_("setup", n), 0);
    const GraphProfile profile = small.graph->Profile(1);
    hit = hits_() > 0;
    arm_("none", 0);
    if (profile.ops.empty()) {
      ExpectDeviceError(small.graph->LastStatus());
    } else if (profile.limits.empty()) {
      ++without;
      EXPECT_EQ(profile.ops[0].least_ms, 0);
    }
    EXPECT_TRUE(small.graph->Run()) << small.graph->LastStatus().message();
    EXPECT_TRUE(small.Right());
  }
  EXPECT_GE(without, 1u);
  ExpectNoLeak(start);
}

/// A device with memory of its own, as a user meets it.
class OwnMemory : public testing::Test {
 protected:
  void SetUp() override {
    Status status;
    context_ = MakeContext(On::kOwnMemory, &status);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::shared_ptr<Context> context_;
};

TEST_F(OwnMemory, ProfileShowsTheCopies) {
  SmallGraph small(context_);
  std::vector<std::string> kernels;
  for (const OpTime& op : small.graph->Profile(2).ops) {
    kernels.push_back(op.kernel);
    EXPECT_GT(op.bytes, 0u);
  }
  // The input is the same in every run, so it was sent in the first.
  EXPECT_EQ(kernels.size(), small.graph->Report().launches + 1);
  EXPECT_EQ(kernels.back(), "copy to the host");
  EXPECT_TRUE(small.Right());
}

TEST_F(OwnMemory, NewInputsReachTheDevice) {
  SmallGraph small(context_);
  ASSERT_TRUE(small.graph->Run()) << small.graph->LastStatus().message();
  EXPECT_EQ(small.graph->Report().ops.at(0).backend, "opencl");
  EXPECT_TRUE(small.Right());
  ASSERT_TRUE(Write<float>(small.x, {2, 2, 2, 0, -1, 2}));
  ASSERT_TRUE(small.graph->Run());
  EXPECT_EQ(Read(small.y, 4), (std::vector<float>{22, 10, 24, 22}));
  static_cast<float*>(small.x->map())[0] = 3;
  small.x->unmap();
  ASSERT_TRUE(small.graph->Run());
  EXPECT_EQ(Read(small.y, 4), (std::vector<float>{23, 10, 24, 22}));
}

TEST_F(OwnMemory, InputsThatDidNotChangeAreNotSentAgain) {
  auto graph = context_->CreateGraph();
  auto a = Input(graph, {5}), b = Input(graph, {5}), y = Output(graph, {5});
  Bind<ops::Add>(graph, {a, b}, {y});
  ASSERT_TRUE(Write<float>(a, {1, 2, 3, 4, 5}));
  ASSERT_TRUE(Write<float>(b, {1, 1, 1, 1, 1}));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  timcl_counts before = Snapshot();
  ASSERT_TRUE(graph->Run());
  timcl_counts after = Snapshot();
  EXPECT_EQ(after.nonblocking_transfer - before.nonblocking_transfer, 1) << "the output alone";
  ASSERT_TRUE(Write<float>(b, {2, 2, 2, 2, 2}));
  before = Snapshot();
  ASSERT_TRUE(graph->Run());
  after = Snapshot();
  EXPECT_EQ(after.nonblocking_transfer - before.nonblocking_transfer, 2);
  EXPECT_EQ(Read(y, 5), (std::vector<float>{3, 4, 5, 6, 7}));
}

TEST_F(OwnMemory, StateAndStepsOfOtherBackends) {
  auto graph = context_->CreateGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2});
  auto state = Make(graph, TensorAttribute::VARIABLE, {2});
  auto host = Between(graph);
  Bind<ops::Add>(graph, {x, state}, {state});
  Bind<ops::Abs>(graph, {state}, {host});
  Bind<ops::Neg>(graph, {host}, {y});
  graph->SetCompileOption(CompileOption().Pin("Abs", "reference"));
  ASSERT_TRUE(Write<float>(x, {1, -2}));
  for (int round = 1; round < 4; ++round) {
    ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
    const auto r = static_cast<float>(round);
    EXPECT_EQ(Read(y, 2), (std::vector<float>{-r, -2 * r}));
  }
}

}  // namespace
}  // namespace tim::vx::test
