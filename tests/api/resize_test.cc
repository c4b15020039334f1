// Graph::Resize: other input shapes for a graph that stays the same otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/layernormalization.h"
#include "tim/vx/ops/pool2d.h"
#include "tim/vx/ops/reshape.h"
#include "tim/vx/ops/simple_operations.h"
#include "tim/vx/ops/softmax.h"
#include "tim/vx/ops/stack.h"

namespace tim::vx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::vector<float> Ramp(size_t count, float from = -1, float step = 0.25f) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = from + step * static_cast<float>(i % 13);
  return values;
}

/// The words of a Resize that fails.
std::string Refusal(const GraphPtr& graph, const std::vector<ShapeType>& shapes) {
  EXPECT_FALSE(graph->Resize(shapes));
  return graph->LastStatus().message();
}

class Resize : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam() && !HasOpenCl()) GTEST_SKIP() << "TIMCL_DEVICE=reference: no OpenCL";
  }
  GraphPtr NewGraph() const {
    return (GetParam() ? HostContext() : SharedContext())->CreateGraph();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Resize, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "reference" : "device"; });

/// What the network below makes of an input of width x height and batch, in a graph of its own.
struct Network {
  explicit Network(const GraphPtr& g, uint32_t size, uint32_t batch) : graph(g) {
    x = Input(g, {size, size, 2, batch});
    auto kernel = Constant(g, {3, 3, 2, 4}, Ramp(72));
    auto bias = Constant(g, {4}, {0.5f, -0.5f, 0.25f, 0});
    auto c = Between(g), r = Between(g), p = Between(g), s = Between(g);
    Bind<ops::Conv2d>(g, {x, kernel, bias}, {c}, PadType::SAME, std::array<uint32_t, 2>{1, 1},
                      std::array<uint32_t, 2>{1, 1});
    Bind<ops::Relu>(g, {c}, {r});
    y = Output(g, {size / 2, size / 2, 4, batch});
    Bind<ops::Pool2d>(g, {r}, {p}, PoolType::MAX, PadType::VALID, std::array<uint32_t, 2>{2, 2},
                      std::array<uint32_t, 2>{2, 2});
    Bind<ops::Softmax>(g, {p}, {y}, 1.0f, 2);
  }
  std::vector<float> Run(size_t inputs, size_t outputs) const {
    EXPECT_TRUE(Write<float>(x, Ramp(inputs)));
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    return Read(y, outputs);
  }
  GraphPtr graph;
  TensorPtr x, y;
};

TEST_P(Resize, GivesWhatAGraphOfThatShapeGives) {
  const Network net(NewGraph(), 6, 1);
  (void)net.Run(72, 36);
  for (const auto& [size, batch] : {std::pair{10u, 1u}, {4u, 3u}, {6u, 1u}, {16u, 2u}}) {
    ASSERT_TRUE(net.graph->Resize({{size, size, 2, batch}})) << net.graph->LastStatus().message();
    EXPECT_EQ(net.x->GetShape(), (ShapeType{size, size, 2, batch}));
    EXPECT_EQ(net.y->GetShape(), (ShapeType{size / 2, size / 2, 4, batch}));
    const size_t inputs = size * size * 2 * batch, outputs = size * size * batch;
    const Network fresh(NewGraph(), size, batch);
    EXPECT_THAT(net.Run(inputs, outputs), ElementsAreArray(fresh.Run(inputs, outputs)));
    EXPECT_EQ(net.graph->Report().launches, fresh.graph->Report().launches);
    EXPECT_EQ(net.graph->Report().steps, fresh.graph->Report().steps);
    EXPECT_EQ(net.graph->Report().arena_bytes, fresh.graph->Report().arena_bytes);
  }
}

TEST_P(Resize, FollowsThroughComposedOperators) {
  auto graph = NewGraph();
  auto x = Input(graph, {4, 2}), y = Output(graph, {4, 2});
  auto gamma = Constant(graph, {4}, {1, 2, 3, 4}), beta = Constant(graph, {4}, {0, 0, 1, 1});
  Bind<ops::LayerNormalization>(graph, {x, beta, gamma}, {y}, 0, 1e-3f);
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  ASSERT_TRUE(graph->Resize({{4, 5}})) << graph->LastStatus().message();
  Write<float>(x, Ramp(20));
  ASSERT_TRUE(graph->Run());
  auto other = NewGraph();
  auto x2 = Input(other, {4, 5}), y2 = Output(other, {4, 5});
  auto gamma2 = Constant(other, {4}, {1, 2, 3, 4}), beta2 = Constant(other, {4}, {0, 0, 1, 1});
  Bind<ops::LayerNormalization>(other, {x2, beta2, gamma2}, {y2}, 0, 1e-3f);
  Write<float>(x2, Ramp(20));
  ASSERT_TRUE(other->Run());
  EXPECT_THAT(Read(y, 20), ElementsAreArray(Read(y2, 20)));
}

TEST_P(Resize, WorksBeforeCompile) {
  auto graph = NewGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2});
  Bind<ops::Relu>(graph, {x}, {y});
  ASSERT_TRUE(graph->Resize({{3}})) << graph->LastStatus().message();
  Write<float>(x, {-1, 2, 3});
  ASSERT_TRUE(graph->Run());
  EXPECT_THAT(Read(y, 3), ElementsAre(0, 2, 3));
}

