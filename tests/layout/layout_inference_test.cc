// Layout inference, one promise per test: how many transposes there are, what is kept, what fails.
#include "tim/transform/layout_inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "ir/graph.h"
#include "layout/described_graph.h"
#include "support/api_support.h"
#include "tim/vx/op_kit.h"
#include "tim/vx/ops.h"

namespace tim::vx::layout_test {
namespace {

using test::Between;
using test::Bind;
using test::Constant;
using test::Input;
using test::Make;
using test::Output;
using test::Read;
using test::Write;
using testing::ElementsAre;
using testing::HasSubstr;
using Floats = std::vector<float>;

Floats Numbers(size_t count, float step = 0.37f) {
  Floats values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(std::fmod(static_cast<float>(i) * step, 3.0f) - 1);
  return values;
}

/// Float data of that shape in another order.
Floats Ordered(const Floats& values, const ShapeType& shape, const Order& order) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  bytes = Reorder(bytes, {DataType::FLOAT32, Shape(shape), {}}, order);
  Floats out(values.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}
const Order kToWhcn = {1, 2, 0, 3}, kToCwhn = {2, 0, 1, 3};

class LayoutInferenceTest : public testing::Test {
 protected:
  void Infer() {
    auto [graph, map] = transform::LayoutInference(graph_, context_, orders_);
    inferred_ = graph;
    map_ = map;
  }
  void InferAndRun() {
    Infer();
    ASSERT_TRUE(inferred_->Compile()) << inferred_->LastStatus().message();
    for (const auto& [t, values] : inputs_) ASSERT_TRUE(Write(map_[t], values));
    ASSERT_TRUE(inferred_->Run()) << inferred_->LastStatus().message();
  }
  Floats Result(const TensorPtr& t, size_t count) { return Read(map_[t], count); }
  /// An input with data.
  TensorPtr Given(const ShapeType& shape, float step = 0.37f) {
    TensorPtr t = Input(graph_, shape);
    inputs_.emplace_back(t, Numbers(static_cast<size_t>(Shape(shape).count()), step));
    return t;
  }
  TensorPtr Const(const ShapeType& shape, float step = 0.23f) {
    return Constant(graph_, shape, Numbers(static_cast<size_t>(Shape(shape).count()), step));
  }
  size_t Count(const char* kind) { return CountOps(inferred_, kind); }
  /// The attributes of the only op of that kind.
  AttrMap AttributesOf(const std::string& kind) {
    for (const auto& op : inferred_->OpVector()) {
      if (op->Kind() == kind) return op->Attributes();
    }
    return {};
  }
  std::shared_ptr<ops::Conv2d> Conv(const TensorPtr& x, const TensorPtr& w, const TensorPtr& y,
                                    DataLayout data = DataLayout::CWHN,
                                    DataLayout kernel = DataLayout::IcWHOc) {
    return Bind<ops::Conv2d>(graph_, {x, w}, {y}, PadType::SAME, std::array<uint32_t, 2>{1, 1},
                             std::array<uint32_t, 2>{1, 1}, 0, data, kernel);
  }
  /// A 3x3 convolution of WHCN data by a WHIcOc kernel.
  static Floats Convolved(const Floats& x, const ShapeType& xs, const Floats& w,
                          const ShapeType& ws) {
    auto context = HostContext();
    auto graph = context->CreateGraph();
    auto in = Input(graph, xs);
    auto out = Output(graph, {});
    Bind<ops::Conv2d>(graph, {in, Constant(graph, ws, w)}, {out}, PadType::SAME,
                      std::array<uint32_t, 2>{1, 1}, std::array<uint32_t, 2>{1, 1});
    EXPECT_TRUE(graph->Compile()) << graph->LastStatus().message();
    EXPECT_TRUE(Write(in, x) && graph->Run());
    return Read(out, x.size() / xs[2] * ws[3]);
  }

