// A user's operator in the place of a built-in one, in one context alone; the report says whose
// ran.
#include "fixture.h"
#include "tim/vx/op_def.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/status.h"

namespace custom_test {
namespace {

using ::testing::HasSubstr;

vx::Result<vx::Launches> MinusOne(const vx::OpView& op, const vx::KernelRequest&) {
  vx::KernelSpec spec;
  spec.user_source =
      "__kernel void minus_one(__global const float* x, __global float* y) {"
      "  y[get_global_id(0)] = -1; }";
  spec.entry = "minus_one";
  spec.image_operands = true;
  spec.operands = {vx::In(0, ""), vx::Out(0, "")};
  spec.global = vx::Grid(op.out(0).type().count());
  spec.dims = 1;
  spec.local = {0, 0, 0};
  return vx::Launches{spec};
}
constexpr vx::KernelCandidate kMinusOne[] = {{"minus_one", nullptr, MinusOne}};

TEST(Override, OneContextHasAnotherRelu) {
  const auto theirs = vx::Context::Create(), ours = vx::Context::Create();
  vx::OpDef def = *theirs->Ops().Find("Relu");
  EXPECT_STREQ(def.origin, "built-in");
  def.origin = "my_app";
  def.kernels = kMinusOne;
  const vx::Status twice = ours->Ops().Register(def);
  EXPECT_EQ(twice.code(), vx::Code::kAlreadyExists);
  EXPECT_THAT(twice.message(), ::testing::AllOf(HasSubstr("'my_app'"), HasSubstr("'built-in'")));
  ASSERT_TRUE(ours->Ops().Register(def, vx::OpRegistry::OnDuplicate::kOverride).ok());
  for (const bool mine : {true, false}) {
    const auto graph = (mine ? ours : theirs)->CreateGraph();
    const auto x = graph->CreateTensor({DataType::FLOAT32, {2}, vx::INPUT}),
               y = graph->CreateTensor({DataType::FLOAT32, {2}, vx::OUTPUT});
    graph->CreateOperation<vx::ops::Relu>()->BindInput(x).BindOutput(y);
    ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
    EXPECT_EQ(graph->Report().ops[0].origin, mine ? "my_app" : "built-in");
    const std::string text = graph->Report().ToText();
    if (mine) {
      EXPECT_THAT(text, HasSubstr("Relu (my_app)"));
      EXPECT_THAT(text, HasSubstr("first choice, in place of the built-in operator\n"));
    } else {
      EXPECT_THAT(text, ::testing::Not(HasSubstr("built-in")));
    }
    const float in[] = {-2, 3};
    float out[2];
    ASSERT_TRUE(x->CopyDataToTensor(in) && graph->Run() && y->CopyDataFromTensor(out));
    EXPECT_EQ(out[0], mine ? -1 : 0);
    EXPECT_EQ(out[1], mine ? -1 : 3);
  }
}

}  // namespace
}  // namespace custom_test
