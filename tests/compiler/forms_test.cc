// Private forms: which chains are moved to blocks of channels, where they are converted, and that
// results stay the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "backends/opencl/compile/unit.h"
#include "opencl/run_fixture.h"
#include "support/pipeline.h"
#include "tim/vx/pointwise.h"

namespace tim::vx::opencl {
namespace {

Result<KernelOffer> Pays(const OpView& op, const KernelRequest& request) {
  TIMCL_ASSIGN(KernelOffer offer, pointwise::AcceptsVectors(op, request));
  offer.pays_for_forms = true;
  return offer;
}
constexpr TensorForm kPlain = TensorForm::kPlain, kBlocked = TensorForm::kBlocked;

/// "Heavy" stands for a convolution: blocks pay for it.
constexpr KernelCandidate kHeavy[] = {
    {"plain", pointwise::AcceptsGeneral, pointwise::General},
    {"block", Pays, pointwise::Vectors, {}, false, kBlocked, kBlocked}};

const OpRegistry& Registry() {
  static const OpRegistry* registry = [] {
    auto* r = new OpRegistry(tim::vx::testing::Builtin());
    OpDef def = *r->Find("Neg");
    def.name = "Heavy", def.kernels = kHeavy, def.cases = nullptr;
    EXPECT_TRUE(r->Register(def).ok());
    return r;
  }();
  return *registry;
}

DeviceCaps Cpu() {
  DeviceCaps caps;
  caps.is_cpu = caps.register_tiles_pay = true;
  return caps;
}

std::string Chosen(const std::string& text, bool fuse = false) {
  const auto graph = tim::vx::testing::ReadGraph(text, Registry());
  for (size_t id = 0; id < graph->nodes().size(); ++id) {
    const Status s = ir::VerifyNode(*graph, static_cast<int>(id));
    EXPECT_TRUE(s.ok()) << s.message();
  }
  Unit unit;
  Status s = Select(GraphView(graph, *graph->TopologicalOrder()), Cpu(), &unit);
  if (s.ok()) s = ChooseForms(Cpu(), &unit);
  EXPECT_TRUE(s.ok()) << s.message();
  if (fuse) Fuse(&unit);
  Convert(&unit);
  return Print(unit);
}

TEST(Forms, OpsBetweenThoseThatPayGoAlong) {
  EXPECT_EQ(Chosen("%0 = input f32[3,2,20,1]\n%1 = Abs(%0) : f32[3,2,20,1]\n"
                   "%2 = Heavy(%1) : f32[3,2,20,1]\n%3 = Relu(%2) : f32[3,2,20,1]\n"
                   "%4 = Heavy(%3) : f32[3,2,20,1]\n"
                   "%5 = Reshape(%4) {target_shape=[120]} : output f32[120]\n"),
            "#0 Abs 'vectors' (%0) -> %1\nplain -> blocked %1\n#1 Heavy 'block' (blocked) (%1) -> "
            "%2\n#2 Relu 'vectors in blocks' (blocked) (%2) -> %3\n#3 Heavy 'block' (blocked) (%3) "
            "-> %4\nblocked -> plain %4\n#4 Reshape 'copy' (%4) -> %5\n");
}
TEST(Forms, NothingPaysNothingMoves) {
  EXPECT_EQ(Chosen("%0 = input f32[3,2,20,1]\n%1 = Abs(%0) : f32[3,2,20,1]\n"
                   "%2 = Neg(%1) : output f32[3,2,20,1]\n"),
            "#0 Abs 'vectors' (%0) -> %1\n#1 Neg 'vectors' (%1) -> %2\n");
  // Of another rank.
  EXPECT_EQ(Chosen("%0 = input f32[3,2,20]\n%1 = Heavy(%0) : output f32[3,2,20]\n"),
            "#0 Heavy 'plain' (%0) -> %1\n");
}
TEST(Forms, AValueIsConvertedOnceForAllItsReaders) {
  EXPECT_EQ(Chosen("%0 = input f32[3,2,20,1]\n%1 = Heavy(%0) : output f32[3,2,20,1]\n"
                   "%2 = Heavy(%0) : f32[3,2,20,1]\n%3 = Add(%1, %2) : f32[3,2,20,1]\n"
                   "%4 = Reshape(%1) {target_shape=[120]} : output f32[120]\n"
                   "%5 = Heavy(%3) : output f32[3,2,20,1]\n"),
            "plain -> blocked %0\n#0 Heavy 'block' (blocked) (%0) -> %1\nblocked -> plain %1\n"
            "#1 Heavy 'block' (blocked) (%0) -> %2\n#2 Add 'vectors in blocks' (blocked) (%1, %2) "
            "-> %3\n#3 Reshape 'copy' (%1) -> %4\n#4 Heavy 'block' (blocked) (%3) -> %5\nblocked "
            "-> plain %5\n");
}
TEST(Forms, WhatIsFusedNeedsNoConversion) {
  EXPECT_EQ(Chosen("%0 = input f32[3,2,20,1]\n%1 = Heavy(%0) : f32[3,2,20,1]\n"
                   "%2 = input f32[3,2,20,1]\n%3 = Add(%1, %2) : f32[3,2,20,1]\n"
                   "%4 = Relu(%3) : output f32[3,2,20,1]\n",
                   true),
            "plain -> blocked %0\n#0 Heavy 'block' (blocked) (%0) -> %1\nblocked -> plain %1\n"
            "#1 Add 'vectors' (%1, %2) -> %4 + Relu\n")
      << "one operand is plain, and nobody needs the sum in blocks";
  EXPECT_EQ(Chosen("%0 = input f32[3,2,20,1]\n%1 = Heavy(%0) : f32[3,2,20,1]\n"
                   "%2 = Heavy(%1) : f32[3,2,20,1]\n%3 = Add(%1, %2) : f32[3,2,20,1]\n"
                   "%4 = Relu(%3) : output f32[3,2,20,1]\n",
                   true),
            "plain -> blocked %0\n#0 Heavy 'block' (blocked) (%0) -> %1\n#1 Heavy 'block' "
            "(blocked) (%1) -> %4 + Add, Relu\nblocked -> plain %4\n");
}
TEST(Forms, InFormIsHowItLies) {
  TensorType t = {DataType::INT8, {5, 3, 17, 2}, Quantization(QuantType::ASYMMETRIC, 0.5f, -3)};
  const TensorType b = InForm(t, kBlocked);
  EXPECT_EQ(b.ToString(), "u8(0.5,125)[16,5,3,2,2]");
  EXPECT_TRUE(CanTake(t, kBlocked));
  t.dtype = DataType::INT16;
  EXPECT_EQ(InForm(t, kBlocked).ToString(), "i16(0.5,-3)[16,5,3,2,2]");
  EXPECT_TRUE(CanTake(t, kBlocked));
  t.dtype = DataType::INT32;
  EXPECT_FALSE(CanTake(t, kBlocked));
}

/// Random graphs over one shape; some values watched, some ops that only work plain.
std::string RandomGraph(std::mt19937& random, const std::string& shape, const std::string& type) {
  auto below = [&](size_t n) { return static_cast<int>(random() % n); };
  auto id = [](int v) { return "%" + std::to_string(v); };
  static const char* const kKinds[] = {"Heavy", "Heavy",   "Relu",   "Abs",
                                       "Add",   "Maximum", "Reverse"};
  std::string text =
      id(0) + " = input " + type + shape + "\n" + id(1) + " = input " + type + shape + "\n";
  const int count = 12;
  for (int v = 2; v < count; ++v) {
    const std::string kind = kKinds[below(7)];
    const std::string a = id(below(3) == 0 ? below(static_cast<size_t>(v)) : v - 1),
                      b = id(below(static_cast<size_t>(v)));
    std::string call = kind + "(" + a + ")";
    if (kind == "Add" || kind == "Maximum") call = kind + "(" + a + ", " + b + ")";
    if (kind == "Reverse") call += " {axis=[0]}";
    const bool watched = v + 1 == count || below(6) == 0;
    text += id(v) + " = " + call + " : " + (watched ? "output " : "") + type + shape + "\n";
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

TEST(Forms, OnAndOffAgree) {
  const auto device = tim::vx::testing::OpenCl();
  if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
  static const char* const kShapes[] = {"[5,3,17,2]", "[1,1,16,1]", "[40,9,33,1]", "[7,1,3,3]"};
  static const char* const kTypes[] = {"f32", "u8(0.5,30)", "i8(0.25,-7)", "f16", "i16(0.25,-7)"};
  std::mt19937 random(5);
  size_t blocked = 0;
  for (int round = 0; round < 10; ++round) {
    const std::string text = RandomGraph(random, kShapes[round % 4], kTypes[round % 5]);
    std::vector<std::vector<std::byte>> expected;
    for (const bool on : {false, true}) {
      const auto graph = tim::vx::testing::ReadGraph(text, Registry());
      compiler::Options options;
      options.options_for = [&](const std::string&) {
        return std::vector<std::pair<std::string, std::string>>{
            {"private_layouts", on ? "on" : "off"}};
      };
      for (const ir::Value& v : graph->values()) {
        if (v.role != ir::Role::kInput || v.type.dtype == DataType::FLOAT32) continue;
        auto* bytes = static_cast<uint8_t*>(v.storage->data());
        // Halves below 2: the bits of a NaN depend on more than its operands.
        const int high = v.type.dtype == DataType::FLOAT16 ? 0xBF : 0xFF;
        for (size_t i = 0; i < v.type.bytes(); ++i)
          bytes[i] = static_cast<uint8_t>((i * 37 + 11) & (i % 2 == 1 ? high : 0xFF));
      }
      CompileReport report;
      const Status s = tim::vx::testing::RunGraph(graph, Registry(), {{device}}, options, &report);
      ASSERT_TRUE(s.ok()) << s.message() << "\n" << text;
      if (!on) expected = Outputs(*graph);
      EXPECT_EQ(Outputs(*graph), expected) << text;
      for (const OpPlacement& p : report.ops) {
        const bool moved = p.kernel == "block" || p.kernel == "vectors in blocks";
        EXPECT_TRUE(on || !moved);
        blocked += moved;
      }
    }
  }
  EXPECT_GT(blocked, 10u);
}

}  // namespace
}  // namespace tim::vx::opencl
