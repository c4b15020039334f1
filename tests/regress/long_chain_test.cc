// A chain of hundreds of point-wise ops compiles: fusion once wrote it as one expression, and
// compilers allow 256 levels of brackets. What one kernel takes along is bounded.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/activations.h"

namespace {

using namespace tim::vx;  // NOLINT

TEST(Regress, LongChainOfPointwiseOpsCompiles) {
  constexpr int kOps = 300;
  const auto context = Context::Create();
  CompileOption options;
  options.SetOption("opencl", "one_kernel", "off");
  auto graph = context->CreateGraph(options);
  const std::vector<float> data = {-3.0f, 0.5f, 7.0f, 0.0f};
  const TensorSpec middle(DataType::FLOAT32, {}, TensorAttribute::TRANSIENT);
  auto value =
      graph->CreateTensor(TensorSpec(DataType::FLOAT32, {4}, TensorAttribute::INPUT), data.data());
  for (int k = 0; k < kOps; ++k) {
    auto next = graph->CreateTensor(
        k + 1 < kOps ? middle : TensorSpec(DataType::FLOAT32, {4}, TensorAttribute::OUTPUT));
    graph->CreateOperation<ops::Linear>(1.0f, 1.0f)->BindInput(value).BindOutput(next);
    value = next;
  }
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  std::vector<float> result(4);
  value->CopyDataFromTensor(result.data());
  EXPECT_EQ(result, (std::vector<float>{297.0f, 300.5f, 307.0f, 300.0f}));
  if (context->DeviceName() == "reference") GTEST_SKIP() << "the reference launches no kernels";
  EXPECT_GT(graph->Report().launches, 1u);
  EXPECT_LT(graph->Report().launches, 30u);
}

}  // namespace
