// Runs right after a cold compile: a thread that asked the driver for binaries then froze a Run for
// seconds, and PoCL aborted where the two overlapped. The layer counts such overlaps.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "backends/opencl/backend.h"
#include "layers/count_layer.h"
#include "layers/fault_layer.h"
#include "layers/layer_access.h"
#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/softmax.h"

namespace tim::vx::test {
namespace {

/// A folder of this process for PoCL's cache and ours, set before the first OpenCL call.
std::string& Folder() {
  static auto* const folder = new std::string();
  return *folder;
}
const bool kIsCold = [] {
  std::string name = (std::filesystem::temp_directory_path() / "timcl_cold_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return false;
  Folder() = name;
  std::filesystem::create_directories(name + "/pocl");
  setenv("POCL_CACHE_DIR", (name + "/pocl").c_str(), 1);
  std::atexit([] {
    std::error_code ignored;
    std::filesystem::remove_all(Folder(), ignored);
  });
  return true;
}();

timcl_counts Snapshot() {
  static const auto snapshot = FindInLayers<timcl_count_snapshot_fn>("timcl_count_snapshot");
  timcl_counts counts{};
  if (snapshot != nullptr) snapshot(&counts);
  return counts;
}

struct Small {
  GraphPtr graph;
  TensorPtr x, y;
  explicit Small(const std::shared_ptr<Context>& context) : graph(context->CreateGraph()) {
    x = Input(graph, {6});
    y = Output(graph, {6});
    auto a = Between(graph), b = Between(graph);
    Bind<ops::SoftRelu>(graph, {x}, {a});
    Bind<ops::Softmax>(graph, {a}, {b}, 1.0f, 0);
    Bind<ops::Add>(graph, {b, x}, {y});
  }
  /// "" or what went wrong.
  std::string Runs(int count) {
    if (!graph->Compile()) return graph->LastStatus().message();
    for (int i = 0; i < count; ++i) {
      Write<float>(x, std::vector<float>(6, static_cast<float>(i)));
      if (!graph->Run()) return graph->LastStatus().message();
      const float want = static_cast<float>(i) + 1.0f / 6.0f;
      const float got = Read(y, 6)[2];
      if (got < want - 1e-3f * want || got > want + 1e-3f * want)
        return "wrong at " + std::to_string(i);
    }
    return "";
  }
};

TEST(Cold, TenThousandRunsRightAfterTheCompile) {
  ASSERT_TRUE(kIsCold);
  ASSERT_NE(FindInLayers<timcl_count_snapshot_fn>("timcl_count_snapshot"), nullptr)
      << "wants OPENCL_LAYERS set, as ctest does";
  const timcl_counts before = Snapshot();
  {
    ContextOptions options;
    options.cache_dir = Folder() + "/timcl";
    auto context = Context::Create(options);
    ASSERT_TRUE(context->LastStatus().ok()) << context->LastStatus().message();
    EXPECT_EQ(Small(context).Runs(10000), "");
  }
  const timcl_counts after = Snapshot();
  EXPECT_EQ(after.binaries_and_kernels, before.binaries_and_kernels);
  const bool pocl = !std::filesystem::is_empty(Folder() + "/pocl");
  if (pocl) {
    EXPECT_EQ(after.program_binaries, before.program_binaries) << "PoCL keeps them itself";
  }
}

/// Where we keep binaries: some threads compile, others run, and asking takes long.
TEST(Cold, BinariesAndKernelsTakeTurns) {
  const auto delay = FindInLayers<timcl_fault_delay_fn>("timcl_fault_delay");
  ASSERT_NE(delay, nullptr);
  opencl::BackendOptions options;
  options.cache_dir = Folder() + "/forced";
  options.cache_even_if_driver_does = true;
  ContextOptions host;
  host.host_only = true;
  const auto make_context = [&] {
    auto context = Context::Create(host);
    auto backend = opencl::CreateBackend(options);
    EXPECT_TRUE(backend.ok()) << backend.status().message();
    if (backend.ok()) {
      EXPECT_TRUE(context->AddBackend(*backend).ok());
    }
    return context;
  };
  const timcl_counts before = Snapshot();
  auto context = make_context();
  Small running(context);
  ASSERT_EQ(running.Runs(1), "");
  EXPECT_EQ(running.graph->Report().ops.at(0).backend, "opencl");
  EXPECT_GT(Snapshot().program_binaries, before.program_binaries);
  EXPECT_FALSE(std::filesystem::is_empty(options.cache_dir));

  ASSERT_EQ(delay("binary", 20), 0);
  std::atomic<bool> stop{false};
  std::string wrong;
  std::thread runner([&] {
    while (!stop && wrong.empty()) {
      wrong = running.Runs(1);
      // Shorter than an answer takes now: asking gets its turn, and a run meets it.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  for (int i = 0; i < 8; ++i) {
    auto graph = context->CreateGraph();
    auto t = Input(graph, {3});
    // Another set of kernels each time.
    for (int k = 0; k <= i; ++k) {
      auto next = k == i ? Output(graph, {3}) : Between(graph);
      if (k % 2 == 0) {
        Bind<ops::Softmax>(graph, {t}, {next}, 1.0f + static_cast<float>(i), 0);
      } else {
        Bind<ops::Add>(graph, {t, t}, {next});
      }
      t = next;
    }
    graph->SetCompileOption(CompileOption());
    EXPECT_TRUE(graph->Compile()) << graph->LastStatus().message();
  }
  stop = true;
  runner.join();
  delay("none", 0);
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(Snapshot().binaries_and_kernels, before.binaries_and_kernels);
  // What had to wait is stored by a later compile, and the next process finds it.
  Small(context).Runs(1);
  Small again(make_context());
  EXPECT_EQ(again.Runs(1), "");
  EXPECT_GT(again.graph->Report().programs_from_cache, 0u);
}

}  // namespace
}  // namespace tim::vx::test
