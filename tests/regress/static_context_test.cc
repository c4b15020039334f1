// A Context in static storage crashed at exit: the cache's thread asked the driver for binaries
// when the compiler inside the driver was gone already. The test is that the process ends well.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/activations.h"

namespace {

std::shared_ptr<tim::vx::Context> context;  // NOLINT: static on purpose
std::shared_ptr<tim::vx::Graph> graph;

TEST(Regress, ContextInStaticStorage) {
  context = tim::vx::Context::Create();
  graph = context->CreateGraph();
  const std::vector<float> data(7, 2.0f);
  tim::vx::TensorSpec in(tim::vx::DataType::FLOAT32, {7}, tim::vx::TensorAttribute::INPUT);
  tim::vx::TensorSpec out(tim::vx::DataType::FLOAT32, {7}, tim::vx::TensorAttribute::OUTPUT);
  auto x = graph->CreateTensor(in, data.data()), y = graph->CreateTensor(out);
  (*graph->CreateOperation<tim::vx::ops::SoftSign>()).BindInput(x).BindOutput(y);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  std::vector<float> result(7);
  ASSERT_TRUE(y->CopyDataFromTensor(result.data()));
  EXPECT_FLOAT_EQ(result[3], 2.0f / 3.0f);
}

}  // namespace
