// Context::Ops: operators of an app, overrides of built-in ones, attributes that another library
// declared, and how long a definition lives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/api_support.h"
#include "tim/vx/op_def.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/simple_operations.h"
#include "tim/vx/ops/softmax.h"

namespace tim::vx::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Shapes> SameShape(const OpView& op) { return Shapes{op.in(0).shape()}; }
/// y = 100 - x.
Status Hundred(const OpView&, const ref::Inputs& in, ref::Outputs& out) {
  for (int64_t i = 0; i < out[0].count(); ++i) out[0].Set(i, 100 - in[0].At(i));
  return Status();
}

OpDef Define(const char* name, const char* origin = "test") {
  OpDef def;
  def.name = name, def.origin = origin;
  def.infer = SameShape, def.reference = Hundred;
  return def;
}

/// An operator of the app's own.
class Mine : public Operation {
 public:
  Mine(Graph* graph, const OpDef& def, AnyAttrs attrs = {})
      : Operation(graph, def, std::move(attrs)) {}
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return graph->CreateOperation<Mine>(Def(), AttrsOf(*this));
  }
};

TEST(OpRegistryTest, ADuplicateNamesBothOrigins) {
  auto context = NewHostContext();
  const Status s = context->Ops().Register(Define("Relu", "libfoo.so"));
  EXPECT_EQ(s.code(), Code::kAlreadyExists);
  EXPECT_THAT(s.message(),
              AllOf(HasSubstr("'Relu'"), HasSubstr("'libfoo.so'"), HasSubstr("'built-in'")));
  EXPECT_TRUE(context->Ops().Register(Define("Foo", "libfoo.so")).ok());
  EXPECT_THAT(context->Ops().Register(Define("Foo", "libbar.so")).message(),
              AllOf(HasSubstr("'libfoo.so'"), HasSubstr("'libbar.so'")));
  EXPECT_STREQ(context->Ops().Find("Foo")->origin, "libfoo.so");
  EXPECT_STREQ(OpDef().origin, "app");
  // What cannot be an operator.
  EXPECT_EQ(context->Ops().Register(nullptr).code(), Code::kInvalidArgument);
  EXPECT_EQ(context->Ops().Register(OpDef()).code(), Code::kInvalidArgument);
  EXPECT_EQ(context->Ops().Register(Define("NoOrigin", nullptr)).code(), Code::kInvalidArgument);
  OpDef def = Define("BadTypes");
  def.types = "f33 -> f32";
  EXPECT_EQ(context->Ops().Register(def).code(), Code::kInvalidArgument);
  EXPECT_EQ(context->Ops().Find("BadTypes"), nullptr);
}

TEST(OpRegistryTest, AnOverrideReachesTypedClasses) {
  auto context = NewHostContext();
  auto graph = context->CreateGraph();
  auto x = Input(graph, {2}), before = Output(graph, {2}), after = Output(graph, {2});
  auto abs = Output(graph, {2});
  Bind<ops::Relu>(graph, {x}, {before});
  ASSERT_TRUE(context->Ops().Register(Define("Relu"), OpRegistry::OnDuplicate::kOverride).ok());
  const auto second = Bind<ops::Relu>(graph, {x}, {after});
  Bind<ops::Abs>(graph, {x}, {abs});
  EXPECT_STREQ(second->Def().origin, "test");
  ASSERT_TRUE(Write<float>(x, {-3, 5}));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(before, 2), ElementsAre(0, 5)) << "made before the override";
  EXPECT_THAT(Read(after, 2), ElementsAre(103, 95));
  std::vector<std::string> origins;
  for (const OpPlacement& p : graph->Report().ops) origins.push_back(p.op + " " + p.origin);
  EXPECT_THAT(origins, ElementsAre("Relu#1 built-in", "Relu#2 test", "Abs#3 built-in"));
  // Other contexts have tables of their own.
  EXPECT_STREQ(NewHostContext()->Ops().Find("Relu")->origin, "built-in");
}

TEST(OpRegistryTest, AnAppsOwnClassNeedsNoRegistration) {
  auto graph = NewHostContext()->CreateGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2});
  const OpDef def = Define("Own", "app");
  (*graph->CreateOperation<Mine>(def)).BindInput(x).BindOutput(y);
  ASSERT_TRUE(Write<float>(x, {1, 2}));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(y, 2), ElementsAre(99, 98));
}

