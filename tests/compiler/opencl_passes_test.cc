// The passes of the OpenCL compiler: graph text in, groups out; and each changes no result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "backends/opencl/compile/unit.h"
#include "opencl/run_fixture.h"
#include "support/pipeline.h"

namespace tim::vx::opencl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Shapes> SameShape(const OpView& op) { return Shapes{op.in(0).shape()}; }
Result<KernelOffer> RefusesOdd(const OpView& op, const KernelRequest&) {
  if (op.in(0).type().count() % 2 == 0) return KernelOffer{KernelSpec::Epilogue::kScalar};
  return Status::Error(Code::kUnsupported, "an odd number of elements");
}
Result<KernelOffer> RefusesLong(const OpView& op, const KernelRequest&) {
  if (op.in(0).type().count() < 10) return KernelOffer{};
  return Status::Error(Code::kUnsupported, "more than 9 elements");
}
Result<Launches> MakesNone(const OpView&, const KernelRequest&) { return Launches(); }

/// "Even" takes post-ops along where it has an even number of elements.
constexpr KernelCandidate kEven[] = {{"even", RefusesOdd, MakesNone},
                                     {"short", RefusesLong, MakesNone}};

const OpRegistry& Registry() {
  static const OpRegistry* registry = [] {
    auto* r = new OpRegistry(tim::vx::testing::Builtin());
    OpDef def;
    def.name = "Even", def.infer = SameShape, def.kernels = kEven;
    EXPECT_TRUE(r->Register(def).ok());
    return r;
  }();
  return *registry;
}

size_t At(int i) { return static_cast<size_t>(i); }

struct Compiled {
  std::shared_ptr<ir::Graph> graph;
  Unit unit;
};
/// The whole graph as one partition, or its first ops as one, after pass Select.
Compiled Selected(const std::string& text, size_t ops = 1000) {
  Compiled c;
  c.graph = tim::vx::testing::ReadGraph(text, Registry());
  for (size_t id = 0; id < c.graph->nodes().size(); ++id) {
    const Status s = ir::VerifyNode(*c.graph, static_cast<int>(id));
    EXPECT_TRUE(s.ok()) << s.message();
  }
  auto order = *c.graph->TopologicalOrder();
  order.resize(std::min(ops, order.size()));
  const Status s = Select(GraphView(c.graph, order), DeviceCaps(), &c.unit);
  EXPECT_TRUE(s.ok()) << s.message();
  return c;
}
std::string Fused(const std::string& text, size_t ops = 1000) {
  Compiled c = Selected(text, ops);
  Fuse(&c.unit);
  return Print(c.unit);
}
std::string Aliased(const std::string& text, size_t ops = 1000) {
  Compiled c = Selected(text, ops);
  Alias(&c.unit);
  return Print(c.unit);
}

// ---- Select

TEST(SelectPass, TheFirstCandidateThatAcceptsWins) {
  const Compiled c = Selected(
      "%0 = input f32[4]\n%1 = Even(%0) : output f32[4]\n"
      "%2 = input f32[3]\n%3 = Even(%2) : output f32[3]\n");
  EXPECT_EQ(Print(c.unit), "#0 Even 'even' (%0) -> %1\n#1 Even 'short' (%2) -> %3\n");
  EXPECT_THAT(c.unit.groups[0].refusals, ElementsAre());
  EXPECT_THAT(c.unit.groups[1].refusals, ElementsAre("even: an odd number of elements"));
  EXPECT_EQ(c.unit.groups[0].offer.epilogue, KernelSpec::Epilogue::kScalar);
  EXPECT_EQ(c.unit.groups[1].offer.epilogue, KernelSpec::Epilogue::kNone);
}

TEST(SelectPass, WhereAllRefuseEachSaysWhy) {
  const auto graph = tim::vx::testing::ReadGraph(
      "%0 = input f32[11]\n%1 = Even(%0) : output f32[11]\n", Registry());
  ASSERT_TRUE(ir::VerifyNode(*graph, 0).ok());
  Unit unit;
  const Status s = Select(GraphView(graph, {0}), DeviceCaps(), &unit);
  EXPECT_EQ(s.code(), Code::kUnsupported);
  EXPECT_EQ(s.detail(),
            "every kernel refused: even: an odd number of elements; short: more than 9 elements");
}

