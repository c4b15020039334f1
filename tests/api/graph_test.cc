// Graph: building, order, maps, compile options, report; and Clone of every operator class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "api/op_impl.h"
#include "base/log.h"
#include "support/api_support.h"
#include "support/clone.h"
#include "tim/vx/op_def.h"
#include "tim/vx/ops.h"

namespace tim::vx::ops {
void RegisterBuiltinOps(OpRegistry& registry);  // generated: op_table.cc
}

namespace tim::vx::test {
namespace {

using testing::HasSubstr;
using Two = std::array<uint32_t, 2>;
using Four = std::array<uint32_t, 4>;
using Three = std::array<uint32_t, 3>;
using Six = std::array<uint32_t, 6>;
using Signed3 = std::array<int32_t, 3>;
using Signed6 = std::array<int32_t, 6>;
using Words = std::vector<uint32_t>;
using Ints = std::vector<int32_t>;

class GraphTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(SharedContext()->LastStatus().ok()) << SharedContext()->LastStatus().message();
    graph_ = SharedContext()->CreateGraph();
  }
  GraphPtr graph_;
};

TEST_F(GraphTest, InputsAndOutputsAreInOrderOfCreation) {
  auto b = Input(graph_, {4});
  auto y2 = Output(graph_, {4});
  auto a = Input(graph_, {4});
  auto y1 = Output(graph_, {4});
  Bind<ops::Relu>(graph_, {a}, {y1});
  Bind<ops::Relu>(graph_, {b}, {y2});
  EXPECT_EQ(graph_->InputsTensor(), (std::vector<TensorPtr>{b, a}));
  EXPECT_EQ(graph_->OutputsTensor(), (std::vector<TensorPtr>{y2, y1}));
  auto both = Make(
      graph_, static_cast<TensorAttribute>(TensorAttribute::INPUT | TensorAttribute::OUTPUT), {4});
  EXPECT_EQ(graph_->InputsTensor().back(), both);
  EXPECT_EQ(graph_->OutputsTensor().back(), both);
}

TEST_F(GraphTest, IdsCountFromZeroAndUidsFromOne) {
  EXPECT_EQ(Input(graph_, {4})->GetId(), 0u);
  EXPECT_EQ(Between(graph_)->GetId(), 1u);
  EXPECT_EQ(Output(graph_, {})->GetId(), 2u);
  EXPECT_EQ(graph_->CreateOperation<ops::Relu>()->uid(), 1u);
  EXPECT_EQ(graph_->CreateOperation<ops::Abs>()->uid(), 2u);
  auto other = SharedContext()->CreateGraph();
  EXPECT_EQ(Input(other, {4})->GetId(), 0u);
  EXPECT_EQ(other->CreateOperation<ops::Relu>()->uid(), 1u);
}

TEST_F(GraphTest, ConsumersAndProducers) {
  auto x = Input(graph_, {4});
  auto t = Between(graph_);
  auto y = Output(graph_, {});
  auto add = Bind<ops::Add>(graph_, {x, x}, {t});
  auto mul = Bind<ops::Multiply>(graph_, {t, x}, {y});
  using Ops = std::vector<std::shared_ptr<Operation>>;
  EXPECT_EQ(graph_->GetConsumersOp(x), (Ops{add, add, mul})) << "bound twice: listed twice";
  EXPECT_EQ(graph_->GetConsumersOp(t), (Ops{mul}));
  EXPECT_EQ(graph_->GetConsumersOp(y), Ops());
  EXPECT_EQ(graph_->GetProducerOp(x), nullptr);
  EXPECT_EQ(graph_->GetProducerOp(t), add);
  EXPECT_EQ(graph_->GetProducerOp(y), mul);
  EXPECT_EQ(graph_->TensorConsumer().size(), 2u);
  EXPECT_EQ(graph_->TensorProducer().size(), 2u);
  EXPECT_EQ(graph_->OpVector(), (Ops{add, mul}));

  auto other = Input(graph_, {4});
  graph_->RenewTensorConsumersMap(x, other, mul.get());
  EXPECT_EQ(graph_->GetConsumersOp(x), Ops());
  EXPECT_EQ(graph_->GetConsumersOp(other), (Ops{mul}));
  graph_->UpdateTensorConsumersMap(t, add.get());
  EXPECT_EQ(graph_->GetConsumersOp(t), (Ops{mul, add}));
  graph_->UpdateTensorProducerMap(t, mul.get());
  EXPECT_EQ(graph_->GetProducerOp(t), mul) << "the last one wins";
}

