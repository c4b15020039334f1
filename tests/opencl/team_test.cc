// Work-groups that walk through the steps of a recurrent layer together (team.clh): the results do
// not depend on who comes when, and nobody waits for ever.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/ops/unidirectional_sequence_rnn.h"

namespace tim::vx::test {
namespace {

constexpr uint32_t kFeatures = 5, kUnits = 131, kSteps = 30;

std::vector<float> Numbers(size_t count, float reach) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i)
    v[i] = reach * (static_cast<float>(i * 7919 % 1009) / 504.5f - 1.0f);
  return v;
}

struct Layer {
  explicit Layer(const std::shared_ptr<Context>& context, const char* one_kernel = "on")
      : graph(context->CreateGraph(CompileOption()
                                       .SetOption("opencl", "one_kernel", one_kernel)
                                       .SetOption("opencl", "workers", "all"))) {
    x = Input(graph, {kFeatures, 1, kSteps});
    state = Output(graph, {kUnits, 1}), y = Output(graph, {kUnits, 1, kSteps});
    const TensorPtr none = graph->CreateTensorPlaceHolder();
    Bind<ops::UnidirectionalSequenceRnn>(
        graph,
        {x, Constant(graph, {kFeatures, kUnits}, Numbers(kFeatures * kUnits, 0.5f)),
         Constant(graph, {kUnits, kUnits}, Numbers(kUnits * kUnits, 0.15f)), none, none, none},
        {state, y}, ops::UnidirectionalSequenceRnn::kTANH, true);
  }
  /// The states of all steps; none where something went wrong.
  std::vector<float> Run() {
    Write<float>(x, Numbers(kFeatures * kSteps, 1));
    if (!graph->Run()) return {};
    return Read(y, kUnits * kSteps);
  }
  GraphPtr graph;
  TensorPtr x, state, y;
};

/// The folder of TIMCL_KERNEL_DIR, which the library reads when it is first used.
const std::filesystem::path& Folder() {
  static const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("timcl_team_" + std::to_string(getpid()));
  return folder;
}
class KernelFolder : public ::testing::Environment {
 public:
  void SetUp() override {
    std::filesystem::create_directories(Folder());
    setenv("TIMCL_KERNEL_DIR", Folder().c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(Folder()); }
};
const auto* const kFolder = ::testing::AddGlobalTestEnvironment(new KernelFolder);

/// While it lives, graphs are compiled with one change of one file of the kernels.
class Changed {
 public:
  Changed(const std::string& file, const std::string& what, const std::string& with)
      : file_(Folder() / file) {
    std::ifstream in(TIMCL_SOURCE_DIR "/src/kernels/" + file);
    std::stringstream text;
    text << in.rdbuf();
    std::string changed = text.str();
    const size_t at = changed.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    if (at != std::string::npos) changed.replace(at, what.size(), with);
    std::ofstream(file_) << changed;
  }
  ~Changed() { std::filesystem::remove(file_); }

 private:
  std::filesystem::path file_;
};

/// The first member waits for company before its first step, but not for ever.
constexpr const char* kMeet =
    "for (volatile int d = 0; rank == 0 && step == 0 && d < 200000000; ++d)\n"
    "      if (*(volatile global int*)T > 1) break;\n    ";

std::vector<float> Expected() {
  static const std::vector<float> expected = Layer(SharedContext()).Run();
  return expected;
}

class TeamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasOpenCl()) GTEST_SKIP() << "without OpenCL nobody shares";
    Layer layer(SharedContext());
    ASSERT_TRUE(layer.graph->Compile());
    const std::string kernel = layer.graph->Report().ops.at(0).kernel;
    if (kernel != "all_steps") GTEST_SKIP() << "the device runs '" << kernel << "' instead";
    const std::vector<float> host = Layer(HostContext()).Run();
    ASSERT_EQ(host.size(), Expected().size());
    for (size_t i = 0; i < host.size(); ++i) ASSERT_NEAR(Expected()[i], host[i], 1e-4) << i;
  }
};

TEST_F(TeamTest, MoreGraphsThanCores) {
  for (const char* one_kernel : {"on", "off"}) {
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, -1);
    for (int& w : wrong) {
      threads.emplace_back([&w, one_kernel] {
        Layer layer(SharedContext(), one_kernel);
        int bad = 0;
        for (int run = 0; run < 100; ++run) bad += layer.Run() != Expected();
        w = bad;
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, std::vector<int>(4, 0)) << one_kernel;
  }
}

TEST_F(TeamTest, WhoComesLateIsCountedIn) {
  const Changed late("team.clh", "*rank = atomic_inc(T);",
                     "*rank = atomic_inc(T);\n"
                     "  for (volatile int d = 0; *rank > 0 && d < 20000; ++d);");
  Layer layer(SharedContext()), apart(SharedContext(), "off");
  for (int run = 0; run < 50; ++run) {
    ASSERT_EQ(layer.Run(), Expected()) << run;
    ASSERT_EQ(apart.Run(), Expected()) << run;
  }
}

TEST_F(TeamTest, WhoComesWhenAllIsDone) {
  const Changed late("team.clh", "*rank = atomic_inc(T);",
                     "for (volatile int d = 0; *T > 0 && d < 20000000; ++d);\n"
                     "  *rank = atomic_inc(T);");
  Layer layer(SharedContext());
  for (int run = 0; run < 3; ++run) ASSERT_EQ(layer.Run(), Expected()) << run;
}

TEST_F(TeamTest, SlowMembersAreWaitedFor) {
  const Changed slow(
      "recurrent_sequence.cl", "const int begin = BLOCKS * rank",
      kMeet + std::string("for (volatile int d = 0; d < (step * 7 + rank * 5) % 11 * 3000; ++d);\n"
                          "    const int begin = BLOCKS * rank"));
  Layer layer(SharedContext());
  for (int run = 0; run < 50; ++run) ASSERT_EQ(layer.Run(), Expected()) << run;
}

// `late` of those who are not the first counts their steps here.
TEST_F(TeamTest, WhoStandsStillIsLeftBehind) {
  const Changed still(
      "recurrent_sequence.cl", "const int begin = BLOCKS * rank",
      kMeet + std::string("for (volatile int d = 0; rank > 0 && d < 10000000; ++d);\n"
                          "    if (rank > 0 && ++late > 5) STORE(Y, 0, 99.0f);\n"
                          "    const int begin = BLOCKS * rank"));
  Layer layer(SharedContext());
  for (int run = 0; run < 3; ++run) ASSERT_EQ(layer.Run(), Expected()) << run;
}

}  // namespace
}  // namespace tim::vx::test
