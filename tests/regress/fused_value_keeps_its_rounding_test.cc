// A quantized tensor between two fused ops is observable: its rounding and clamping must survive
// fusion (NUMERICS). 300 does not fit the middle tensor, and 0.26 lies between two of its steps.
#include <gtest/gtest.h>

#include <vector>

#include "tim/vx/compile_option.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/simple_operations.h"

namespace {

using namespace tim::vx;  // NOLINT

std::vector<float> RunChain(bool fuse, size_t* launches) {
  CompileOption options;
  options.SetFusion(fuse).SetOption("opencl", "one_kernel", "off");
  auto graph = Context::Create()->CreateGraph(options);
  const std::vector<float> data = {-3.0f, 0.26f, 7.9f, 300.0f};
  TensorSpec in(DataType::FLOAT32, {4}, TensorAttribute::INPUT),
      out(DataType::FLOAT32, {4}, TensorAttribute::OUTPUT);
  TensorSpec middle(DataType::UINT8, {}, TensorAttribute::TRANSIENT,
                    Quantization(QuantType::ASYMMETRIC, 0.5f, 4));
  auto x = graph->CreateTensor(in, data.data()), q = graph->CreateTensor(middle),
       y = graph->CreateTensor(out);
  (*graph->CreateOperation<ops::DataConvert>()).BindInput(x).BindOutput(q);
  (*graph->CreateOperation<ops::Square>()).BindInput(q).BindOutput(y);
  EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
  std::vector<float> result(4);
  y->CopyDataFromTensor(result.data());
  *launches = graph->Report().launches;
  return result;
}

TEST(Regress, QuantizedValueIsRoundedInsideAFusion) {
  size_t fused_launches = 0, launches = 0;
  const auto fused = RunChain(true, &fused_launches), separate = RunChain(false, &launches);
  if (Context::Create()->DeviceName() != "reference") {
    EXPECT_EQ(fused_launches, 1u);
    EXPECT_EQ(launches, 2u);
  }
  // -3 clamps to -2, 0.26 rounds to 0.5, 7.9 to 8, 300 clamps to 125.5.
  const std::vector<float> expected = {4.0f, 0.25f, 64.0f, 15750.25f};
  EXPECT_EQ(fused, expected);
  EXPECT_EQ(separate, expected);
}

}  // namespace
