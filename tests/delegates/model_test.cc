// What Build sees: the list in topological order, primitives, the borders of slices, memory; and
// what is made of slices that share values with the rest of the graph.
#include "delegates/support.h"

namespace tim::vx::test {
namespace {

std::vector<std::string> Labels(const std::vector<TensorView>& tensors) {
  std::vector<std::string> labels;
  for (const TensorView& t : tensors) labels.push_back(t.Name());
  return labels;
}

TEST(Model, TheListItsPrimitivesAndTheGraph) {
  const auto context = NewHostContext();
  bool built = false;
  ASSERT_TRUE(context
                  ->SetDelegate(Made([&](DelegateModel* model) {
                    built = true;
                    std::vector<std::string> names, kinds;
                    for (const kernel::Kernel* kernel : *model->nodes()) {
                      names.push_back(kernel->name());
                      kinds.push_back(kernel->type());
                      EXPECT_EQ(model->GetPrimitive(kernel)->kind, kernel->type());
                      EXPECT_EQ(kernel->primitive(), model->GetPrimitive(kernel));
                    }
                    EXPECT_THAT(names, ElementsAre("leaky", "Add#2", "Neg#3"));
                    EXPECT_THAT(kinds, ElementsAre("LeakyRelu", "Add", "Neg"));
                    kernel::Kernel* leaky = *model->BeginKernelIterator();
                    EXPECT_EQ(leaky->inputs()[0].Name(), "x");
                    EXPECT_EQ(leaky->outputs()[0].Name(), "a");
                    double alpha = 0;
                    EXPECT_EQ(model->GetPrimitive(leaky)->attrs.Get("alpha", &alpha), RET_OK);
                    EXPECT_EQ(alpha, 0.25);
                    EXPECT_EQ(model->GetPrimitive(leaky)->attrs.Get("beta", &alpha).code(),
                              Code::kNotFound);
                    std::string text;
                    EXPECT_EQ(model->GetPrimitive(leaky)->attrs.Get("alpha", &text).code(),
                              Code::kInvalidArgument);
                    EXPECT_THAT(Labels(model->inputs()), ElementsAre("x"));
                    EXPECT_THAT(Labels(model->outputs()), ElementsAre("b", "y"));
                    EXPECT_EQ(model->GetVersion(), 1);
                    EXPECT_EQ(model->GetPrimitive(nullptr), nullptr);
                    EXPECT_EQ(leaky->Execute().code(), Code::kInvalidArgument);
                    EXPECT_EQ(leaky->ReSize().code(), Code::kUnsupported);
                    return kSuccess;
                  }))
                  .ok());
  Net net(context);
  const auto k = Constant(net.graph, {4}, {1, 2, 3, 4});
  const auto a = net.Op("LeakyRelu", {net.x}, "a", false, {{"alpha", 0.25}});
  net.graph->OpVector()[0]->SetName("leaky");
  const auto b = net.Op("Add", {a, k}, "b", true);
  const auto y = net.Op("Neg", {b}, "y", true);
  EXPECT_THAT(net.Run(y), ElementsAre(-0.5f, -1.75f, -3, -5));
  EXPECT_TRUE(built);
}

TEST(Model, ReasonsOfRefusalsAreReported) {
  const auto context = NewHostContext();
  ASSERT_TRUE(context
                  ->SetDelegate(Made([](DelegateModel* model) -> Status {
                    const KernelIter at = model->BeginKernelIterator();
                    model->Reject(at[0], "its input is small");
                    model->Reject(at[1], "but taken all the same");
                    model->Reject(nullptr, "of nothing");
                    model->Replace(at + 1, at + 2,
                                   new xxx::XXXGraph(model->SubgraphInputs(at + 1, at + 2),
                                                     model->SubgraphOutputs(at + 1, at + 2)));
                    model->Reject(*(at + 2), "of mine: ");
                    model->Reject(*(at + 2), "said last");
                    model->Reject(*(at + 1), "of a kernel of its own");
                    return RET_OK;
                  }))
                  .ok());
  Net net(context);
  net.Chain({"Abs", "Neg", "Relu", "Abs"});
  ASSERT_TRUE(net.Compile().ok()) << net.graph->LastStatus().message();
  const std::string start = "made: not replaced by delegate 'made'";
  EXPECT_THAT(net.Placement("Abs#1").refusals, ElementsAre(start + ": its input is small"));
  EXPECT_THAT(net.Placement("Neg#2").refusals, IsEmpty());
  EXPECT_THAT(net.Placement("Relu#3").refusals, ElementsAre(start + ": said last"));
  EXPECT_THAT(net.Placement("Abs#4").refusals, ElementsAre(start));
}

TEST(Model, BordersOfSlices) {
  // x -> Relu a -> Neg b (an output) -> Add c -> Abs y; d = Sub(a, k) is read by Add.
  const auto context = NewHostContext();
  bool built = false;
  ASSERT_TRUE(
      context
          ->SetDelegate(Made([&](DelegateModel* model) -> Status {
            built = true;
            const KernelIter at = model->BeginKernelIterator();
            EXPECT_THAT(Labels(model->SubgraphInputs(at, at + 2)), ElementsAre("x"));
            EXPECT_THAT(Labels(model->SubgraphOutputs(at, at + 2)), ElementsAre("a", "b"));
            EXPECT_THAT(Labels(model->SubgraphInputs(at + 1, at + 3)), ElementsAre("a"));
            EXPECT_THAT(Labels(model->SubgraphOutputs(at + 1, at + 4)), ElementsAre("b", "c"));
            EXPECT_THAT(Labels(model->SubgraphInputs(at + 3, at + 4)), ElementsAre("b", "d"));
            EXPECT_THAT(model->SubgraphInputs(at + 3, at + 3), IsEmpty());
            EXPECT_THAT(model->SubgraphOutputs(at + 3, at + 9), IsEmpty());
            return RET_OK;
          }))
          .ok());
  Net net(context);
  const auto k = Constant(net.graph, {4}, {1, 1, 1, 1});
  const auto a = net.Op("Relu", {net.x}, "a");
  const auto b = net.Op("Neg", {a}, "b", true);
  const auto d = net.Op("Sub", {a, k}, "d");
  const auto y = net.Op("Abs", {net.Op("Add", {b, d}, "c")}, "y", true);
  EXPECT_THAT(net.Run(y), ElementsAre(1, 1, 1, 1));
  EXPECT_TRUE(built);
}

/// Replaces slices of the list, given by what they are to be when nothing was replaced yet, last
/// first.
class TakesSlices : public TakesKinds {
 public:
  explicit TakesSlices(std::vector<std::pair<int, int>> slices, std::string name = "slices")
      : TakesKinds(std::move(name), {}), slices_(std::move(slices)) {}
  Status Build(DelegateModel* model) override {
    for (const auto& [from, end] : slices_) {
      const KernelIter begin = model->BeginKernelIterator();
      const KernelIter next =
          model->Replace(begin + from, begin + end, Make(begin + from, begin + end, model));
      EXPECT_EQ(next, model->BeginKernelIterator() + from + 1);
    }
    return RET_OK;
  }