TEST_F(GraphTest, ConstantInputs) {
  auto c = Constant(graph_, {4}, {1, 2, 3, 4});
  auto d = Constant(graph_, {1}, {5});
  auto all = Bind<ops::Add>(graph_, {c, d}, {Between(graph_)});
  auto some = Bind<ops::Add>(graph_, {Input(graph_, {4}), d}, {Output(graph_, {})});
  EXPECT_EQ(all->ConstantInputsTensor(), (std::vector<TensorPtr>{c, d}));
  EXPECT_TRUE(some->ConstantInputsTensor().empty());
  EXPECT_EQ(graph_->GetConstantInputs(), (std::vector<TensorPtr>{c, d}));
  auto conv =
      Bind<ops::Conv2d>(graph_, {c, d}, {Between(graph_)}, PadType::VALID, Two{1, 1}, Two{1, 1});
  EXPECT_EQ(conv->ConstantInputsTensor(), (std::vector<TensorPtr>{c})) << "Conv2d: only the first";
}

TEST_F(GraphTest, OnePlaceholderPerGraph) {
  auto p = graph_->CreateTensorPlaceHolder();
  EXPECT_EQ(p, graph_->CreateTensorPlaceHolder());
  EXPECT_NE(p, SharedContext()->CreateGraph()->CreateTensorPlaceHolder());
  EXPECT_TRUE(p->IsPlaceHolder());
  EXPECT_EQ(p->GetId(), static_cast<uint32_t>(-1));
  EXPECT_TRUE(p->GetShape().empty());
  float f[4] = {};
  EXPECT_FALSE(p->CopyDataToTensor(f, sizeof f));
  EXPECT_FALSE(p->CopyDataFromTensor(f));
  EXPECT_EQ(p->map(), nullptr);
  EXPECT_EQ(p->ConvertTensorToData(nullptr), nullptr);
  // It stands for the bias that is left out.
  auto x = Input(graph_, {2, 1});
  auto y = Output(graph_, {});
  Bind<ops::FullyConnected>(graph_, {x, Constant(graph_, {2, 1}, {3, 5}), p}, {y}, 0u);
  Write<float>(x, {1, 10});
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  EXPECT_EQ(Read(y, 1), (std::vector<float>{53}));
}

TEST_F(GraphTest, OpsMayBeCreatedInAnyOrder) {
  auto x = Input(graph_, {2});
  auto t = Between(graph_);
  auto y = Output(graph_, {});
  Bind<ops::Abs>(graph_, {t}, {y});
  Bind<ops::Neg>(graph_, {x}, {t});
  Write<float>(x, {-3, 4});
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  EXPECT_EQ(Read(y, 2), (std::vector<float>{3, 4}));
}

TEST_F(GraphTest, PartsThatAreNotConnected) {
  std::vector<TensorPtr> xs, ys;
  for (int i = 0; i < 3; ++i) {
    xs.push_back(Input(graph_, {1}));
    ys.push_back(Output(graph_, {1}));
    Bind<ops::Neg>(graph_, {xs.back()}, {ys.back()});
    Write<float>(xs.back(), {static_cast<float>(i + 1)});
  }
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Read(ys[i], 1), (std::vector<float>{-static_cast<float>(i + 1)}));
  }
}