TEST(SelectPass, EveryValueHasAPlace) {
  const Compiled c = Selected(
      "%0 = input f32[4]\n%1 = constant f32[4] {1,2,3,4}\n%2 = Add(%0, %1) : f32[4]\n"
      "%3 = Even(%2) : output f32[4]\n%4 = Even(%2) : f32[4]\n%5 = Even(%4) : output f32[4]\n",
      3);
  using Kind = Place::Kind;
  auto kind = [&](int v) { return c.unit.places.at(v).kind; };
  EXPECT_EQ(kind(0), Kind::kInput);
  EXPECT_EQ(kind(1), Kind::kConstant);
  EXPECT_EQ(kind(2), Kind::kInternal);
  EXPECT_EQ(kind(3), Kind::kOutput);
  EXPECT_EQ(kind(4), Kind::kOutput) << "another partition reads it";
  EXPECT_EQ(c.unit.places.at(4).index, 1u);
  EXPECT_EQ(c.unit.places.count(5), 0u);
}

// ---- Fuse

TEST(FusePass, AChainBecomesOneGroup) {
  EXPECT_EQ(Fused("%0 = input f32[4]\n%1 = Even(%0) : f32[4]\n%2 = Relu(%1) : f32[4]\n"
                  "%3 = Neg(%2) : f16[4]\n%4 = Even(%3) : output f32[4]\n"),
            "#0 Even 'even' (%0) -> %3 + Relu, Neg\n#3 Even 'even' (%3) -> %4\n");
}
TEST(FusePass, AWatchedValueStays) {
  EXPECT_EQ(
      Fused("%0 = input f32[4]\n%1 = Even(%0) : output f32[4]\n%2 = Abs(%1) : output f32[4]\n"),
      "#0 Even 'even' (%0) -> %1\n#1 Abs 'pointwise' (%1) -> %2\n");
  // Two read it.
  EXPECT_EQ(Fused("%0 = input f32[4]\n%1 = Even(%0) : f32[4]\n%2 = Even(%1) : output f32[4]\n"
                  "%3 = Even(%1) : output f32[4]\n"),
            "#0 Even 'even' (%0) -> %1\n#1 Even 'even' (%1) -> %2\n#2 Even 'even' (%1) -> %3\n");
  // Another partition reads it.
  EXPECT_EQ(Fused("%0 = input f32[4]\n%1 = Even(%0) : f32[4]\n%2 = Relu(%1) : f32[4]\n"
                  "%3 = Neg(%2) : output f32[4]\n",
                  2),
            "#0 Even 'even' (%0) -> %2 + Relu\n");
}
TEST(FusePass, OnlyWhereTheKernelOffersIt) {
  EXPECT_EQ(Fused("%0 = input f32[3]\n%1 = Even(%0) : f32[3]\n%2 = Even(%1) : f32[3]\n"
                  "%3 = Relu(%2) : output f32[3]\n"),
            "#0 Even 'short' (%0) -> %1\n#1 Even 'short' (%1) -> %2\n"
            "#2 Relu 'pointwise' (%2) -> %3\n");
}
TEST(FusePass, ASecondTensorMustBeThereBefore) {
  const std::string head = "%0 = input f32[4]\n%1 = input f32[4]\n%2 = Even(%0) : f32[4]\n";
  EXPECT_EQ(Fused(head + "%3 = Sub(%1, %2) : output f32[4]\n"),
            "#0 Even 'even' (%0) -> %3 + Sub\n");
  // Of two kernels the later one takes it along.
  EXPECT_EQ(Fused(head + "%3 = Even(%1) : f32[4]\n%4 = Sub(%2, %3) : output f32[4]\n"),
            "#0 Even 'even' (%0) -> %2\n#1 Even 'even' (%1) -> %4 + Sub\n");
  // A broadcast has no index of its own; one number that is known needs none.
  EXPECT_EQ(Fused("%0 = input f32[4,2]\n%1 = constant f32[1,2] {2, 3}\n%2 = Even(%0) : f32[4,2]\n"
                  "%3 = Sub(%2, %1) : output f32[4,2]\n"),
            "#0 Even 'even' (%0) -> %2\n#1 Sub 'pointwise' (%2, %1) -> %3\n");
  EXPECT_EQ(Fused(head + "%3 = input f32[1]\n%4 = Sub(%2, %3) : output f32[4]\n"),
            "#0 Even 'even' (%0) -> %2\n#1 Sub 'pointwise' (%2, %3) -> %4\n");
  EXPECT_EQ(Fused(head + "%3 = constant f32[1] {2}\n%4 = Sub(%2, %3) : output f32[4]\n"),
            "#0 Even 'even' (%0) -> %4 + Sub\n");
}
TEST(FusePass, WideIntegersAndBoolsStay) {
  EXPECT_EQ(Fused("%0 = input f32[4]\n%1 = Even(%0) : i32[4]\n%2 = Relu(%1) : output i32[4]\n"),
            "#0 Even 'even' (%0) -> %1\n#1 Relu 'pointwise' (%1) -> %2\n");
  EXPECT_EQ(Fused("%0 = input f32[4]\n%1 = input f32[4]\n%2 = Even(%0) : f32[4]\n"
                  "%3 = Cast(%2) : output bool[4]\n"),
            "#0 Even 'even' (%0) -> %2\n#1 Cast 'cast' (%2) -> %3\n");
}
TEST(FusePass, AtMostSixteenPostOps) {
  std::string text = "%0 = input f32[4]\n%1 = Even(%0) : f32[4]\n";
  for (int i = 1; i < 20; ++i)
    text += "%" + std::to_string(i + 1) + " = Relu(%" + std::to_string(i) +
            ") : " + (i == 19 ? "output " : "") + "f32[4]\n";
  Compiled c = Selected(text);
  Fuse(&c.unit);
  EXPECT_EQ(c.unit.groups[0].post_ops.size(), 16u);
  EXPECT_FALSE(c.unit.groups[17].gone);
  EXPECT_EQ(c.unit.groups[17].fused.size(), 2u);
}

