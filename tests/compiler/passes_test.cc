// Graph text in, one pass, graph text out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/pipeline.h"
#include "support/host_backend.h"
#include "support/ir_builder.h"

namespace tim::vx::compiler {
namespace {

using ::testing::HasSubstr;

/// max(x, 0) + c, by way of other ops.
Status ExpandShifted(ExpandBuilder& b) {
  const auto relu = b.Add("Relu", {}, {b.in(0)}, b.op().in(0).type());
  b.AddTo(0, "Add", {}, {relu, b.Constant(0.5f)});
  return Status();
}
/// Twice the one above: expansions expand.
Status ExpandTwice(ExpandBuilder& b) {
  const auto first = b.Add("Shifted", {}, {b.in(0)}, b.op().in(0).type());
  b.AddTo(0, "Shifted", {}, {first});
  return Status();
}
Status ExpandForever(ExpandBuilder& b) {
  b.AddTo(0, "Forever", {}, {b.in(0)});
  return Status();
}
Status ExpandUnknown(ExpandBuilder& b) {
  b.AddTo(0, "NoSuchOp", {}, {b.in(0)});
  return Status();
}
Status ExpandNothing(ExpandBuilder&) { return Status(); }
Result<Shapes> SameShape(const OpView& op) { return Shapes{op.in(0).shape()}; }

const OpRegistry& Registry() {
  static const OpRegistry* registry = [] {
    auto* r = new OpRegistry(tim::vx::testing::Builtin());
    const std::pair<const char*, Status (*)(ExpandBuilder&)> composed[] = {
        {"Shifted", ExpandShifted}, {"Twice", ExpandTwice},     {"Forever", ExpandForever},
        {"Unknown", ExpandUnknown}, {"Nothing", ExpandNothing},
    };
    for (const auto& [name, expand] : composed) {
      OpDef def;
      def.name = name;
      def.infer = SameShape;
      def.expand = expand;
      r->Add(def);
    }
    return r;
  }();
  return *registry;
}

std::shared_ptr<ir::Graph> Read(const std::string& text) {
  auto graph = ir::Parse(text, Registry());
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return std::move(*graph);
}

TEST(InferTypes, ShapesFlowFromProducersToConsumers) {
  const auto g = Read(
      "%0 = input \"x\" f32[3,1]\n"
      "%3 = Add(%2, %0) : output f32[?] \"y\"\n"  // before its producer
      "%1 = constant f32[2] {1, 2}\n"
      "%2 = Reshape(%0) {target_shape=[1,3]} : f32[?]\n");
  const Status s = InferTypes(*g);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(ir::Print(*g),
            "%0 = input \"x\" f32[3,1]\n"
            "%2 = Reshape#1(%0) {target_shape=[1,3]} : f32[1,3] infer\n"
            "%3 = Add#0(%2, %0) : output f32[3,3] infer \"y\"\n");
}

TEST(InferTypes, ADeclaredShapeOfAsManyElementsStays) {
  const auto g = Read("%0 = input f32[3,2]\n%1 = Relu(%0) : output f32[6]\n");
  ASSERT_TRUE(InferTypes(*g).ok());
  EXPECT_EQ(ir::Print(*g), "%0 = input f32[3,2]\n%1 = Relu#0(%0) : output f32[6] as [3,2]\n");
}

TEST(InferTypes, TheFirstErrorNamesTheOp) {
  const auto g = Read("%0 = input f32[3]\n%1 = Relu \"r\"(%0) : output f32[4] \"y\"\n");
  const Status s = InferTypes(*g);
  EXPECT_EQ(s.code(), Code::kInvalidShape);
  EXPECT_EQ(s.op(), "Relu#0 'r'");
  EXPECT_EQ(s.tensor(), "y");
}

TEST(Fold, ConstantsBecomeOneConstant) {
  const auto g = Read(
      "%0 = constant f32[2] {1, -2}\n%1 = constant f32[1] {10}\n"
      "%2 = Relu(%0) : f32[2]\n%3 = Add(%2, %1) : f32[2]\n"
      "%4 = input f32[2]\n%5 = Add(%4, %3) : output f32[2]\n");
  ASSERT_TRUE(InferTypes(*g).ok());
  ASSERT_TRUE(FoldConstants(*g).ok());
  ASSERT_TRUE(ir::CheckInvariants(*g, true).ok());
  EXPECT_EQ(ir::Print(*g),
            "%4 = input f32[2]\n%3 = constant f32[2] {11, 10}\n"
            "%5 = Add#2(%4, %3) : output f32[2]\n");
}

TEST(Fold, OutputsStay) {
  const std::string text = "%0 = constant f32[2] {1, -2}\n%1 = Relu#0(%0) : output f32[2]\n";
  const auto g = Read(text);
  ASSERT_TRUE(InferTypes(*g).ok());
  ASSERT_TRUE(FoldConstants(*g).ok());
  EXPECT_EQ(ir::Print(*g), text);
}

TEST(Fold, LargeResultsStay) {
  for (const int rows : {1024, 1025}) {  // 2^20 elements, and more
    std::string text = "%0 = constant f32[1024,1] {0";
    for (int i = 1; i < 1024; ++i) text += ",1";
    text += "}\n%1 = constant f32[1," + std::to_string(rows) + "] {0";
    for (int i = 1; i < rows; ++i) text += ",1";
    text += "}\n%2 = Add(%0, %1) : f32[?]\n%3 = Relu(%2) : output f32[?]\n";
    const auto g = Read(text);
    ASSERT_TRUE(InferTypes(*g).ok());
    ASSERT_TRUE(FoldConstants(*g).ok());
    EXPECT_EQ(g->LiveNodes(), rows == 1024 ? 1u : 2u);
  }
}

TEST(Fold, MovesOfAnySize) {
  const auto g = Read(
      "%0 = constant f32[2,3,2] {1,2,3,4,5,6,7,8,9,10,11,12}\n"
      "%1 = Transpose(%0) {perm=[2,0,1]} : f32[?]\n%2 = Reshape(%1) {target_shape=[4,3]} : f32[?]\n"
      "%3 = input f32[4,3]\n%4 = Add(%3, %2) : output f32[?]\n"
      "%5 = constant i8(0.5,0)[2,3] {1,2,3,4,5,6}\n%6 = Transpose(%5) {perm=[1,0]} : i8(0.5,0)[?]\n"
      "%7 = input i8(0.5,0)[3,2]\n%8 = Add(%7, %6) : output i8(0.5,0)[?]\n");
  ASSERT_TRUE(InferTypes(*g).ok());
  ASSERT_TRUE(FoldConstants(*g).ok());
  ASSERT_TRUE(ir::CheckInvariants(*g, true).ok());
  const std::string text = ir::Print(*g);
  EXPECT_THAT(text, HasSubstr("constant f32[4,3] infer {1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12}"));
  EXPECT_THAT(text, HasSubstr("[3,2] infer {1, 3, 5, 2, 4, 6}"));
  EXPECT_EQ(g->LiveNodes(), 2u);
  // More than 2^20 elements.
  const auto big = Read("%0 = input f32[1]\n");
  ir::Value v;
  v.type = {DataType::FLOAT32, Shape{1025, 1025}, Quantization()};
  v.role = ir::Role::kConstant;
  v.storage = base::Storage::Allocate(v.type.bytes());
  auto* data = static_cast<float*>(v.storage->data());
  for (int i = 0; i < 1025 * 1025; ++i) data[i] = static_cast<float>(i);
  const int from = big->AddValue(std::move(v));
  ir::Value between;
  between.type.dtype = DataType::FLOAT32;
  between.infer_shape = true;
  const int to = big->AddValue(std::move(between));
  ir::Node n;
  n.def = Registry().Find("Transpose");
  auto attrs = AnyAttrs::From(n.def->schema, AttrMap{{"perm", std::vector<int64_t>{1, 0}}});
  ASSERT_TRUE(attrs.ok());
  n.attrs = *attrs;
  n.inputs = {from}, n.outputs = {to};
  big->AddNode(std::move(n));
  ASSERT_TRUE(InferTypes(*big).ok());
  ASSERT_TRUE(FoldConstants(*big).ok());
  ASSERT_EQ(big->value(to).role, ir::Role::kConstant);
  EXPECT_EQ(static_cast<const float*>(big->value(to).storage->data())[1], 1025);
}

TEST(Expand, AnOpBecomesItsDefinition) {
  const auto g = Read("%0 = input f32[2]\n%1 = Shifted#4 \"s\"(%0) : output f32[2]\n");
  ASSERT_TRUE(InferTypes(*g).ok());
  const Status s = Expand(*g, 0, Registry());
  ASSERT_TRUE(s.ok()) << s.message();
  ASSERT_TRUE(ir::CheckInvariants(*g, true).ok());
  EXPECT_EQ(ir::Print(*g),
            "%0 = input f32[2]\n"
            "%2 = Relu#4.1 \"s\"(%0) : f32[2] infer  // part of Shifted#4 's'\n"
            "%3 = constant f32[1] {0.5}\n"
            "%1 = Add#4.2 \"s\"(%2, %3) : output f32[2]  // part of Shifted#4 's'\n");
}

TEST(Expand, BrokenDefinitions) {
  const std::pair<const char*, const char*> kinds[] = {{"Unknown", "unknown op 'NoSuchOp'"},
                                                       {"Nothing", "without a producer"}};
  for (const auto& [kind, words] : kinds) {
    const auto g = Read(std::string("%0 = input f32[2]\n%1 = ") + kind + "(%0) : output f32[2]\n");
    ASSERT_TRUE(InferTypes(*g).ok());
    EXPECT_THAT(Expand(*g, 0, Registry()).message(), HasSubstr(words));
  }
}

/// Takes ops by kind.
class Taker : public test::HostBackend {
 public:
  Taker(std::string name, std::vector<std::string> kinds, bool wants_expanded = false)
      : HostBackend(std::move(name)), kinds_(std::move(kinds)), wants_expanded_(wants_expanded) {}
  Status Partition(const GraphView& graph, Selection* selection) override {
    for (const OpView& op : graph.Ops()) {
      if (std::count(kinds_.begin(), kinds_.end(), op.kind()) != 0) {
        selection->Select(op);
      } else if (wants_expanded_) {
        selection->OnlyExpanded(op, "too big");
      } else {
        selection->Reject(op, "not my kind");
      }
    }
    return Status();
  }

