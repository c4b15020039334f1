// Composed ops: what an expansion may say, what it may not, and how its parts are shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/pipeline.h"

namespace tim::vx::compiler {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const TensorType kF32 = {DataType::FLOAT32, {}, Quantization()};

Result<Shapes> SameShape(const OpView& op) { return Shapes(op.num_outputs(), op.in(0).shape()); }

/// Two results from one op of two results; constants, one of them quantized; an operand left out.
Status ExpandCell(ExpandBuilder& b) {
  const int8_t w[] = {2, 0, 0, 2};
  const float r[] = {0, 0, 0, 0};
  const TensorType quantized = {
      DataType::INT8, {2, 2}, Quantization(QuantType::ASYMMETRIC, 0.5f, 0)};
  const auto weights = b.Add("DataConvert", {}, {b.Constant(quantized, w)}, kF32);
  const auto recurrent = b.Constant({DataType::FLOAT32, {2, 2}, Quantization()}, r);
  const auto relu = b.Add("Relu", {}, {b.in(0)}, kF32);
  b.Add("RNNCell", {}, {relu, weights, -1, b.in(0), recurrent}, {b.out(0), b.out(1)});
  return Status();
}

// Each breaks one rule.
Status UnknownKind(ExpandBuilder& b) {
  b.AddTo(0, "NoSuchOp", {}, {b.in(0)});
  return Status();
}
Status UnknownAttribute(ExpandBuilder& b) {
  b.AddTo(0, "Softmax", {{"axes", int64_t{0}}}, {b.in(0)});
  return Status();
}
Status WrongAttribute(ExpandBuilder& b) {
  b.AddTo(0, "Softmax", {{"axis", std::string("last")}}, {b.in(0)});
  return Status();
}
Status AttributeOfAnOpWithout(ExpandBuilder& b) {
  b.AddTo(0, "Empty", {{"axis", int64_t{0}}}, {b.in(0)});
  return Status();
}
Status WrongAxis(ExpandBuilder& b) {
  b.AddTo(0, "Softmax", {{"axis", int64_t{5}}}, {b.in(0)});
  return Status();
}
Status ReadsNoValue(ExpandBuilder& b) {
  b.AddTo(0, "Relu", {}, {99});
  return Status();
}
Status ReadsAStrangersValue(ExpandBuilder& b) {
  b.AddTo(0, "Relu", {}, {0});  // of another op of the graph
  return Status();
}
Status ReadsWhatNobodyProduces(ExpandBuilder& b) {
  b.AddTo(0, "Add", {}, {b.in(0), b.Between(kF32)});
  return Status();
}
Status ReadsItsOwnResult(ExpandBuilder& b) {
  b.AddTo(0, "Add", {}, {b.in(0), b.out(0)});
  return Status();
}
Status ProducesAnOutputTwice(ExpandBuilder& b) {
  b.AddTo(0, "Relu", {}, {b.in(0)});
  b.AddTo(0, "Neg", {}, {b.in(0)});
  return Status();
}
Status ProducesAValueTwice(ExpandBuilder& b) {
  const auto t = b.Add("Relu", {}, {b.in(0)}, kF32);
  b.Add("Neg", {}, {b.in(0)}, std::vector<ExpandBuilder::Value>{t});
  b.AddTo(0, "Abs", {}, {t});
  return Status();
}
Status WritesItsInput(ExpandBuilder& b) {
  b.AddTo(0, "Relu", {}, {b.in(0)});
  b.Add("Neg", {}, {b.in(0)}, std::vector<ExpandBuilder::Value>{b.in(0)});
  return Status();
}
Status WritesAConstant(ExpandBuilder& b) {
  b.AddTo(0, "Relu", {}, {b.in(0)});
  b.Add("Neg", {}, {b.in(0)}, std::vector<ExpandBuilder::Value>{b.Constant(1.0f)});
  return Status();
}
Status WritesAnOutputThatIsNotThere(ExpandBuilder& b) {
  b.AddTo(0, "Relu", {}, {b.in(0)});
  b.AddTo(1, "Relu", {}, {b.in(0)});
  return Status();
}
Status ConstantWithoutData(ExpandBuilder& b) {
  b.AddTo(0, "Add", {}, {b.in(0), b.Constant({DataType::FLOAT32, {2}, Quantization()}, nullptr)});
  return Status();
}
Status ProducesNothing(ExpandBuilder&) { return Status(); }
Status SaysWhy(ExpandBuilder& b) { return b.op().Error(Code::kUnsupported, "not for today"); }

/// max(x, 0) + 0.5, twice.
Status ExpandInner(ExpandBuilder& b) {
  b.AddTo(0, "Add", {}, {b.Add("Relu", {}, {b.in(0)}, kF32), b.Constant(0.5f)});
  return Status();
}
Status ExpandOuter(ExpandBuilder& b) {
  b.AddTo(0, "Inner", {}, {b.Add("Inner", {}, {b.in(0)}, kF32)});
  return Status();
}

struct Broken {
  const char* name;
  Status (*expand)(ExpandBuilder&);
  Code code;
  const char* words;
};
constexpr Broken kBroken[] = {
    {"B00", UnknownKind, Code::kNotFound, "names the unknown op 'NoSuchOp'"},
    {"B01", UnknownAttribute, Code::kInvalidArgument,
     "its expansion into Softmax: unknown attribute 'axes'"},
    {"B02", WrongAttribute, Code::kInvalidArgument,
     "its expansion into Softmax: attribute 'axis' has a value of the wrong kind"},
    {"B03", AttributeOfAnOpWithout, Code::kInvalidArgument, "into Empty: unknown attribute 'axis'"},
    {"B04", WrongAxis, Code::kInvalidArgument, "in its expansion, Softmax#1.1 'it': axis 5"},
    {"B05", ReadsNoValue, Code::kInternal, "lets Relu read %99, which is no value of it"},
    {"B06", ReadsAStrangersValue, Code::kInternal, "lets Relu read %0, which is no value of it"},
    {"B07", ReadsWhatNobodyProduces, Code::kInternal, "which no op has produced yet"},
    {"B08", ReadsItsOwnResult, Code::kInternal,
     "lets Add read output 0 'output' f32[2], which no op has produced yet"},
    {"B09", ProducesAnOutputTwice, Code::kInternal,
     "lets Neg write output 0 'output' f32[2], which is produced or given already"},
    {"B10", ProducesAValueTwice, Code::kInternal, "which is produced or given already"},
    {"B11", WritesItsInput, Code::kInternal,
     "lets Neg write %1, which is produced or given already"},
    {"B12", WritesAConstant, Code::kInternal, "which is produced or given already"},
    {"B13", WritesAnOutputThatIsNotThere, Code::kInternal, "lets Relu write %-1"},
    {"B14", ConstantWithoutData, Code::kInternal, "gives a constant no data"},
    {"B15", ProducesNothing, Code::kInternal, "leaves output 0 'output' f32[2] without a producer"},
    {"B16", SaysWhy, Code::kUnsupported, "not for today"},
};

const OpRegistry& Registry() {
  static const OpRegistry* registry = [] {
    auto* r = new OpRegistry(tim::vx::testing::Builtin());
    auto add = [&](const char* name, Status (*expand)(ExpandBuilder&), const char* outputs) {
      OpDef def;
      def.name = name, def.outputs = outputs;
      def.infer = SameShape;
      def.expand = expand;
      EXPECT_TRUE(r->Register(def).ok());
    };
    add("Cell", ExpandCell, "output state");
    add("Inner", ExpandInner, "output");
    add("Outer", ExpandOuter, "output");
    add("Empty", nullptr, "output");
    for (const Broken& b : kBroken) add(b.name, b.expand, "output");
    return r;
  }();
  return *registry;
}

TEST(ExpandBuilder, SeveralOutputsQuantizedConstantsAndOperandsLeftOut) {
  const auto g = tim::vx::testing::ReadGraph(
      "%0 = input f32[2,1]\n%1, %2 = Cell#4 \"c\"(%0) : output f32[2,1], output f32[2,1]\n",
      Registry());
  ASSERT_TRUE(InferTypes(*g).ok());
  const Status s = Expand(*g, 0, Registry());
  ASSERT_TRUE(s.ok()) << s.message();
  ASSERT_TRUE(ir::CheckInvariants(*g, true).ok());
  EXPECT_EQ(ir::Print(*g),
            "%0 = input f32[2,1]\n"
            "%3 = constant i8(0.5,0)[2,2] {2, 0, 0, 2}\n"
            "%4 = DataConvert#4.1 \"c\"(%3) : f32[2,2] infer  // part of Cell#4 'c'\n"
            "%6 = Relu#4.2 \"c\"(%0) : f32[2,1] infer  // part of Cell#4 'c'\n"
            "%5 = constant f32[2,2] {0, 0, 0, 0}\n"
            "%1, %2 = RNNCell#4.3 \"c\"(%6, %4, _, %0, %5) {activation=\"TANH\"} : "
            "output f32[2,1], output f32[2,1]  // part of Cell#4 'c'\n");
  // It reads back, and runs.
  const auto again = ir::Parse(ir::Print(*g), Registry());
  ASSERT_TRUE(again.ok()) << again.status().message();
  CompileReport report;
  const auto run = tim::vx::testing::ReadGraph(
      "%0 = input f32[2,1]\n%1, %2 = Cell(%0) : output f32[2,1], output f32[2,1]\n", Registry());
  static_cast<float*>(run->value(0).storage->data())[0] = 1;
  const Status ran =
      tim::vx::testing::RunGraph(run, Registry(), {tim::vx::testing::Reference()}, {}, &report);
  ASSERT_TRUE(ran.ok()) << ran.message();
  const auto results = tim::vx::testing::OutputsOf(*run);
  EXPECT_NEAR(results.at(1)[0], 0.7616f, 1e-4);
  EXPECT_EQ(results.at(1), results.at(2));
}

TEST(ExpandBuilder, BrokenExpansionsAreErrorsThatNameTheOp) {
  for (const Broken& b : kBroken) {
    const auto g = tim::vx::testing::ReadGraph(
        std::string("%0 = input f32[2]\n%1 = Relu#0(%0) : f32[2]\n%2 = ") + b.name +
            "#1 \"it\"(%1) : output f32[2]\n",
        Registry());
    ASSERT_TRUE(InferTypes(*g).ok());
    const Status s = Expand(*g, 1, Registry());
    EXPECT_EQ(s.code(), b.code) << b.name << s.message();
    EXPECT_EQ(s.op(), std::string(b.name) + "#1 'it'") << s.message();
    EXPECT_THAT(s.message(), HasSubstr(b.words));
  }
}

TEST(ExpandBuilder, PartsAreShownUnderneathTheComposedOp) {
  const auto g = tim::vx::testing::ReadGraph(
      "%0 = input f32[2]\n%1 = Outer#1 \"o\"(%0) : f32[2]\n%2 = Neg#2(%1) : output f32[2]\n",
      Registry());
  CompileReport report;
  const Status s =
      tim::vx::testing::RunGraph(g, Registry(), {tim::vx::testing::Reference()}, {}, &report);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_THAT(tim::vx::testing::OutputsOf(*g).at(2), ElementsAre(-1.0f, -1.0f));
  std::vector<std::string> parts;
  for (const OpPlacement& p : report.ops) parts.push_back(p.op + " of " + p.part_of);
  // Each part has a name of its own, also two of one kind in one composed op.
  const std::string first = "Outer#1 'o' / Inner#1.1 'o'", second = "Outer#1 'o' / Inner#1.2 'o'";
  EXPECT_THAT(
      parts, ElementsAre("Relu#1.1.1 'o' of " + first, "Add#1.1.2 'o' of " + first,
                         "Relu#1.2.1 'o' of " + second, "Add#1.2.2 'o' of " + second, "Neg#2 of "));
  EXPECT_THAT(report.ToText(), HasSubstr("\n" + first));
  EXPECT_THAT(report.ToText(), HasSubstr("\n" + second));
  EXPECT_THAT(report.ToText(), HasSubstr("\n  Relu#1.2.1 'o'"));
  EXPECT_THAT(report.ToText(), HasSubstr("\nNeg#2 "));
  EXPECT_THAT(ir::Print(*g), AllOf(HasSubstr("  // part of " + second + "\n"),
                                   HasSubstr("%2 = Neg#2(%1) : output f32[2]\n")));
  const std::string dot = ir::ToDot(*g);
  const size_t box = dot.find("label=\"Outer#1 'o'\"; style=dashed");
  ASSERT_NE(box, std::string::npos) << dot;
  const std::string inside = dot.substr(box, dot.find("\n  }\n", box) - box);
  EXPECT_THAT(inside, AllOf(HasSubstr("Relu#1"), HasSubstr("Add#1"), Not(HasSubstr("Neg#2"))));
}

}  // namespace
}  // namespace tim::vx::compiler
