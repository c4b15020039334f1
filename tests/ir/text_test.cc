// The text form of graphs: it reads back, it refuses what is wrong, and nothing makes it crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ir/graph.h"
#include "support/ir_builder.h"
#include "tim/vx/testing.h"

namespace tim::vx::ir {
namespace {

using ::testing::HasSubstr;
using tim::vx::testing::Builtin;

constexpr const char* kSmall =
    "%0 = input \"x\" u8(0.0039,0)[28,28,1,1]\n"
    "%1 = constant f32[3] {1, 2.5, inf}\n"
    "%2 = Relu#7 \"a \\\"b\\\" \\x01\"(%0) : u8(0.0039,0)[?]\n"
    "%3 = Relu#8(%1) : f32[3] infer\n"
    "%4 = Add#9(%2, %0) {} : output i8(fl=4)[28,28,1,1] as [28,28] \"y\\n\"\n";

std::unique_ptr<Graph> MustParse(std::string_view text) {
  auto graph = Parse(text, Builtin());
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
  return graph.ok() ? std::move(*graph) : nullptr;
}

bool SameQuant(const Quantization& a, const Quantization& b) {
  auto bits = [](const std::vector<float>& v) {
    std::vector<uint32_t> out(v.size());
    if (!v.empty()) std::memcpy(out.data(), v.data(), v.size() * sizeof(float));
    return out;
  };
  return a.Type() == b.Type() && a.ChannelDim() == b.ChannelDim() && a.Fl() == b.Fl() &&
         bits(a.Scales()) == bits(b.Scales()) && a.ZeroPoints() == b.ZeroPoints();
}

bool SameType(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.shape == b.shape && SameQuant(a.quant, b.quant);
}

/// Ids, types to the last bit, data, attributes, names.
void ExpectSame(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.values().size(), b.values().size());
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (size_t i = 0; i < a.values().size(); ++i) {
    const Value &v = a.values()[i], &w = b.values()[i];
    EXPECT_TRUE(SameType(v.type, w.type)) << v.type.ToString() << " " << w.type.ToString();
    EXPECT_EQ(v.name, w.name);
    EXPECT_EQ(v.role, w.role);
    EXPECT_EQ(v.producer, w.producer);
    EXPECT_EQ(v.infer_shape, w.infer_shape);
    if (v.role == Role::kConstant) {
      EXPECT_EQ(std::memcmp(v.storage->data(), w.storage->data(), v.type.bytes()), 0);
    }
  }
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const Node &n = a.nodes()[i], &m = b.nodes()[i];
    EXPECT_EQ(n.def, m.def);
    EXPECT_EQ(n.attrs.Map().ToText(), m.attrs.Map().ToText());  // NaN differs from itself
    EXPECT_EQ(n.inputs, m.inputs);
    EXPECT_EQ(n.outputs, m.outputs);
    EXPECT_EQ(n.name, m.name);
    EXPECT_EQ(n.number, m.number);
    ASSERT_EQ(n.out_types.size(), m.out_types.size());
    for (size_t k = 0; k < n.out_types.size(); ++k)
      EXPECT_TRUE(SameType(n.out_types[k], m.out_types[k]));
  }
}

TEST(Text, ReadsWhatIsWritten) {
  const auto graph = MustParse(kSmall);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->value(0).name, "x");
  EXPECT_EQ(graph->value(0).role, Role::kInput);
  EXPECT_EQ(graph->value(0).type.scale(), 0.0039f);
  EXPECT_EQ(static_cast<const float*>(graph->value(1).storage->data())[1], 2.5f);
  EXPECT_TRUE(graph->value(2).infer_shape);
  EXPECT_TRUE(graph->value(2).type.shape.empty());
  EXPECT_EQ(graph->node(0).name, "a \"b\" \x01");
  EXPECT_EQ(graph->node(0).number, 7);
  EXPECT_TRUE(graph->value(3).infer_shape);
  EXPECT_EQ(graph->value(3).type.shape, Shape({3}));
  EXPECT_EQ(graph->value(4).role, Role::kOutput);
  EXPECT_EQ(graph->value(4).name, "y\n");
  EXPECT_EQ(graph->node(2).out_types[0].shape, Shape({28, 28}));
  EXPECT_EQ(graph->value(4).type.quant.Fl(), 4);
  const std::string text = Print(*graph);
  ExpectSame(*graph, *MustParse(text));
  EXPECT_EQ(Print(*MustParse(text)), text);
}