  std::shared_ptr<Context> context_ = HostContext();
  GraphPtr graph_ = context_->CreateGraph(), inferred_;
  std::map<TensorPtr, std::shared_ptr<transform::IPermuteVector>> orders_;
  std::map<TensorPtr, TensorPtr> map_;
  std::vector<std::pair<TensorPtr, Floats>> inputs_;
};

// ------------------------------------------------------------------------------ how many
// transposes

TEST_F(LayoutInferenceTest, AChainNeedsTwoTransposes) {
  for (auto& context : {HostContext(), test::SharedContext()}) {
    context_ = context;
    graph_ = context_->CreateGraph();
    inputs_.clear();
    constexpr size_t kLength = 5;
    TensorPtr x = Given({4, 6, 5, 2});
    const TensorPtr first = x;
    Floats expected = Ordered(inputs_[0].second, {4, 6, 5, 2}, kToWhcn);
    for (size_t i = 0; i < kLength; ++i) {
      const Floats w = Numbers(4 * 9 * 4, 0.11f + static_cast<float>(i) * 0.07f);
      TensorPtr y = Between(graph_), relu = Between(graph_), sum = Between(graph_);
      Conv(x, Constant(graph_, {4, 3, 3, 4}, w), y);
      Bind<ops::LeakyRelu>(graph_, {y}, {relu}, 0.25f);
      if (i + 1 == kLength) sum = Output(graph_, {4, 6, 5, 2});
      Bind<ops::Add>(graph_, {relu, Const({4})}, {sum});  // one for each channel
      x = sum;
      expected = Convolved(expected, {6, 5, 4, 2}, Ordered(w, {4, 3, 3, 4}, kToWhcn), {3, 3, 4, 4});
      const Floats bias = Numbers(4, 0.23f);
      for (size_t k = 0; k < expected.size(); ++k) {
        expected[k] = (expected[k] >= 0 ? expected[k] : expected[k] * 0.25f) + bias[k / 30 % 4];
      }
    }
    InferAndRun();
    EXPECT_EQ(Count("Transpose"), 2u);
    EXPECT_EQ(Count("Reshape"), 0u);
    std::cout << kLength << " CWHN convolutions with two element-wise ops each: " << 2 * kLength
              << " transposes written out, " << Count("Transpose") << " inferred\n";
    const Floats got = Ordered(Result(x, 240), {4, 6, 5, 2}, kToWhcn);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], expected[k], 1e-5f * (std::fabs(expected[k]) + 10)) << k;
  }
}

TEST_F(LayoutInferenceTest, AResidualNeedsNoMore) {
  TensorPtr x = Given({4, 6, 5, 1});
  for (int i = 0; i < 3; ++i) {
    TensorPtr y = Between(graph_), sum = i == 2 ? Output(graph_, {4, 6, 5, 1}) : Between(graph_);
    Conv(x, Const({4, 3, 3, 4}), y);
    Bind<ops::Add>(graph_, {x, y}, {sum});
    x = sum;
  }
  InferAndRun();
  EXPECT_EQ(Count("Transpose"), 2u);
}

TEST_F(LayoutInferenceTest, TransposesOfTheUserMergeAndCancel) {
  // CWHN convolution, then what its user wrote to go on in WHCN.
  TensorPtr x = Given({4, 6, 5, 1}), y = Between(graph_), whcn = Between(graph_);
  TensorPtr out = Output(graph_, {6, 5, 4, 1});
  Conv(x, Const({4, 3, 3, 4}), y);
  Bind<ops::Transpose>(graph_, {y}, {whcn}, std::vector<uint32_t>(kToWhcn));
  Conv(whcn, Const({3, 3, 4, 4}), out, DataLayout::WHCN, DataLayout::WHIcOc);
  InferAndRun();
  EXPECT_EQ(Count("Transpose"), 1u);  // at the input
}

TEST_F(LayoutInferenceTest, TransposesThatCancelLeaveAReshape) {
  TensorPtr x = Given({2, 3, 4}), between = Between(graph_), out = Output(graph_, {2, 3, 4});
  Bind<ops::Transpose>(graph_, {x}, {between}, std::vector<uint32_t>{1, 2, 0});
  Bind<ops::Transpose>(graph_, {between}, {out}, std::vector<uint32_t>{2, 0, 1});
  InferAndRun();
  EXPECT_EQ(Count("Transpose"), 0u);
  EXPECT_EQ(Count("Reshape"), 1u);
  EXPECT_EQ(Result(out, 24), inputs_[0].second);
}

TEST_F(LayoutInferenceTest, DimensionsOfOneMoveForFree) {
  TensorPtr x = Given({1, 6, 5, 1}), y = Output(graph_, {1, 6, 5, 1});
  Conv(x, Const({1, 3, 3, 1}), y);
  InferAndRun();
  EXPECT_EQ(Count("Transpose"), 0u);
}

TEST_F(LayoutInferenceTest, ATransposeWithManyReadersIsDoneOnce) {
  TensorPtr x = Given({2, 3, 4}), t = Between(graph_);
  Bind<ops::Transpose>(graph_, {x}, {t}, std::vector<uint32_t>{1, 2, 0});
  for (int i = 0; i < 3; ++i) Bind<ops::Relu>(graph_, {t}, {Output(graph_, {3, 4, 2})});
  InferAndRun();
  EXPECT_EQ(Count("Transpose"), 1u);
}

TEST_F(LayoutInferenceTest, TwoOutputsOfOneOpAreNotTransposedTwice) {
  TensorPtr x = Given({4, 6, 5, 2}), out1 = Output(graph_, {4, 3, 5, 2});
  TensorPtr out2 = Output(graph_, {4, 3, 5, 2}), out3 = Output(graph_, {4, 6, 5, 2});
  TensorPtr y = Between(graph_);
  Conv(x, Const({4, 3, 3, 4}), y);
  Bind<ops::Split>(graph_, {y}, {out1, out2}, 1u, std::vector<uint32_t>{3, 3});
  Bind<ops::Relu>(graph_, {y}, {out3});
  InferAndRun();
  EXPECT_EQ(Count("Transpose"), 2u);  // x, and y once for both
}

