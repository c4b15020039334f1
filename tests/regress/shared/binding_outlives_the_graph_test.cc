// Binding a tensor to an op whose graph is gone wrote into the graph's memory.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/elementwise.h"

namespace tim::vx::test {
namespace {

TEST(Regress, BindingOnAnOpWhoseGraphIsGone) {
  ContextOptions options;
  options.host_only = true;
  auto context = Context::Create(options);
  auto graph = context->CreateGraph();
  auto x = Input(graph, {4});
  auto op = graph->CreateOperation<ops::Add>();
  op->BindInput(x);
  graph.reset();
  // The new graph may lie where the old one was.
  auto other = context->CreateGraph();
  auto y = Output(other, {4});
  (*op).BindInput(x).BindInput(nullptr).BindOutput(y).BindOutput(nullptr);
  EXPECT_TRUE(other->GetConsumersOp(x).empty());
  EXPECT_EQ(other->GetProducerOp(y), nullptr);
  // The new graph heard nothing of it.
  Bind<ops::Relu>(other, {Input(other, {4})}, {y});
  EXPECT_TRUE(other->Run()) << other->LastStatus().message();
  // What the op knows itself stays.
  EXPECT_EQ(op->uid(), 1u);
  EXPECT_NE(op->Clone(other), nullptr);
}

// Binding looks ops up in an index of OpVector(), which callers (graph transformations) may edit.
TEST(Regress, BindingFindsOpsAfterOpVectorWasEdited) {
  ContextOptions options;
  options.host_only = true;
  auto graph = Context::Create(options)->CreateGraph();
  auto x = Input(graph, {4});
  std::vector<std::shared_ptr<Operation>> ops;
  for (int i = 0; i < 4; ++i) {
    ops.push_back(graph->CreateOperation<ops::Relu>());
    ops.back()->BindInput(x);
  }
  auto& all = graph->OpVector();
  EXPECT_EQ(graph->GetConsumersOp(x), all);
  std::swap(all[1], all[3]);
  all.erase(all.begin());
  auto y = Output(graph, {4}), z = Output(graph, {4}), gone = Output(graph, {4});
  ops[1]->BindOutput(y);
  ops[3]->BindOutput(z);
  ops[0]->BindOutput(gone);
  EXPECT_EQ(graph->GetProducerOp(y), ops[1]);
  EXPECT_EQ(graph->GetProducerOp(z), ops[3]);
  EXPECT_EQ(graph->GetProducerOp(gone), nullptr);
}

}  // namespace
}  // namespace tim::vx::test
