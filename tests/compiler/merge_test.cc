// Passes that merge neighbours: graph text in, one pass, graph text out; where they do nothing; and
// what the report says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "compiler/pipeline.h"
#include "support/pipeline.h"

namespace tim::vx::compiler {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using tim::vx::testing::Builtin;
using tim::vx::testing::ReadGraph;

using Pass = Status (*)(ir::Graph&, const Options&, std::vector<OpPlacement>*);

struct Outcome {
  std::string text;                 // the graph, without its first lines of inputs and constants
  std::vector<std::string> merged;  // "Pad#0: merged into Conv2d#1"
};

/// Only lines of ops.
std::string Ops(const ir::Graph& graph) {
  std::string ops, text = ir::Print(graph);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    if (line.find(" = input") == std::string::npos && line.find(" = constant") == std::string::npos)
      ops += line;
    at = end;
  }
  return ops;
}

Outcome After(Pass pass, const std::string& text, const Options& options = {}) {
  Outcome o;
  const auto g = ReadGraph(text, Builtin());
  g->set_ops(std::make_shared<const OpRegistry>(Builtin()));
  const Status typed = InferTypes(*g);
  EXPECT_TRUE(typed.ok()) << typed.message();
  std::vector<OpPlacement> merged;
  const Status s = pass(*g, options, &merged);
  EXPECT_TRUE(s.ok()) << s.message();
  const Status valid = ir::CheckInvariants(*g, true);
  EXPECT_TRUE(valid.ok()) << valid.message();
  for (const OpPlacement& op : merged) o.merged.push_back(op.op + ": " + op.kernel);
  o.text = Ops(*g);
  return o;
}
std::string Before(const std::string& text) {
  const auto g = ReadGraph(text, Builtin());
  EXPECT_TRUE(InferTypes(*g).ok());
  return Ops(*g);
}
/// The pass leaves the graph as it is.
void ExpectNothing(Pass pass, const std::string& text, const Options& options = {}) {
  const Outcome o = After(pass, text, options);
  EXPECT_EQ(o.text, Before(text));
  EXPECT_THAT(o.merged, IsEmpty());
}

// CancelMoves.

TEST(CancelMoves, TransposesThereAndBack) {
  const Outcome o = After(CancelMoves,
                          "%0 = input f32[4,3,2,1]\n"
                          "%1 = Transpose#0(%0) {perm=[2,0,1,3]} : f32[?]\n"
                          "%2 = Transpose#1 \"back\"(%1) {perm=[1,2,0,3]} : f32[?]\n"
                          "%3 = Relu#2(%2) : output f32[?]\n");
  EXPECT_EQ(o.text, "%3 = Relu#2(%0) : output f32[4,3,2,1] infer\n");
  EXPECT_THAT(o.merged, ElementsAre("Transpose#0: merged into Transpose#1 'back'",
                                    "Reshape#1 'back': left out"));
}

TEST(CancelMoves, TransposesThatFollowEachOther) {
  const Outcome o = After(CancelMoves,
                          "%0 = input f32[4,3,2]\n%1 = Transpose#0(%0) {perm=[1,0,2]} : f32[?]\n"
                          "%2 = Transpose#1(%1) {perm=[0,2,1]} : output f32[?]\n");
  EXPECT_EQ(o.text, "%2 = Transpose#1(%0) {perm=[1,2,0]} : output f32[3,2,4] infer\n");
  EXPECT_THAT(o.merged, ElementsAre("Transpose#0: merged into Transpose#1"));
}

TEST(CancelMoves, OtherReadersKeepTheFirst) {
  // As many elements would move as before.
  ExpectNothing(CancelMoves,
                "%0 = input f32[4,3,2]\n%1 = Transpose#0(%0) {perm=[1,0,2]} : f32[?]\n"
                "%2 = Transpose#1(%1) {perm=[0,2,1]} : output f32[?]\n"
                "%3 = Relu#2(%1) : output f32[?]\n");
  // The way back is free.
  const Outcome o = After(CancelMoves,
                          "%0 = input f32[4,3]\n%1 = Transpose#0(%0) {perm=[1,0]} : f32[?]\n"
                          "%2 = Transpose#1(%1) {perm=[1,0]} : f32[?]\n"
                          "%3 = Relu#2(%1) : output f32[?]\n%4 = Neg#3(%2) : output f32[?]\n");
  EXPECT_EQ(o.text,
            "%1 = Transpose#0(%0) {perm=[1,0]} : f32[3,4] infer\n"
            "%3 = Relu#2(%1) : output f32[3,4] infer\n%4 = Neg#3(%0) : output f32[4,3] infer\n");
}