/// Softmax as another library might declare it: the same names, other types.
struct OtherSoftmax {
  int64_t axis = 7;
  double beta = 7;
  TIMCL_FIELDS(axis, beta)
};
struct NoAxis {
  float beta = 0;
  TIMCL_FIELDS(beta)
};
struct ListAxis {
  std::vector<int32_t> axis;
  float beta = 0;
  TIMCL_FIELDS(axis, beta)
};
Status AxisAndBeta(const OpView& op, const ref::Inputs&, ref::Outputs& out) {
  out[0].Set(0, static_cast<double>(op.attrs<OtherSoftmax>().axis));
  out[0].Set(1, op.attrs<OtherSoftmax>().beta);
  return Status();
}

GraphPtr SoftmaxBy(const AttrSchema* schema, TensorPtr* y) {
  auto context = NewHostContext();
  OpDef def = Define("Softmax");
  def.schema = schema;
  def.reference = AxisAndBeta;
  EXPECT_TRUE(context->Ops().Register(def, OpRegistry::OnDuplicate::kOverride).ok());
  auto graph = context->CreateGraph();
  *y = Output(graph, {2});
  Bind<ops::Softmax>(graph, {Input(graph, {2})}, {*y}, 0.5f, -1)->SetName("s");
  return graph;
}

TEST(OpRegistryTest, AttributesOfAnotherLibraryAreConvertedByName) {
  TensorPtr y;
  auto graph = SoftmaxBy(&kAttrSchema<OtherSoftmax>, &y);
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(y, 2), ElementsAre(-1, 0.5f));
  const std::pair<const AttrSchema*, const char*> wrong[] = {
      {&kAttrSchema<NoAxis>, "unknown attribute 'axis' (known: beta)"},
      {&kAttrSchema<ListAxis>, "attribute 'axis' has a value of the wrong kind or size"}};
  for (const auto& [schema, words] : wrong) {
    graph = SoftmaxBy(schema, &y);
    EXPECT_FALSE(graph->Compile());
    EXPECT_EQ(graph->LastStatus().code(), Code::kInvalidArgument);
    EXPECT_EQ(graph->LastStatus().op(), "Softmax#1 's'");
    EXPECT_THAT(graph->LastStatus().message(), HasSubstr(words));
  }
}

Status ReadsAnotherStruct(const OpView& op) {
  return op.attrs<NoAxis>().beta > 0 ? Status() : Status(Code::kUnsupported);
}
Result<Shapes> InfersByAnotherStruct(const OpView& op) {
  TIMCL_TRY(ReadsAnotherStruct(op));
  return SameShape(op);
}
Status ComputesByAnotherStruct(const OpView& op, const ref::Inputs&, ref::Outputs&) {
  return ReadsAnotherStruct(op);
}
Result<KernelOffer> AcceptsByAnotherStruct(const OpView& op, const KernelRequest&) {
  TIMCL_TRY(ReadsAnotherStruct(op));
  return KernelOffer();
}
Result<Launches> MakesByAnotherStruct(const OpView& op, const KernelRequest&) {
  TIMCL_TRY(ReadsAnotherStruct(op));
  return Launches();
}

TEST(OpRegistryTest, ReadingAnotherStructIsAnErrorWithWords) {
  static constexpr KernelCandidate kAccepts[] = {{"a", AcceptsByAnotherStruct, nullptr}};
  static constexpr KernelCandidate kMakes[] = {{"m", nullptr, MakesByAnotherStruct}};
  OpDef defs[5];
  for (OpDef& def : defs) def = Define("Wrong"), def.schema = &kAttrSchema<OtherSoftmax>;
  defs[0].verify = ReadsAnotherStruct;
  defs[1].infer = InfersByAnotherStruct;
  defs[2].kernels = kAccepts;
  defs[3].kernels = kMakes;
  defs[4].reference = ComputesByAnotherStruct;
  for (int k = 0; k < 5; ++k) {
    if ((k == 2 || k == 3) && !HasOpenCl()) continue;
    auto graph = SharedContext()->CreateGraph();
    // The last one is a constant's: it is folded while compiling.
    auto x = k == 4 ? Constant(graph, {2}, {1, 2}) : Input(graph, {2});
    auto t = Between(graph);
    (*graph->CreateOperation<Mine>(defs[k], MakeAttrs(OtherSoftmax()))).BindInput(x).BindOutput(t);
    Bind<ops::Relu>(graph, {t}, {Output(graph, {2})});
    EXPECT_FALSE(graph->Compile()) << k;
    EXPECT_EQ(graph->LastStatus().code(), Code::kInternal) << k;
    EXPECT_THAT(graph->LastStatus().message(), AllOf(HasSubstr("Wrong: attributes (axis=7, beta=7"),
                                                     HasSubstr("another struct, of beta")));
  }
}

