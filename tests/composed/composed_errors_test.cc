// Composed operators whose author, or whose user, made a mistake: the code and the words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "composed/ops.h"
#include "tim/transform/layout_inference.h"
#include "tim/vx/ops/softmax.h"

namespace tim::vx::test {
namespace {

using samples::Attention;
using samples::AttentionAttrs;
using ::testing::HasSubstr;

/// An operator with this definition, of its own class.
template <Status (*kExpand)(ExpandBuilder&)>
class Made : public ComposedOp<Made<kExpand>, AxpyAttrs> {
 public:
  using ComposedOp<Made<kExpand>, AxpyAttrs>::ComposedOp;
  static void Define(OpDef& def) {
    def.name = "Made";
    def.inputs = "x y?";
  }
  static Status Expand(ExpandBuilder& b) { return kExpand(b); }
};

/// Compile() fails, by way of layout inference too, with this code and these words.
void ExpectFailure(const GraphPtr& graph, Code code, const std::vector<std::string>& words) {
  EXPECT_FALSE(graph->Compile());
  auto context = HostContext();
  const auto inferred = transform::LayoutInference(graph, context).first;
  EXPECT_FALSE(inferred->Compile());
  for (const GraphPtr& g : {graph, inferred}) {
    EXPECT_EQ(g->LastStatus().code(), code) << g->LastStatus().message();
    for (const std::string& word : words) EXPECT_THAT(g->LastStatus().message(), HasSubstr(word));
  }
}

template <Status (*kExpand)(ExpandBuilder&)>
void ExpectMistake(Code code, const std::vector<std::string>& words,
                   DataType type = DataType::FLOAT32) {
  for (const auto& context : {SharedContext(), HostContext()}) {
    auto graph = context->CreateGraph();
    Bind<Made<kExpand>>(graph, {Input(graph, {2}, type)}, {Output(graph, {2}, type)})
        ->SetName("it");
    std::vector<std::string> all = words;
    all.push_back("Made#1 'it'");
    ExpectFailure(graph, code, all);
  }
}

Status UnknownPart(ExpandBuilder& b) {
  b.AddTo(0, "NoSuchOp", {}, {b.in(0)});
  return Status();
}
TEST(ComposedErrors, AnUnknownPart) {
  ExpectMistake<UnknownPart>(Code::kNotFound, {"its expansion names the unknown op 'NoSuchOp'"});
}

Status UnknownAttribute(ExpandBuilder& b) {
  b.AddTo(0, "Softmax", {{"axes", int64_t{0}}}, {b.in(0)});
  return Status();
}
Status WrongKindOfAttribute(ExpandBuilder& b) {
  b.AddTo(0, "Softmax", {{"axis", std::string("last")}}, {b.in(0)});
  return Status();
}
Status WrongAttribute(ExpandBuilder& b) {
  b.AddTo<ops::Softmax>(0, {b.in(0)}, 1.0f, 5);
  return Status();
}
TEST(ComposedErrors, AWrongAttributeOfAPart) {
  ExpectMistake<UnknownAttribute>(Code::kInvalidArgument,
                                  {"its expansion into Softmax: unknown attribute 'axes'"});
  ExpectMistake<WrongKindOfAttribute>(
      Code::kInvalidArgument, {"its expansion into Softmax: attribute 'axis' has a value of the"});
  ExpectMistake<WrongAttribute>(Code::kInvalidArgument,
                                {"in its expansion, Softmax#1.1 'it': axis 5 is outside [-1, 1)"});
}

TEST(ComposedErrors, AWrongAttributeOfItsOwn) {
  auto context = NewHostContext();
  ASSERT_TRUE(Axpy::Register(context->Ops()).ok());
  auto graph = context->CreateGraph();
  const auto op = Bind<Axpy>(graph, {Input(graph, {2})}, {Output(graph, {2})});
  const Status s = SetAttrs(*op, {{"b", 1.0}});
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("Axpy#1: unknown attribute 'b' (known: a)"));
  // A function of the definition says what it does not like.
  graph = context->CreateGraph();
  auto x = Input(graph, {4, 3});
  Bind<Attention>(graph, {x, x, x}, {Output(graph, {4, 3})}, AttentionAttrs{3});
  ExpectFailure(graph, Code::kInvalidShape,
                {"Attention#1: input 0 'query' f32[4,3]: the heads do not divide its width"});
}

Status PartLacksAnOperand(ExpandBuilder& b) {
  b.AddTo<ops::Add>(0, {b.in(0)});
  return Status();
}
Status UsesWhatIsLeftOut(ExpandBuilder& b) {
  b.AddTo<ops::Add>(0, {b.in(0), b.in(1)});
  return Status();
}
Status AsksForWhatIsLeftOut(ExpandBuilder& b) {
  // The type is not there, nor what would be made of it.
  b.AddTo<ops::Softmax>(0, {b.in(0)}, 1.0f, static_cast<int32_t>(b.TypeOf(b.in(1)).shape[7]));
  return Status();
}
TEST(ComposedErrors, AnOperandLeftOut) {
  auto graph = HostContext()->CreateGraph();
  Bind<Axpy>(graph, {Input(graph, {2})}, {Output(graph, {2})});
  ExpectFailure(graph, Code::kInvalidGraph, {"Axpy#1: 1 inputs are bound, 2 expected: x, y"});
  graph = HostContext()->CreateGraph();
  Bind<Axpy>(graph, {graph->CreateTensorPlaceHolder(), Input(graph, {2})}, {Output(graph, {2})});
  ExpectFailure(graph, Code::kInvalidGraph, {"Axpy#1: input 0 'x' is left out but not optional"});
  ExpectMistake<PartLacksAnOperand>(
      Code::kInvalidGraph, {"in its expansion, Add#1.1 'it': 1 inputs are bound, 2 expected"});
  ExpectMistake<UsesWhatIsLeftOut>(Code::kInvalidGraph,
                                   {"in its expansion, Add#1.1 'it': 1 inputs are bound"});
  ExpectMistake<AsksForWhatIsLeftOut>(
      Code::kInternal, {"its expansion asks for the type of an operand that was left out"});
}

Status ProducesNothing(ExpandBuilder&) { return Status(); }
Status ProducesItTwice(ExpandBuilder& b) {
  b.AddTo<ops::Relu>(0, {b.in(0)});
  b.AddTo<ops::Abs>(0, {b.in(0)});
  return Status();
}
Status ReadsItTooEarly(ExpandBuilder& b) {
  b.AddTo<ops::Add>(0, {b.in(0), b.Between(kF32)});
  return Status();
}
Status AsksTooEarly(ExpandBuilder& b) {
  (void)b.TypeOf(b.out(0)).shape[7];
  return Status();
}
TEST(ComposedErrors, AnOutputWithoutAProducer) {
  ExpectMistake<ProducesNothing>(Code::kInternal,
                                 {"its expansion leaves output 0 'output' f32[", "] without a"});
  ExpectMistake<ProducesItTwice>(
      Code::kInternal, {"lets Abs write output 0 'output' f32[", "which is produced or given"});
  ExpectMistake<ReadsItTooEarly>(Code::kInternal, {"lets Add read", "no op has produced yet"});
  ExpectMistake<AsksTooEarly>(Code::kInternal,
                              {"asks for the type of output 0", "which no op has produced yet"});
}

Status TanhOfIt(ExpandBuilder& b) {
  b.AddTo<ops::Tanh>(0, {b.in(0)});
  return Status();
}
TEST(ComposedErrors, AWrongType) {
  ExpectMistake<TanhOfIt>(Code::kInvalidType,
                          {"in its expansion, Tanh#1.1 'it'", "bool -> bool do not go together"},
                          DataType::BOOL8);
  // Or by the types that the operator declares.
  auto graph = HostContext()->CreateGraph();
  auto x = Input(graph, {2}, DataType::INT32);
  Bind<FloatAxpy>(graph, {x, x}, {Output(graph, {2})}, 1.0f);
  ExpectFailure(graph, Code::kInvalidType, {"FloatAxpy#1: ", "i32, i32 -> f32 do not go together"});
}

TEST(ComposedErrors, AWrongShape) {
  auto graph = HostContext()->CreateGraph();
  Bind<Axpy>(graph, {Input(graph, {2}), Input(graph, {3})}, {Output(graph, {3})})->SetName("sum");
  ExpectFailure(graph, Code::kInvalidShape,
                {"Axpy#1 'sum': in its expansion, Add#1.2 'sum': ", "input 1 'input1' f32[3]",
                 "do not broadcast"});
  graph = HostContext()->CreateGraph();
  auto x = Input(graph, {2});
  Bind<Axpy>(graph, {x, x}, {Output(graph, {5})});
  ExpectFailure(graph, Code::kInvalidShape,
                {"Axpy#1: output 0 '' is declared [5], the op computes [2]"});
}

Status Throws(ExpandBuilder&) { throw std::runtime_error("no such variant"); }
Status ThrowsANumber(ExpandBuilder&) { throw 7; }
Status ThrowsAfterAMistake(ExpandBuilder& b) {
  b.AddTo<ops::Softmax>(0, {b.in(0)}, 1.0f, 5);
  throw std::runtime_error("and no more");
}
Status ReadsOtherAttributes(ExpandBuilder& b) {
  b.AddTo<Axpy>(0, {b.in(0), b.in(0)}, AxpyAttrs{float(b.op().attrs<AttentionAttrs>().heads)});
  return Status();
}
Status SaysWhy(ExpandBuilder& b) { return b.op().Error(Code::kUnsupported, "not on Sundays"); }
TEST(ComposedErrors, AnExpandThatThrows) {
  ExpectMistake<Throws>(Code::kInternal, {"its function Expand threw: no such variant"});
  ExpectMistake<ThrowsANumber>(Code::kInternal, {"its function Expand threw"});
  ExpectMistake<ThrowsAfterAMistake>(Code::kInvalidArgument, {"Softmax#1.1 'it': axis 5"});
  ExpectMistake<ReadsOtherAttributes>(Code::kInternal,
                                      {"attributes (a=1.0) are read as another struct, of heads"});
  ExpectMistake<SaysWhy>(Code::kUnsupported, {"not on Sundays"});
}

/// An op of the original's private codes.
class Coded : public BuiltinOp {
 public:
  explicit Coded(Graph* graph) : BuiltinOp(graph, 4711u) {}
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>&) const override { return nullptr; }
};
Status ByNumber(ExpandBuilder& b) {
  b.AddTo<Coded>(0, {b.in(0)});
  return Status();
}
TEST(ComposedErrors, APartWithoutADefinition) {
  ExpectMistake<ByNumber>(Code::kInvalidArgument,
                          {"its expansion adds an operation that has no definition"});
}

