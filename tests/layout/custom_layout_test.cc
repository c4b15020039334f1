// Custom operators in layout inference: with a rule of their own and without.
#include <gtest/gtest.h>

#include <cmath>

#include "hswish.h"
#include "support/api_support.h"
#include "support/cwhn_convolutions.h"
#include "tim/transform/layout_inference.h"
#include "tim/vx/op_def.h"

namespace tim::vx::test {
namespace {

using custom_ops::Hswish;

/// Says that it takes the dimensions in any order.
class HswishInAnyOrder : public Hswish {
 public:
  explicit HswishInAnyOrder(Graph* graph) : Hswish(graph) {
    SetLayoutRule(LayoutRule::SameForAll());
  }
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<HswishInAnyOrder>();
  }
};

/// Between two CWHN convolutions; how many transposes there are in the end.
template <class Op>
size_t Transposes() {
  auto context = SharedContext();
  auto graph = context->CreateGraph();
  const auto [x, y] =
      BetweenCwhnConvolutions(graph, [&graph](const TensorPtr&, const TensorPtr& a,
                                              const TensorPtr& b) { Bind<Op>(graph, {a}, {b}); });
  const auto [inferred, map] = transform::LayoutInference(graph, context);
  EXPECT_TRUE(inferred->Compile()) << inferred->LastStatus().message();
  std::vector<float> data;
  for (int i = 0; i < 60; ++i) data.push_back(0.11f * static_cast<float>(i) - 3);
  EXPECT_TRUE(Write(map.at(x), data) && inferred->Run());
  const auto got = Read(map.at(y), 60);
  for (size_t i = 0; i < 60; ++i) {
    const float v = 2 * data[i];
    EXPECT_NEAR(got[i], 2 * v * std::fmin(std::fmax(v + 3, 0.0f), 6.0f) / 6, 1e-4) << i;
  }
  size_t transposes = 0;
  for (const auto& op : inferred->OpVector()) transposes += op->Kind() == std::string("Transpose");
  return transposes;
}

TEST(CustomLayout, AnOpWithoutARuleSeesItsOperandsAsTheUserDoes) {
  EXPECT_EQ(Transposes<Hswish>(), 4u);
}

TEST(CustomLayout, AnOpWithARuleGoesAlong) { EXPECT_EQ(Transposes<HswishInAnyOrder>(), 2u); }

}  // namespace
}  // namespace tim::vx::test