TEST_P(Resize, OneInputOfTwo) {
  auto graph = NewGraph();
  auto a = Input(graph, {3, 2}), b = Input(graph, {3, 1}), y = Output(graph, {});
  Bind<ops::Add>(graph, {a, b}, {y});
  ASSERT_TRUE(graph->Compile());
  Write<float>(b, {10, 20, 30});
  ASSERT_TRUE(graph->Resize({{3, 1}, {}}));
  Write<float>(a, {1, 2, 3});
  ASSERT_TRUE(graph->Run());
  EXPECT_THAT(Read(y, 3), ElementsAre(11, 22, 33)) << "b kept its contents";
}

TEST_P(Resize, WhatDoesNotFitLeavesTheGraphAsItWas) {
  auto graph = NewGraph();
  auto x = Input(graph, {4, 2}), y = Output(graph, {2, 2, 2});
  x->SetName("x");
  auto r = Between(graph);
  Bind<ops::Relu>(graph, {x}, {r});
  Bind<ops::Reshape>(graph, {r}, {y}, std::vector<uint32_t>{2, 2, 2});
  Write<float>(x, {1, 2, 3, 4, -5, -6, -7, 8});
  ASSERT_TRUE(graph->Run());
  EXPECT_THAT(Refusal(graph, {{5, 2}}), HasSubstr("Reshape#2"));
  EXPECT_EQ(graph->LastStatus().code(), Code::kInvalidShape);
  EXPECT_THAT(Refusal(graph, {}), HasSubstr("Resize is given 0 shapes, the graph has 1 INPUT"));
  EXPECT_THAT(Refusal(graph, {{4, 0}}), HasSubstr("graph input 0 'x' f32[4,2]: it cannot become "
                                                  "[4,0]"));
  EXPECT_THAT(Refusal(graph, {{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}}),
              HasSubstr("it cannot become"));
  EXPECT_EQ(x->GetShape(), (ShapeType{4, 2}));
  EXPECT_THAT(Read(x, 8), ElementsAre(1, 2, 3, 4, -5, -6, -7, 8));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(y, 8), ElementsAre(1, 2, 3, 4, 0, 0, 0, 8));
}

TEST_P(Resize, CallersMemoryIsUsedAsFarAsItReaches) {
  alignas(64) float in[8] = {1, -2, 3, -4, 5, -6, 7, -8}, out[8] = {};
  auto graph = NewGraph();
  TensorSpec spec(DataType::FLOAT32, {4, 2}, TensorAttribute::INPUT);
  auto x = graph->CreateIOTensor(spec, in);
  spec.attr_ = TensorAttribute::OUTPUT;
  auto y = graph->CreateIOTensor(spec, out);
  Bind<ops::Relu>(graph, {x}, {y});
  ASSERT_TRUE(graph->Run());
  EXPECT_THAT(out, ElementsAre(1, 0, 3, 0, 5, 0, 7, 0));
  ASSERT_TRUE(graph->Resize({{3, 2}})) << graph->LastStatus().message();
  std::fill(out, out + 8, -1.0f);
  ASSERT_TRUE(graph->Run());
  EXPECT_THAT(out, ElementsAre(1, 0, 3, 0, 5, 0, -1, -1));
  EXPECT_THAT(Refusal(graph, {{9}}), HasSubstr("the memory given by the caller has 32 bytes"));
  ASSERT_TRUE(graph->Resize({{4, 2}})) << "back to all of it";
  ASSERT_TRUE(graph->Run());
  EXPECT_THAT(out, ElementsAre(1, 0, 3, 0, 5, 0, 7, 0));
}

TEST_P(Resize, StateKeepsItsShape) {
  auto graph = NewGraph();
  auto x = Input(graph, {2});
  auto state = Make(graph, TensorAttribute::VARIABLE, {2});
  auto y = Output(graph, {});
  Write<float>(state, {100, 200});
  Bind<ops::Add>(graph, {x, state}, {state});
  Bind<ops::Relu>(graph, {state}, {y});
  Write<float>(x, {1, 2});
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Refusal(graph, {{2, 3}}), HasSubstr("Add#1: output 0"));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(state, 2), ElementsAre(102, 204));
}

TEST_P(Resize, PackedNibbles) {
  auto graph = NewGraph();
  auto x = Input(graph, {4}, DataType::INT4), y = Output(graph, {4}, DataType::INT4);
  Bind<ops::DataConvert>(graph, {x}, {y});
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  ASSERT_TRUE(graph->Resize({{6}})) << graph->LastStatus().message();
  Write<uint8_t>(x, {0x21, 0x43, 0x65});
  ASSERT_TRUE(graph->Run());
  EXPECT_THAT(Read<uint8_t>(y, 3), ElementsAre(0x21, 0x43, 0x65));
}

TEST(ResizeTest, SameShapesChangeNothing) {
  auto graph = HostContext()->CreateGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2});
  Bind<ops::Relu>(graph, {x}, {y});
  Write<float>(x, {1, 2});
  ASSERT_TRUE(graph->Run());
  ASSERT_TRUE(graph->Resize({{2}}));
  ASSERT_TRUE(graph->Resize({{}}));
  EXPECT_THAT(Read(y, 2), ElementsAre(1, 2));
}

TEST(ResizeTest, OfAGraphThatCannotBeCompiled) {
  auto graph = HostContext()->CreateGraph();
  EXPECT_THAT(Refusal(graph, {}), HasSubstr("the graph has no operations"));
}

}  // namespace
}  // namespace tim::vx::test