TEST(Text, CommentsBlanksAndAnyNumbersOfValues) {
  const auto graph =
      MustParse("// a comment\r\n\n  %70 = Relu ( %9 ):f32[ 2 , 3 ]// after\n%9=input f32[2,3]");
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(Print(*graph), "%0 = input f32[2,3]\n%1 = Relu#0(%0) : f32[2,3]\n");
}

TEST(Text, NodesAreNumberedByDefaultInTheirOrder) {
  const auto graph = MustParse("%0 = input f32[2]\n%1 = Relu(%0) : f32[2]\n%2 = Abs(%1) : f32[2]");
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(graph->node(1).number, 1);
}

TEST(Text, DeadNodesAreLeftOut) {
  const auto graph = MustParse("%0 = input f32[2]\n%1 = Relu(%0) : f32[2]\n%2 = Abs(%0) : f32[2]");
  graph->Kill(0);
  EXPECT_EQ(Print(*graph), "%0 = input f32[2]\n%2 = Abs#1(%0) : f32[2]\n");
}

TEST(Text, CyclesAreTextToo) {
  const auto graph = MustParse("%0 = Relu(%1) : f32[2]\n%1 = Relu(%0) : f32[2]\n");
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(Print(*graph), "%0 = Relu#0(%1) : f32[2]\n%1 = Relu#1(%0) : f32[2]\n");
  EXPECT_EQ(CheckInvariants(*graph, false).code(), Code::kInvalidGraph);
}

TEST(Text, EveryQuantizationReadsBackToTheLastBit) {
  using Q = Quantization;
  std::mt19937 random(7);
  std::vector<Q> all = {
      Q(),
      Q(QuantType::ASYMMETRIC, 0.1f, -3),
      Q(QuantType::ASYMMETRIC, std::numeric_limits<float>::denorm_min(), 255),
      Q(QuantType::ASYMMETRIC, std::numeric_limits<float>::infinity(), 0),
      Q(QuantType::ASYMMETRIC, -0.0f, std::numeric_limits<int32_t>::min()),
      Q(QuantType::ASYMMETRIC, std::numeric_limits<float>::quiet_NaN(), 0),
      Q().SetType(QuantType::ASYMMETRIC),
      Q(QuantType::ASYMMETRIC, 1, {1, 2}, {3}),
      Q(QuantType::DYNAMIC_FIXED_POINT, static_cast<int8_t>(-128)),
      Q(QuantType::DYNAMIC_FIXED_POINT, static_cast<int8_t>(4)).SetScales({0.5f}),
      Q(QuantType::SYMMETRIC_PER_CHANNEL, 2, {0.1f, 0.2f, 3e-30f}, {}),
      Q(QuantType::SYMMETRIC_PER_CHANNEL, 2, {0.1f, 0.2f}, {0, 0}),
      Q(QuantType::SYMMETRIC_PER_CHANNEL, -1, {}, {}),
      Q(QuantType::ASYMMETRIC_PER_CHANNEL, 0, {0.1f, 1e30f}, {1, -2}),
      Q(QuantType::ASYMMETRIC_PER_CHANNEL, 0, {0.1f, 1e30f}, {}),
      Q().SetScales({2.0f}).SetChannelDim(7),
  };
  for (int i = 0; i < 1000; ++i) {
    const uint32_t bits = static_cast<uint32_t>(random()) & 0x7F7FFFFFu;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    all.push_back(Q(QuantType::ASYMMETRIC, scale, static_cast<int32_t>(random())));
  }
  for (const Q& q : all) {
    Graph graph;
    Value v;
    v.type = {DataType::UINT8, {4}, q};
    v.role = Role::kInput;
    graph.AddValue(v);
    const std::string text = Print(graph);
    const auto back = MustParse(text);
    ASSERT_NE(back, nullptr);
    EXPECT_TRUE(SameQuant(q, back->value(0).type.quant)) << text << Print(*back);
  }
}