// ---- Alias

TEST(AliasPass, ReshapesBecomeNoLaunch) {
  EXPECT_EQ(Aliased("%0 = input f32[4]\n%1 = Reshape(%0) {target_shape=[2,2]} : f32[2,2]\n"
                    "%2 = Even(%1) : f32[2,2]\n%3 = Reshape(%2) {target_shape=[4]} : f32[4]\n"
                    "%4 = Reshape(%3) {target_shape=[1,4]} : f32[1,4]\n"
                    "%5 = Even(%4) : output f32[1,4]\n"),
            "#0 Reshape no launch (%0) -> %1 = %0\n#1 Even 'even' (%1) -> %2\n"
            "#2 Reshape no launch (%2) -> %3 = %2\n#3 Reshape no launch (%3) -> %4 = %2\n"
            "#4 Even 'even' (%4) -> %5\n");
}
TEST(AliasPass, AResultIsComputedInPlace) {
  EXPECT_EQ(Aliased("%0 = input f32[4]\n%1 = Even(%0) : f32[4]\n"
                    "%2 = Reshape(%1) {target_shape=[2,2]} : output f32[2,2]\n"),
            "#0 Even 'even' (%0) -> %1\n#1 Reshape no launch (%1) -> %2 = %2\n");
}
TEST(AliasPass, BetweenTwoMemoriesOfTheOutsideIsACopy) {
  EXPECT_THAT(Aliased("%0 = input f32[4]\n"
                      "%1 = Reshape(%0) {target_shape=[2,2]} : output f32[2,2]\n"),
              HasSubstr("#0 Reshape 'copy' (%0) -> %1\n"));
  // The second of two results of one value.
  EXPECT_EQ(Aliased("%0 = input f32[4]\n%1 = Even(%0) : f32[4]\n"
                    "%2 = Reshape(%1) {target_shape=[2,2]} : output f32[2,2]\n"
                    "%3 = Reshape(%1) {target_shape=[1,4]} : output f32[1,4]\n"),
            "#0 Even 'even' (%0) -> %1\n#1 Reshape no launch (%1) -> %2 = %2\n"
            "#2 Reshape 'copy' (%1) -> %3\n");
}
TEST(AliasPass, AnotherEncodingIsACopy) {
  EXPECT_THAT(Aliased("%0 = input f32[4]\n%1 = Even(%0) : f32[4]\n"
                      "%2 = Reshape(%1) {target_shape=[2,2]} : u8(0.5,3)[2,2]\n"
                      "%3 = Even(%2) : output f32[2,2]\n"),
              HasSubstr("#1 Reshape 'copy' (%1) -> %2\n"));
}

// ---- PlacePieces

std::string Joined(const std::string& text) {
  Compiled c = Selected(text);
  Alias(&c.unit);
  PlacePieces(DeviceCaps(), &c.unit);
  return Print(c.unit);
}