// ------------------------------------------------------------------------------------ what is kept

TEST_F(LayoutInferenceTest, AttributesSurvive) {
  TensorPtr x = Given({8, 4, 4, 1});
  Bind<ops::DepthToSpace>(graph_, {x}, {Output(graph_, {2, 8, 8, 1})}, 2,
                          ops::DepthToSpace::CRD_mode, DataLayout::CWHN);
  Bind<ops::Pool2d>(graph_, {x}, {Output(graph_, {})}, PoolType::AVG, PadType::SAME,
                    std::array<uint32_t, 2>{3, 3}, std::array<uint32_t, 2>{2, 2},
                    RoundType::CEILING, DataLayout::CWHN);
  Bind<ops::PadV2>(graph_, {x}, {Output(graph_, {})}, std::vector<uint32_t>{1, 0, 2, 0},
                   std::vector<uint32_t>{0, 1, 0, 0}, 1.5f, ops::PadV2::PAD_MODE_REFLECT);
  Bind<ops::Div>(graph_, {x, Const({8})}, {Output(graph_, {})}, 0.5f);
  orders_[x] = VectorOf({3, 1, 0, 2});
  x->GetSpec().SetShape({1, 4, 8, 4});
  Infer();
  using Text = std::string;
  EXPECT_EQ(std::get<Text>(*AttributesOf("DepthToSpace").Find("mode")), "CRD");
  EXPECT_EQ(std::get<Text>(*AttributesOf("DepthToSpace").Find("layout")), "WHCN");
  EXPECT_EQ(std::get<Text>(*AttributesOf("Pool2d").Find("padding")), "SAME");
  EXPECT_EQ(std::get<Text>(*AttributesOf("Pool2d").Find("round_type")), "CEILING");
  EXPECT_EQ(std::get<Text>(*AttributesOf("PadV2").Find("pad_mode")), "REFLECT");
  EXPECT_EQ(std::get<double>(*AttributesOf("PadV2").Find("const_val")), 1.5);
  EXPECT_EQ(std::get<double>(*AttributesOf("Div").Find("scale")), 0.5);
  // Rewritten for the order in which the memory of x lies.
  EXPECT_EQ(std::get<std::vector<int64_t>>(*AttributesOf("PadV2").Find("front_size")),
            (std::vector<int64_t>{0, 0, 1, 2}));
}

TEST_F(LayoutInferenceTest, NamesAndClassesSurvive) {
  TensorPtr x = Given({4, 6, 5, 1}), y = Output(graph_, {4, 6, 5, 1});
  x->SetName("image");
  y->SetName("scores");
  Conv(x, Const({4, 3, 3, 4}), y)->SetName("conv");
  Infer();
  EXPECT_EQ(map_[x]->Name(), "image");
  EXPECT_EQ(map_[y]->Name(), "scores");
  std::vector<std::string> names;
  for (const auto& op : inferred_->OpVector()) {
    names.push_back(op->Kind() + (" " + op->Name()));
    if (op->Name() == "conv") {
      EXPECT_NE(dynamic_cast<ops::Conv2d*>(op.get()), nullptr);
    }
  }
  // What is inserted says whose layout it is, in dumps, drawings and reports too.
  EXPECT_THAT(names, testing::UnorderedElementsAre("Conv2d conv", "Transpose layout of image",
                                                   "Transpose layout of scores"));
  EXPECT_THAT(inferred_->ToText(), HasSubstr("layout of image"));
}

TEST_F(LayoutInferenceTest, TheChannelDimensionFollows) {
  const Quantization per_channel(QuantType::SYMMETRIC_PER_CHANNEL, 0, {0.1f, 0.2f, 0.3f}, {});
  const Quantization q(QuantType::ASYMMETRIC, 0.5f, 3);
  TensorPtr x = Input(graph_, {2, 4, 4, 1}, DataType::UINT8, q);
  std::vector<int8_t> w(3 * 2 * 3 * 3, 1);
  TensorPtr kernel =
      Make(graph_, TensorAttribute::CONSTANT, {3, 2, 3, 3}, DataType::INT8, per_channel, w.data());
  TensorPtr y = Output(graph_, {3, 4, 4, 1}, DataType::UINT8, q);
  Conv(x, kernel, y, DataLayout::CWHN, DataLayout::OcIcWH);
  InferAndRun();
  for (const auto& op : inferred_->OpVector()) {
    if (op->Kind() != std::string("Conv2d")) continue;
    const TensorPtr& t = InputsOf(*op)[1];
    EXPECT_TRUE(t->IsConstTensor());
    EXPECT_THAT(t->GetShape(), ElementsAre(3, 3, 2, 3));
    EXPECT_EQ(t->GetQuantization().ChannelDim(), 3);
  }
}