// ------------------------------------------------------------------------------------ recursion

Status ItselfByName(ExpandBuilder& b) {
  b.AddTo(0, "Made", b.op().any_attrs().Map(), {b.in(0)});
  return Status();
}
Status Itself(ExpandBuilder& b) {
  // Twice, so that levels without end would be more than memory holds.
  const auto y = b.Add<Made<Itself>>({b.in(0)}, kF32, b.op().attrs<AxpyAttrs>());
  b.AddTo<Made<Itself>>(0, {y}, b.op().attrs<AxpyAttrs>());
  return Status();
}
Status WithOneMore(ExpandBuilder& b) {
  const AxpyAttrs more = {b.op().attrs<AxpyAttrs>().a + 1};
  const auto y = b.Add<Made<WithOneMore>>({b.in(0)}, kF32, more);
  b.AddTo<Made<WithOneMore>>(0, {y}, more);
  return Status();
}
class Pong;
class Ping : public ComposedOp<Ping> {
 public:
  using ComposedOp::ComposedOp;
  static void Define(OpDef& def) { def.name = "Ping"; }
  static Status Expand(ExpandBuilder& b);
};
class Pong : public ComposedOp<Pong> {
 public:
  using ComposedOp::ComposedOp;
  static void Define(OpDef& def) { def.name = "Pong"; }
  static Status Expand(ExpandBuilder& b) {
    b.AddTo<Ping>(0, {b.in(0)});
    return Status();
  }
};
Status Ping::Expand(ExpandBuilder& b) {
  b.AddTo<Pong>(0, {b.in(0)});
  return Status();
}