TEST(CancelMoves, OutputsAreWritten) {
  // The graph's own memory on both sides: a copy is a copy.
  ExpectNothing(CancelMoves,
                "%0 = input f32[4,1]\n%1 = Transpose#0(%0) {perm=[1,0]} : output f32[?]\n"
                "%2 = Reshape#1(%0) {target_shape=[4,1]} : output f32[?]\n"
                "%3 = DataConvert#2(%0) : output f32[?]\n");
  const Outcome o = After(CancelMoves,
                          "%0 = input f32[4,3]\n%1 = Transpose#0(%0) {perm=[1,0]} : output f32[?]\n"
                          "%2 = Transpose#1(%1) {perm=[1,0]} : f32[?]\n"
                          "%3 = Relu#2(%2) : output f32[?]\n");
  EXPECT_EQ(o.text,
            "%1 = Transpose#0(%0) {perm=[1,0]} : output f32[3,4] infer\n"
            "%3 = Relu#2(%0) : output f32[4,3] infer\n");
}

TEST(CancelMoves, ATransposeThatMovesOneCellIsAReshape) {
  const Outcome o = After(CancelMoves,
                          "%0 = input f32[1,5,3,1]\n%1 = Relu#0(%0) : f32[?]\n"
                          "%2 = Transpose#1 \"t\"(%1) {perm=[1,2,0,3]} : output f32[?]\n");
  EXPECT_EQ(o.text,
            "%1 = Relu#0(%0) : f32[1,5,3,1] infer\n"
            "%2 = Reshape#1 \"t\"(%1) {target_shape=[5,3,1,1]} : output f32[5,3,1,1] infer\n");
  ExpectNothing(CancelMoves,
                "%0 = input f32[1,5,3,1]\n%1 = Relu#0(%0) : f32[?]\n"
                "%2 = Transpose#1(%1) {perm=[2,1,0,3]} : output f32[?]\n");
}

TEST(CancelMoves, ReshapesThatFollowEachOther) {
  const Outcome o = After(CancelMoves,
                          "%0 = input f32[4,6]\n%1 = Reshape#0(%0) {target_shape=[24]} : f32[?]\n"
                          "%2 = Reshape#1(%1) {target_shape=[3,-1]} : f32[?]\n"
                          "%3 = Relu#2(%2) : output f32[?]\n");
  EXPECT_EQ(o.text,
            "%2 = Reshape#1(%0) {target_shape=[3,-1]} : f32[3,8] infer\n"
            "%3 = Relu#2(%2) : output f32[3,8] infer\n");
  // A 0 copies an extent, which would be another one.
  ExpectNothing(CancelMoves,
                "%0 = input f32[4,6]\n%1 = Reshape#0(%0) {target_shape=[8,3]} : f32[?]\n"
                "%2 = Reshape#1(%1) {target_shape=[0,3,1]} : f32[?]\n"
                "%3 = Relu#2(%2) : output f32[?]\n");
}

TEST(CancelMoves, Conversions) {
  // To the same type, and there and back where nothing is rounded.
  const Outcome o = After(CancelMoves,
                          "%0 = input u8(0.5,3)[4]\n%1 = DataConvert#0(%0) : u8(0.5,3)[?]\n"
                          "%2 = DataConvert#1(%1) : f32[?]\n%3 = DataConvert#2(%2) : u8(0.5,3)[?]\n"
                          "%4 = Relu#3(%3) : output u8(0.5,3)[?]\n");
  EXPECT_EQ(o.text, "%4 = Relu#3(%0) : output u8(0.5,3)[4] infer\n");
  for (const char* other : {"u8(0.5,3)", "u8(0.25,3)", "i32"}) {
    const std::string back = std::string(other) == "u8(0.5,3)" ? "f32" : "u8(0.5,3)";
    const std::string from = std::string(other) == "u8(0.5,3)" ? "f32" : "u8(0.5,3)";
    ExpectNothing(CancelMoves, "%0 = input " + from + "[4]\n%1 = DataConvert#0(%0) : " + other +
                                   "[?]\n%2 = DataConvert#1(%1) : " + back +
                                   "[?]\n%3 = Relu#2(%2) : output " + back + "[?]\n");
  }
  // Integers of 32 bits do not fit a float.
  ExpectNothing(CancelMoves,
                "%0 = input i32[4]\n%1 = DataConvert#0(%0) : f32[?]\n"
                "%2 = DataConvert#1(%1) : i32[?]\n%3 = Relu#2(%2) : output i32[?]\n");
}

