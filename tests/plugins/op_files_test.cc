// Operators of src/ops as plugins: each file compiled with the public headers alone, its kernels
// embedded, loaded at run time beside the built-in ones, and run over its own cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/check_op.h"
#include "tim/vx/op_def.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using testing::CaseOptions;
using testing::CheckCases;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::shared_ptr<Context> With(const std::string& file, std::vector<PluginInfo>* loaded = nullptr) {
  auto context = NewHostContext();
  const Status s = context->LoadPlugin(file, loaded);
  EXPECT_TRUE(s.ok()) << s.message();
  return context;
}

using Ran = std::map<std::string, size_t>;

/// Every operator of the plugin; kernel -> cases.
Ran CheckAll(const std::string& file, size_t operators) {
  std::vector<PluginInfo> loaded;
  const auto context = With(file, &loaded);
  EXPECT_EQ(loaded.size(), 1u);
  if (loaded.size() != 1) return {};
  EXPECT_EQ(loaded[0].ops.size(), operators);
  Ran ran;
  CaseOptions options;
  options.context = context;
  for (const std::string& name : loaded[0].ops) {
    SCOPED_TRACE(name);
    EXPECT_EQ(name.substr(0, 7), "plugin.");
    const auto def = context->Ops().Find(name);
    EXPECT_EQ(std::string(def->origin), file);
    EXPECT_EQ(CheckCases(def, options, &ran), "");
  }
  return ran;
}

TEST(OpFiles, PointwiseRows) {
  const Ran ran = CheckAll(ACTIVATIONS, 19);
  ASSERT_THAT(ran,
              UnorderedElementsAre(Key("vectors"), Key("vectors in blocks"), Key("pointwise")));
  EXPECT_GT(ran.at("vectors"), 19u * 5);
  EXPECT_GT(ran.at("pointwise"), 19u * 5);
}

TEST(OpFiles, AConvolution) {
  const Ran ran = CheckAll(CONV2D, 1);
  EXPECT_GE(ran.size(), 2u);  // more than one kernel
  for (const auto& [kernel, cases] : ran) EXPECT_GT(cases, 0u) << kernel;
}

TEST(OpFiles, AComposedOperator) {
  const Ran ran = CheckAll(RNN_CELL, 1);
  EXPECT_THAT(ran, ElementsAre(Pair("expanded", 13)));
}

/// In the place of the built-in ones: what the plugin's file defines runs, and the report says so.
TEST(OpFiles, InPlaceOfTheBuiltInOnes) {
  auto context = Context::Create();
  ASSERT_TRUE(context->LoadPlugin(ACTIVATIONS).ok());
  const auto loaded = context->Ops().Find("plugin.Relu");
  struct Owned {
    std::shared_ptr<const OpDef> keep;
    OpDef def;
  };
  const auto owned = std::make_shared<Owned>(Owned{loaded, *loaded});
  owned->def.name = "Relu";
  ASSERT_TRUE(context->Ops()
                  .Register(std::shared_ptr<const OpDef>(owned, &owned->def),
                            OpRegistry::OnDuplicate::kOverride)
                  .ok());
  auto graph = context->CreateGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2}), z = Output(graph, {2});
  graph->CreateOperation("Relu")->BindInput(x).BindOutput(y);
  graph->CreateOperation("Tanh")->BindInput(x).BindOutput(z);
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  const std::string text = graph->Report().ToText();
  EXPECT_THAT(text, HasSubstr("Relu (" ACTIVATIONS ")"));
  EXPECT_THAT(text, ::testing::ContainsRegex("Relu#1 .*, in place of the built-in operator\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("Tanh#2 .*first choice\n"));
}

// A plugin's own kernel files.

TEST(PluginKernels, AreItsOwn) {
  auto context = Context::Create();
  ASSERT_TRUE(context->LoadPlugin(KERNELS).ok());
  auto graph = context->CreateGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2});
  graph->CreateOperation("kernels.times", {{"factor", -3.0}})->BindInput(x).BindOutput(y);
  const float in[] = {1, 2.5f};
  float out[2] = {};
  x->CopyDataToTensor(in);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  y->CopyDataFromTensor(out);
  EXPECT_THAT(out, ElementsAre(-3, -7.5f));
  EXPECT_EQ(graph->Report().ops[0].backend, HasOpenCl() ? "opencl" : "reference");
}