TEST(ComposedErrors, AnOpThatExpandsIntoItself) {
  ExpectMistake<Itself>(Code::kInvalidGraph,
                        {"its expansion leads back to the same: Made#1 'it' / Made#1.1 'it'"});
  ExpectMistake<WithOneMore>(
      Code::kInvalidGraph,
      {"expansions are more than 16 deep: Made#1 'it' / Made#1.1 'it' / Made#1.1.1 'it' / "});
  auto graph = HostContext()->CreateGraph();
  Bind<Ping>(graph, {Input(graph, {2})}, {Output(graph, {2})});
  ExpectFailure(graph, Code::kInvalidGraph,
                {"Ping#1: in its expansion, Pong#1.1: its expansion leads back to the same: "
                 "Ping#1 / Pong#1.1 / Ping#1.1.1"});
  // With a shape of its own an op is looked into only where it is to run.
  auto context = NewHostContext();
  OpDef def = Made<ItselfByName>::Definition();
  def.infer = ShapeOfInput;
  ASSERT_TRUE(context->Ops().Register(def).ok());
  graph = context->CreateGraph();
  graph->CreateOperation("Made")->BindInput(Input(graph, {2})).BindOutput(Output(graph, {2}));
  EXPECT_FALSE(graph->Compile());
  EXPECT_EQ(graph->LastStatus().code(), Code::kInvalidGraph);
  EXPECT_THAT(graph->LastStatus().message(),
              HasSubstr("its expansion leads back to the same: Made#1 / Made#1.1"));
}