TEST(OpRegistryTest, ADefinitionLivesAsLongAsAnOpThatUsesIt) {
  struct Owned {
    std::string name = "Owned" + std::to_string(1);
    OpDef def;
  };
  auto owned = std::make_shared<Owned>();
  owned->def = Define(owned->name.c_str());
  const std::weak_ptr<Owned> watch = owned;
  auto context = NewHostContext();
  auto& ops = context->Ops();
  ASSERT_TRUE(ops.Register(std::shared_ptr<const OpDef>(owned, &owned->def)).ok());
  auto graph = context->CreateGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2});
  OpDef only_a_name;
  only_a_name.name = "Owned1";
  std::shared_ptr<Operation> op = graph->CreateOperation<Mine>(only_a_name);
  (*op).BindInput(x).BindOutput(y);
  owned.reset();
  // Another takes the name; then all that knows of either goes.
  ASSERT_TRUE(ops.Register(Define("Owned1"), OpRegistry::OnDuplicate::kOverride).ok());
  EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
  graph.reset();
  context.reset();
  ASSERT_FALSE(watch.expired());
  EXPECT_EQ(op->Def().name, "Owned1");
  op.reset();
  EXPECT_TRUE(watch.expired());
}

template <int k>
Result<KernelOffer> Refuses(const OpView&, const KernelRequest&) {
  return Status::Error(Code::kUnsupported, "not on day " + std::to_string(k));
}
Result<Launches> Copies(const OpView& op, const KernelRequest&) {
  KernelSpec k;
  k.source = "hundred", k.entry = "hundred";
  k.source_text =
      "#include \"tensor.clh\"\nkernel void hundred(IN(X), OUT(Y), SIZE(N)) {\n"
      "  const int i = get_global_id(0);\n  if (i < N) STORE(Y, i, 100 - LOAD(X, i));\n}\n";
  k.operands = {In(0, "X"), Out(0, "Y")};
  k.sizes = {{"N", op.out(0).type().count()}};
  k.global = Grid(op.out(0).type().count());
  return Launches{k};
}

TEST(OpRegistryTest, AnyNumberOfKernelCandidates) {
  if (!HasOpenCl()) GTEST_SKIP() << "needs OpenCL";
  static constexpr KernelCandidate kSeven[] = {
      {"k1", Refuses<1>, Copies}, {"k2", Refuses<2>, Copies}, {"k3", Refuses<3>, Copies},
      {"k4", Refuses<4>, Copies}, {"k5", Refuses<5>, Copies}, {"k6", Refuses<6>, Copies},
      {"k7", nullptr, Copies}};
  OpDef def = Define("Seven");
  def.kernels = kSeven;
  auto graph = SharedContext()->CreateGraph();
  auto x = Input(graph, {2}), y = Output(graph, {2});
  (*graph->CreateOperation<Mine>(def)).BindInput(x).BindOutput(y);
  ASSERT_TRUE(Write<float>(x, {1, 2}));
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_THAT(Read(y, 2), ElementsAre(99, 98));
  const OpPlacement& place = graph->Report().ops.at(0);
  EXPECT_EQ(place.kernel, "k7");
  EXPECT_THAT(place.refusals,
              ElementsAre("k1: not on day 1", "k2: not on day 2", "k3: not on day 3",
                          "k4: not on day 4", "k5: not on day 5", "k6: not on day 6"));
}

TEST(OpRegistryTest, OpsAreRegisteredWhileOthersBuildAndCompile) {
  auto context = NewHostContext();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      EXPECT_TRUE(context->Ops().Register(Define("Relu"), OpRegistry::OnDuplicate::kOverride).ok());
      (void)context->Ops().Find("Relu" + std::to_string(i));
    }
  });
  for (int i = 0; i < 50; ++i) {
    auto graph = context->CreateGraph();
    Bind<ops::Relu>(graph, {Input(graph, {4})}, {Output(graph, {4})});
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    EXPECT_GE(context->Ops().All().size(), 40u);
  }
  stop = true;
  writer.join();
}

/// A context as a mock of the original API has it.
class MockContext : public Context {
 public:
  std::shared_ptr<Graph> CreateGraph() override { return nullptr; }
  std::shared_ptr<Graph> CreateGraph(const CompileOption&) override { return nullptr; }
  bool isClOnly() override { return true; }
  bool hasSP() override { return false; }
};
TEST(OpRegistryTest, MocksHaveATableThatNobodyLooksAt) {
  EXPECT_TRUE(MockContext().Ops().All().empty());
}

}  // namespace
}  // namespace tim::vx::test