TEST(CancelMoves, WhatTheCallerNamedStays) {
  const std::string text =
      "%0 = input f32[4,3]\n%1 = Transpose#0 \"a\"(%0) {perm=[1,0]} : f32[?]\n"
      "%2 = Transpose#1(%1) {perm=[1,0]} : f32[?]\n%3 = Relu#2(%2) : output f32[?]\n";
  Options options;
  options.pins = {{"a", "npu"}};
  ExpectNothing(CancelMoves, text, options);
  options.pins.clear();
  options.excludes = {{"Transpose", "npu"}};
  ExpectNothing(CancelMoves, text, options);
}

// FoldPadding.

std::string PadThen(const std::string& reader, const std::string& type = "f32",
                    const std::string& pad =
                        "Pad#0(%0) {front_size=[1,2,0,0], "
                        "back_size=[3,4,0,0], const_val=0}") {
  return "%0 = input " + type + "[8,7,2,1]\n%1 = constant " + type +
         "[3,3,2,1] {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}\n%2 = " + pad + " : " + type +
         "[?]\n%3 = " + reader + " : output " + type + "[?]\n";
}

TEST(FoldPadding, IntoAConvolution) {
  const Outcome o =
      After(FoldPadding, PadThen("Conv2d#1(%2, %1) {padding=\"VALID\", stride=[2,1]}"));
  EXPECT_THAT(o.text,
              AllOf(HasSubstr("Conv2d#1(%0, %1)"), HasSubstr("padding=\"AUTO\", pad=[1,3,2,4]")));
  EXPECT_THAT(o.text, Not(HasSubstr("Pad#0")));
  EXPECT_THAT(o.merged, ElementsAre("Pad#0: merged into Conv2d#1"));
}

TEST(FoldPadding, BesidePadsThatAreThere) {
  const Outcome o = After(FoldPadding, PadThen("Conv2d#1(%2, %1) {pad=[1,0,0,1]}"));
  EXPECT_THAT(o.text, HasSubstr("pad=[2,3,2,5]"));
  EXPECT_THAT(After(FoldPadding, PadThen("Conv2d#1(%2, %1) {padding=\"SAME\"}")).text,
              HasSubstr("pad=[2,4,3,5]"));
}

TEST(FoldPadding, IntoPooling) {
  const auto pool = [](const std::string& type) {
    return "Pool2d#1(%2) {type=\"" + type + "\", ksize=[3,3], stride=[2,2]}";
  };
  const auto by = [](const std::string& value) {
    return "PadV2#0(%0) {front_size=[1,2,0,0], back_size=[3,4,0,0], const_val=" + value + "}";
  };
  EXPECT_THAT(After(FoldPadding, PadThen(pool("AVG"))).text, HasSubstr("pad=[1,3,2,4]"));
  EXPECT_THAT(After(FoldPadding, PadThen(pool("L2"))).text, HasSubstr("pad=[1,3,2,4]"));
  // The mean over the cells inside does not count them; zeros may be the largest.
  ExpectNothing(FoldPadding, PadThen(pool("AVG_ANDROID")));
  ExpectNothing(FoldPadding, PadThen(pool("MAX")));
  ExpectNothing(FoldPadding, PadThen(pool("MAX"), "f32", by("-1e30")));
  EXPECT_THAT(After(FoldPadding, PadThen(pool("MAX"), "f32", by("-inf"))).text,
              HasSubstr("pad=[1,3,2,4]"));
  EXPECT_THAT(After(FoldPadding, PadThen(pool("MAX"), "u8(0.5,4)", by("-2.0"))).text,
              HasSubstr("pad=[1,3,2,4]"));
  ExpectNothing(FoldPadding, PadThen(pool("MAX"), "u8(0.5,4)", by("-1.0")));
}

TEST(FoldPadding, NotEverywhere) {
  const std::string conv = "Conv2d#1(%2, %1) {padding=\"VALID\"}";
  const auto by = [](const std::string& attrs) { return "Pad#0(%0) {" + attrs + "}"; };
  const std::string sizes = "front_size=[1,2,0,0], back_size=[3,4,0,0], ";
  ExpectNothing(FoldPadding, PadThen(conv, "f32", by(sizes + "const_val=1")));
  ExpectNothing(FoldPadding, PadThen(conv, "f32", by(sizes + "pad_mode=\"EDGE\"")));
  // Images.
  ExpectNothing(FoldPadding, PadThen(conv, "f32", by("front_size=[1,2,0,1], back_size=[3,4,0,0]")));
  // A graph output, another reader, a weight that is padded.
  const std::string rest =
      "%3 = Conv2d#1(%2, %1) {padding=\"VALID\"} : output f32[?]\n%4 = Relu#2(%2) : output "
      "f32[?]\n";
  std::string text = PadThen(conv);
  text = text.substr(0, text.find("%3"));
  ExpectNothing(FoldPadding, text + rest);
  ExpectNothing(FoldPadding, text.replace(text.rfind("f32"), 0, "output ") +
                                 "%3 = Conv2d#1(%2, %1) {padding=\"VALID\"} : output f32[?]\n");
  ExpectNothing(FoldPadding,
                "%0 = input f32[3,3,2,1]\n%1 = input f32[9,9,2,1]\n"
                "%2 = Pad#0(%0) {front_size=[1,1,0,0], back_size=[1,1,0,0]} : f32[?]\n"
                "%3 = Conv2d#1(%1, %2) : output f32[?]\n");
}