 private:
  std::vector<std::string> kinds_;
  bool wants_expanded_;
};

std::string Names(const ir::Graph& g, const Assignment& a, const std::vector<RankedBackend>& all) {
  std::string text;
  const auto order = g.TopologicalOrder();
  for (int id : *order) {
    const size_t n = static_cast<size_t>(id);
    text += std::string(g.node(id).def->name) + " -> " +
            all[static_cast<size_t>(a.backend_of[n])].backend->Info().name + " (" + a.reason_of[n] +
            ")\n";
  }
  return text;
}

constexpr const char* kChain =
    "%0 = input f32[2]\n%1 = Relu \"r\"(%0) : f32[2]\n%2 = Abs(%1) : f32[2]\n"
    "%3 = Relu(%2) : output f32[2]\n";

TEST(Assign, PriorityThenRefusalThenPins) {
  const auto g = Read(kChain);
  ASSERT_TRUE(InferTypes(*g).ok());
  const std::vector<RankedBackend> all = {
      {std::make_shared<Taker>("a", std::vector<std::string>{"Relu"}), 2},
      {std::make_shared<Taker>("b", std::vector<std::string>{"Relu", "Abs"}), 1}};
  Options options;
  auto a = Assign(g, Registry(), all, options, {});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(Names(*g, *a, all),
            "Relu -> a (first choice)\nAbs -> b (a: not my kind)\nRelu -> a (first choice)\n");
  options.pins = {{"r", "b"}};  // by name
  a = Assign(g, Registry(), all, options, {});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(Names(*g, *a, all),
            "Relu -> b (pinned)\nAbs -> b (a: not my kind)\nRelu -> a (first choice)\n");
  options.pins = {{"Relu", "b"}};  // by kind
  a = Assign(g, Registry(), all, options, {});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(Names(*g, *a, all),
            "Relu -> b (pinned)\nAbs -> b (a: not my kind)\nRelu -> b (pinned)\n");
  options.pins = {{"Relu", "c"}};
  a = Assign(g, Registry(), all, options, {});
  EXPECT_EQ(a.status().code(), Code::kNotFound);
  EXPECT_THAT(a.status().message(), HasSubstr("pinned to backend 'c'; there are: a, b"));
  options.pins = {{"Abs", "a"}};  // it does not take it: nobody else may
  a = Assign(g, Registry(), all, options, {});
  EXPECT_EQ(a.status().code(), Code::kUnsupported);
  EXPECT_THAT(a.status().message(), HasSubstr("no backend runs 1 of 3 ops"));
  EXPECT_THAT(a.status().message(), HasSubstr("a: not my kind"));
  EXPECT_THAT(a.status().message(), HasSubstr("b: pinned to 'a'"));
  // What failed to compile once is not offered again.
  a = Assign(g, Registry(), all, {},
             {{0, {{0, Status::Error(Code::kKernelBuild, "build failed")}}}});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(Names(*g, *a, all),
            "Relu -> b (a: build failed)\nAbs -> b (a: not my kind)\nRelu -> a (first choice)\n");
}

TEST(Assign, ComposedOpsAreExpandedWhereNobodyTakesThemWhole) {
  const std::string text = "%0 = input f32[2]\n%1 = Twice(%0) : output f32[2]\n";
  const std::vector<std::string> parts = {"Relu", "Add"};
  auto g = Read(text);
  ASSERT_TRUE(InferTypes(*g).ok());
  const std::vector<RankedBackend> small = {{std::make_shared<Taker>("small", parts, true), 1}};
  auto a = Assign(g, Registry(), small, {}, {});
  ASSERT_TRUE(a.ok()) << a.status().message();
  EXPECT_EQ(g->LiveNodes(), 4u);  // two levels deep
  EXPECT_TRUE(ir::CheckInvariants(*g, true).ok());

  // One that takes it whole keeps it, unless a better one wants it expanded.
  const RankedBackend whole = {std::make_shared<Taker>("whole", std::vector<std::string>{"Twice"}),
                               3};
  g = Read(text);
  ASSERT_TRUE(InferTypes(*g).ok());
  ASSERT_TRUE(Assign(g, Registry(), {whole, small[0]}, {}, {}).ok());
  EXPECT_EQ(g->LiveNodes(), 1u);
  ASSERT_TRUE(Assign(g, Registry(), {small[0], whole}, {}, {}).ok());
  EXPECT_EQ(g->LiveNodes(), 4u);

  const auto forever = Read("%0 = input f32[2]\n%1 = Forever(%0) : output f32[2]\n");
  ASSERT_TRUE(InferTypes(*forever).ok());
  a = Assign(forever, Registry(), small, {}, {});
  EXPECT_EQ(a.status().code(), Code::kInvalidGraph);
  EXPECT_THAT(a.status().message(), HasSubstr("leads back to the same: Forever#0 / Forever#0.1"));
}

}  // namespace
}  // namespace tim::vx::compiler