TEST_F(GraphTest, CompileIsIdempotentAndLaterOpsDoNothing) {
  auto x = Input(graph_, {1});
  auto y = Output(graph_, {1});
  Bind<ops::Neg>(graph_, {x}, {y});
  ASSERT_TRUE(graph_->Compile()) << graph_->LastStatus().message();
  const double ms = graph_->Report().compile_ms;
  EXPECT_TRUE(graph_->Compile());
  auto late = Output(graph_, {1});
  Bind<ops::Abs>(graph_, {x}, {late});
  EXPECT_TRUE(graph_->Compile());
  EXPECT_EQ(graph_->Report().compile_ms, ms) << "compiled once";
  EXPECT_EQ(graph_->Report().ops.size(), 1u);
  Write<float>(x, {3});
  ASSERT_TRUE(graph_->Run());
  EXPECT_EQ(Read(y, 1), (std::vector<float>{-3}));
  EXPECT_EQ(Read(late, 1), (std::vector<float>{0}));
}

TEST_F(GraphTest, RunCompilesAndInputsStay) {
  auto x = Input(graph_, {2});
  auto y = Output(graph_, {2});
  Bind<ops::Neg>(graph_, {x}, {y});
  Write<float>(x, {1, 2});  // before Compile
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  EXPECT_EQ(Read(y, 2), (std::vector<float>{-1, -2}));
  Write<float>(y, {7, 7});  // the next Run replaces it
  ASSERT_TRUE(graph_->Run());
  EXPECT_EQ(Read(y, 2), (std::vector<float>{-1, -2})) << "the input stays between runs";
  Write<float>(x, {5, 6});
  ASSERT_TRUE(graph_->Run());
  EXPECT_EQ(Read(y, 2), (std::vector<float>{-5, -6}));
}