TEST(Text, ConstantsOfEveryDtypeReadBackToTheLastBit) {
  std::mt19937 random(11);
  for (int d = 1; d <= static_cast<int>(DataType::UINT4); ++d) {
    for (int round = 0; round < 50; ++round) {
      Graph graph;
      Value v;
      v.type = {static_cast<DataType>(d), {5, 13}, Quantization()};
      v.role = Role::kConstant;
      v.storage = base::Storage::Allocate(v.type.bytes());
      // Any bits, so NaN of every kind and subnormals are among them; round 0 is all zeros.
      for (size_t i = 0; round > 0 && i < v.type.bytes(); ++i)
        static_cast<unsigned char*>(v.storage->data())[i] = static_cast<unsigned char>(random());
      if (v.type.dtype == DataType::FLOAT32 && round % 2 == 1) {
        const float some[] = {-0.0f, 1e-45f, NAN, -INFINITY, 3.4028235e38f, 0.1f};
        for (int i = 0; i < 65; ++i) static_cast<float*>(v.storage->data())[i] = some[i % 6];
      }
      graph.AddValue(v);
      Node n;
      n.def = Builtin().Find("Relu");
      n.attrs = AnyAttrs(n.def->schema, n.def->schema->make_default());
      n.inputs = {0};
      Value out = v;
      out.role = Role::kTransient, out.storage = nullptr;
      n.outputs = {graph.AddValue(out)};
      graph.AddNode(n);
      const auto back = MustParse(Print(graph));
      ASSERT_NE(back, nullptr);
      ExpectSame(graph, *back);
    }
  }
}

TEST(Text, LargeConstantsAreElidedAndThenDoNotReadBack) {
  const auto graph = MustParse("%0 = constant f32[3] {1, 2, 3}\n%1 = Relu(%0) : f32[3]\n");
  const std::string text = Print(*graph, {.max_constant_bytes = 11});
  EXPECT_EQ(text, "%0 = constant f32[3] elided\n%1 = Relu#0(%0) : f32[3]\n");
  const auto back = Parse(text, Builtin());
  ASSERT_FALSE(back.ok());
  EXPECT_THAT(back.status().message(), HasSubstr("line 1, column 22"));
  EXPECT_THAT(back.status().message(), HasSubstr("elided"));
}

TEST(Text, EveryCaseOfEveryOpReadsBack) {
  size_t ops = 0, count = 0;
  for (const auto& def : Builtin().All()) {
    const std::vector<Case> cases = ListCases(*def);
    ops += !cases.empty();
    for (const Case& c : cases) {
      Graph graph;
      Node n;
      n.def = def;
      n.attrs = c.attrs;
      n.name = c.note;
      for (const CaseTensor& t : c.inputs) {
        Value v;
        v.type = t.type;
        v.role = t.constant && t.type.count() < 5000 ? Role::kConstant : Role::kInput;
        if (v.role == Role::kConstant) v.storage = base::Storage::Allocate(v.type.bytes());
        n.inputs.push_back(t.type.dtype == DataType::UNKNOWN ? -1 : graph.AddValue(std::move(v)));
      }
      for (const TensorType& t : c.outputs) {
        Value v;
        v.type = t;
        v.infer_shape = t.shape.empty();
        n.outputs.push_back(graph.AddValue(std::move(v)));
      }
      graph.AddNode(std::move(n));
      const std::string text = Print(graph, {.max_constant_bytes = 1 << 20});
      const auto back = MustParse(text);
      ASSERT_NE(back, nullptr) << def->name;
      ExpectSame(graph, *back);
      // And once more with the shapes that inference fills in.
      ASSERT_TRUE(VerifyNode(graph, 0).ok()) << VerifyNode(graph, 0).message();
      const auto inferred = MustParse(Print(graph, {.max_constant_bytes = 1 << 20}));
      ASSERT_NE(inferred, nullptr);
      ExpectSame(graph, *inferred);
      if (HasFailure()) FAIL() << text;
      ++count;
    }
  }
  EXPECT_GT(ops, 20u);
  EXPECT_GT(count, 10 * ops);
}