TEST(FoldPadding, IntoAllOfItsReaders) {
  const Outcome o =
      After(FoldPadding, PadThen("Conv2d#1(%2, %1)") +
                             "%4 = Pool2d#2(%2) {type=\"AVG\", ksize=[3,3]} : output f32[?]\n");
  EXPECT_THAT(o.text, Not(HasSubstr("Pad#0")));
  EXPECT_THAT(o.merged, ElementsAre("Pad#0: merged into Conv2d#1, Pool2d#2"));
}

// FoldScales.

std::string ConvThen(const std::string& rest, const std::string& conv = "Conv2d#0(%0, %1, %2)") {
  return "%0 = input f32[2,1,1,1]\n%1 = constant f32[1,1,1,2] {2, 3}\n"
         "%2 = constant f32[2] {10, 20}\n%3 = constant f32[1,1,2] {4, 5}\n"
         "%4 = constant f32[2] {1, 0.5}\n%5 = constant f32[1] {0}\n%6 = " +
         conv + " : f32[?]\n" + rest;
}
/// Data of the constants that the first op reads.
std::vector<std::vector<float>> Constants(Pass pass, const std::string& text, int node = 0) {
  const auto g = ReadGraph(text, Builtin());
  g->set_ops(std::make_shared<const OpRegistry>(Builtin()));
  EXPECT_TRUE(InferTypes(*g).ok());
  EXPECT_TRUE(pass(*g, {}, nullptr).ok());
  std::vector<std::vector<float>> all;
  for (size_t i = 1; i < g->node(node).inputs.size(); ++i) {
    const TensorView t(g.get(), g->node(node).inputs[i]);
    all.emplace_back(t.data_as<float>(), t.data_as<float>() + t.shape().count());
  }
  return all;
}

TEST(FoldScales, ConstantsByChannel) {
  const std::string multiply = ConvThen("%7 = Multiply#1(%6, %3) : output f32[?]\n");
  EXPECT_THAT(After(FoldScales, multiply).merged, ElementsAre("Multiply#1: merged into Conv2d#0"));
  EXPECT_THAT(After(FoldScales, multiply).text, HasSubstr("%7 = Conv2d#0(%0, "));
  EXPECT_THAT(Constants(FoldScales, multiply),
              ElementsAre(ElementsAre(8, 15), ElementsAre(40, 100)));
  const std::string div =
      "%20 = constant f32[1,1,2,1] {0.5, -4}\n" + ConvThen("%7 = Div#1(%6, %20) : output f32[?]\n");
  EXPECT_THAT(After(FoldScales, div).merged, ElementsAre("Div#1: merged into Conv2d#0"));
  const std::string sub = ConvThen("%7 = Sub#1(%3, %6) : output f32[?]\n", "Conv2d#0(%0, %1)");
  EXPECT_THAT(Constants(FoldScales, sub), ElementsAre(ElementsAre(-2, -3), ElementsAre(4, 5)));
  // One after the other.
  const std::string both = ConvThen(
      "%7 = Multiply#1(%6, %3) {scale=2} : f32[?]\n%8 = Add#2(%3, %7) : f32[?]\n"
      "%9 = Relu#3(%8) : output f32[?]\n");
  EXPECT_THAT(Constants(FoldScales, both), ElementsAre(ElementsAre(16, 30), ElementsAre(84, 205)));
  EXPECT_THAT(After(FoldScales, both).merged,
              ElementsAre("Multiply#1: merged into Conv2d#0", "Add#2: merged into Conv2d#0"));
}

TEST(FoldScales, BatchNorm) {
  // mean {4, 5}, variance {1, 0.5}, gamma {1, 0.5}, beta {10, 20}.
  const std::string text =
      ConvThen("%7 = BatchNorm#1(%6, %3, %4, %4, %2) {eps=0} : output f32[?]\n");
  const double s = 0.5 / std::sqrt(0.5);
  EXPECT_THAT(Constants(FoldScales, text),
              ElementsAre(ElementsAre(2, static_cast<float>(3 * s)),
                          ElementsAre(16, static_cast<float>(20 * s + 20 - 5 * s))));
}