TEST_F(LayoutInferenceTest, PlaceholdersSurvive) {
  using Rnn = ops::UnidirectionalSequenceRnn;
  TensorPtr x = Given({3, 2, 4}), h = Output(graph_, {5, 2}), y = Output(graph_, {5, 2, 4});
  const TensorPtr none = graph_->CreateTensorPlaceHolder();
  Bind<Rnn>(graph_, {x, Const({3, 5}), Const({5, 5}), Const({5}), none, none}, {h, y}, Rnn::kTANH,
            true);
  orders_[x] = VectorOf({2, 0, 1});
  x->GetSpec().SetShape({4, 3, 2});
  InferAndRun();
  const auto& op = inferred_->OpVector().front();
  ASSERT_EQ(InputsOf(*op).size(), 6u);
  EXPECT_TRUE(InputsOf(*op)[4]->IsPlaceHolder());
  EXPECT_EQ(InputsOf(*op)[4], inferred_->CreateTensorPlaceHolder());
}

TEST_F(LayoutInferenceTest, ResultsMayBeLeftOut) {
  TensorPtr x = Input(graph_, {3, 4}), indices = Output(graph_, {2, 3}, DataType::INT32);
  inputs_.emplace_back(
      x, Floats{1, 5, 9, 2, 4, 8, 3, 6, 7, 4, 3, 6});  // {4, 3}: 1 2 3 4, 5 4 6 3, ...
  orders_ = {{x, VectorOf({1, 0})}};
  Bind<ops::Topk>(graph_, {x}, {graph_->CreateTensorPlaceHolder(), indices}, 2u, 0);
  InferAndRun();
  EXPECT_THAT(Read<int32_t>(map_[indices], 6), ElementsAre(3, 2, 2, 0, 0, 1));
}

TEST_F(LayoutInferenceTest, ComposedOpsStayWhole) {
  TensorPtr x = Given({3, 2}), state = Given({4, 2});
  Bind<ops::RNNCell>(graph_, {x, Const({3, 4}), Const({4}), state, Const({4, 4})},
                     {Output(graph_, {4, 2}), Output(graph_, {4, 2})}, ops::RNNCell::kTANH);
  orders_[x] = VectorOf({1, 0});
  x->GetSpec().SetShape({2, 3});
  InferAndRun();
  EXPECT_EQ(Count("RNNCell"), 1u);
  EXPECT_EQ(Count("Transpose"), 1u);
  EXPECT_EQ(inferred_->OpVector().size(), 2u);
}

TEST_F(LayoutInferenceTest, TheSourceStaysAsItIs) {
  TensorPtr x = Given({4, 4, 4, 1}), y = Output(graph_, {4, 4, 4, 1}), sum = Between(graph_, {9});
  Conv(x, Const({4, 4, 4, 4}), sum);
  Bind<ops::Add>(graph_, {sum, Const({4})}, {y});
  const std::string before = graph_->ToText();
  Infer();
  EXPECT_EQ(graph_->ToText(), before);
  EXPECT_EQ(graph_->OpVector().size(), 2u);
  EXPECT_TRUE(graph_->Compile());  // as WHCN, and Compile() says so
  EXPECT_THAT(graph_->Report().ToText(), HasSubstr("layout arguments have no effect"));
}

TEST_F(LayoutInferenceTest, TheReportTellsOfLayoutsOnce) {
  TensorPtr x = Given({4, 4, 4, 4}), y = Between(graph_), z = Output(graph_, {4, 4, 4, 4});
  Conv(x, Const({4, 4, 4, 4}), y)->SetName("first");
  Conv(y, Const({4, 4, 4, 4}), z);
  ASSERT_TRUE(graph_->Compile());
  ASSERT_EQ(graph_->Report().warnings.size(), 1u);
  EXPECT_EQ(
      graph_->Report().warnings[0],
      "Conv2d#1 'first' (input_layout=\"CWHN\") and 1 more: layout arguments have no effect on "
      "their own; tim::transform::LayoutInference makes a graph that obeys them");
  InferAndRun();
  EXPECT_TRUE(inferred_->Report().warnings.empty());
}

TEST_F(LayoutInferenceTest, InferredOnceInferredForAll) {
  TensorPtr x = Given({4, 6, 5, 1}), y = Between(graph_), z = Output(graph_, {4, 6, 5, 1});
  Conv(x, Const({4, 3, 3, 4}), y);
  Bind<ops::Softmax>(graph_, {y}, {z}, 1.0f, 0);
  InferAndRun();
  const Floats once = Result(z, 120);
  const auto again = transform::LayoutInference(inferred_, context_);
  EXPECT_EQ(CountOps(again.first, "Transpose"), 2u);
  EXPECT_EQ(again.first->OpVector().size(), inferred_->OpVector().size());
  const TensorPtr in = again.second.at(map_[x]), out = again.second.at(map_[z]);
  ASSERT_TRUE(Write(in, inputs_[0].second) && again.first->Run());
  EXPECT_EQ(Read(out, 120), once);
}

// ------------------------------------------------------------------------------- inputs and
// outputs

