// Attributes, shapes, and the rules that the graph under compilation keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/graph.h"
#include "support/ir_builder.h"

namespace tim::vx::ir {
namespace {

using ::testing::HasSubstr;
using tim::vx::testing::Builtin;

struct TestAttrs {
  int32_t axis = 3;
  bool flag = false;
  float alpha = 0.1f;
  uint8_t small = 0;
  std::string text;
  std::vector<int64_t> list;
  std::vector<float> reals;
  std::array<uint32_t, 2> pair = {1, 2};
  PadType pad = PadType::SAME;
  TIMCL_FIELDS(axis, flag, alpha, small, text, list, reals, pair, pad)
};

TEST(Attrs, TextReadsBack) {
  TestAttrs a;
  a.axis = -7, a.flag = true, a.alpha = std::numeric_limits<float>::infinity();
  a.text = "a\"b\\n\n{},=";
  a.list = {std::numeric_limits<int64_t>::min(), 0, 5};
  a.reals = {0.1f, -0.0f, 1e30f};
  a.pad = PadType::NONE;
  const AttrMap map = MakeAttrs(a).Map();
  const auto back = ParseAttrs(map.ToText());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, map) << map.ToText();
  const auto made = kAttrSchema<TestAttrs>.from_map(*back);
  ASSERT_TRUE(made.ok());
  const auto& b = *static_cast<const TestAttrs*>(made->get());
  EXPECT_EQ(b.text, a.text);
  EXPECT_EQ(b.list, a.list);
  EXPECT_EQ(b.reals, a.reals);
  EXPECT_EQ(b.alpha, a.alpha);
  EXPECT_EQ(b.pad, PadType::NONE);
  EXPECT_TRUE(b.flag);
  AttrMap bytes = {{"b", std::vector<std::byte>{std::byte{0}, std::byte{255}}}};
  EXPECT_EQ(bytes.ToText(), "b=x\"00ff\"");
  EXPECT_EQ(*ParseAttrs(bytes.ToText()), bytes);
}

TEST(Attrs, MissingOnesKeepTheirDefaultsAndWrongOnesAreNamed) {
  const auto made = kAttrSchema<TestAttrs>.from_map({{"flag", true}});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(static_cast<const TestAttrs*>(made->get())->axis, 3);
  const std::pair<AttrMap, const char*> wrong[] = {
      {{{"axes", int64_t{1}}}, "unknown attribute 'axes'"},
      {{{"axis", 1.5}}, "'axis'"},
      {{{"axis", int64_t{1} << 40}}, "'axis'"},
      {{{"small", int64_t{256}}}, "'small'"},
      {{{"small", int64_t{-1}}}, "'small'"},
      {{{"flag", std::string("true")}}, "'flag'"},
      {{{"pair", std::vector<int64_t>{1, 2, 3}}}, "'pair'"},
      {{{"pair", std::vector<int64_t>{1, -2}}}, "'pair'"},
      {{{"list", std::vector<double>{1}}}, "'list'"},
  };
  for (const auto& [map, words] : wrong) {
    const auto bad = kAttrSchema<TestAttrs>.from_map(map);
    EXPECT_EQ(bad.status().code(), Code::kInvalidArgument) << map.ToText();
    EXPECT_THAT(bad.status().message(), HasSubstr(words));
  }
}

TEST(Attrs, ParseRefuses) {
  for (const char* text : {"a", "a=", "=1", "a=1 b=2", "a=[1", "a=[1;2]", "a=[x]", "a=\"x",
                           "a=x\"0", "a=x\"0g\"", "a=f[1", "a=1,,b=2", "a=99999999999999999999x"}) {
    EXPECT_EQ(ParseAttrs(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(Shapes, CountsAreChecked) {
  EXPECT_EQ(*Shape({}).CheckedCount(), 1);
  EXPECT_EQ(*Shape({3, 5}).CheckedCount(), 15);
  EXPECT_EQ(Shape({3, 0}).CheckedCount().status().code(), Code::kInvalidShape);
  EXPECT_EQ(Shape({-3, -5}).CheckedCount().status().code(), Code::kInvalidShape);
  EXPECT_EQ(Shape({1ll << 32, 1ll << 31}).CheckedCount().status().code(), Code::kInvalidShape);
  const TensorType wide = {DataType::FLOAT32, {1ll << 60}, Quantization()};
  EXPECT_TRUE(wide.shape.CheckedCount().ok());
  EXPECT_EQ(wide.CheckedBytes().status().code(), Code::kInvalidShape);
  EXPECT_EQ((TensorType{DataType::INT4, {3, 5}, Quantization()}.bytes()), 15u);
}

/// The first error of any node, in order.
Status Verify(const std::string& text) {
  auto graph = Parse(text, Builtin());
  if (!graph.ok()) return graph.status();
  for (size_t id = 0; id < (*graph)->nodes().size(); ++id)
    TIMCL_TRY(VerifyNode(**graph, static_cast<int>(id)));
  return Status();
}

TEST(VerifyNode, Rules) {
  const struct {
    const char *text, *words;
    Code code;
  } kCases[] = {
      {"%0 = input f32[2]\n%1 = Add(%0) : f32[?]\n", "1 inputs are bound, 2 expected",
       Code::kInvalidGraph},
      {"%0 = input f32[2]\n%1 = Add(%0, %0, %0) : f32[?]\n", "2 expected: input0, input1",
       Code::kInvalidGraph},
      {"%0 = input f32[2]\n%1 = Add(_, %0) : f32[?]\n", "input 0 'input0' is left out",
       Code::kInvalidGraph},
      {"%0 = input f32[2]\n%1, %2 = Relu(%0) : f32[?], f32[?]\n", "2 outputs are bound",
       Code::kInvalidGraph},
      {"%0 = input f32[2]\n() = Relu(%0)\n", "0 outputs are bound", Code::kInvalidGraph},
      {"%0 = input unknown[2]\n%1 = Relu(%0) : f32[?]\n", "DataType::UNKNOWN", Code::kInvalidType},
      {"%0 = input u8(0,0)[2]\n%1 = Relu(%0) : f32[?]\n", "scale 0 is not a positive number",
       Code::kInvalidArgument},
      {"%0 = input u8(nan,0)[2]\n%1 = Relu(%0) : f32[?]\n", "scale nan", Code::kInvalidArgument},
      {"%0 = input u8[2]\n%1 = Relu(%0) : u8(-1,0)[2]\n", "output 0", Code::kInvalidArgument},
      {"%0 = input u8[2]\n%1 = Relu(%0) : u8(inf,0)[?]\n", "scale inf", Code::kInvalidArgument},
      {"%0 = input u8(type=1,dim=-1,fl=0,[],[])[2]\n%1 = Relu(%0) : f32[?]\n", "no scale",
       Code::kInvalidArgument},
      {"%0 = input i8(dim=2,[1,1])[2]\n%1 = Relu(%0) : f32[?]\n", "channel_dim 2 is outside [0, 1)",
       Code::kInvalidArgument},
      {"%0 = input i8(dim=0,[1,1,1])[2]\n%1 = Relu(%0) : f32[?]\n", "3 scales for 2 channels",
       Code::kInvalidArgument},
      {"%0 = input f32[2,0]\n%1 = Relu(%0) : f32[?]\n", "not positive", Code::kInvalidShape},
      {"%0 = input f32[4294967296,4294967296]\n%1 = Relu(%0) : f32[?]\n", "64 bits",
       Code::kInvalidShape},
      {"%0 = input f32[2]\n%1 = Relu(%0) : f32[3] \"y\"\n",
       "output 0 'y' is declared [3], the op computes [2]", Code::kInvalidShape},
  };
  for (const auto& c : kCases) {
    const Status s = Verify(c.text);
    EXPECT_EQ(s.code(), c.code) << c.text << s.message();
    EXPECT_THAT(s.message(), HasSubstr(c.words)) << c.text;
    EXPECT_FALSE(s.op().empty()) << c.text;
  }
  EXPECT_TRUE(Verify("%0 = input f32[2,3]\n%1 = Relu(%0) : f32[6]\n").ok());
}

TEST(CheckInvariants, NamesWhatIsBroken) {
  const std::string text =
      "%0 = input f32[2]\n%1 = constant f32[2] {1, 2}\n%2 = Add(%0, %1) : f32[2]\n"
      "%3 = Relu(%2) : output f32[2]\n";
  const std::pair<const char*, void (*)(Graph&)> kBreak[] = {
      {"has two producers", [](Graph& g) { g.node(1).outputs = {2}; }},
      {"names producer", [](Graph& g) { g.value(3).producer = 0; }},
      {"reads value 9", [](Graph& g) { g.node(0).inputs[0] = 9; }},
      {"writes value -1", [](Graph& g) { g.node(0).outputs[0] = -1; }},
      {"lacks result types", [](Graph& g) { g.node(0).out_types.clear(); }},
      {"has no definition", [](Graph& g) { g.node(0).def = nullptr; }},
      {"given from outside", [](Graph& g) { g.value(3).role = Role::kInput; }},
      {"has no data", [](Graph& g) { g.value(1).storage = nullptr; }},
      {"for a value declared", [](Graph& g) { g.value(2).type.shape = {3}; }},
      {"cycle", [](Graph& g) { g.node(0).inputs[0] = 3; }},
  };
  for (const auto& [words, wreck] : kBreak) {
    auto graph = Parse(text, Builtin());
    ASSERT_TRUE(graph.ok());
    ASSERT_TRUE(CheckInvariants(**graph, true).ok());
    wreck(**graph);
    const Status s = CheckInvariants(**graph, true);
    EXPECT_THAT(s.message(), HasSubstr(words));
    EXPECT_FALSE(s.ok()) << words;
    EXPECT_FALSE(Print(**graph).empty());  // what is broken can still be looked at
  }
}

}  // namespace
}  // namespace tim::vx::ir
