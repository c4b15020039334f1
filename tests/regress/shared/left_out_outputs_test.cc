// A placeholder among the outputs of an op vanished, and the outputs behind it moved up by one: the
// cell state of an LSTM was its hidden state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/op_def.h"
#include "tim/vx/ops/split.h"
#include "tim/vx/ops/topk.h"
#include "tim/vx/ops/unidirectional_sequence_lstm.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The three outputs of an LSTM over two steps; those of which `there` says no are placeholders.
std::vector<float> Lstm(const std::vector<bool>& there) {
  using Op = ops::UnidirectionalSequenceLstm;
  auto graph = SharedContext()->CreateGraph();
  auto none = graph->CreateTensorPlaceHolder();
  auto x = Input(graph, {1, 1, 2});
  std::vector<TensorPtr> outputs;
  for (const bool is : there) outputs.push_back(is ? Output(graph, {1, 1}) : none);
  auto op = graph->CreateOperation<Op>(0.0f, 0.0f, Op::kTANH, 0.0f, true);
  (*op).BindInputs({x, none, none});
  for (int i = 0; i < 8; ++i) op->BindInput(Constant(graph, {1, 1}, {0.5f}));
  op->BindOutputs(outputs);
  EXPECT_TRUE(Write<float>(x, {1, 0.25f}));
  EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
  std::vector<float> values;
  for (const TensorPtr& t : outputs) values.push_back(t == none ? 0 : Read(t, 1)[0]);
  return values;
}

TEST(LeftOutOutputs, OthersKeepTheirPositions) {
  const std::vector<float> all = Lstm({true, true, true});
  ASSERT_NE(all[1], all[2]) << "hidden and cell state";
  for (int mask = 1; mask < 8; ++mask) {
    const std::vector<bool> there = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0};
    const std::vector<float> some = Lstm(there);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(some[i], there[i] ? all[i] : 0) << "output " << i << " of those in " << mask;
    }
  }
}

TEST(LeftOutOutputs, OfRequiredOperands) {
  auto graph = SharedContext()->CreateGraph();
  auto none = graph->CreateTensorPlaceHolder();
  auto x = Input(graph, {6});
  auto last = Output(graph, {2}), indices = Output(graph, {2}, DataType::INT32);
  Bind<ops::Split>(graph, {x}, {none, none, last}, 0u, std::vector<uint32_t>());
  Bind<ops::Topk>(graph, {x}, {none, indices}, 2u);
  Bind<ops::Topk>(graph, {x}, {none, none}, 2u);
  auto first = Output(graph, {2});
  Bind<ops::Split>(graph, {x}, {first, none, none}, 0u, std::vector<uint32_t>());
  ASSERT_TRUE(Write<float>(x, {3, 9, 1, 7, 4, 5}));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(last, 2), (std::vector<float>{4, 5}));
  EXPECT_EQ(Read<int32_t>(indices, 2), (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(Read(first, 2), (std::vector<float>{3, 9})) << "a third, as three outputs are bound";
}

/// An operator of the app's own.
class Mine : public Operation {
 public:
  Mine(Graph* graph, const OpDef& def) : Operation(graph, def, {}) {}
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<Mine>(Def());
  }
};

// Without `types` nobody knows what the op would write there.
TEST(LeftOutOutputs, AnErrorWhereTheTypeIsNotKnown) {
  OpDef def;
  def.name = "Two", def.origin = "test", def.outputs = "low high";
  def.infer = [](const OpView& op) -> Result<Shapes> { return Shapes(2, op.in(0).shape()); };
  def.reference = [](const OpView&, const ref::Inputs& in, ref::Outputs& out) {
    for (int64_t i = 0; i < in[0].count(); ++i) out[0].Set(i, in[0].At(i));
    for (int64_t i = 0; i < in[0].count(); ++i) out[1].Set(i, in[0].At(i) + 100);
    return Status();
  };
  auto graph = SharedContext()->CreateGraph();
  auto x = Input(graph, {2}), high = Output(graph, {2});
  Bind<Mine>(graph, {x}, {graph->CreateTensorPlaceHolder(), high}, def)->SetName("mine");
  EXPECT_FALSE(graph->Compile());
  EXPECT_EQ(graph->LastStatus().code(), Code::kInvalidGraph);
  EXPECT_THAT(graph->LastStatus().message(), AllOf(HasSubstr("Two#1 'mine'"), HasSubstr("output 0"),
                                                   HasSubstr("'low'"), HasSubstr("placeholder")));
}

}  // namespace
}  // namespace tim::vx::test