TEST_F(LayoutInferenceTest, AnOutputMayFeedOthers) {
  TensorPtr x = Given({4, 6, 5, 1}), y = Output(graph_, {4, 6, 5, 1}), z = Output(graph_, {});
  const TensorPtr w = Const({4, 3, 3, 4});
  Conv(x, w, y);
  Conv(y, w, z);  // the same constant, permuted once
  InferAndRun();
  const Floats kernel = Ordered(Numbers(144, 0.23f), {4, 3, 3, 4}, kToWhcn);
  const Floats first = Convolved(Ordered(inputs_[0].second, {4, 6, 5, 1}, kToWhcn), {6, 5, 4, 1},
                                 kernel, {3, 3, 4, 4});
  EXPECT_EQ(Ordered(Result(y, 120), {4, 6, 5, 1}, kToWhcn), first);
  EXPECT_EQ(Ordered(Result(z, 120), {4, 6, 5, 1}, kToWhcn),
            Convolved(first, {6, 5, 4, 1}, kernel, {3, 3, 4, 4}));
  EXPECT_EQ(Count("Transpose"), 3u);
}

TEST_F(LayoutInferenceTest, AnInputMayBeAnOutput) {
  TensorPtr x = Make(graph_, static_cast<TensorAttribute>(INPUT | OUTPUT), {4, 6, 5, 1});
  TensorPtr other = Output(graph_, {4, 6, 5, 1});
  inputs_.emplace_back(x, Numbers(120));
  Conv(x, Const({4, 3, 3, 4}), other);
  InferAndRun();
  EXPECT_EQ(map_.size(), 2u);
  EXPECT_THAT(inferred_->InputsTensor(), ElementsAre(map_[x]));
  EXPECT_THAT(inferred_->OutputsTensor(), ElementsAre(map_[x], map_[other]));
  EXPECT_EQ(Result(x, 120), inputs_[0].second);
}

TEST_F(LayoutInferenceTest, UnboundTensorsAreMappedToo) {
  TensorPtr unused = Input(graph_, {3}), x = Given({2, 2}), y = Output(graph_, {2, 2});
  Bind<ops::Relu>(graph_, {x}, {y});
  InferAndRun();
  EXPECT_EQ(map_.size(), 3u);
  EXPECT_THAT(inferred_->InputsTensor(), ElementsAre(map_[unused], map_[x]));
}

TEST_F(LayoutInferenceTest, InputsMayBeWrittenBeforeCompile) {
  TensorPtr x = Given({2, 3}), y = Output(graph_, {3, 2});
  Bind<ops::Transpose>(graph_, {x}, {y}, std::vector<uint32_t>{1, 0});
  Infer();
  ASSERT_TRUE(Write(map_[x], inputs_[0].second) && inferred_->Compile() && inferred_->Run());
  EXPECT_EQ(Result(y, 6), Ordered(inputs_[0].second, {2, 3}, {1, 0}));
}

TEST_F(LayoutInferenceTest, MemoryMayBePermuted) {
  // x, c and y as operators see them are {2, 3, 4}; all three lie otherwise.
  const Floats x = Numbers(24), c = Numbers(24, 0.9f);
  const Order ox = {2, 0, 1}, oc = {1, 2, 0}, oy = {0, 2, 1};
  TensorPtr tx = Input(graph_, {4, 2, 3}), ty = Output(graph_, {2, 4, 3});
  TensorPtr tc = Constant(graph_, {3, 4, 2}, Ordered(c, {2, 3, 4}, oc));
  inputs_.emplace_back(tx, Ordered(x, {2, 3, 4}, ox));
  Bind<ops::Sub>(graph_, {tx, tc}, {ty});
  orders_ = {{tx, VectorOf(ox)}, {tc, VectorOf(oc)}, {ty, VectorOf(oy)}};
  InferAndRun();
  Floats difference;
  for (size_t i = 0; i < 24; ++i) difference.push_back(x[i] - c[i]);
  EXPECT_EQ(Result(ty, 24), Ordered(difference, {2, 3, 4}, oy));
  EXPECT_EQ(Count("Transpose"), 1u);  // none for the constant
}

TEST_F(LayoutInferenceTest, AKernelMayBeComputed) {
  for (const auto& [layout, order] :
       std::map<DataLayout, Order>{{DataLayout::IcWHOc, {1, 2, 0, 3}},
                                   {DataLayout::OcIcWH, {2, 3, 1, 0}},
                                   {DataLayout::IcOcWH, {2, 3, 0, 1}}}) {
    graph_ = context_->CreateGraph();
    inputs_.clear();
    const Floats native = Numbers(3 * 3 * 4 * 2);
    const ShapeType shape = ir::Permuted(Shape{3, 3, 4, 2}, ir::Inverse(order)).ToShapeType();
    TensorPtr x = Given({6, 5, 4, 1}), w = Input(graph_, shape), y = Output(graph_, {6, 5, 2, 1});
    inputs_.emplace_back(w, Ordered(native, {3, 3, 4, 2}, ir::Inverse(order)));
    Conv(x, w, y, DataLayout::WHCN, layout);
    InferAndRun();
    EXPECT_EQ(map_[w]->GetShape(), shape);
    EXPECT_EQ(Count("Transpose"), 1u);
    EXPECT_EQ(Result(y, 60), Convolved(inputs_[0].second, {6, 5, 4, 1}, native, {3, 3, 4, 2}));
  }
}