TEST(PiecesPass, PiecesLieInTheWholeFromTheStart) {
  const std::string head = "%0 = input f32[32]\n%1 = Even(%0) : f32[32]\n%2 = Even(%0) : f32[32]\n";
  EXPECT_THAT(Joined(head + "%3 = Concat(%1, %2) {axis=0} : f32[64]\n"
                            "%4 = Even(%3) : output f32[64]\n"),
              HasSubstr("#2 Concat no launch (%1, %2) -> %3\n"));
  EXPECT_THAT(Joined("%0 = input f32[64]\n%1 = Even(%0) : f32[64]\n"
                     "%2, %3 = Split(%1) {axis=0, slices=[32,32]} : f32[32], f32[32]\n"
                     "%4 = Sub(%2, %3) : output f32[32]\n"),
              HasSubstr("#1 Split no launch (%1) -> %2, %3\n"));
  // One value twice, a piece that the user watches, one that is not aligned.
  EXPECT_THAT(Joined(head + "%3 = Concat(%1, %1) {axis=0} : f32[64]\n"
                            "%4 = Sub(%3, %3) : output f32[64]\n"
                            "%5 = Even(%2) : output f32[32]\n"),
              HasSubstr("Concat 'general'"));
  EXPECT_THAT(Joined("%0 = input f32[32]\n%1 = Even(%0) : output f32[32]\n"
                     "%2 = Even(%0) : f32[32]\n%3 = Concat(%1, %2) {axis=0} : f32[64]\n"
                     "%4 = Even(%3) : output f32[64]\n"),
              HasSubstr("Concat 'general'"));
  EXPECT_THAT(Joined("%0 = input f32[4]\n%1 = Even(%0) : f32[4]\n%2 = Even(%0) : f32[4]\n"
                     "%3 = Concat(%1, %2) {axis=0} : f32[8]\n%4 = Even(%3) : output f32[8]\n"),
              HasSubstr("Concat 'general'"));
  // Along a dimension with others above it.
  EXPECT_THAT(Joined("%0 = input f32[32,2]\n%1 = Even(%0) : f32[32,2]\n"
                     "%2 = Even(%0) : f32[32,2]\n%3 = Concat(%1, %2) {axis=0} : f32[64,2]\n"
                     "%4 = Even(%3) : output f32[64,2]\n"),
              HasSubstr("Concat 'general'"));
}

// ---- Emit

std::string Text(const PartitionPlan& plan) {
  static const char* const kNames[] = {"in", "out", "internal", "persistent", "const", "local", ""};
  std::string text;
  for (const Launch& l : plan.launches) {
    text += l.label + ":";
    for (const Arg& a : l.args) {
      if (a.kind == Arg::Kind::kScalar) continue;
      const bool inside = a.kind == Arg::Kind::kInternal;
      text += std::string(" ") + (a.reads ? "r" : "") + (a.writes ? "w" : "") + " " +
              kNames[static_cast<size_t>(a.kind)] + std::to_string(inside ? a.offset : a.index);
    }
    text += "\n";
  }
  return text;
}
Emitted EmitOf(Compiled* c) {
  DeviceCaps caps;
  kernels::Sources sources("");
  auto emitted = Emit(&c->unit, caps, &sources);
  EXPECT_TRUE(emitted.ok()) << emitted.status().message();
  return emitted.ok() ? std::move(*emitted) : Emitted();
}