TEST(FoldScales, IntoTheOpBehind) {
  const std::string before =
      "%0 = input f32[1,1,2,1]\n%1 = constant f32[1,1,2,1] {2, 3}\n"
      "%2 = constant f32[1,1,2] {4, 5}\n%3 = constant f32[1] {7}\n";
  const std::string multiply = before +
                               "%4 = Multiply#0(%0, %2) : f32[?]\n"
                               "%5 = Conv2d#1(%4, %1) {pad=[1,1,1,1]} : output f32[?]\n";
  EXPECT_THAT(Constants(FoldScales, multiply, 1), ElementsAre(ElementsAre(8, 15), ElementsAre(0)));
  EXPECT_THAT(After(FoldScales, multiply).text, HasSubstr("%5 = Conv2d#1(%0, "));
  const std::string add = before + "%4 = Add#0(%0, %2) : f32[?]\n%5 = Conv2d#1(%4, %1) ";
  EXPECT_THAT(Constants(FoldScales, add + ": output f32[?]\n", 1),
              ElementsAre(ElementsAre(2, 3), ElementsAre(23)));
  // Nothing shifts the zeros around the image.
  ExpectNothing(FoldScales, add + "{pad=[1,0,0,0]} : output f32[?]\n");
  Options relaxed;
  relaxed.relaxed = true;
  ExpectNothing(FoldScales, multiply, relaxed);
}

TEST(FoldScales, FullyConnected) {
  const std::string before =
      "%0 = input f32[2,3]\n%1 = constant f32[2,2] {1, 2, 3, 4}\n%2 = constant f32[2] {10, 100}\n";
  EXPECT_THAT(Constants(FoldScales, before + "%3 = FullyConnected#0(%0, %1) : f32[?]\n"
                                             "%4 = Multiply#1(%2, %3) : output f32[?]\n"),
              ElementsAre(ElementsAre(10, 20, 300, 400), ElementsAre(0, 0)));
  EXPECT_THAT(Constants(FoldScales,
                        before + "%3 = Multiply#0(%0, %2) : f32[?]\n%4 = Add#1(%3, %2) : "
                                 "f32[?]\n%5 = FullyConnected#2(%4, %1) : output f32[?]\n",
                        2),
              ElementsAre(ElementsAre(10, 200, 30, 400), ElementsAre(210, 430)));
}

TEST(FoldScales, DepthwiseAndGroups) {
  const std::string before =
      "%0 = input f32[1,1,2,1]\n%1 = constant f32[1,1,4,1] {1, 2, 3, 4}\n"
      "%2 = constant f32[1,1,2] {10, 100}\n%3 = constant f32[1,1,4] {1, 2, 3, 4}\n";
  // Channel o reads channel o / 2.
  EXPECT_THAT(Constants(FoldScales,
                        before + "%4 = Multiply#0(%0, %2) : f32[?]\n"
                                 "%5 = Conv2d#1(%4, %1) {multiplier=2} : output f32[?]\n",
                        1),
              ElementsAre(ElementsAre(10, 20, 300, 400), ElementsAre(0, 0, 0, 0)));
  EXPECT_THAT(Constants(FoldScales, before + "%4 = Conv2d#0(%0, %1) {multiplier=2} : f32[?]\n"
                                             "%5 = Multiply#1(%4, %3) : output f32[?]\n"),
              ElementsAre(ElementsAre(1, 4, 9, 16), ElementsAre(0, 0, 0, 0)));
}

TEST(FoldScales, NotEverywhere) {
  const std::string conv = "Conv2d#0(%0, %1, %2)";
  // Along another dimension; of other extents; not constant; several readers; an output.
  ExpectNothing(FoldScales, ConvThen("%7 = Multiply#1(%6, %4) : output f32[?]\n"));
  ExpectNothing(FoldScales, "%20 = constant f32[2,1,1,3] {1,2,3,4,5,6}\n" +
                                ConvThen("%7 = Add#1(%6, %20) : output f32[?]\n"));
  ExpectNothing(FoldScales, "%20 = input f32[1,1,2]\n" +
                                ConvThen("%7 = Multiply#1(%6, %20) : output f32[?]\n"));
  // Quotients that no product is; a number by the results.
  for (const char* divisor : {"3", "0", "inf"}) {
    ExpectNothing(FoldScales, std::string("%20 = constant f32[1] {") + divisor + "}\n" +
                                  ConvThen("%7 = Div#1(%6, %20) : output f32[?]\n"));
  }
  ExpectNothing(FoldScales,
                "%20 = constant f32[1] {2}\n" + ConvThen("%7 = Div#1(%20, %6) : output f32[?]\n"));
  ExpectNothing(FoldScales, ConvThen("%7 = Multiply#1(%6, %3) : output f32[?]\n"
                                     "%8 = Relu#2(%6) : output f32[?]\n"));
  std::string output = ConvThen("%7 = Multiply#1(%6, %3) : output f32[?]\n");
  ExpectNothing(FoldScales, output.replace(output.find(conv) + conv.size() + 3, 0, "output "));
  // Weights that are computed, a bias that is.
  ExpectNothing(FoldScales,
                "%20 = input f32[2]\n" +
                    ConvThen("%7 = Multiply#1(%6, %3) : output f32[?]\n", "Conv2d#0(%0, %1, %20)"));
  // What overflows.
  ExpectNothing(FoldScales, "%20 = constant f32[1] {3e38}\n" +
                                ConvThen("%7 = Multiply#1(%6, %20) : output f32[?]\n"));
  // Integers and half are rounded in between.
  ExpectNothing(
      FoldScales,
      "%0 = input f16[2]\n%1 = constant f16[2,1] {1, 2}\n%2 = constant f32[1] {3}\n"
      "%3 = FullyConnected#0(%0, %1) : f16[?]\n%4 = Multiply#1(%3, %2) : output f16[?]\n");
}

