// Compile() leaves nothing to be compiled by the first Run: PoCL's folder does not grow any more.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/pool2d.h"
#include "tim/vx/ops/reshape.h"
#include "tim/vx/ops/softmax.h"

namespace tim::vx::test {
namespace {

namespace fs = std::filesystem;

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

TEST(FirstRun, CompilesNothing) {
  ASSERT_TRUE(kIsCold);
  const auto& context = SharedContext();
  if (!HasOpenCl()) GTEST_SKIP() << "TIMCL_DEVICE=reference: no OpenCL";
  auto graph = context->CreateGraph();
  auto x = Input(graph, {16, 16, 3, 1}), wide = Input(graph, {300, 300});
  auto kernel = Constant(graph, {3, 3, 3, 8}, std::vector<float>(216, 0.01f));
  auto bias = Constant(graph, {8}, std::vector<float>(8, 0.5f));
  auto weights = Constant(graph, {512, 10}, std::vector<float>(5120, 0.001f));
  auto c = Between(graph), r = Between(graph), p = Between(graph), f = Between(graph);
  auto y = Output(graph, {10, 1}), z = Output(graph, {300, 300});
  Bind<ops::Conv2d>(graph, {x, kernel, bias}, {c}, PadType::SAME, std::array<uint32_t, 2>{1, 1},
                    std::array<uint32_t, 2>{1, 1});
  Bind<ops::Tanh>(graph, {c}, {r});
  Bind<ops::Pool2d>(graph, {r}, {p}, PoolType::MAX, PadType::VALID, std::array<uint32_t, 2>{2, 2},
                    std::array<uint32_t, 2>{2, 2});
  Bind<ops::FullyConnected>(graph, {p, weights}, {f}, 2u);
  Bind<ops::Softmax>(graph, {f}, {y}, 1.0f, 0);
  Bind<ops::Sigmoid>(graph, {wide}, {z});  // more work-items than a small grid has
  const size_t before = Compiled();
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  const size_t compiled = Compiled();
  EXPECT_EQ(Read(y, 10), std::vector<float>(10, 0)) << "Compile wrote nobody's memory";
  EXPECT_EQ(Read(z, 90000), std::vector<float>(90000, 0));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  if (Compiled() == before)
    GTEST_SKIP() << "the driver is not PoCL: it keeps nothing in its folder";
  EXPECT_EQ(Compiled(), compiled);
  EXPECT_NEAR(Read(y, 10)[3], 0.1f, 1e-5f);
}

}  // namespace
}  // namespace tim::vx::test