TEST(PluginKernels, AreNobodyElses) {
  if (!HasOpenCl()) GTEST_SKIP() << "kernels run on OpenCL alone";
  auto context = Context::Create();
  ASSERT_TRUE(context->LoadPlugin(KERNELS).ok());
  CompileOption option;
  option.SetFallback(Fallback::kForbid);
  auto graph = context->CreateGraph(option);
  auto x = Input(graph, {2}), y = Output(graph, {2});
  graph->CreateOperation("kernels.no_file")->BindInput(x).BindOutput(y);
  EXPECT_FALSE(graph->Compile());
  EXPECT_THAT(graph->LastStatus().message(),
              AllOf(HasSubstr("there is no kernel source named 'divides.cl'"),
                    HasSubstr("there are: times.cl, times.clh, "), HasSubstr(", cumsum.cl, ")));
  // Another library's function does not see them.
  const std::string wrong = CheckCases(With(OTHER_KERNELS)->Ops().Find("other_kernels.times"));
  EXPECT_THAT(wrong, AllOf(HasSubstr("named 'times.cl'"), ::testing::Not(HasSubstr("times.clh"))));
}

// What CheckCases says.

std::string Check(const std::string& name, Ran* ran = nullptr) {
  const auto context = With(KERNELS);
  CaseOptions options;
  options.context = context;
  return CheckCases(context->Ops().Find(name), options, ran);
}

TEST(CheckCases, GoodKernels) {
  Ran ran;
  EXPECT_EQ(Check("kernels.times", &ran), "");
  EXPECT_THAT(ran, ElementsAre(Pair("general", 3)));
  ran.clear();
  EXPECT_EQ(Check("kernels.two", &ran), "");
  EXPECT_THAT(ran, ElementsAre(Pair("general", 3), Pair("refuses", 0)));
}

TEST(CheckCases, WrongValues) {
  EXPECT_THAT(Check("kernels.wrong"),
              AllOf(HasSubstr("kernels.wrong f32[19,5] -> f32 factor=-0.5 (attributes) by wrong: "),
                    HasSubstr("1 of 95 elements"), HasSubstr("[11,1] expected")));
}
TEST(CheckCases, UnwrittenElements) {
  EXPECT_THAT(Check("kernels.hole"),
              AllOf(HasSubstr("by hole"), HasSubstr("1 of 95 elements are not written"),
                    HasSubstr("[3,0]")));
}
TEST(CheckCases, WritesBeyondTheEnd) {
  EXPECT_THAT(Check("kernels.beyond"), HasSubstr("the kernel writes outside of it"));
}
TEST(CheckCases, RefusedByAll) {
  EXPECT_THAT(Check("kernels.refused"),
              AllOf(HasSubstr("no kernel takes it: refuses:"), HasSubstr("not on a Saturday")));
}
TEST(CheckCases, AReferenceThatFails) {
  EXPECT_THAT(Check("kernels.lunch"),
              AllOf(HasSubstr("by the reference: "), HasSubstr("out for lunch")));
}
TEST(CheckCases, NothingToCheck) {
  EXPECT_EQ(Check("kernels.no_cases"), "kernels.no_cases lists no cases (OpDef::cases)");
  EXPECT_EQ(Check("kernels.none"), "there is no such operator");
  OpDef all = *HostContext()->Ops().Find("Relu");
  all.create = [](Graph*, const AnyAttrs&) { return std::shared_ptr<Operation>(); };
  EXPECT_THAT(CheckCases(std::make_shared<OpDef>(all)), HasSubstr("Relu is a class"));
}

}  // namespace
}  // namespace tim::vx::test