TEST(EmitPass, ValuesInsideShareMemoryByLifetime) {
  Compiled c = Selected(
      "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = Neg(%1) : f32[4]\n%3 = Abs(%2) : f32[4]\n"
      "%4 = Relu(%3) : output f32[4]\n");
  const Emitted e = EmitOf(&c);
  EXPECT_EQ(Text(e.plan),
            "Relu#0: r in0 w internal0\nNeg#1: r internal0 w internal128\n"
            "Abs#2: r internal128 w internal0\nRelu#3: r internal0 w out0\n");
  EXPECT_EQ(e.plan.scratch_bytes, 256u);
  EXPECT_EQ(e.plan.persistent_bytes, 0u);
  EXPECT_THAT(e.plan.host_inputs, ElementsAre(true));
  EXPECT_EQ(e.variants.size(), 3u) << "both Relu share one";
}
TEST(EmitPass, WhatSharesMemoryLivesAsLongAsItsLastReader) {
  Compiled c = Selected(
      "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n"
      "%2 = Reshape(%1) {target_shape=[2,2]} : f32[2,2]\n%3 = Neg(%1) : f32[4]\n"
      "%4 = Abs(%3) : output f32[4]\n%5 = Relu(%2) : output f32[2,2]\n");
  Alias(&c.unit);
  const Emitted e = EmitOf(&c);
  EXPECT_EQ(Text(e.plan),
            "Relu#0: r in0 w internal0\nNeg#2: r internal0 w internal128\n"
            "Abs#3: r internal128 w out0\nRelu#4: r internal0 w out1\n");
  EXPECT_EQ(e.kernel_of.at(1), "no launch: same bytes");
}
TEST(EmitPass, AReshapedConstantIsTheConstant) {
  Compiled c = Selected(
      "%0 = input f32[2,2]\n%1 = constant f32[4] {1,2,3,4}\n"
      "%2 = Reshape(%1) {target_shape=[2,2]} : f32[2,2]\n%3 = Sub(%0, %2) : f32[2,2]\n"
      "%4 = Reshape(%1) {target_shape=[4,1]} : f32[4,1]\n%5 = Relu(%4) : output f32[4,1]\n"
      "%6 = Sub(%3, %2) : output f32[2,2]\n");
  Alias(&c.unit);
  const Emitted e = EmitOf(&c);
  ASSERT_EQ(e.plan.constants.size(), 1u);
  EXPECT_EQ(e.plan.constants[0].memory, c.graph->value(1).storage);
}

// ---- On and off agree

/// Chains of reshapes and point-wise ops between encodings, some values watched. One graph, since
/// each costs a call of the OpenCL compiler.
std::string RandomChains(int chains) {
  std::mt19937 random(11);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  static const char* const kShapes[] = {"[12]", "[4,3]", "[2,2,3]", "[1,12]"};
  static const char* const kTypes[] = {"f32", "f32", "f32", "u8(0.5,30)"};
  static const char* const kUnary[] = {"Relu", "Neg"};
  std::string text;
  for (int c = 0; c < chains; ++c) {
    const int first = c * 100, count = 4 + below(8);
    auto id = [&](int v) { return "%" + std::to_string(first + v); };
    text += id(0) + " = input f32[12]\n";
    std::vector<std::string> shape = {"[12]"}, type = {"f32"};
    for (int v = 1; v <= count; ++v) {
      const int in = below(5) == 0 ? below(v) : v - 1;
      std::string call, s = shape[At(in)], t = kTypes[below(4)];
      if (below(2) == 0) {
        if (below(4) != 0) t = type[At(in)];
        s = kShapes[below(4)];
        call = "Reshape(" + id(in) + ") {target_shape=" + s + "}";
      } else {
        call = std::string(kUnary[below(2)]) + "(" + id(in) + ")";
      }
      const bool watched = v == count || below(5) == 0;
      text += id(v) + " = " + call + " : " + (watched ? "output " : "") + t + s + "\n";
      shape.push_back(s), type.push_back(t);
    }
  }
  return text;
}

std::vector<std::vector<std::byte>> Outputs(const ir::Graph& graph) {
  std::vector<std::vector<std::byte>> all;
  for (const ir::Value& v : graph.values()) {
    if (v.role != ir::Role::kOutput) continue;
    const auto* data = static_cast<const std::byte*>(v.storage->data());
    all.emplace_back(data, data + v.type.bytes());
  }
  return all;
}

TEST(Passes, OnAndOffAgree) {
  const std::string text = RandomChains(6);
  std::vector<std::vector<std::byte>> expected;
  size_t no_launch = 0, fused = 0;
  for (const bool gpu : {false, true}) {
    BackendOptions device_options;
    device_options.as_discrete_gpu = gpu;  // what shares memory is copied to the device and back
    const auto device = tim::vx::testing::OpenCl(device_options);
    if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
    for (const int on : {0, 1, 2, 3}) {
      const auto graph = tim::vx::testing::ReadGraph(text, Registry());
      compiler::Options options;
      options.fuse = (on & 1) != 0, options.alias = (on & 2) != 0;
      if (gpu && !options.alias) continue;
      CompileReport report;
      const Status s = tim::vx::testing::RunGraph(graph, Registry(), {{device}}, options, &report);
      ASSERT_TRUE(s.ok()) << s.message();
      if (expected.empty()) expected = Outputs(*graph);
      EXPECT_EQ(Outputs(*graph), expected)
          << "fuse " << options.fuse << " alias " << options.alias << " gpu " << gpu;
      for (const OpPlacement& p : report.ops) {
        const bool none = p.kernel.find("no launch") == 0, part = p.kernel.find("fused") == 0;
        EXPECT_FALSE(none && !options.alias);
        EXPECT_FALSE(part && !options.fuse);
        no_launch += none, fused += part;
      }
    }
  }
  EXPECT_GT(no_launch, 10u);
  EXPECT_GT(fused, 5u);
}