/// The sum of a line, by halves.
class Sum : public ComposedOp<Sum> {
 public:
  using ComposedOp::ComposedOp;
  static void Define(OpDef& def) { def.name = "Sum"; }
  static Status Expand(ExpandBuilder& b) {
    const int64_t n = b.TypeOf(b.in(0)).shape[0];
    if (n == 1) {
      b.AddTo<ops::Abs>(0, {b.in(0)});
      return Status();
    }
    const auto half = [&](int64_t from) {
      return b.Add("Slice",
                   {{"start", std::vector<int64_t>{from}}, {"length", std::vector<int64_t>{n / 2}}},
                   {b.in(0)}, kF32);
    };
    const auto pairs = b.Add<ops::Add>({half(0), half(n / 2)}, kF32);
    b.AddTo<Sum>(0, {pairs});
    return Status();
  }
};

TEST(ComposedRecursion, OverSmallerOperandsComesToAnEnd) {
  for (const auto& context : {SharedContext(), HostContext()}) {
    auto graph = context->CreateGraph();
    auto x = Input(graph, {8}), y = Output(graph, {1});
    Bind<Sum>(graph, {x}, {y});
    ASSERT_TRUE(Write<float>(x, {1, 2, 3, 4, 5, 6, 7, 8}));
    ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
    EXPECT_EQ(Read(y, 1)[0], 36);
  }
}

// ---------------------------------------------------------------------------------------- names

Status PartCalledRelu(ExpandBuilder& b) {
  b.AddTo<CalledRelu>(0, {b.in(0)});
  return Status();
}

TEST(ComposedErrors, TheNameOfABuiltInOp) {
  const std::string words = "'Relu' is a built-in operator; give the composed one another name, or";
  auto graph = HostContext()->CreateGraph();
  Bind<CalledRelu>(graph, {Input(graph, {2})}, {Output(graph, {2})});
  EXPECT_FALSE(graph->Compile());
  EXPECT_EQ(graph->LastStatus().code(), Code::kAlreadyExists);
  EXPECT_THAT(graph->LastStatus().message(), HasSubstr("Relu#1: " + words));
  ExpectMistake<PartCalledRelu>(Code::kAlreadyExists, {"in its expansion, " + words});
}

}  // namespace
}  // namespace tim::vx::test