TEST(Text, Refusals) {
  const struct {
    const char *text, *where, *what;
    Code code = Code::kInvalidArgument;
  } kCases[] = {
      {"%0 = input f32[2]\n%0 = input f32[2]\n", "line 2, column 1", "%0 is defined twice"},
      {"%0 = Relu(%1) : f32[2]\n", "line 1, column 11", "%1 is not defined"},
      {"\n%0 = Relux(%0) : f32[2]\n", "line 2, column 6", "no op of the kind \"Relux\"",
       Code::kNotFound},
      {"%0 = Relu(%0) {alpha=1} : f32[2]\n", "line 1, column 15", "unknown attribute 'alpha'"},
      {"%0 = LeakyRelu(%0) {alpha=\"}\"} : f32[2]\n", "column 20", "wrong kind"},
      {"%0 = LeakyRelu(%0) {alpha=1 : f32[2]\n", "column 20", "the attributes do not end"},
      {"%0 = LeakyRelu(%0) {alpha=\"1} : f32[2]\n", "column 20", "the attributes do not end"},
      {"%0 = Relu(%0)\n", "line 1, column 14", "expected the type of result 0"},
      {"%0, %1 = Relu(%0) : f32[1]\n", "column 27", "expected the type of result 1"},
      {"%0 = input f33[2]", "column 12", "'f33' is not a data type"},
      {"%0 = input f32[2", "column 17", "expected ',' or ']'"},
      {"%0 = input f32[2,]", "column 18", "expected a whole number"},
      {"%0 = input f32[99999999999999999999]", "column 16", "out of range"},
      {"%99999999999 = input f32[2]", "column 2", "out of range"},
      {"%-1 = input f32[2]", "column 2", "expected the number of a value"},
      {"%0 = constant f32[2] {1}", "column 22", "4 bytes of data for f32[2], which has 8"},
      {"%0 = constant f32[1] x\"0000803\"", "column 30", "two hex digits"},
      {"%0 = constant u8[1] {256}", "column 22", "out of range"},
      {"%0 = constant u8[1] {-1}", "column 22", "expected a whole number"},
      {"%0 = constant f32[?] {1}", "column 22", "shape of its own"},
      {"%0 = constant unknown[1] {1}", "column 26", "data type"},
      {"%0 = constant i4[2] {1, 2}", "column 21", "hex bytes"},
      {"%0 = constant f32[-1] {}", "column 23", "not positive", Code::kInvalidShape},
      {"%0 = constant f32[4294967296,4294967296] {1}", "column 42", "64 bits", Code::kInvalidShape},
      {"%0 = input \"x f32[2]\n", "column 21", "the string does not end"},
      {"%0 = input \"\\q\" f32[2]\n", "column 14", "unknown escape"},
      {"%0 = input u8(0.5)[2]", "column 18", "expected ','"},
      {"%0 = input u8(fl=128)[2]", "column 15", "out of range"},
      {"%0 = input u8(type=5,dim=0,fl=0,[],[])[2]", "column 15", "unknown type"},
      {"%0, %1 = input f32[2]", "column 1", "input declares one value"},
      {"%0 = input f32[2] %1", "column 19", "expected the end of the line"},
      {"%0 = Relu(%0) : constant f32[2]", "column 17", "a result is transient"},
      {"%0 = Relu(%0 %0) : f32[2]", "column 14", "expected ',' or ')'"},
      {"= Relu()", "column 1", "expected '%'"},
  };
  for (const auto& c : kCases) {
    const auto graph = Parse(c.text, Builtin());
    ASSERT_FALSE(graph.ok()) << c.text;
    EXPECT_EQ(graph.status().code(), c.code) << c.text;
    EXPECT_THAT(graph.status().message(), HasSubstr(c.where)) << c.text;
    EXPECT_THAT(graph.status().message(), HasSubstr(c.what)) << c.text;
  }
}