TEST_F(LayoutInferenceTest, AConstantServesSeveralOrders) {
  const Floats w = Numbers(4 * 4 * 4 * 4);
  TensorPtr kernel = Constant(graph_, {4, 4, 4, 4}, w), x = Given({4, 4, 4, 4});
  TensorPtr y1 = Output(graph_, {}), y2 = Output(graph_, {}), y3 = Output(graph_, {});
  Conv(x, kernel, y1, DataLayout::WHCN, DataLayout::OcIcWH);
  Conv(x, kernel, y2, DataLayout::WHCN, DataLayout::WHIcOc);
  Bind<ops::Relu>(graph_, {kernel}, {y3});
  InferAndRun();
  const ShapeType s = {4, 4, 4, 4};
  EXPECT_EQ(Result(y1, 256), Convolved(inputs_[0].second, s, Ordered(w, s, {2, 3, 1, 0}), s));
  EXPECT_EQ(Result(y2, 256), Convolved(inputs_[0].second, s, w, s));
  Floats relu = w;
  for (float& v : relu) v = std::max(v, 0.0f);
  EXPECT_EQ(Result(y3, 256), relu);
}

// --------------------------------------------------------------------------------- declared shapes

TEST_F(LayoutInferenceTest, DeclaredExtentsWin) {
  TensorPtr x = Given({4, 6, 5, 1}), y = Output(graph_, {4, 3, 5, 1});
  Conv(x, Const({4, 3, 3, 4}), y);
  InferAndRun();
  const Floats all = Convolved(Ordered(inputs_[0].second, {4, 6, 5, 1}, kToWhcn), {6, 5, 4, 1},
                               Ordered(Numbers(144, 0.23f), {4, 3, 3, 4}, kToWhcn), {3, 3, 4, 4});
  const Floats got = Ordered(Result(y, 60), {4, 3, 5, 1}, kToWhcn);
  for (size_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], all[k / 3 * 6 + k % 3]) << k;
}

TEST_F(LayoutInferenceTest, AnotherShapeForTheSameBytes) {
  TensorPtr x = Given({4, 6, 5, 1}), y = Output(graph_, {24, 5});
  Conv(x, Const({4, 3, 3, 4}), y);
  TensorPtr z = Output(graph_, {24, 5});
  Bind<ops::Relu>(graph_, {y}, {z});  // sees the declared shape
  InferAndRun();
  EXPECT_THAT(map_[y]->GetShape(), ElementsAre(24, 5));
  const Floats native =
      Convolved(Ordered(inputs_[0].second, {4, 6, 5, 1}, kToWhcn), {6, 5, 4, 1},
                Ordered(Numbers(144, 0.23f), {4, 3, 3, 4}, kToWhcn), {3, 3, 4, 4});
  EXPECT_EQ(Result(y, 120), Ordered(native, {6, 5, 4, 1}, kToCwhn));
}

TEST_F(LayoutInferenceTest, AnotherShapeOfPermutedMemory) {
  // As operators see it y is {4, 3, 2}: the bytes of {2, 3, 4}.
  const Order order = {2, 0, 1};
  TensorPtr x = Input(graph_, {4, 2, 3}), y = Output(graph_, {2, 4, 3});
  Floats seen = Numbers(24);
  inputs_.emplace_back(x, Ordered(seen, {2, 3, 4}, order));
  orders_ = {{x, VectorOf(order)}, {y, VectorOf(order)}};
  Bind<ops::Neg>(graph_, {x}, {y});
  InferAndRun();
  for (float& v : seen) v = -v;
  EXPECT_EQ(Result(y, 24), Ordered(seen, {4, 3, 2}, order));
}

TEST_F(LayoutInferenceTest, ARuleHoldsOnlyWhereItSays) {
  // New dimensions count in the masks and vectors; all extents are 3, so shapes tell nothing.
  const Order order = {2, 0, 1};
  TensorPtr x = Input(graph_, {3, 3, 3}), y = Output(graph_, {});
  const Floats seen = Numbers(27);
  inputs_.emplace_back(x, Ordered(seen, {3, 3, 3}, order));
  orders_ = {{x, VectorOf(order)}};
  const std::vector<int32_t> begin = {0, 1, 2}, end = {3, 3, 3}, step = {1, 1, 1};
  Bind<ops::StridedSlice>(graph_, {x}, {y}, begin, end, step, 0, 0, 8, 1);
  InferAndRun();
  Floats expected;  // the third of the vectors' dimensions is dropped, at 2
  for (size_t k = 0; k < 9; ++k) {
    if (k / 3 >= 1) expected.push_back(seen[18 + k]);
  }
  EXPECT_EQ(Result(y, 6), expected);
}