TEST_F(GraphTest, PrintGraphLogsTensorsAndOps) {
  std::string text;
  base::SetLogSink([&](base::LogLevel level, std::string_view, std::string_view line) {
    if (level == base::LogLevel::kInfo) text += std::string(line) + "\n";
  });
  base::LogLevels levels;
  levels.standard = base::LogLevel::kInfo;
  base::SetLogLevels(levels);
  auto x = Input(graph_, {4, 3});
  x->SetName("picture");
  Bind<ops::Softmax>(graph_, {x}, {Output(graph_, {})}, 1.0f, 0);
  graph_->PrintGraph();
  base::SetLogSink(nullptr);
  base::SetLogLevels(base::LogLevels());
  for (const char* part : {"Graph:", "Softmax", "picture", "f32[4,3]"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(text.substr(text.find('\n') + 1), graph_->ToText() + "\n");
}

TEST_F(GraphTest, ReportSaysWhereEachOpRuns) {
  if (!HasOpenCl()) GTEST_SKIP() << "there is one backend only";
  EXPECT_TRUE(graph_->Report().ops.empty());
  auto t = Between(graph_);
  Bind<ops::Sin>(graph_, {Input(graph_, {4})}, {t})->SetName("wave");
  Bind<ops::Abs>(graph_, {t}, {Output(graph_, {})});
  graph_->SetCompileOption(CompileOption().Pin("wave", "reference"));
  ASSERT_TRUE(graph_->Run()) << graph_->LastStatus().message();
  const CompileReport& report = graph_->Report();
  ASSERT_EQ(report.ops.size(), 2u);
  EXPECT_EQ(report.ops[0].op, "Sin#1 'wave'");
  EXPECT_EQ(report.ops[0].kind, "Sin");
  EXPECT_EQ(report.ops[0].backend, "reference");
  EXPECT_EQ(report.ops[0].reason, "pinned");
  EXPECT_EQ(report.ops[1].backend, "opencl");
  EXPECT_EQ(report.steps, 2u);
  EXPECT_GT(report.arena_bytes, 0u);
  EXPECT_THAT(report.device, HasSubstr(SharedContext()->DeviceName()));
  for (const char* part : {"Sin#1 'wave'", "reference", "Abs#2", "opencl"}) {
    EXPECT_THAT(report.ToText(), HasSubstr(part));
  }
}

TEST_F(GraphTest, CompileOptionsAreValues) {
  EXPECT_FALSE(CompileOption::DefaultOptions.isRelaxMode());
  CompileOption a;
  EXPECT_TRUE(a.setRelaxMode(true));
  CompileOption b = a;
  EXPECT_FALSE(b.setRelaxMode());
  EXPECT_TRUE(a.isRelaxMode());
  EXPECT_FALSE(b.isRelaxMode());
  EXPECT_EQ(a.GetFallback(), Fallback::kWarn);
  EXPECT_TRUE(a.Fusion());
  a.Pin("x", "one").Pin("y", "two").Pin("x", "three");
  using Pins = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(a.Pins(), (Pins{{"x", "three"}, {"y", "two"}}));
  EXPECT_TRUE(b.Pins().empty());
  // A relaxed graph computes the same.
  auto relaxed = SharedContext()->CreateGraph(a);
  auto x = Input(relaxed, {1});
  auto y = Output(relaxed, {1});
  Bind<ops::Neg>(relaxed, {x}, {y});
  relaxed->SetCompileOption(CompileOption().SetFusion(false));
  Write<float>(x, {0.1f});
  ASSERT_TRUE(relaxed->Run()) << relaxed->LastStatus().message();
  EXPECT_EQ(Read(y, 1), (std::vector<float>{-0.1f}));
}

TEST_F(GraphTest, RoundingPolicyIsStored) {
  auto op = graph_->CreateOperation<ops::Relu>();
  EXPECT_EQ(op->impl()->overflow_policy, OverflowPolicy::SATURATE);
  EXPECT_EQ(op->impl()->rounding_policy, RoundingPolicy::RTNE);
  Operation& same =
      op->SetRoundingPolicy(OverflowPolicy::WRAP, RoundingPolicy::TO_ZERO, RoundType::CEILING, 32);
  EXPECT_EQ(&same, op.get());
  EXPECT_EQ(op->impl()->overflow_policy, OverflowPolicy::WRAP);
  EXPECT_EQ(op->impl()->rounding_policy, RoundingPolicy::TO_ZERO);
  EXPECT_EQ(op->impl()->down_scale_size_rounding, RoundType::CEILING);
  EXPECT_EQ(op->impl()->accumulator_bits, 32u);
  op->SetRoundingPolicy();
  EXPECT_EQ(op->impl()->overflow_policy, OverflowPolicy::SATURATE);
}

TEST_F(GraphTest, LastStatusOfASoundGraphIsSuccess) {
  EXPECT_TRUE(graph_->LastStatus().ok());
  Bind<ops::Relu>(graph_, {Input(graph_, {1})}, {Output(graph_, {1})});
  ASSERT_TRUE(graph_->Run());
  EXPECT_TRUE(graph_->LastStatus().ok());
  EXPECT_EQ(graph_->LastStatus().message(), "");
}

// --- Clone ---

TEST(CloneTest, EveryOperatorClass) {
  ExpectClones<ops::DataConvert>();
  ExpectClones<ops::Neg>();
  ExpectClones<ops::Abs>();
  ExpectClones<ops::Sin>();
  ExpectClones<ops::Exp>();
  ExpectClones<ops::Log>();
  ExpectClones<ops::Sqrt>();
  ExpectClones<ops::Rsqrt>();
  ExpectClones<ops::Square>();
  ExpectClones<ops::LogicalNot>();
  ExpectClones<ops::Floor>();
  ExpectClones<ops::Ceil>();
  ExpectClones<ops::Round>();
  ExpectClones<ops::Cast>();
  ExpectClones<ops::Rcp>();
  ExpectClones<ops::Cos>();
  ExpectClones<ops::Tan>();
  ExpectClones<ops::ATan>();
  ExpectClones<ops::ATanh>();
  ExpectClones<ops::ACosh>();
  ExpectClones<ops::Minimum>();
  ExpectClones<ops::Maximum>();
  ExpectClones<ops::Add>();
  ExpectClones<ops::Sub>();
  ExpectClones<ops::Pow>();
  ExpectClones<ops::FloorDiv>();
  ExpectClones<ops::Multiply>(0.25f);
  ExpectClones<ops::Div>(0.5f);
  ExpectClones<ops::Relu>();
  ExpectClones<ops::Relu1>();
  ExpectClones<ops::Relu6>();
  ExpectClones<ops::Elu>();
  ExpectClones<ops::Elu>(0.3f);
  ExpectClones<ops::Celu>(0.7f);
  ExpectClones<ops::Tanh>();
  ExpectClones<ops::Sigmoid>();
  ExpectClones<ops::Swish>();
  ExpectClones<ops::HardSwish>();
  ExpectClones<ops::Mish>();
  ExpectClones<ops::SoftRelu>();
  ExpectClones<ops::Sign>();
  ExpectClones<ops::SoftSign>();
  ExpectClones<ops::Prelu>(2);
  ExpectClones<ops::HardSigmoid>(0.3f, 0.6f);
  ExpectClones<ops::LeakyRelu>(0.2f);
  ExpectClones<ops::Linear>(2.0f, -1.0f);
  ExpectClones<ops::Gelu>(false);
  ExpectClones<ops::Gelu>(true);
  ExpectClones<ops::Selu>(1.5f, 1.25f);
  ExpectClones<ops::Clip>(-2.0f, 3.0f);
  ExpectClones<ops::Concat>(2u, 3);
  ExpectClones<ops::Conv2d>(PadType::SAME, Two{2, 1}, Two{1, 3}, 2, DataLayout::CWHN,
                            DataLayout::OcIcWH);
  ExpectClones<ops::Conv2d>(Four{1, 2, 3, 4}, Two{2, 1}, Two{1, 3}, 0);
  ExpectClones<ops::Conv2d>(8, PadType::VALID, Two{3, 5}, Two{1, 2}, Two{2, 1});
  ExpectClones<ops::Conv2d>(8, PadType::AUTO, Two{3, 5}, Two{1, 2}, Two{2, 1}, Four{0, 1, 2, 3});
  ExpectClones<ops::FullyConnected>(2u);
  ExpectClones<ops::FullyConnected>(1u, 7u);
  ExpectClones<ops::Pad>(Words{1, 0, 2}, Words{0, 3, 1}, 5);
  ExpectClones<ops::Pad>(Words{1, 0}, Words{0, 3}, 0, ops::Pad::PAD_MODE_REFLECT);
  ExpectClones<ops::Pool2d>(PoolType::AVG, PadType::SAME, Two{3, 2}, Two{2, 1}, RoundType::CEILING,
                            DataLayout::CWHN);
  ExpectClones<ops::Pool2d>(PoolType::MAX, Four{1, 0, 2, 3}, Two{3, 2}, Two{2, 1});
  ExpectClones<ops::Pool2d>(PoolType::AVG, Two{7, 5});
  ExpectClones<ops::Pool2d>(PoolType::AVG, Two{8, 6}, Two{4, 3});
  ExpectClones<ops::Reshape>(Words{4, 3, 2});
  ExpectClones<ops::RNNCell>(ops::RNNCell::kSIGMOID);
  ExpectClones<ops::Softmax>(0.5f, -2);
  ExpectClones<ops::Transpose>(Words{2, 0, 1});
  ExpectClones<ops::Greater>();
  ExpectClones<ops::GreaterOrEqual>();
  ExpectClones<ops::Less>();
  ExpectClones<ops::LessOrEqual>();
  ExpectClones<ops::NotEqual>();
  ExpectClones<ops::Equal>();
  ExpectClones<ops::LogicalAnd>();
  ExpectClones<ops::LogicalOr>();
  ExpectClones<ops::Select>();
  ExpectClones<ops::Erf>();
  ExpectClones<ops::Slice>(2u, Ints{1, 2}, Ints{3, 4});
  ExpectClones<ops::Slice>(0u, Ints{1, 2}, Ints{3, 4}, Ints{2, 1});
  ExpectClones<ops::StridedSlice>(Ints{1, 2}, Ints{3, 4}, Ints{1, -1}, 1, 2, 3);
  ExpectClones<ops::StridedSlice>(Ints{1, 2}, Ints{3, 4}, Ints{1, -1}, 1, 2, 3, 4);
  ExpectClones<ops::Split>(1u, Words{2, 3});
  ExpectClones<ops::Squeeze>(Words{0, static_cast<uint32_t>(-1)});
  ExpectClones<ops::Stack>(2u, 3);
  ExpectClones<ops::Unstack>(-1, 4u);
  ExpectClones<ops::Reverse>(Ints{0, -1});
  ExpectClones<ops::Tile>(Ints{2, 3});
  ExpectClones<ops::Broadcast>(Words{4, 5});
  ExpectClones<ops::Broadcast>(Ints{-4, 5}, Ints{-1});
  ExpectClones<ops::AddN>(3u);
  ExpectClones<ops::Mod>();
  ExpectClones<ops::Mod>(1);
  ExpectClones<ops::Dropout>(0.25f);
  ExpectClones<ops::GroupedConv2d>(PadType::SAME, Two{2, 1}, Two{1, 3}, 2, DataLayout::CWHN,
                                   DataLayout::OcIcWH);
  ExpectClones<ops::GroupedConv2d>(Four{1, 2, 3, 4}, Two{2, 1}, Two{1, 3}, 4);
  ExpectClones<ops::Conv1d>(PadType::SAME, 2u, 3u, 2, DataLayout::CWHN, DataLayout::OcIcWH);
  ExpectClones<ops::Conv1d>(Two{1, 2}, 2u, 3u);
  ExpectClones<ops::Conv1d>(8, PadType::VALID, 3u, 2u, 1u);
  ExpectClones<ops::Conv1d>(8, PadType::AUTO, 3u, 2u, 1u, Two{1, 2}, 4);
  ExpectClones<ops::GroupedConv1d>(PadType::NONE, Two{1, 2}, 3u, 2u, 4u, DataLayout::CWHN,
                                   DataLayout::OcIcWH);
  ExpectClones<ops::GroupedConv1d>(PadType::SAME, 3u, 2u, 4u);
  ExpectClones<ops::Conv3d>(PadType::SAME, Signed3{2, 1, 3}, Signed3{1, 3, 2}, 2, DataLayout::CWHDN,
                            DataLayout::OcIcWHD);
  ExpectClones<ops::Conv3d>(Signed6{1, 2, 3, 4, 5, 6}, Signed3{2, 1, 3}, Signed3{1, 3, 2});
  ExpectClones<ops::Conv3d>(8, PadType::VALID, Signed3{3, 5, 1}, Signed3{1, 2, 1},
                            Signed3{2, 1, 1});
  ExpectClones<ops::Conv3d>(8, PadType::AUTO, Signed3{3, 5, 1}, Signed3{1, 2, 1}, Signed3{2, 1, 1},
                            Signed6{0, 1, 2, 3, 4, 5});
  ExpectClones<ops::DeConv2d>(8, PadType::SAME, Two{3, 5}, Two{2, 1}, Two{1, 0}, DataLayout::CWHN,
                              DataLayout::OcIcWH);
  ExpectClones<ops::DeConv2d>(8, PadType::SAME, Two{3, 5}, Two{2, 1}, Two{1, 0}, Four{1, 2, 3, 4},
                              8u);
  ExpectClones<ops::DeConv1d>(PadType::SAME, 2u, 1u, 4u, DataLayout::CWHN, DataLayout::OcIcWH);
  ExpectClones<ops::DeConv1d>(Two{1, 2}, 2u, 1u, 4u);
  ExpectClones<ops::DeConv1d>(8, PadType::VALID, 3u, 2u, 1u);
  ExpectClones<ops::DeConv1d>(8, PadType::VALID, 3u, 2u, 1u, Two{1, 2}, 4u);
  ExpectClones<ops::DeConv1d>(PadType::VALID, 2u, 1u, Two{1, 2}, 4u, DataLayout::CWHN,
                              DataLayout::OcIcWH);
  ExpectClones<ops::Pool1d>(PoolType::AVG, PadType::SAME, 3u, 2u, RoundType::CEILING,
                            DataLayout::CWHN);
  ExpectClones<ops::Pool1d>(PoolType::MAX, Two{1, 0}, 3u, 2u);
  ExpectClones<ops::Pool1d>(PoolType::AVG, 7u);
  ExpectClones<ops::Pool1d>(PoolType::AVG, 8u, 3u);
  ExpectClones<ops::MaxPool3d>(RoundType::CEILING, Three{3, 2, 1}, Three{1, 2, 3},
                               Six{1, 2, 3, 4, 5, 6}, PadType::NONE, DataLayout::CWHDN);
  ExpectClones<ops::MaxpoolWithArgmax>(PadType::SAME, Two{3, 2}, Two{2, 1}, RoundType::CEILING,
                                       DataLayout::CWHN);
  ExpectClones<ops::MaxpoolWithArgmax2>(PadType::SAME, Two{3, 2}, Two{2, 1}, RoundType::CEILING,
                                        DataLayout::CWHN);
  ExpectClones<ops::MaxpoolGrad>(PadType::SAME, Two{3, 2}, Two{2, 1}, RoundType::CEILING,
                                 DataLayout::CWHN);
  ExpectClones<ops::MaxUnpool2d>(Two{6, 4}, Two{2, 3}, DataLayout::CWHN);
  ExpectClones<ops::RoiAlign>(3, 2, 4.0f, 8.0f, 1, 0, DataLayout::CWHN);
  ExpectClones<ops::RoiPool>(PoolType::MAX, 0.5f, Two{3, 2}, DataLayout::CWHN);
  using Rnn = ops::UnidirectionalSequenceRnn;
  ExpectClones<Rnn>(Rnn::kRELU1, true);
  ExpectClones<ops::UnidirectionalSequenceRnnExt>(Rnn::kRELU);
  using BiRnn = ops::BidirectionalSequenceRnn;
  ExpectClones<BiRnn>(BiRnn::kSIGMOID, true, false);
  ExpectClones<BiRnn>(BiRnn::kTANH, false, true);
  ExpectClones<ops::BidirectionalSequenceRnnExt>(BiRnn::kRELU6);
  using Gru = ops::UnidirectionalSequenceGRU;
  ExpectClones<ops::GRUCell>(3u, ops::GRUCell::kRELU, ops::GRUCell::kHARDSIGMOID, false);
  ExpectClones<Gru>(3u, Gru::kRELU6, Gru::kNONE, false, true, false);
  using Lstm = ops::UnidirectionalSequenceLstm;
  ExpectClones<Lstm>(1.5f, 2.5f, Lstm::kRELU, 0.5f, true, Lstm::kHARDSIGMOID, true);
  using BiLstm = ops::BidirectionalSequenceLstm;
  ExpectClones<BiLstm>(1.5f, 2.5f, BiLstm::kRELU1, 0.5f, true, BiLstm::kHARDSIGMOID, true);
  ExpectClones<ops::Svdf>(2, 3, 4);
  const std::vector<int32_t> axes = {1, -1};
  ExpectClones<ops::ReduceMin>(axes, true);
  ExpectClones<ops::ReduceMax>(axes, true);
  ExpectClones<ops::ReduceAny>(axes, true);
  ExpectClones<ops::ReduceAll>(axes, true);
  ExpectClones<ops::ReduceProd>(axes, true);
  ExpectClones<ops::ReduceMean>(axes, true);
  ExpectClones<ops::ReduceSum>(axes, false);
  ExpectClones<ops::Moments>(axes, true);
  ExpectClones<ops::LogSoftmax>(-2, 0.5f);
  ExpectClones<ops::Matmul>(true, false, false, true);
  ExpectClones<ops::Gather>(1, 2);
  ExpectClones<ops::GatherNd>();
  ExpectClones<ops::GatherElements>(2);
  ExpectClones<ops::EmbeddingLookup>();
  ExpectClones<ops::HashtableLookup>();
  ExpectClones<ops::ArgMin>(-1);
  ExpectClones<ops::ArgMax>(2);
  ExpectClones<ops::Topk>(3u, 1);
  ExpectClones<ops::OneHot>(5, 2.5f, -1.5f, 1);
  ExpectClones<ops::ScatterND>(Words{4, 3});
  ExpectClones<ops::ScatterND_ONNX_V16>(ops::ScatterND_ONNX_V16::REDUCTION_MAX);

  ExpectClones<ops::BatchNorm>(1e-3f);
  ExpectClones<ops::BatchNorm>(1e-3f, DataLayout::CWHN);
  ExpectClones<ops::InstanceNormalization>();
  ExpectClones<ops::InstanceNormalization>(1e-3f, DataLayout::CWHN);
  ExpectClones<ops::LayerNormalization>(2);
  ExpectClones<ops::LayerNormalization>(-1, 1e-3f);
  ExpectClones<ops::L2Normalization>(2);
  ExpectClones<ops::LRN>(5u, 0.25f, 0.75f, 2.0f, 2);
  ExpectClones<ops::Resize>(ResizeType::BILINEAR, 0.5f, true, false, 0, 0);
  ExpectClones<ops::Resize>(ResizeType::AREA, 0.0f, false, true, 5, 7, DataLayout::CWHN);
  ExpectClones<ops::Resize1d>(ResizeType::BILINEAR, 0.0f, true, false, 5);
  ExpectClones<ops::Resize1d>(ResizeType::BILINEAR, 2.0f, false, true, 0, DataLayout::CWHN);
  ExpectClones<ops::DepthToSpace>(2);
  ExpectClones<ops::DepthToSpace>(2, DataLayout::CWHN);
  ExpectClones<ops::DepthToSpace>(2, ops::DepthToSpace::CRD_mode, DataLayout::CWHN);
  ExpectClones<ops::SpaceToDepth>(std::vector<int>{2, 3}, DataLayout::CWHN);
  ExpectClones<ops::Space2Batch>(std::vector<int>{2, 3}, std::vector<int>{1, 0, 2, 3});
  ExpectClones<ops::Batch2Space>(std::vector<int>{2, 3}, std::vector<int>{1, 0, 2, 3});
  ExpectClones<ops::PadV2>(Words{1, 0}, Words{0, 3}, 0.5f);
  ExpectClones<ops::PadV2>(Words{1, 0}, Words{0, 3}, 0.5f, ops::PadV2::PAD_MODE_REFLECT);
  ExpectClones<ops::ShuffleChannel>(3, -1);
  ExpectClones<ops::Reorg>(2u);
  ExpectClones<ops::SignalFrame>(4u, 2u);
  ExpectClones<ops::SignalFrame>(4u, 2u, 1u, 2u);
  ExpectClones<ops::SpatialTransformer>(3u, 4u, true, false, true, false, true, false, 1.0f, 2.0f,
                                        3.0f, 4.0f, 5.0f, 6.0f, true);

  // Newer operators have a file of their own.
  std::string files;
  for (const auto& file : std::filesystem::directory_iterator(TIMCL_SOURCE_DIR "/tests/ops")) {
    std::ifstream in(file.path());
    files.append(std::istreambuf_iterator<char>(in), {});
  }
  OpRegistry registry;
  ops::RegisterBuiltinOps(registry);
  for (const auto& def : registry.All()) {
    const std::string name(def->name);
    if (files.find("ExpectClones<ops::" + name + ">(") != std::string::npos) continue;
    EXPECT_THAT(cloned, testing::Contains(name));
  }
}

TEST(CloneTest, AttributesDifferWhereTheyShould) {
  auto graph = SharedContext()->CreateGraph();
  auto softmax = [&](float beta, int axis) {
    return graph->CreateOperation<ops::Softmax>(beta, axis)->Attributes();
  };
  EXPECT_EQ(softmax(1, 0), softmax(1, 0));
  EXPECT_FALSE(softmax(1, 0) == softmax(2, 0));
  EXPECT_FALSE(softmax(1, 0) == softmax(1, 1));
  EXPECT_EQ(graph->CreateOperation<ops::Relu>()->Attributes().size(), 0u);
}

}  // namespace
}  // namespace tim::vx::test
