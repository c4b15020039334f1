// Plugins under threads, for the sanitizers above all: libraries are opened, used and closed while
// others run, in an order that chance decides. Against the shared library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/mapped.h"
#include "support/api_support.h"
#include "tim/transform/layout_inference.h"
#include "tim/vx/op_def.h"

namespace tim::vx::test {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937;

constexpr int kThreads = 6, kRounds = 40;

/// Files of this program alone, so that nobody else keeps them open.
class Libraries {
 public:
  Libraries() {
    std::string pattern = fs::temp_directory_path() / "timcl_threads_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    for (const char* name : {"good", "good_again"}) {
      const fs::path to = folder_ / (std::string("libtimcl_") + name + ".so");
      fs::copy_file(fs::path(MADE) / (std::string(name) + ".so"), to);
      files.push_back(to.string());
    }
  }
  ~Libraries() { fs::remove_all(folder_); }
  std::string folder() const { return folder_.string(); }
  bool AnyOpen() const { return IsMapped(folder_.string()); }
  std::vector<std::string> files;

 private:
  fs::path folder_;
};

/// What a thread may hold of a plugin, in the order in which chance lets go of it.
struct Held {
  std::shared_ptr<Context> context;
  std::shared_ptr<Graph> graph, second;
  std::shared_ptr<Operation> op, copy;
  std::shared_ptr<const OpDef> def;
  std::vector<std::shared_ptr<Tensor>> tensors;

  void LetGo(Random& random) {
    std::array<int, 7> order = {0, 1, 2, 3, 4, 5, 6};
    std::shuffle(order.begin(), order.end(), random);
    for (const int which : order) {
      switch (which) {
        case 0:
          context.reset();
          break;
        case 1:
          graph.reset();
          break;
        case 2:
          second.reset();
          break;
        case 3:
          op.reset();
          break;
        case 4:
          copy.reset();
          break;
        case 5:
          def.reset();
          break;
        default:
          tensors.clear();
      }
    }
  }
};

/// y = kind(x) in both of the graphs; "" or what is wrong.
std::string Use(Held& held, const char* kind, const char* attribute, double value,
                const std::shared_ptr<Context>& other) {
  held.graph = held.context->CreateGraph();
  auto x = Input(held.graph, {2}), y = Output(held.graph, {2});
  held.op = held.graph->CreateOperation(kind, {{attribute, value}});
  held.op->BindInput(x).BindOutput(y);
  held.def = held.context->Ops().Find(kind);
  // Into a context that does not know the plugin.
  held.second = other->CreateGraph();
  auto u = Input(held.second, {2}), v = Output(held.second, {2});
  held.copy = held.op->Clone(held.second);
  if (held.copy == nullptr) return "no copy";
  held.copy->BindInput(u).BindOutput(v);
  held.tensors = {x, y, u, v};
  const bool shift = std::string(kind) == "test.shift";
  for (const bool copy : {false, true}) {
    const float in[] = {1, -2};
    float out[2] = {};
    auto& graph = copy ? held.second : held.graph;
    if (!(copy ? u : x)->CopyDataToTensor(in) || !graph->Run() ||
        !(copy ? v : y)->CopyDataFromTensor(out))
      return graph->LastStatus().message();
    for (int i = 0; i < 2; ++i) {
      const float want =
          shift ? in[i] + static_cast<float>(value) : in[i] * static_cast<float>(value);
      if (out[i] != want) return std::string(kind) + ": a wrong value";
    }
  }
  return "";
}

TEST(PluginThreads, LibrariesCloseWhileOthersRun) {
  Libraries libraries;
  std::mutex mutex;
  std::vector<std::string> wrong;
  std::vector<Held> passed_on;  // let go of by another thread than the one that made them
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(static_cast<uint32_t>(t));
      const auto chance = [&](uint32_t n) { return random() % n == 0; };
      for (int round = 0; round < kRounds; ++round) {
        std::string why;
        Held held;
        held.context = NewHostContext();
        if (chance(3)) {
          PluginScan scan;
          (void)held.context->LoadPlugins({libraries.folder()}, &scan);
          for (const auto& file : scan.files) why += file.status.message();
        } else {
          for (const std::string& file : libraries.files)
            why += held.context->LoadPlugin(file).message();
        }
        const double factor = t + 2;
        // A broken graph holds something of the library as well.
        if (why.empty() && chance(4)) {
          auto bad = held.context->CreateGraph();
          bad->CreateOperation("test.times", {{"faktor", 1.0}});
        }
        if (why.empty())
          why = Use(held, chance(2) ? "test.times" : "test.again", "factor", factor, HostContext());
        if (why.empty() && chance(3)) {
          auto [inferred, map] = transform::LayoutInference(held.graph, held.context);
          if (inferred == nullptr) why = "no layout inference";
        }
        {
          const std::lock_guard lock(mutex);
          if (!why.empty()) wrong.push_back(why);
          passed_on.push_back(std::move(held));
          std::swap(passed_on.back(), passed_on[random() % passed_on.size()]);
          if (passed_on.size() < 4) continue;
          held = std::move(passed_on.back());
          passed_on.pop_back();
        }
        held.LetGo(random);  // outside of the lock, so that others run meanwhile
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(wrong, ::testing::IsEmpty());
  passed_on.clear();
  EXPECT_EQ(libraries.AnyOpen(), !ClosesLibraries());
}

/// With an OpenCL kernel: what a library brought runs on the device while other threads close it.
TEST(PluginThreads, KernelsOfPlugins) {
  if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL device is asked for";
  Libraries libraries;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Random random(static_cast<uint32_t>(100 + t));
      for (int round = 0; round < 3; ++round) {
        Held held;
        held.context = Context::Create();
        if (!held.context->LoadPlugin(libraries.files[0]).ok()) ++failed;
        if (!Use(held, "test.shift", "by", 0.5 * (t + 1), SharedContext()).empty()) ++failed;
        held.LetGo(random);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace tim::vx::test