TEST(Text, SurvivesRandomEdits) {
  const std::string texts[] = {
      kSmall,
      "%0 = input i8(dim=1,[0.5,0.25])[3,2]\n%1 = constant f16[2] {1, -inf}\n"
      "%2 = constant u4[3] x\"2103\"\n%3 = Clip#2(%0) {min=-1.0, max=1.0} : f32[?] \"c\"\n"
      "%4 = Concat(%3, %3) {axis=0} : output f32[6,2]\n",
      "%9 = input u8(type=1,dim=2,fl=3,[1,2],[])[1]\n() = Relu(_, %9) // nothing\n",
  };
  const std::string alphabet = "%=#\"(){}[],:?_-+.\\/ \n\rxefin019\xff" + std::string(1, '\0');
  std::mt19937 random(2024);
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  size_t accepted = 0;
  constexpr size_t kRounds = 40000;
  for (size_t round = 0; round < kRounds; ++round) {
    std::string text = texts[below(3)];
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      const size_t at = below(text.size() + 1), length = 1 + below(6);
      switch (below(5)) {
        case 0:
          text.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          if (at < text.size()) text[at] = alphabet[below(alphabet.size())];
          break;
        case 3:
          text.insert(at, text.substr(below(text.size() + 1), length * 4));
          break;
        default:
          text.resize(at);
      }
    }
    const auto graph = Parse(text, Builtin());
    if (!graph.ok()) {
      ASSERT_THAT(graph.status().message(), HasSubstr("graph text, line ")) << text;
      continue;
    }
    ++accepted;
    // What was read prints, and reads back to the same text.
    const auto once = Parse(Print(**graph), Builtin());
    ASSERT_TRUE(once.ok()) << once.status().message() << "\n" << Print(**graph);
    EXPECT_EQ(Print(**once), Print(**Parse(Print(**once), Builtin())));
    (void)ToDot(**graph);
    (void)ToSvg(**graph);
    if (CheckInvariants(**graph, false).ok()) {
      for (size_t id = 0; id < (*graph)->nodes().size(); ++id)
        (void)VerifyNode(**graph, static_cast<int>(id));
    }
  }
  EXPECT_GT(accepted, kRounds / 50);  // the edits are not all fatal: the good paths run too
  EXPECT_LT(accepted, kRounds);
}

TEST(Dot, BoxesEdgesAndClusters) {
  const auto graph = MustParse(
      "%0 = input \"x\" f32[2]\n%1 = constant f32[2] {1, 2}\n%2 = Add \"a\\\"b\"(%0, %1) : f32[2]\n"
      "%3 = Relu(%2) : output f32[2] \"y\"\n");
  const std::string dot = ToDot(*graph, {"opencl 0", "reference 1"});
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_0 {\n    label=\"opencl 0\";\n"
                             "    n0 [label=\"Add#0\\na\\\"b\"];"));
  EXPECT_THAT(dot, HasSubstr("label=\"reference 1\""));
  EXPECT_THAT(dot, HasSubstr("v0 -> n0;"));
  EXPECT_THAT(dot, HasSubstr("n0 -> n1 [label=\"f32[2]\\n8 bytes\", penwidth=2];"));
  EXPECT_THAT(dot, HasSubstr("n1 -> v3;"));
  EXPECT_THAT(dot, ::testing::Not(HasSubstr("v1")));  // constants are left out
  EXPECT_THAT(dot, ::testing::Not(HasSubstr("legend")));
}

/// The first number behind `attribute="` of the box that has this text.
double NumberOf(const std::string& svg, const std::string& text, const std::string& attribute) {
  const size_t end = svg.find(">" + text + "<");
  const size_t box = svg.rfind("<g>", end);
  const size_t at = svg.find(" " + attribute + "=\"", box);
  if (end == std::string::npos || at > end) return -1;
  return std::stod(svg.substr(at + attribute.size() + 3));
}