// MergeTwins.

TEST(MergeTwins, OneOfEachKind) {
  const Outcome o = After(MergeTwins,
                          "%0 = input f32[4]\n%1 = Relu#0(%0) : f32[?]\n%2 = Relu#1(%0) : f32[?]\n"
                          "%3 = Neg#2(%1) : f32[?]\n%4 = Neg#3(%2) : f32[?]\n"
                          "%5 = Sub#4(%3, %4) : output f32[?]\n");
  EXPECT_EQ(o.text,
            "%1 = Relu#0(%0) : f32[4] infer\n%3 = Neg#2(%1) : f32[4] infer\n"
            "%5 = Sub#4(%3, %3) : output f32[4] infer\n");
  EXPECT_THAT(o.merged, ElementsAre("Relu#1: merged into Relu#0", "Neg#3: merged into Neg#2"));
}

TEST(MergeTwins, OthersStay) {
  ExpectNothing(MergeTwins,  // attributes, types, outputs
                "%0 = input f32[4]\n%1 = LeakyRelu#0(%0) {alpha=0.5} : f32[?]\n"
                "%2 = LeakyRelu#1(%0) {alpha=0.25} : f32[?]\n%3 = Sub#2(%1, %2) : output f32[?]\n"
                "%4 = Neg#3(%0) : f32[?]\n%5 = Neg#4(%0) : f16[?]\n%6 = Abs#5(%4) : output f32[?]\n"
                "%7 = Abs#6(%5) : output f16[?]\n%8 = Relu#7(%0) : output f32[?]\n"
                "%9 = Relu#8(%0) : output f32[?]\n");
  Options options;
  options.pins = {{"mine", "npu"}};
  ExpectNothing(MergeTwins,
                "%0 = input f32[4]\n%1 = Relu#0(%0) : f32[?]\n%2 = Relu#1 \"mine\"(%0) : f32[?]\n"
                "%3 = Sub#2(%1, %2) : output f32[?]\n",
                options);
}

// All of them.

constexpr const char* kAll =
    "%0 = input \"x\" f32[5,6,2,1]\n"
    "%1 = constant f32[1,1,2,2] {1, 2, 3, 4}\n%2 = constant f32[1,1,2] {3, 4}\n"
    "%3 = Transpose#1(%0) {perm=[2,0,1,3]} : f32[?]\n"
    "%4 = Transpose#2(%3) {perm=[1,2,0,3]} : f32[?]\n"
    "%5 = Pad#3 \"border\"(%4) {front_size=[1,1,0,0], back_size=[1,1,0,0]} : f32[?]\n"
    "%6 = Conv2d#4 \"conv\"(%5, %1) : f32[?]\n%7 = Multiply#5(%6, %2) : f32[?]\n"
    "%8 = Relu#6(%7) : f32[?]\n%9 = Relu#7(%7) : f32[?]\n%10 = Add#8(%8, %9) : output f32[?] "
    "\"y\"\n";

TEST(MergeNeighbours, TheReportSaysWhatBecameOfEach) {
  CompileReport report;
  Options options;
  const auto made =
      Compile(ReadGraph(kAll, Builtin()), Builtin(), {testing::Reference()}, options, &report);
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::vector<std::string> ops;
  for (const OpPlacement& op : report.ops) ops.push_back(op.op + ": " + op.kernel);
  EXPECT_THAT(ops, ::testing::Contains("Pad#3 'border': merged into Conv2d#4 'conv'"));
  EXPECT_THAT(ops, ::testing::Contains("Multiply#5: merged into Conv2d#4 'conv'"));
  EXPECT_THAT(ops, ::testing::Contains("Relu#7: merged into Relu#6"));
  EXPECT_EQ(report.ops.size(), 8u);
  EXPECT_EQ(report.backends[0].ops, 3u);
  EXPECT_THAT(report.ToText(), HasSubstr("which pads by itself"));
}

