// A copy of a point-wise operator's definition with `pointwise` set to null ended the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/api_support.h"
#include "tim/vx/op_def.h"
#include "tim/vx/op_kit.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Regress, PointwiseWithoutItsRule) {
  for (const bool own_verify : {false, true}) {
    auto context = NewHostContext();
    OpDef def = *context->Ops().Find("Relu");
    def.name = "app.relu";
    def.pointwise = nullptr;
    if (own_verify) def.verify = [](const OpView&) { return Status(); };
    ASSERT_TRUE(context->Ops().Register(def).ok());
    auto graph = context->CreateGraph();
    auto x = Input(graph, {2}), y = Output(graph, {2});
    graph->CreateOperation("app.relu")->BindInput(x).BindOutput(y);
    EXPECT_FALSE(graph->Compile());
    // Who replaces `verify` is told by whatever function needs the rule first.
    EXPECT_EQ(graph->LastStatus().code(), own_verify ? Code::kInternal : Code::kInvalidArgument);
    EXPECT_THAT(graph->LastStatus().message(),
                AllOf(HasSubstr("app.relu#1"), HasSubstr("`pointwise` is null")));
    // With functions of its own it needs no rule, and is an operator that is not fused.
    def.name = "app.other";
    def.verify = nullptr;
    def.infer = ShapeOfInput;
    def.kernels = {};
    def.reference = [](const OpView&, const ref::Inputs& in, ref::Outputs& out) {
      for (int64_t i = 0; i < in[0].count(); ++i) out[0].Set(i, in[0].At(i) + 1);
      return Status();
    };
    ASSERT_TRUE(context->Ops().Register(def).ok());
    auto other = context->CreateGraph();
    x = Input(other, {2}), y = Output(other, {2});
    other->CreateOperation("app.other")->BindInput(x).BindOutput(y);
    const float in[] = {-1, 2};
    float out[2];
    ASSERT_TRUE(x->CopyDataToTensor(in) && other->Run() && y->CopyDataFromTensor(out))
        << other->LastStatus().message();
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[1], 3);
  }
}

}  // namespace
}  // namespace tim::vx::test