TEST(Svg, ReadersStandBelowWhatTheyRead) {
  const auto graph = MustParse(
      "%0 = input \"x<\" f32[2]\n%1 = constant \"weights\" f32[2] {1, 2}\n"
      "%2 = Add \"a&b\"(%0, %1) : f32[2]\n%3 = Relu(%2) : f32[2]\n%4 = Abs(%2) : f32[2]\n"
      "%5 = Add(%3, %4) : output f32[2] \"y\"\n");
  const std::string svg = ToSvg(*graph, {"opencl 0", "opencl 0"}, {"opencl", "opencl"});
  EXPECT_EQ(svg.rfind("<svg xmlns=", 0), 0u);
  EXPECT_THAT(svg, HasSubstr(">x&lt;<"));
  EXPECT_THAT(svg, HasSubstr(">a&amp;b<"));
  EXPECT_THAT(svg, HasSubstr("constant weights f32[2]"));  // in a tip: constants have no box
  EXPECT_THAT(svg, HasSubstr(">opencl</text>"));           // the legend
  const double first = NumberOf(svg, "Add#0", "y"), relu = NumberOf(svg, "Relu#1", "y"),
               last = NumberOf(svg, "Add#3", "y");
  EXPECT_GT(first, 0);
  EXPECT_LT(first, relu);
  EXPECT_EQ(relu, NumberOf(svg, "Abs#2", "y"));
  EXPECT_LT(relu, last);
  // Neighbours do not cover each other, and what reads both stands below the middle.
  const double left = NumberOf(svg, "Relu#1", "x"), right = NumberOf(svg, "Abs#2", "x");
  EXPECT_GE(right - left, NumberOf(svg, "Abs#2", "width"));
  EXPECT_NEAR(NumberOf(svg, "Add#3", "x"), (left + right) / 2, 1);
}

TEST(Dot, OneColourPerOwner) {
  const auto graph = MustParse(
      "%0 = input f32[2]\n%1 = Relu(%0) : f32[2]\n%2 = Abs(%1) : f32[2]\n%3 = Neg(%2) : f32[2]\n"
      "%4 = Square(%3) : output f32[2]\n");
  const std::string dot =
      ToDot(*graph, {"one 0", "two \"2\" 1", "one 2", "one 2"}, {"one", "two \"2\"", "one", "one"});
  const std::string one = ", style=filled, fillcolor=\"0.000 0.300 1.000\"];",
                    two = ", style=filled, fillcolor=\"0.618 0.300 1.000\"];";
  for (const char* node : {"n0 [label=\"Relu#0\"", "n2 [label=\"Neg#2\"", "n3 [label=\"Square#3\"",
                           "legend0 [label=\"one\""})
    EXPECT_THAT(dot, HasSubstr(node + one));
  for (const char* node : {"n1 [label=\"Abs#1\"", "legend1 [label=\"two \\\"2\\\"\""})
    EXPECT_THAT(dot, HasSubstr(node + two));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_legend {"));
  EXPECT_THAT(dot, HasSubstr("n1 -> n2 [label=\"f32[2]\\n8 bytes\", penwidth=2];"));
  EXPECT_THAT(dot, HasSubstr("n2 -> n3 [label=\"f32[2]\"];")) << "inside of a partition";
}

// For tools that look at the shape of a graph alone.
TEST(Text, ElidedConstantsAsZeros) {
  const std::string text =
      "%0 = input f32[2]\n%1 = constant \"w\" f32[2] elided\n%2 = constant u8[3] elided\n"
      "%3 = Add(%0, %1) : output f32[2]\n";
  EXPECT_THAT(Parse(text, Builtin()).status().message(),
              HasSubstr("line 2, column 26: the data of this constant was elided"));
  size_t elided = 7;
  const auto graph = Parse(text, Builtin(), &elided);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(elided, 2u);
  ASSERT_NE((*graph)->value(1).storage, nullptr);
  const auto* w = static_cast<const float*>((*graph)->value(1).storage->data());
  EXPECT_EQ(w[0], 0.0f);
  EXPECT_EQ(w[1], 0.0f);
  EXPECT_EQ(Parse("%0 = constant f32[4000000000,4000000000] elided\n", Builtin(), &elided)
                .status()
                .code(),
            Code::kInvalidShape);
  EXPECT_EQ(Parse("%0 = constant f32[200000,200000] elided\n", Builtin(), &elided).status().code(),
            Code::kOutOfMemory);
}

}  // namespace
}  // namespace tim::vx::ir