TEST(MergeNeighbours, SwitchesLeavePassesOut) {
  for (const std::string pass : {"cancel_moves", "fold_padding", "fold_scales", "merge_twins"}) {
    Options options;
    options.options_for = [&](const std::string& name) {
      return std::vector<std::pair<std::string, std::string>>{
          {pass, name == "compiler" ? "off" : "on"}};
    };
    std::vector<std::string> ran;
    const auto g = ReadGraph(kAll, Builtin());
    ASSERT_TRUE(InferTypes(*g).ok());
    ASSERT_TRUE(
        MergeNeighbours(*g, options, nullptr, [&](const char* name) { ran.push_back(name); }).ok());
    EXPECT_EQ(ran.size(), 3u);
    EXPECT_THAT(ran, Not(::testing::Contains(pass)));
  }
  Options off;
  off.fuse = false;
  const auto g = ReadGraph(kAll, Builtin());
  ASSERT_TRUE(InferTypes(*g).ok());
  ASSERT_TRUE(MergeNeighbours(*g, off, nullptr).ok());
  EXPECT_EQ(g->LiveNodes(), 8u);
}

/// Results with all passes and with none, over the same backend.
struct Pair {
  testing::Floats on, off;
  size_t merged = 0;
};
Pair OnAndOff(const std::string& text, const RankedBackend& backend) {
  Pair pair;
  for (const bool on : {true, false}) {
    Options options;
    if (!on) {
      options.options_for = [](const std::string&) {
        return std::vector<std::pair<std::string, std::string>>{{"cancel_moves", "off"},
                                                                {"fold_padding", "off"},
                                                                {"fold_scales", "off"},
                                                                {"merge_twins", "off"}};
      };
    }
    CompileReport report;
    const auto g = ReadGraph(text, Builtin());
    const Status s =
        testing::RunGraph(g, Builtin(), {backend, testing::Reference()}, options, &report);
    EXPECT_TRUE(s.ok()) << s.message();
    (on ? pair.on : pair.off) = testing::OutputsOf(*g);
    for (const OpPlacement& op : report.ops) pair.merged += on && op.partition < 0;
  }
  return pair;
}

/// Of moves, pads and twins alone, which change nothing. The last result is a sum of integers.
constexpr const char* kExact =
    "%0 = input f32[5,6,3,1]\n%1 = constant f32[3,3,3,2] {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,"
    "-1,2,-3,4,-5,6,-7,8,-9,1,2,3,4,5,6,7,8,9,1,-2,3,-4,5,-6,7,-8,9,-1,2,-3,4,-5,6,-7,8,-9}\n"
    "%2 = Transpose#1(%0) {perm=[2,0,1,3]} : f32[?]\n"
    "%3 = Reshape#2(%2) {target_shape=[3,5,6,1]} : f32[?]\n"
    "%4 = Transpose#3(%3) {perm=[1,2,0,3]} : f32[?]\n"
    "%5 = Pad#4(%4) {front_size=[1,2,0,0], back_size=[0,3,0,0]} : f32[?]\n"
    "%6 = Conv2d#5(%5, %1) {stride=[2,1]} : f32[?]\n%7 = Conv2d#6(%5, %1) {stride=[2,1]} : f32[?]\n"
    "%8 = Add#7(%6, %7) : output f32[?]\n"
    "%9 = PadV2#8(%4) {front_size=[2,1,0,0], back_size=[1,1,0,0], const_val=-inf} : f32[?]\n"
    "%10 = Pool2d#9(%9) {type=\"MAX\", ksize=[3,3], stride=[2,2], padding=\"SAME\"} : output "
    "f32[?]\n"
    "%11 = DataConvert#10(%0) : u8(0.5,7)[?]\n%12 = DataConvert#11(%11) : f32[?]\n"
    "%13 = DataConvert#12(%12) : u8(0.5,7)[?]\n"
    "%14 = Pad#13(%13) {front_size=[1,1,0,0], back_size=[1,1,0,0]} : u8(0.5,7)[?]\n"
    "%15 = constant u8(0.25,9)[2,2,3,1] {1,200,3,4,50,6,7,80,9,10,110,12}\n"
    "%16 = Conv2d#14(%14, %15) : output f32[?]\n"
    "%17 = Pool2d#15(%14) {type=\"AVG\", ksize=[2,3], stride=[1,2]} : u8(0.5,7)[?]\n"
    "%18 = DataConvert#16(%17) : output f32[?]\n";

