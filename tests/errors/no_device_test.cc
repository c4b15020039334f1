// A machine without an OpenCL driver: what is said, and what works all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"

namespace tim::vx::test {
namespace {

// Before main: the loader and the library each read it once.
const int kNoDrivers = setenv("OCL_ICD_VENDORS", "/nonexistent", 1) + unsetenv("TIMCL_DEVICE");

/// Relu of {-1, 2} by this context; "" or what went wrong.
std::string RunRelu(const std::shared_ptr<Context>& context) {
  auto graph = context->CreateGraph();
  auto x = Input(graph, {2});
  auto y = Output(graph, {2});
  Bind<ops::Relu>(graph, {x}, {y});
  Write<float>(x, {-1, 2});
  if (!graph->Run()) return graph->LastStatus().message();
  if (Read(y, 2) != std::vector<float>{0, 2}) return "wrong result";
  return graph->Report().ops.at(0).backend == "reference" ? "" : "not on the reference backend";
}

TEST(NoDevice, TheErrorSaysWhereWasLookedAndWhatHelps) {
  ASSERT_EQ(kNoDrivers, 0);
  auto context = Context::Create();
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(context->DeviceName(), "");
  const Status status = context->LastStatus();
  EXPECT_EQ(status.code(), Code::kDevice);
  const std::string words = RunRelu(context);
  EXPECT_EQ(words, status.message()) << "the graph says the same";
  for (const char* part :
       {"kDevice", "no OpenCL device", "OCL_ICD_VENDORS=/nonexistent (does not exist)",
        "pocl-opencl-icd", "reference backend", "host_only"}) {
    EXPECT_THAT(words, testing::HasSubstr(part));
  }
}

TEST(NoDevice, HostOnlyRuns) {
  ContextOptions options;
  options.host_only = true;
  auto context = Context::Create(options);
  EXPECT_TRUE(context->LastStatus().ok()) << context->LastStatus().message();
  EXPECT_EQ(context->DeviceName(), "reference");
  EXPECT_EQ(RunRelu(context), "");
}

TEST(NoDevice, TheOptionNamesTheReference) {
  ContextOptions options;
  options.device = "reference";
  EXPECT_EQ(RunRelu(Context::Create(options)), "");
}

// In a process of its own, which has not read the variable yet.
TEST(NoDeviceDeathTest, TheEnvironmentNamesTheReference) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    setenv("TIMCL_DEVICE", "reference", 1);
    const std::string wrong = RunRelu(Context::Create());
    std::fprintf(stderr, "result: [%s]\n", wrong.c_str());
    std::_Exit(wrong.empty() ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "result: \\[\\]");
}

}  // namespace
}  // namespace tim::vx::test
