// The version script named typeinfo with a blank in quotes, which matches literally: classes of
// users could not derive from ours, and dynamic_cast across the library's border failed.
#include <gtest/gtest.h>

#include <memory>
#include <typeinfo>

#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/custom_base.h"

namespace {

class Mine : public tim::vx::ops::CustomOpBase {
 public:
  explicit Mine(tim::vx::Graph* graph) : CustomOpBase(graph, 1, 1, -1, "Mine") {}
  std::shared_ptr<tim::vx::Operation> Clone(std::shared_ptr<tim::vx::Graph>& graph) const override {
    return graph->CreateOperation<Mine>();
  }
  void SetupParams(std::vector<tim::vx::DataType>, std::string&) override {}
  void SetupShapeInfor() override {}
  void SetupEnqueue(uint32_t&, std::vector<size_t>&, std::vector<size_t>&) override {}
};

TEST(Regress, TypesAreOneAcrossTheLibrarysBorder) {
  tim::vx::ContextOptions options;
  options.host_only = true;
  auto graph = tim::vx::Context::Create(options)->CreateGraph();
  std::shared_ptr<tim::vx::Operation> mine = graph->CreateOperation<Mine>();
  EXPECT_NE(dynamic_cast<tim::vx::ops::CustomOpBase*>(mine.get()), nullptr);
  std::shared_ptr<tim::vx::Operation> relu = graph->CreateOperation<tim::vx::ops::Relu>();
  std::shared_ptr<tim::vx::Operation> clone = relu->Clone(graph);  // made inside the library
  EXPECT_NE(dynamic_cast<tim::vx::ops::Relu*>(clone.get()), nullptr);
  EXPECT_EQ(typeid(*clone), typeid(tim::vx::ops::Relu));
}

}  // namespace
