// Custom operators in layout inference: with a rule of their own and without.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "hswish.h"
#include "support/api_support.h"
#include "tim/transform/layout_inference.h"
#include "tim/vx/op_def.h"
#include "tim/vx/ops/conv2d.h"

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
  const ShapeType shape = {3, 5, 4, 1};  // CWHN
  auto x = Input(graph, shape), a = Between(graph), b = Between(graph, shape);
  auto y = Output(graph, shape);
  std::vector<float> twice(9, 0.0f);
  for (size_t c = 0; c < 3; ++c) twice[4 * c] = 2;
  const auto kernel = Constant(graph, {3, 1, 1, 3}, twice);
  const std::array<uint32_t, 2> one = {1, 1};
  Bind<ops::Conv2d>(graph, {x, kernel}, {a}, PadType::VALID, one, one, 0, DataLayout::CWHN,
                    DataLayout::IcWHOc);
  Bind<Op>(graph, {a}, {b});
  Bind<ops::Conv2d>(graph, {b, kernel}, {y}, PadType::VALID, one, one, 0, DataLayout::CWHN,
                    DataLayout::IcWHOc);
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
