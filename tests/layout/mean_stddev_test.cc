// MeanStdDevNormalization: eleven operators become one that computes the same, or nothing changes.
#include <gtest/gtest.h>

#include <cmath>

#include "layout/described_graph.h"
#include "support/api_support.h"
#include "tim/transform/mean_stddev_normalize_fusion.h"
#include "tim/vx/ops.h"

namespace tim::vx::layout_test {
namespace {

using test::Bind;
using test::Constant;
using test::Input;
using test::Output;
using test::Read;
using test::Write;
using Floats = std::vector<float>;

class MeanStdDevTest : public testing::Test {
 protected:
  TensorPtr Between() { return test::Between(graph_, shape_); }
  Floats Values(size_t count, float step) {
    Floats v;
    for (size_t i = 0; i < count; ++i)
      v.push_back(std::fmod(static_cast<float>(i) * step, 5.0f) - 1);
    return v;
  }

  /// The eleven ops over {`shape`}, with parameters of that shape.
  void Build(const ShapeType& shape, const std::vector<int32_t>& axes,
             const ShapeType& parameters) {
    shape_ = shape;
    graph_ = HostContext()->CreateGraph();
    x_ = Input(graph_, shape);
    y_ = Output(graph_, shape);
    mean_ = Between();
    const size_t count = static_cast<size_t>(Shape(parameters).count());
    const TensorPtr gamma = Constant(graph_, parameters, Values(count, 0.7f));
    const TensorPtr beta = Constant(graph_, parameters, Values(count, 1.3f));
    Bind<ops::ReduceMean>(graph_, {x_}, {mean_}, axes, true);
    auto d = Between(), square = Between(), variance = Between(), sum = Between(), root = Between();
    auto factor = Between(), scaled = Between(), offset = Between(), rest = Between();
    Bind<ops::Sub>(graph_, {x_, mean_}, {d});
    Bind<ops::Pow>(graph_, {d, Constant(graph_, {1}, {exponent_})}, {square});
    Bind<ops::ReduceMean>(graph_, {square}, {variance}, second_axes_.empty() ? axes : second_axes_,
                          true);
    TensorPtr eps = Constant(graph_, {1}, {0.01f});
    if (eps_is_converted_) {
      // As half: 0x2000 is 2^-7.
      const uint16_t half = 0x2000;
      const TensorPtr stored = graph_->CreateTensor(
          TensorSpec(DataType::FLOAT16, {1}, TensorAttribute::CONSTANT), &half);
      eps = test::Between(graph_, {1});
      Bind<ops::DataConvert>(graph_, {stored}, {eps});
    }
    Bind<ops::Add>(graph_, {eps, variance}, {sum});
    Bind<ops::Rsqrt>(graph_, {sum}, {root});
    Bind<ops::Multiply>(graph_, {root, gamma}, {factor});
    Bind<ops::Multiply>(graph_, {x_, factor}, {scaled});
    Bind<ops::Multiply>(graph_, {mean_, factor}, {offset});
    Bind<ops::Sub>(graph_, {beta, offset}, {rest});
    Bind<ops::Add>(graph_, {scaled, rest}, {y_})->SetName("norm");
  }

  Floats Run(GraphPtr graph, const TensorPtr& x, const TensorPtr& y) {
    const size_t count = static_cast<size_t>(Shape(shape_).count());
    EXPECT_TRUE(graph->Compile()) << graph->LastStatus().message();
    EXPECT_TRUE(Write(x, Values(count, 0.37f)) && graph->Run());
    return Read(y, count);
  }