TEST_F(LayoutInferenceTest, ShapesThatTheOpOverrulesAreCorrected) {
  TensorPtr x = Given({4, 6, 6, 1}), y = Output(graph_, {4, 6, 6, 1});
  Bind<ops::Pool2d>(graph_, {x}, {y}, PoolType::MAX, PadType::VALID, std::array<uint32_t, 2>{2, 2},
                    std::array<uint32_t, 2>{2, 2}, RoundType::FLOOR, DataLayout::CWHN);
  InferAndRun();
  EXPECT_THAT(map_[y]->GetShape(), ElementsAre(4, 3, 3, 1));
  const Floats x_whcn = Ordered(inputs_[0].second, {4, 6, 6, 1}, kToWhcn);
  const Floats got = Ordered(Result(y, 36), {4, 3, 3, 1}, kToWhcn);
  EXPECT_EQ(got[0], std::max({x_whcn[0], x_whcn[1], x_whcn[6], x_whcn[7]}));
}

TEST_F(LayoutInferenceTest, ADeclaredShapeOfOtherSizeIsAnError) {
  TensorPtr x = Given({4, 6, 5, 1}), y = Output(graph_, {17});
  Conv(x, Const({4, 3, 3, 4}), y)->SetName("conv");
  Infer();
  EXPECT_FALSE(inferred_->Compile());
  EXPECT_THAT(inferred_->LastStatus().message(),
              testing::AllOf(HasSubstr("kInvalidShape"), HasSubstr("'conv'"),
                             HasSubstr("is declared [17], the op computes [4,6,5,1]")));
}

TEST_F(LayoutInferenceTest, StateLivesOn) {
  // sum += conv(x), over three runs.
  TensorPtr x = Given({4, 3, 3, 1}), y = Between(graph_), out = Output(graph_, {4, 3, 3, 1});
  Floats start(36, 10.0f);
  TensorPtr sum =
      Make(graph_, TensorAttribute::VARIABLE, {4, 3, 3, 1}, DataType::FLOAT32, {}, start.data());
  Conv(x, Const({4, 3, 3, 4}), y);
  Bind<ops::Add>(graph_, {y, sum}, {sum});
  Bind<ops::Relu>(graph_, {sum}, {out});
  InferAndRun();
  ASSERT_TRUE(inferred_->Run() && inferred_->Run());
  const Floats one =
      Ordered(Convolved(Ordered(inputs_[0].second, {4, 3, 3, 1}, kToWhcn), {3, 3, 4, 1},
                        Ordered(Numbers(144, 0.23f), {4, 3, 3, 4}, kToWhcn), {3, 3, 4, 4}),
              {3, 3, 4, 1}, kToCwhn);
  const Floats got = Result(out, 36);
  for (size_t k = 0; k < 36; ++k) ASSERT_NEAR(got[k], std::max(10 + 3 * one[k], 0.0f), 1e-4f) << k;
}

TEST_F(LayoutInferenceTest, OldAndNewStateAreToldApart) {
  // state = 3 * state, then y = 5 * state, both as CWHN convolutions: each reads it transposed.
  Floats start = Numbers(36), triple(16, 0.0f), quintuple(16, 0.0f);
  for (size_t c = 0; c < 4; ++c) triple[5 * c] = 3, quintuple[5 * c] = 5;
  TensorPtr state =
      Make(graph_, TensorAttribute::VARIABLE, {4, 3, 3, 1}, DataType::FLOAT32, {}, start.data());
  TensorPtr y = Output(graph_, {4, 3, 3, 1});
  Conv(state, Constant(graph_, {4, 1, 1, 4}, triple), state);
  Conv(state, Constant(graph_, {4, 1, 1, 4}, quintuple), y);
  InferAndRun();
  const Floats got = Result(y, 36);
  for (size_t k = 0; k < 36; ++k) ASSERT_NEAR(got[k], 15 * start[k], 1e-4f) << k;
}

TEST_F(LayoutInferenceTest, InsertedTransposesAreDrawn) {
  TensorPtr x = Given({4, 6, 5, 1}), y = Output(graph_, {4, 6, 5, 1});
  x->SetName("image");
  Conv(x, Const({4, 3, 3, 4}), y);
  Infer();
  OpRegistry registry(context_->Ops());
  const auto parsed = ir::Parse(inferred_->ToText(), registry);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_THAT(ir::ToDot(**parsed), HasSubstr("\\nlayout of image"));
}

// --------------------------------------------------------------------------------- users'
// operators

struct ShiftAttrs {
  int32_t along = 0;
  TIMCL_FIELDS(along)
};
/// Moves all elements by one along a dimension, around the corner.
Status ShiftReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto lines = op.in(0).shape().SplitAt(op.Axis(op.attrs<ShiftAttrs>().along));
  for (int64_t i = 0; i < ins[0].count(); ++i) {
    const int64_t k = i / lines.inner % lines.n;
    outs[0].Set(i, ins[0].At(i + ((k + 1) % lines.n - k) * lines.inner));
  }
  return Status();
}
OpDef Shift(LayoutRule layout) {
  return {.name = "Shift",
          .types = "f32 -> f32",
          .schema = &kAttrSchema<ShiftAttrs>,
          .infer = ShapeOfInput,
          .reference = ShiftReference,
          .layout = layout};
}

