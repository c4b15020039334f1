// Compile() leaves nothing to be compiled by the first Run, in whatever form a graph runs: PoCL's
// folder does not grow any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "custom/user_op.h"
#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/cumsum.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/pool2d.h"
#include "tim/vx/ops/softmax.h"

namespace tim::vx::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;

/// A folder of this process for PoCL's cache, set before the first OpenCL call.
std::string& Folder() {
  static auto* const folder = new std::string();
  return *folder;
}
const bool kIsCold = [] {
  std::string name = (fs::temp_directory_path() / "timcl_first_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return false;
  Folder() = name;
  setenv("POCL_CACHE_DIR", name.c_str(), 1);
  std::atexit([] {
    std::error_code ignored;
    fs::remove_all(Folder(), ignored);
  });
  return true;
}();

/// What PoCL has compiled so far: shared objects in its folder.
size_t Compiled() {
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(Folder()))
    count += entry.path().extension() == ".so" ? 1 : 0;
  return count;
}

/// With a device for the caller's thread, which PoCL shows only to who asks first.
const std::shared_ptr<Context>& TheContext() {
  static const std::shared_ptr<Context> context = [] {
    ContextOptions options;
    options.inline_device = InlineDevice::kSmallGraphs;
    options.use_disk_cache = false;
    return Context::Create(options);
  }();
  return context;
}

/// How the launches of a graph are made, by CompileOption::SetOption("opencl", ...), and what the
/// report then says.
struct Form {
  const char* name;
  std::vector<std::pair<const char*, const char*>> switches;
  const char* note;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }
const Form kForms[] = {
    {"Joined", {{"inline", "off"}, {"workers", "all"}}, "launches in one kernel"},
    {"OneByOne", {{"inline", "off"}, {"one_kernel", "off"}}, "main device, as asked for"},
    {"InCaller", {{"inline", "on"}, {"helpers", "off"}}, "launches in one kernel"},
    {"Helped", {{"inline", "on"}, {"helpers", "on"}}, "on the main device"},
    {"Resident", {{"inline", "off"}, {"resident", "on"}}, "resident on the main device"},
    {"JoinedForOne", {{"inline", "off"}, {"workers", "one"}}, "launches in one kernel"},
};

class FirstRun : public ::testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kIsCold);
    if (TheContext()->DeviceName() == "reference") GTEST_SKIP() << "no OpenCL device is used";
    CompileOption options;
    for (const auto& [name, value] : GetParam().switches) options.SetOption("opencl", name, value);
    graph_ = TheContext()->CreateGraph(options);
  }

  void Compile() {
    before_ = Compiled();
    ASSERT_TRUE(graph_->Compile()) << graph_->LastStatus().message();
    compiled_ = Compiled();
    const std::string& note = graph_->Report().parts.at(0).note;
    if (note.find(GetParam().note) == std::string::npos) GTEST_SKIP() << note;
  }
  void Run() {
    // Helpers come when they can, perhaps after the first one.
    for (int run = 0; run < 8; ++run) {
      ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
    }
  }
  void ExpectNothingMore() {
    graph_.reset();  // nobody works any more
    EXPECT_EQ(Compiled(), compiled_);
    if (Compiled() == before_) GTEST_SKIP() << "the driver keeps nothing in PoCL's folder";
  }

  GraphPtr graph_;
  size_t before_ = 0, compiled_ = 0;
};