/// Pieces of pieces, some watched, some used twice.
TEST(Passes, JoinsOnAndOffAgree) {
  const auto device = tim::vx::testing::OpenCl();
  if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
  const std::string text =
      "%0 = input f32[32,2,2,1]\n%1 = Relu(%0) : f32[32,2,2,1]\n%2 = Neg(%0) : f32[32,2,2,1]\n"
      "%3 = Concat(%1, %2) {axis=2} : f32[32,2,4,1]\n"
      "%4, %5 = Split(%3) {axis=2, slices=[1,3]} : f32[32,2,1,1], f32[32,2,3,1]\n"
      "%6 = Abs(%5) : f32[32,2,3,1]\n%7 = Neg(%4) : output f32[32,2,1,1]\n"
      "%8 = Concat(%3, %6) {axis=2} : f32[32,2,7,1]\n%9 = Relu(%8) : output f32[32,2,7,1]\n"
      "%10 = Concat(%6, %5) {axis=2} : output f32[32,2,6,1]\n";
  std::vector<std::vector<std::byte>> expected;
  for (const bool on : {false, true}) {
    const auto graph = tim::vx::testing::ReadGraph(text, Registry());
    compiler::Options options;
    options.alias = on, options.fuse = false;
    CompileReport report;
    const Status s = tim::vx::testing::RunGraph(graph, Registry(), {{device}}, options, &report);
    ASSERT_TRUE(s.ok()) << s.message();
    if (!on) expected = Outputs(*graph);
    EXPECT_EQ(Outputs(*graph), expected);
    size_t none = 0;
    for (const OpPlacement& p : report.ops) none += p.kernel == "no launch: pieces of one memory";
    EXPECT_EQ(none, on ? 3u : 0u);
  }
}

/// A constant too large to be folded: what shares its memory is the constant.
TEST(Passes, AReshapedConstantRuns) {
  const auto device = tim::vx::testing::OpenCl();
  if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
  OpRegistry registry(Registry());
  OpDef reshape = *registry.Find("Reshape");
  reshape.reference = nullptr;  // nor can it be folded without
  ASSERT_TRUE(registry.Register(reshape, OpRegistry::OnDuplicate::kOverride).ok());
  const auto graph = tim::vx::testing::ReadGraph(
      "%0 = input f32[2,2]\n%1 = constant f32[4] {1,2,3,4}\n"
      "%2 = Reshape(%1) {target_shape=[2,2]} : f32[2,2]\n"
      "%3 = Sub(%0, %2) : output f32[2,2]\n",
      registry);
  CompileReport report;
  const Status s = tim::vx::testing::RunGraph(graph, registry, {{device}}, {}, &report);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_THAT(tim::vx::testing::OutputsOf(*graph).at(3), ElementsAre(-3, -3, -3, -3));
}

TEST(Passes, TheDumpHasTheGroupsOfEachPartition) {
  const auto device = tim::vx::testing::OpenCl();
  if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
  const TemporaryFolder folder;
  const auto graph = tim::vx::testing::ReadGraph(
      "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = Abs(%1) : f32[4]\n"
      "%3 = Reshape(%2) {target_shape=[2,2]} : f32[2,2]\n%4 = Neg(%3) : output f32[2,2]\n",
      Registry());
  compiler::Options options;
  options.dump_dir = folder.path();
  options.pins = {{"Abs", "reference"}};
  CompileReport report;
  ASSERT_TRUE(tim::vx::testing::RunGraph(
                  graph, Registry(), {{device}, tim::vx::testing::Reference()}, options, &report)
                  .ok());
  auto read = [&](const std::string& name) {
    std::stringstream text;
    text << std::ifstream(folder.path() + "/" + name).rdbuf();
    return text.str();
  };
  EXPECT_THAT(read("opencl_0.txt"), HasSubstr("#0 Relu '"));
  EXPECT_THAT(read("opencl_1.txt"), HasSubstr("#2 Reshape no launch (%2) -> %3 = %2\n#3 Neg '"));
}

}  // namespace
}  // namespace tim::vx::opencl
