// A delegate written after MindSpore Lite's guide, ported by renaming namespace and types: what it
// takes, and what becomes of the two traps of the guide's loop.
#include "delegates/support.h"

namespace tim::vx::test {
namespace {

TEST(Port, TakesARunOfOpsBeforeOneThatItDoesNotKnow) {
  const auto context = NewHostContext();
  ASSERT_TRUE(context->SetDelegate(std::make_shared<xxx::XXXDelegate>()).ok());
  Net net(context);
  const auto sum =
      net.Op("Add", {net.Op("LeakyRelu", {net.x}, "a", false, {{"alpha", 0.5}}), net.x}, "b");
  const auto y = net.Op("Abs", {net.Op("Neg", {sum}, "c")}, "y", true);
  ASSERT_TRUE(net.Compile().ok()) << net.graph->LastStatus().message();
  EXPECT_THAT(net.Run(y), ElementsAre(3, 1.5f, 0, 2));
  Write<float>(net.x, {4, 3, 2, -6});
  EXPECT_THAT(net.Run(y), ElementsAre(8, 6, 4, 9));
  using Where = std::map<std::string, std::string>;
  EXPECT_EQ(
      net.Backends(),
      (Where{{"LeakyRelu#1", "XXX"}, {"Add#2", "XXX"}, {"Neg#3", "XXX"}, {"Abs#4", "reference"}}));
  EXPECT_EQ(net.graph->Report().partitions, 2u);
  EXPECT_EQ(net.Placement("Neg#3").kernel, "XXXGraph");
  EXPECT_EQ(net.Placement("Neg#3").reason, "first choice");
}

// The guide's loop ends without looking at what it has gathered.
TEST(Port, TheSupportedTailIsReportedAsNotReplaced) {
  const auto context = NewHostContext();
  ASSERT_TRUE(context->SetDelegate(std::make_shared<xxx::XXXDelegate>()).ok());
  Net net(context);
  const auto y = net.Chain({"Relu", "Neg", "Abs", "Neg", "Relu", "Neg"});
  EXPECT_THAT(net.Run(y), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(net.Placement("Neg#2").backend, "XXX");
  for (const char* op : {"Abs#3", "Neg#4", "Relu#5", "Neg#6"}) {
    EXPECT_EQ(net.Placement(op).backend, "reference") << op;
    EXPECT_EQ(net.Placement(op).reason, "XXX: not replaced by delegate 'XXX'") << op;
  }
  EXPECT_THAT(net.graph->Report().ToText(), HasSubstr("not replaced by delegate 'XXX'"));
}

// It takes a single op for none: `from` and `end` are equal.
TEST(Port, ASingleOpRunsElsewhereOrAsASliceOfOne) {
  const auto context = NewHostContext();
  ASSERT_TRUE(context->SetDelegate(std::make_shared<xxx::XXXDelegate>()).ok());
  Net net(context);
  const auto y = net.Chain({"Neg", "Abs", "Relu", "Abs"});
  EXPECT_THAT(net.Run(y), ElementsAre(2, 1, 0, 1));
  for (const OpPlacement& p : net.graph->Report().ops) EXPECT_EQ(p.backend, "reference") << p.op;
  // A loop without the trap.
  ASSERT_TRUE(
      context
          ->SetDelegate(std::make_shared<TakesKinds>("one", std::set<std::string>{"Relu", "Neg"}))
          .ok());
  Net singles(context);
  const auto z = singles.Chain({"Neg", "Abs", "Relu", "Abs"});
  EXPECT_THAT(singles.Run(z), ElementsAre(2, 1, 0, 1));
  EXPECT_EQ(singles.Placement("Neg#1").backend, "one");
  EXPECT_EQ(singles.Placement("Relu#3").backend, "one");
  EXPECT_EQ(singles.graph->Report().partitions, 4u);
}

TEST(Port, WholeGraphsAndTheDevice) {
  for (const auto& context : {NewHostContext(), Context::Create()}) {
    ASSERT_TRUE(context
                    ->SetDelegate(std::make_shared<TakesKinds>(
                        "all", std::set<std::string>{"Relu", "Neg", "Sub"}))
                    .ok());
    Net whole(context);
    const auto a = whole.Op("Neg", {whole.x}, "a");
    const auto y = whole.Op("Sub", {a, whole.x}, "y", true);
    EXPECT_THAT(whole.Run(y), ElementsAre(4, 2, 0, -2));
    EXPECT_EQ(whole.graph->Report().partitions, 1u);
    // Between two ops of others.
    Net split(context);
    const auto z = split.Chain({"Abs", "Neg", "Relu", "Square"});
    for (int run = 0; run < 3; ++run) {
      EXPECT_THAT(split.Run(z), ElementsAre(0, 0, 0, 0));
      Write<float>(split.x, {-2, -1, 0, 1});
    }
    EXPECT_EQ(split.Placement("Relu#3").backend, "all");
    EXPECT_NE(split.Placement("Square#4").backend, "all");
    Net last(context);
    const auto w = last.Chain({"Abs", "Square", "Neg"});
    EXPECT_THAT(last.Run(w), ElementsAre(-4, -1, 0, -1));
    Write<float>(last.x, {3, 0, -1, 2});
    EXPECT_THAT(last.Run(w), ElementsAre(-9, 0, -1, -4));
  }
}

}  // namespace
}  // namespace tim::vx::test