  /// Both before and after the fusion; afterwards one op of that kind is left.
  void ExpectFused(const ShapeType& shape, const std::vector<int32_t>& axes,
                   const ShapeType& parameters, const std::string& kind) {
    Build(shape, axes, parameters);
    const Floats before = Run(graph_, x_, y_);
    Build(shape, axes, parameters);
    transform::MeanStdDevNormalization(graph_);
    const size_t rest = eps_is_converted_ ? 1 : 0;
    ASSERT_EQ(graph_->OpVector().size(), 1 + rest);
    const auto& op = graph_->OpVector().back();
    EXPECT_EQ(op->Kind(), kind);
    EXPECT_EQ(op->Name(), "norm");
    EXPECT_EQ(graph_->GetProducerOp(y_), op);
    EXPECT_EQ(graph_->GetConsumersOp(x_), std::vector<std::shared_ptr<Operation>>{op});
    ASSERT_EQ(InputsOf(*op).size(), 3u);
    EXPECT_EQ(InputsOf(*op)[1]->GetShape().size(), shape.size());
    EXPECT_EQ(InputsOf(*op)[1]->GetDataType(), DataType::FLOAT32);
    EXPECT_TRUE(InputsOf(*op)[2]->IsConstTensor());
    auto context = HostContext();
    const auto [inferred, map] = transform::LayoutInference(graph_, context);
    const Floats after = Run(inferred, map.at(x_), map.at(y_));
    for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(after[i], before[i], 1e-4f) << i;
  }
  void ExpectUntouched() {
    transform::MeanStdDevNormalization(graph_);
    EXPECT_EQ(graph_->OpVector().size(), 11u);
    EXPECT_TRUE(graph_->Compile()) << graph_->LastStatus().message();
  }

  ShapeType shape_;
  GraphPtr graph_;
  TensorPtr x_, y_, mean_;
  float exponent_ = 2;
  std::vector<int32_t> second_axes_;
  bool eps_is_converted_ = false;
};

TEST_F(MeanStdDevTest, OneDimensionIsALayer) {
  ExpectFused({6, 3, 2}, {0}, {6}, "LayerNormalization");
  EXPECT_EQ(graph_->OpVector()[0]->Attributes().ToText(), "axis=0, eps=0.009999999776482582");
  ExpectFused({6, 3, 2}, {-1}, {1, 1, 2}, "LayerNormalization");
  ExpectFused({6, 3, 2, 2}, {1}, {1, 3}, "LayerNormalization");
  ExpectFused({6, 3}, {0}, {1}, "LayerNormalization");
}

TEST_F(MeanStdDevTest, APlaneIsAnInstance) {
  ExpectFused({3, 5, 4, 2}, {1, 2}, {3}, "InstanceNormalization");  // CWHN
  EXPECT_EQ(std::get<std::string>(*graph_->OpVector()[0]->Attributes().Find("input_layout")),
            "CWHN");
  ExpectFused({5, 4, 3, 2}, {1, 0}, {1, 1, 3}, "InstanceNormalization");
  EXPECT_EQ(std::get<std::string>(*graph_->OpVector()[0]->Attributes().Find("input_layout")),
            "WHCN");
}

TEST_F(MeanStdDevTest, EpsilonMayBeConverted) {
  eps_is_converted_ = true;
  ExpectFused({6, 3}, {0}, {6}, "LayerNormalization");
}

TEST_F(MeanStdDevTest, WhatMeansSomethingElseStays) {
  Build({6, 3, 4, 2}, {0, 1, 2}, {1});
  ExpectUntouched();
  Build({6, 3, 4, 2}, {1, 2}, {1, 3});  // parameters along another dimension
  ExpectUntouched();
  exponent_ = 4;
  Build({6, 3}, {0}, {6});
  ExpectUntouched();
  exponent_ = 2;
  second_axes_ = {1};
  Build({6, 6}, {0}, {6});
  ExpectUntouched();
}

TEST_F(MeanStdDevTest, PartsThatAreUsedElsewhereStay) {
  Build({6, 3}, {0}, {6});
  Bind<ops::Relu>(graph_, {mean_}, {Output(graph_, {1, 3})});
  transform::MeanStdDevNormalization(graph_);
  EXPECT_EQ(graph_->OpVector().size(), 12u);
}

}  // namespace
}  // namespace tim::vx::layout_test