TEST_P(FirstRun, CompilesNothing) {
  auto x = Input(graph_, {16, 16, 3, 1}), wide = Input(graph_, {300, 300});
  auto kernel = Constant(graph_, {3, 3, 3, 8}, std::vector<float>(216, 0.01f));
  auto weights = Constant(graph_, {512, 10}, std::vector<float>(5120, 0.001f));
  auto bias = Constant(graph_, {8}, std::vector<float>(8, 0.5f));
  auto c = Between(graph_), r = Between(graph_), p = Between(graph_), f = Between(graph_);
  auto y = Output(graph_, {10, 1}), z = Output(graph_, {300, 300});
  Bind<ops::Conv2d>(graph_, {x, kernel, bias}, {c}, PadType::SAME, std::array<uint32_t, 2>{1, 1},
                    std::array<uint32_t, 2>{1, 1});
  Bind<ops::Tanh>(graph_, {c}, {r});
  Bind<ops::Pool2d>(graph_, {r}, {p}, PoolType::MAX, PadType::VALID, std::array<uint32_t, 2>{2, 2},
                    std::array<uint32_t, 2>{2, 2});
  Bind<ops::FullyConnected>(graph_, {p, weights}, {f}, 2u);
  Bind<ops::Softmax>(graph_, {f}, {y}, 1.0f, 0);
  Bind<ops::Sigmoid>(graph_, {wide}, {z});
  Compile();
  if (IsSkipped() || HasFailure()) return;
  EXPECT_THAT(Read(y, 10), Each(0.0f)) << "Compile wrote nobody's memory";
  EXPECT_THAT(Read(z, 90000), Each(0.0f));
  Run();
  EXPECT_NEAR(Read(y, 10)[3], 0.1f, 1e-5f);
  EXPECT_THAT(Read(z, 90000), Each(0.5f));
  ExpectNothingMore();
}

INSTANTIATE_TEST_SUITE_P(All, FirstRun, ::testing::ValuesIn(kForms),
                         [](const auto& test) { return std::string(test.param.name); });

/// PoCL compiles a kernel for each local size, and once more for grids beyond 65,535.
using FirstRunOfSizes = FirstRun;
TEST_P(FirstRunOfSizes, CompilesNothing) {
  constexpr uint32_t kMany = 70000, kFew = 100;
  std::vector<TensorPtr> results;
  for (const uint32_t lines : {kFew, kMany}) {
    results.push_back(Output(graph_, {2, lines}));
    Bind<ops::CumSum>(graph_, {Input(graph_, {2, lines})}, {results.back()});
  }
  custom_test::Plan plan;
  plan.source =
      "__kernel void half_more(__global const float* x, __global float* y) {\n"
      "  y[get_global_id(0)] = x[get_global_id(0)] + 0.5f;\n"
      "}\n";
  plan.function = "half_more";
  plan.dim = 1;
  for (const size_t local : {4, 8}) {
    for (const uint32_t count : {64u, 72000u}) {
      plan.global = {count, 1, 1};
      plan.local = {local, 1, 1};
      results.push_back(Output(graph_, {count}));
      Bind<custom_test::UserOp>(graph_, {Input(graph_, {count})}, {results.back()}, plan,
                                std::tuple<>());
    }
  }
  Compile();
  if (IsSkipped() || HasFailure()) return;
  EXPECT_THAT(Read(results.back(), 72000), Each(0.0f)) << "Compile wrote nobody's memory";
  Run();
  EXPECT_THAT(Read(results[1], 2 * kMany), Each(0.0f));
  for (const size_t k : {2, 3, 4, 5})
    EXPECT_THAT(Read(results[k], k % 2 == 0 ? 64 : 72000), Each(0.5f));
  ExpectNothingMore();
}

/// A user's kernel that reads integers is not tried out before, as it may divide by them, or count
/// to them.
TEST_P(FirstRunOfSizes, IntegersAreNotTriedOut) {
  custom_test::Plan plan;
  plan.source =
      "__kernel void parts(__global const int* x, __global int* y) {\n"
      "  int n = 0;\n"
      "  for (int i = 0; i != 60; i += x[get_global_id(0)]) ++n;\n"
      "  y[get_global_id(0)] = n;\n"
      "}\n";
  plan.function = "parts";
  plan.dim = 1;
  plan.global = {3, 1, 1};
  const auto x = Input(graph_, {3}, DataType::INT32), y = Output(graph_, {3}, DataType::INT32);
  Bind<custom_test::UserOp>(graph_, {x}, {y}, plan, std::tuple<>());
  ASSERT_TRUE(graph_->Compile()) << graph_->LastStatus().message();  // would not end over zeros
  ASSERT_TRUE(Write<int>(x, {5, 6, 60}));
  Run();
  EXPECT_EQ(Read<int>(y, 3), std::vector<int>({12, 10, 1}));
}

INSTANTIATE_TEST_SUITE_P(All, FirstRunOfSizes, ::testing::Values(kForms[1]),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tim::vx::test
