// Small networks of bench/networks on the device against the reference backend, all elements.
#include <gtest/gtest.h>

#include "networks.h"
#include "tim/vx/context.h"

namespace networks {
namespace {

struct Run {
  std::shared_ptr<tim::vx::Graph> graph;
  Built built;
};
tim::vx::Result<Run> On(tim::vx::Context& context, const Network& network, Type type, int k) {
  Run run{context.CreateGraph(), {}};
  TIMCL_ASSIGN(run.built, Built::Into(*run.graph, network, type));
  TIMCL_TRY(run.built.SetInputs(k));
  if (!run.graph->Run()) return run.graph->LastStatus();
  return run;
}

class NetworksOnOpenCl : public testing::TestWithParam<const char*> {};

TEST_P(NetworksOnOpenCl, AsTheReference) {
  const auto network = Load(FileOf(GetParam()));
  ASSERT_TRUE(network.ok()) << network.status().message();
  tim::vx::ContextOptions options;
  options.host_only = true;
  const auto host = tim::vx::Context::Create(options), device = tim::vx::Context::Create();
  ASSERT_TRUE(device->LastStatus().ok()) << device->LastStatus().message();
  for (const Type type : {Type::kFloat32, Type::kInt8}) {
    // An input that was not calibrated with: values beyond the ranges saturate alike.
    const auto ours = On(*device, *network, type, 9), expected = On(*host, *network, type, 9);
    ASSERT_TRUE(ours.ok()) << ours.status().message();
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    const auto difference = Compare(ours->built, expected->built);
    ASSERT_TRUE(difference.ok()) << difference.status().message();
    // LeNet ends with a softmax, whose int8 form may be off by one step.
    EXPECT_LE(difference->largest, type == Type::kFloat32
                                       ? 1e-5 * difference->scale
                                       : 1.001 * ours->built.StepOf(network->outputs[0]))
        << NameOf(type) << ": " << difference->where;
  }
}

INSTANTIATE_TEST_SUITE_P(Small, NetworksOnOpenCl, testing::Values("lenet", "autoencoder"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace networks