TEST_F(LayoutInferenceTest, AnOperatorOfTheUserFollowsItsRule) {
  for (const LayoutRule& rule :
       {LayoutRule::FollowsAxis("along"), LayoutRule::Canonical(),
        // Wrong rules, of which the shapes tell:
        LayoutRule::FollowsAxis("along").Drops(), LayoutRule::FollowsAxis("along").Gains(),
        LayoutRule::FollowsAxis("no such attribute")}) {
    graph_ = context_->CreateGraph();
    inputs_.clear();
    TensorPtr x = Input(graph_, {4, 2, 3}), y = Between(graph_), z = Output(graph_, {});
    const Floats seen = Numbers(24);  // {2, 3, 4}
    inputs_.emplace_back(x, Ordered(seen, {2, 3, 4}, {2, 0, 1}));
    orders_ = {{x, VectorOf({2, 0, 1})}};
    Bind<AnyOp>(graph_, {x}, {y}, Shift(rule), MakeAttrs(ShiftAttrs{-2}));
    Bind<ops::Relu>(graph_, {y}, {z});
    InferAndRun();
    const Floats got = Result(z, 24);
    for (size_t i = 0; i < 24; ++i) {
      const size_t k = i / 2 % 3;
      ASSERT_EQ(got[i], std::max(seen[k == 2 ? i - 4 : i + 2], 0.0f)) << i;
    }
    EXPECT_EQ(Count("Transpose"), 1u);
    const bool follows = AttributesOf("Shift").ToText() == "along=2";
    EXPECT_EQ(follows, rule.axes == std::string("along") && rule.named == LayoutRule::Named::kStay);
  }
}

// -------------------------------------------------------------------------------------- what fails

TEST_F(LayoutInferenceTest, FailuresShowAtCompile) {
  TensorPtr x = Given({2, 3}), y = Output(graph_, {2, 3});
  Bind<ops::Relu>(graph_, {x}, {y});
  struct Bad {
    Order order;
    const char* words;
  };
  for (const Bad& bad : {Bad{{2, 0, 1}, "{2, 0, 1}"}, Bad{{0, 0}, "{0, 0}"}}) {
    orders_ = {{x, VectorOf(bad.order)}};
    Infer();
    ASSERT_NE(map_[x], nullptr);
    ASSERT_NE(map_[y], nullptr);
    EXPECT_FALSE(inferred_->Compile());
    EXPECT_EQ(inferred_->LastStatus().code(), Code::kInvalidArgument);
    EXPECT_THAT(inferred_->LastStatus().message(), HasSubstr(bad.words));
    EXPECT_FALSE(inferred_->Run());
  }
}

TEST_F(LayoutInferenceTest, AnOpThatDoesNotVerifyShowsAtCompile) {
  TensorPtr x = Given({5, 6, 5, 1}), y = Output(graph_, {});
  Conv(x, Const({4, 3, 3, 4}), y)->SetName("conv");
  Infer();
  EXPECT_FALSE(inferred_->Compile());
  EXPECT_EQ(inferred_->LastStatus().code(), Code::kInvalidShape);
  EXPECT_THAT(inferred_->LastStatus().message(), HasSubstr("Conv2d#1 'conv'"));
}

TEST_F(LayoutInferenceTest, CyclesAndOrphansShowAtCompile) {
  TensorPtr x = Given({2}), a = Between(graph_), b = Between(graph_), y = Output(graph_, {2});
  Bind<ops::Add>(graph_, {x, b}, {a});
  Bind<ops::Relu>(graph_, {a}, {b});
  Bind<ops::Relu>(graph_, {b}, {y});
  Infer();
  EXPECT_FALSE(inferred_->Compile());
  EXPECT_THAT(inferred_->LastStatus().message(), HasSubstr("cycle"));

  graph_ = context_->CreateGraph();
  Bind<ops::Relu>(graph_, {Between(graph_)}, {Output(graph_, {2})});
  Infer();
  EXPECT_FALSE(inferred_->Compile());
  EXPECT_THAT(inferred_->LastStatus().message(), HasSubstr("nothing produces it"));

  graph_ = context_->CreateGraph();
  x = Given({2}), y = Output(graph_, {2});
  Bind<ops::Relu>(graph_, {x}, {y});
  Bind<ops::Neg>(graph_, {x}, {y});
  Infer();
  EXPECT_FALSE(inferred_->Compile());
  EXPECT_THAT(inferred_->LastStatus().message(), HasSubstr("two producers"));

  const GraphPtr other = context_->CreateGraph();
  graph_ = context_->CreateGraph();
  Bind<ops::Relu>(graph_, {Input(other, {2})}, {Output(graph_, {2})});
  Infer();
  EXPECT_FALSE(inferred_->Compile());
  EXPECT_THAT(inferred_->LastStatus().message(), HasSubstr("another graph"));
}

}  // namespace
}  // namespace tim::vx::layout_test