std::vector<RankedBackend> Backends() {
  std::vector<RankedBackend> all = {testing::Reference()};
  if (auto opencl = testing::OpenCl()) all.push_back({opencl, 1, false, true});
  return all;
}

// What is folded is computed by the reference, else by the backend.
TEST(Fold, OnAndOffAgree) {
  const std::string text =
      "%0 = constant f32[3,2] {1,-2,3,4,-5,6}\n%1 = Transpose#0(%0) {perm=[1,0]} : f32[?]\n"
      "%2 = Square#1(%1) : f32[?]\n%3 = Relu#2(%1) : f32[?]\n%4 = input f32[2,3]\n"
      "%5 = Add#3(%4, %3) : f32[?]\n%6 = Minimum#4(%5, %2) : output f32[?]\n"
      "%7 = Add#5(%4, %1) : output f32[?]\n";
  for (const RankedBackend& backend : Backends()) {
    SCOPED_TRACE(backend.backend->Info().name);
    std::vector<testing::Floats> results;
    for (const char* const choice : {"on", "off"}) {
      Options options;
      options.options_for = [&](const std::string&) {
        return std::vector<std::pair<std::string, std::string>>{{"fold_constants", choice}};
      };
      CompileReport report;
      const auto g = ReadGraph(text, Builtin());
      const Status s =
          testing::RunGraph(g, Builtin(), {backend, testing::Reference()}, options, &report);
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_EQ(report.ops.size(), results.empty() ? 3u : 6u);
      results.push_back(testing::OutputsOf(*g));
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST(MergeNeighbours, ExactPassesChangeNoBit) {
  for (const RankedBackend& backend : Backends()) {
    SCOPED_TRACE(backend.backend->Info().name);
    const Pair pair = OnAndOff(kExact, backend);
    EXPECT_EQ(pair.on, pair.off);
    EXPECT_EQ(pair.on.size(), 4u);
    EXPECT_GE(pair.merged, 8u);
  }
}

TEST(MergeNeighbours, ScalesAreWithinTheTolerance) {
  const std::string text =
      "%0 = input f32[4,3,2,1]\n"
      "%1 = constant f32[2,2,2,3] {0.1,0.2,-0.3,0.4,0.5,-0.6,0.7,0.8,0.9,-1,1.1,1.2,1.3,-1.4,1.5,"
      "1.6,1.7,1.8,-1.9,2,2.1,2.2,2.3,-2.4}\n"
      "%2 = constant f32[3] {0.3, 0.7, 1.9}\n%3 = constant f32[1,1,3] {-0.9, 1.7, 0.3}\n"
      "%4 = constant f32[1,1,2] {0.7, 1.3}\n%5 = Multiply#1(%0, %4) {scale=0.9} : f32[?]\n"
      "%6 = Conv2d#2(%5, %1) {padding=\"SAME\"} : f32[?]\n"
      "%7 = BatchNorm#3(%6, %3, %2, %2, %3) : f32[?]\n%8 = Add#4(%7, %3) : f32[?]\n"
      "%9 = Relu#5(%8) : output f32[?]\n"
      "%10 = constant f32[12,2] {1,2,3,4,5,6,7,8,9,10,11,12,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,"
      "1,1.1,1.2}\n%11 = Sub#6(%4, %0) : f32[?]\n"
      "%12 = FullyConnected#7(%0, %10) {axis=1} : f32[?]\n"
      "%13 = constant f32[2] {0.3, 1.1}\n%14 = Multiply#8(%12, %13) : output f32[?]\n"
      "%15 = constant f32[24,1] {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24}\n"
      "%16 = FullyConnected#9(%11, %15) {axis=2} : output f32[?]\n";
  for (const RankedBackend& backend : Backends()) {
    SCOPED_TRACE(backend.backend->Info().name);
    const Pair pair = OnAndOff(text, backend);
    EXPECT_EQ(pair.merged, 5u);
    ASSERT_EQ(pair.on.size(), pair.off.size());
    for (const auto& [id, values] : pair.off) {
      const std::vector<float>& on = pair.on.at(id);
      ASSERT_EQ(on.size(), values.size());
      // 4 ulp of the sum of magnitudes, which is below 200 in convolutions and 10000 in the last.
      const float allowed = 0x1p-22f * (id == 16 ? 1e4f : 200);
      for (size_t i = 0; i < on.size(); ++i) EXPECT_NEAR(on[i], values[i], allowed) << id;
    }
  }
}

}  // namespace
}  // namespace tim::vx::compiler