 private:
  std::vector<std::pair<int, int>> slices_;
};

TEST(Model, InnerValuesReadOutsideAndSeveralOutputs) {
  const auto context = NewHostContext();
  // Relu a, Neg b (output), Sub d run as one; Abs reads a and Square reads d.
  ASSERT_TRUE(
      context->SetDelegate(std::make_shared<TakesSlices>(std::vector<std::pair<int, int>>{{0, 3}}))
          .ok());
  Net net(context);
  const auto a = net.Op("Relu", {net.x}, "a");
  const auto b = net.Op("Neg", {a}, "b", true);
  const auto d = net.Op("Sub", {a, b}, "d");
  const auto p = net.Op("Abs", {a}, "p", true);
  const auto q = net.Op("Square", {d}, "q", true);
  for (int run = 0; run < 2; ++run) {
    EXPECT_THAT(net.Run(q), ElementsAre(0, 0, 0, 4));
    EXPECT_THAT(Read(b, 4), ElementsAre(0, 0, 0, -1));
    EXPECT_THAT(Read(p, 4), ElementsAre(0, 0, 0, 1));
  }
  EXPECT_EQ(net.graph->Report().partitions, 2u);
}

TEST(Model, ADiamondWithAnUnsupportedArm) {
  // Relu -> {Abs, Neg} -> Add: Relu, Abs, Neg, Add in this order. What follows Abs runs as one.
  const auto context = NewHostContext();
  ASSERT_TRUE(context
                  ->SetDelegate(std::make_shared<TakesKinds>(
                      "made", std::set<std::string>{"Relu", "Neg", "Add"}))
                  .ok());
  Net net(context);
  const auto a = net.Op("Relu", {net.x}, "a");
  const auto arm = net.Op("Abs", {a}, "arm");
  const auto other = net.Op("Neg", {a}, "other");
  const auto y = net.Op("Add", {arm, other}, "y", true);
  EXPECT_THAT(net.Run(y), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(net.graph->Report().partitions, 3u);
  EXPECT_EQ(net.Placement("Abs#2").backend, "reference");
  EXPECT_EQ(net.Placement("Add#4").backend, "made");
}

TEST(Model, DelegatesAreAskedInOrder) {
  const auto context = NewHostContext();
  using Kinds = std::set<std::string>;
  ASSERT_TRUE(context->AddDelegate(std::make_shared<TakesKinds>("first", Kinds{"Neg"})).ok());
  std::vector<std::string> seen;
  auto second = std::make_shared<MadeDelegate>("second", [&](DelegateModel* model) {
    seen.clear();
    for (const kernel::Kernel* kernel : *model->nodes())
      seen.push_back(model->GetPrimitive(kernel)->kind);
    return TakesKinds("", {"Neg", "Relu"}).Build(model);
  });
  ASSERT_TRUE(context->AddDelegate(second).ok());
  Net net(context);
  const auto y = net.Chain({"Neg", "Relu", "Abs", "Neg"});
  EXPECT_THAT(net.Run(y), ElementsAre(-2, -1, 0, 0));
  EXPECT_THAT(seen, ElementsAre("subgraph", "Relu", "Abs", "subgraph"));
  EXPECT_EQ(net.Placement("Neg#1").backend, "first");
  EXPECT_EQ(net.Placement("Relu#2").backend, "second");
  EXPECT_THAT(net.Placement("Abs#3").refusals,
              ElementsAre("first: not replaced by delegate 'first'",
                          "second: not replaced by delegate 'second'"));
  EXPECT_EQ(net.Placement("Neg#4").backend, "first");
}

TEST(Model, WhatIsPinnedElsewhereIsASubgraph) {
  const auto context = NewHostContext();
  using Kinds = std::set<std::string>;
  ASSERT_TRUE(
      context->SetDelegate(std::make_shared<TakesKinds>("made", Kinds{"Neg", "Relu"})).ok());
  Net net(context, CompileOption().Pin("Relu", "reference"));
  const auto y = net.Chain({"Neg", "Relu", "Neg"});
  EXPECT_THAT(net.Run(y), ElementsAre(-2, -1, 0, 0));
  EXPECT_EQ(net.Placement("Relu#2").backend, "reference");
  EXPECT_EQ(net.Placement("Neg#1").backend, "made");
  // And what is pinned to a delegate that does not replace it, nobody runs.
  Net nobody(context, CompileOption().Pin("Abs", "made"));
  nobody.Chain({"Neg", "Abs"});
  EXPECT_THAT(nobody.Compile().message(), AllOf(HasSubstr("no backend runs 1 of 2 ops"),
                                                HasSubstr("not replaced by delegate")));
}

// Composed ops come whole, then as their parts if nobody takes them.
TEST(Model, ComposedOpsAreOfferedFirst) {
  const auto context = NewHostContext();
  OpDef twice;  // nobody runs it whole
  twice.name = "Twice";
  twice.infer = InferByExpansion;
  twice.expand = [](ExpandBuilder& b) {
    b.AddTo(0, "Add", {}, {b.in(0), b.in(0)});
    return Status();
  };
  ASSERT_TRUE(context->Ops().Register(twice).ok());
  Journal journal;
  std::vector<std::vector<std::string>> seen;
  auto looks = std::make_shared<MadeDelegate>("looks", [&](DelegateModel* model) {
    seen.emplace_back();
    for (const kernel::Kernel* kernel : *model->nodes()) seen.back().push_back(kernel->type());
    return RET_OK;
  });
  ASSERT_TRUE(context
                  ->AddDelegate(
                      std::make_shared<TakesKinds>("takes", std::set<std::string>{"Neg"}, &journal))
                  .ok());
  ASSERT_TRUE(context->AddDelegate(looks).ok());
  Net net(context);
  const auto y = net.Op("Twice", {net.Op("Neg", {net.x}, "a")}, "y", true);
  EXPECT_THAT(net.Run(y), ElementsAre(4, 2, 0, -2));
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_THAT(seen[0], ElementsAre("subgraph", "Twice"));
  EXPECT_THAT(seen[1], ElementsAre("subgraph", "Add"));
  EXPECT_EQ(journal.builds, 2u);
  EXPECT_EQ(journal.alive, 1u) << "kernels of the first model are gone";
  EXPECT_EQ(journal.prepared, 1u);
  EXPECT_EQ(journal.executed, 1u);
}

/// Looks at the memory of a, k (constant) and y through copies of views made in Build.
class Looks : public xxx::XXXGraph {
 public:
  using XXXGraph::XXXGraph;
  std::vector<TensorView> views;  // x, k, inner, y
  std::vector<int>* in_prepare = nullptr;
  Status Prepare() override {
    for (const TensorView& v : views) in_prepare->push_back(v.Data() != nullptr ? 1 : 0);
    EXPECT_EQ(views[1].data_as<float>()[3], 4.0f);
    EXPECT_NE(views[2].MutableData(), nullptr);
    EXPECT_EQ(views[2].MutableData(), views[2].Data().get()) << "the same each time";
    return XXXGraph::Prepare();
  }
  Status Execute() override {
    for (const TensorView& v : views) EXPECT_NE(v.Data(), nullptr) << v.label();
    const std::vector<TensorView> copies = views;
    EXPECT_EQ(copies[3].MutableData(), outputs()[0].MutableData());
    EXPECT_EQ(copies[0].Data(), inputs()[0].Data());
    return XXXGraph::Execute();
  }
};

TEST(Model, MemoryBelongsToTheTensorNotToTheView) {
  const auto context = NewHostContext();
  std::vector<int> in_prepare;
  ASSERT_TRUE(context
                  ->SetDelegate(Made([&](DelegateModel* model) {
                    const KernelIter from = model->BeginKernelIterator(), end = from + 2;
                    auto* looks = new Looks(model->SubgraphInputs(from, end),
                                            model->SubgraphOutputs(from, end));
                    looks->in_prepare = &in_prepare;
                    const TensorView k = from[0]->inputs()[1], inner = from[0]->outputs()[0];
                    looks->views = {from[0]->inputs()[0], k, inner, from[1]->outputs()[0]};
                    for (const TensorView& v : looks->views) {
                      EXPECT_EQ(v.DataSize(), 16u);
                      EXPECT_EQ(v.ElementNum(), 4);
                      EXPECT_EQ(v.Data() != nullptr, v.IsConst()) << v.label();
                      EXPECT_EQ(v.MutableData() != nullptr, v.IsConst()) << v.label();
                    }
                    EXPECT_TRUE(k.IsConst());
                    EXPECT_TRUE(TensorView() == nullptr);
                    EXPECT_TRUE(inner != nullptr && inner != k);
                    EXPECT_TRUE(inner == from[1]->inputs()[0]);
                    EXPECT_EQ(looks->AddOp(model->GetPrimitive(from[0]), from[0]), RET_OK);
                    EXPECT_EQ(looks->AddOp(model->GetPrimitive(from[1]), from[1]), RET_OK);
                    model->Replace(from, end, looks);
                    return RET_OK;
                  }))
                  .ok());
  Net net(context);
  const auto k = Constant(net.graph, {4}, {1, 2, 3, 4});
  const auto b = net.Op("Neg", {net.Op("Add", {net.x, k}, "a")}, "b");
  const auto y = net.Op("Abs", {b}, "y", true);
  for (int run = 0; run < 2; ++run) EXPECT_THAT(net.Run(y), ElementsAre(1, 1, 3, 5));
  EXPECT_THAT(in_prepare, ElementsAre(1, 1, 0, 1)) << "x, k, a, b";
}

TEST(Model, KernelsAndPrimitivesOfTheListOutliveBuild) {
  const auto context = NewHostContext();
  // Keeps pointers into the model, as ported code does.
  class KeepsPointers : public xxx::XXXGraph {
   public:
    using XXXGraph::XXXGraph;
    std::vector<std::pair<const kernel::Kernel*, const Primitive*>> nodes;
    Status Prepare() override {
      for (const auto& [kernel, primitive] : nodes) TIMCL_TRY(AddOp(primitive, kernel));
      return XXXGraph::Prepare();
    }
  };
  ASSERT_TRUE(context
                  ->SetDelegate(Made([](DelegateModel* model) {
                    const KernelIter from = model->BeginKernelIterator(), end = from + 2;
                    auto* keeps = new KeepsPointers(model->SubgraphInputs(from, end),
                                                    model->SubgraphOutputs(from, end));
                    for (KernelIter i = from; i != end; ++i)
                      keeps->nodes.emplace_back(*i, model->GetPrimitive(*i));
                    model->Replace(from, end, keeps);
                    return RET_OK;
                  }))
                  .ok());
  Net net(context);
  const auto y = net.Chain({"Neg", "Relu"});
  EXPECT_THAT(net.Run(y), ElementsAre(2, 1, 0, 0));
}

}  // namespace
}  // namespace tim::vx::test
