// Pass FuseAttention: graph text in and out; where it does nothing; what it computes on a device,
// with and without it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/half.h"
#include "compiler/compiled.h"
#include "compiler/pipeline.h"
#include "support/host_backend.h"
#include "support/pipeline.h"

namespace tim::vx::compiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tim::vx::testing::Builtin;
using tim::vx::testing::Floats;
using tim::vx::testing::OutputsOf;
using tim::vx::testing::ReadGraph;

Options With(const std::string& choice) {
  Options options;
  options.options_for = [choice](const std::string& name) {
    std::vector<std::pair<std::string, std::string>> all;
    if (name == "compiler" && !choice.empty()) all.emplace_back("fuse_attention", choice);
    if (name == "opencl") all.emplace_back("one_kernel", "off");  // launches are counted
    return all;
  };
  return options;
}
bool Yes(const std::shared_ptr<ir::Graph>&, int) { return true; }

/// Attention of `heads` heads; the lines of each op may be changed.
struct Parts {
  int64_t depth = 24, queries = 7, keys = 7, heads = 3;
  std::string mask = "input f32[7]";  // "": none
  std::string product = "Matmul#0 \"scores\"(%0, %1) {transpose_b=true} : f32[?]\n";
  std::string scale = "Multiply#1(%4, %20) : f32[?]\n";
  std::string add = "Add#2(%5, %3) : f32[?]\n";
  std::string softmax = "Softmax#3(%6) : f32[?]\n";
  std::string mix = "Matmul#4 \"mix\"(%7, %2) : output f32[?]\n";
  std::string more = "";
  bool half = false;    // all tensors are float16
  bool coarse = false;  // inputs are numbers that float16 has

  std::string Text() const {
    std::string text = Float32Text();
    for (size_t at = 0; half && (at = text.find("f32", at)) != std::string::npos;)
      text.replace(at, 3, "f16");
    return text;
  }
  std::string Float32Text() const {
    const auto tensor = [&](int64_t rows) {
      return fmt::format("input f32[{},{},{}]\n", depth, rows, heads);
    };
    return "%0 = " + tensor(queries) + "%1 = " + tensor(keys) + "%2 = " + tensor(keys) +
           (mask.empty() ? "" : "%3 = " + mask + "\n") + "%20 = constant f32[1] {0.25}\n" +
           "%4 = " + product + (scale.empty() ? "" : "%5 = " + scale) +
           (add.empty() ? "" : "%6 = " + add) + "%7 = " + softmax + "%8 = " + mix + more;
  }
};

struct Outcome {
  std::string text;
  std::vector<std::string> merged;
};
Outcome After(const Parts& parts, const Options& options = With("on"), const Taken& taken = Yes) {
  const auto g = ReadGraph(parts.Text(), Builtin());
  EXPECT_TRUE(InferTypes(*g).ok());
  std::vector<OpPlacement> merged;
  const Status s = FuseAttention(g, options, taken, &merged);
  EXPECT_TRUE(s.ok()) << s.message();
  const Status valid = ir::CheckInvariants(*g, true);
  EXPECT_TRUE(valid.ok()) << valid.message();
  Outcome o;
  o.text = ir::Print(*g);
  for (const OpPlacement& op : merged) o.merged.push_back(op.op + ": " + op.kernel);
  return o;
}
void ExpectNothing(const Parts& parts, const Options& options = With("on"),
                   const Taken& taken = Yes) {
  const auto g = ReadGraph(parts.Text(), Builtin());
  ASSERT_TRUE(InferTypes(*g).ok());
  const Outcome o = After(parts, options, taken);
  EXPECT_EQ(o.text, ir::Print(*g));
  EXPECT_THAT(o.merged, ::testing::IsEmpty());
}

TEST(FuseAttention, OneOpTakesThePlaceOfAll) {
  const Outcome o = After({});
  EXPECT_THAT(o.text, HasSubstr("%8 = Attention#4 \"mix\"(%0, %1, %2, %3) {scale=0.25, beta=1.0, "
                                "key_turned=false} : output f32[24,7,3] infer\n"));
  EXPECT_THAT(o.text, ::testing::Not(HasSubstr("Softmax")));
  EXPECT_THAT(o.merged, ElementsAre("Add#2: merged into Attention#4 'mix'",
                                    "Multiply#1: merged into Attention#4 'mix'",
                                    "Matmul#0 'scores': merged into Attention#4 'mix'",
                                    "Softmax#3: merged into Attention#4 'mix'"));
}

TEST(FuseAttention, EachPartMayBeMissing) {
  Parts bare;
  bare.mask = bare.scale = bare.add = "";
  bare.softmax = "Softmax#3(%4) {beta=0.5} : f32[?]\n";
  EXPECT_THAT(After(bare).text,
              HasSubstr("Attention#4 \"mix\"(%0, %1, %2) {scale=1.0, beta=0.5, key_turned=false}"));
  Parts turned = bare;  // the keys are columns
  turned.product = "Matmul#0(%0, %1) : f32[?]\n";
  turned.depth = 7;
  EXPECT_THAT(After(turned).text, HasSubstr("{scale=1.0, beta=0.5, key_turned=true}"));
  Parts masked;
  masked.scale = "";
  masked.add = "Add#2(%3, %4) : f32[?]\n";  // the mask comes first
  EXPECT_THAT(After(masked).text, HasSubstr("(%0, %1, %2, %3) {scale=1.0,"));
  Parts divided;
  divided.scale = "Div#1(%4, %20) : f32[?]\n";
  EXPECT_THAT(After(divided).text, HasSubstr("(%0, %1, %2, %3) {scale=4.0,"));
  Parts scaled;
  scaled.mask = scaled.add = "";
  scaled.softmax = "Softmax#3(%5) : f32[?]\n";
  EXPECT_THAT(After(scaled).text, HasSubstr("(%0, %1, %2) {scale=0.25,"));
}

TEST(FuseAttention, WhereItMustNot) {
  Parts p;
  for (std::string* part : {&p.product, &p.scale, &p.add, &p.softmax}) {
    // Somebody else wants what is between.
    const std::string before = *part;
    part->replace(part->find(": f32"), 5, ": output f32");
    ExpectNothing(p);
    *part = before;
  }
  p.more = "%9 = Relu#5(%6) : output f32[?]\n";
  ExpectNothing(p);
  p.more = "%9 = Neg#5(%7) : output f32[?]\n";
  ExpectNothing(p);
  p = {};  // another axis; turned weights; the weights are the second factor; the queries are
           // turned
  p.softmax = "Softmax#3(%6) {axis=1} : f32[?]\n";
  ExpectNothing(p);
  p = {};
  p.mix = "Matmul#4(%7, %2) {transpose_a=true} : output f32[?]\n";
  ExpectNothing(p);
  p.mix = "Matmul#4(%2, %7) {transpose_a=true} : output f32[?]\n";
  ExpectNothing(p);
  p.mix = "Matmul#4(%7, %7) : output f32[?]\n";
  ExpectNothing(p);
  p = {};
  p.depth = 7;
  p.product = "Matmul#0(%0, %1) {transpose_a=true} : f32[?]\n";
  ExpectNothing(p);
  p = {};  // scales for each key, and masks that make more batches of the scores
  p.scale = "Multiply#1(%4, %3) : f32[?]\n";
  ExpectNothing(p);
  p = {};
  p.heads = 1;
  p.mask = "input f32[7,1,5]";
  ExpectNothing(p);
  p = {};  // rounded in between
  p.softmax = "Softmax#3(%6) : f16[?]\n";
  ExpectNothing(p);
  p = {};
  p.add = "Add#2(%5, %3) : f16[?]\n";
  ExpectNothing(p);
}

TEST(FuseAttention, WhoeverSaysNo) {
  ExpectNothing({}, With("off"));
  ExpectNothing({}, With("on"), [](const std::shared_ptr<ir::Graph>&, int) { return false; });
  Options whole = With("on");
  whole.fuse = false;
  ExpectNothing({}, whole);
  for (const char* name : {"scores", "mix", "Softmax", "Multiply", "Add"}) {
    Options pinned = With("on");
    pinned.pins = {{name, "reference"}};
    ExpectNothing({}, pinned);
  }
}

TEST(FuseAttention, OnlyABackendOfThisLibraryIsAsked) {
  const auto g = ReadGraph(Parts().Text(), Builtin());
  ASSERT_TRUE(InferTypes(*g).ok());
  ASSERT_TRUE(FuseAttention(g, With("on"), Yes, nullptr).ok());
  const auto taken = [&](std::vector<RankedBackend> backends) {
    return TakenByFirst(backends)(g, 4);
  };
  const auto all = std::make_shared<test::HostBackend>("all");
  const auto none = std::make_shared<test::HostBackend>("none", [](const OpView&) { return "no"; });
  EXPECT_TRUE(taken({{all, 0, false, true}}));
  EXPECT_TRUE(taken({{all, 0, false, true}, {none, 0, false, false}}));
  EXPECT_FALSE(taken({{all, 0, true, true}}));    // a fallback
  EXPECT_FALSE(taken({{all, 0, false, false}}));  // others'
  EXPECT_FALSE(taken({{all, 0, false, false}, {all, 0, false, true}}));
  EXPECT_FALSE(taken({{none, 0, false, true}, {all, 0, false, true}}));
  EXPECT_TRUE(taken({{all, 0, false, false, "not today"}, {all, 0, false, true}}));
  // It rather has the parts.
  EXPECT_FALSE(taken({{reference::CreateBackend(), 0, false, true}}));
  EXPECT_FALSE(taken({}));
}

// On the device.

struct Ran {
  std::vector<float> result;
  CompileReport report;
  std::string placed;  // "Attention#4 'mix': tiles"
};
Ran RunOn(const std::vector<RankedBackend>& backends, const Parts& parts, const Options& options) {
  Ran ran;
  const auto g = ReadGraph(parts.Text(), Builtin());
  uint64_t state = 1;
  for (ir::Value& v : g->values()) {
    if (v.role != ir::Role::kInput) continue;
    auto* floats = static_cast<float*>(v.storage->data());
    auto* halves = static_cast<uint16_t*>(v.storage->data());
    for (int64_t i = 0; i < v.type.count(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth, MMIX
      const float number = parts.coarse ? static_cast<float>(state >> 53) * 0x1p-10f - 1
                                        : static_cast<float>(state >> 40) * 0x1p-23f - 1;
      if (parts.half) {
        halves[i] = base::FloatToHalf(number);
      } else {
        floats[i] = number;
      }
    }
  }
  const Status s = tim::vx::testing::RunGraph(g, Builtin(), backends, options, &ran.report);
  EXPECT_TRUE(s.ok()) << s.message();
  const Floats outputs = OutputsOf(*g);
  if (!outputs.empty()) ran.result = outputs.begin()->second;
  for (const OpPlacement& op : ran.report.ops) ran.placed += op.op + ": " + op.kernel + "\n";
  return ran;
}

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = tim::vx::testing::OpenCl();
    if (device_ == nullptr) GTEST_SKIP() << "no OpenCL device";
    backends_ = {{device_, 0, false, true}, tim::vx::testing::Reference()};
  }
  bool Fuses() {
    return RunOn(backends_, {}, With("on")).placed.find("Attention#4 'mix': tiles") !=
           std::string::npos;
  }
  std::shared_ptr<Backend> device_;
  std::vector<RankedBackend> backends_;
};

TEST_F(OnDevice, OnAndOffAndTheReferenceAgree) {
  if (!Fuses()) GTEST_SKIP() << "register tiles do not pay here";
  for (const int64_t tokens : {1, 7, 33, 130}) {
    for (const int64_t depth : {16, 24, 64}) {
      for (const char* mask : {"", "input f32[{0}]", "input f32[{0},{0},1]"}) {
        const std::vector<bool> both = {true, false}, one = {true};
        for (const bool scaled : depth == 24 ? both : one) {
          Parts p;
          p.depth = depth, p.queries = p.keys = tokens;
          p.mask = *mask == 0 ? "" : fmt::format(fmt::runtime(mask), tokens);
          if (!scaled) p.scale = "";
          p.add = p.mask.empty() ? "" : fmt::format("Add#2(%{}, %3) : f32[?]\n", scaled ? 5 : 4);
          p.softmax = fmt::format("Softmax#3(%{}) : f32[?]\n", !p.mask.empty() ? 6
                                                               : scaled        ? 5
                                                                               : 4);
          const Ran on = RunOn(backends_, p, With("on")), off = RunOn(backends_, p, With("off"));
          EXPECT_THAT(on.placed, HasSubstr("Attention#4 'mix': tiles"));
          EXPECT_THAT(off.placed, ::testing::Not(HasSubstr("Attention")));
          EXPECT_LT(on.report.launches, off.report.launches);
          const Ran slow = RunOn({tim::vx::testing::Reference()}, p, With("off"));
          ASSERT_EQ(on.result.size(), off.result.size());
          ASSERT_EQ(on.result.size(), slow.result.size());
          for (size_t i = 0; i < on.result.size(); ++i) {
            ASSERT_NEAR(on.result[i], off.result[i], 2e-6) << p.Text() << i;
            ASSERT_NEAR(on.result[i], slow.result[i], 2e-6) << p.Text() << i;
          }
        }
      }
    }
  }
}

// Between the products numbers stay float32: the result is that of a float32 graph, rounded once.
TEST_F(OnDevice, OfHalvesRoundsOnce) {
  if (!Fuses()) GTEST_SKIP() << "register tiles do not pay here";
  for (const bool turned : {false, true}) {
    Parts p;
    p.coarse = true;
    p.depth = p.queries = p.keys = 40;
    p.mask = "input f32[40]";
    if (turned) p.product = "Matmul#0 \"scores\"(%0, %1) : f32[?]\n";
    const Ran exact = RunOn({tim::vx::testing::Reference()}, p, With("off"));
    p.half = true;
    const Ran on = RunOn(backends_, p, With("on")), off = RunOn(backends_, p, With("off"));
    EXPECT_THAT(on.placed, HasSubstr("Attention#4 'mix': tiles"));
    EXPECT_LT(on.report.launches, off.report.launches);
    ASSERT_EQ(on.result.size(), exact.result.size());
    ASSERT_EQ(off.result.size(), exact.result.size());
    for (size_t i = 0; i < exact.result.size(); ++i) {
      const float wanted = exact.result[i];
      ASSERT_NEAR(on.result[i], wanted, std::fabs(wanted) * 0x1p-11 + 2e-6) << p.Text() << i;
      ASSERT_NEAR(off.result[i], wanted, 4e-3) << p.Text() << i;
    }
  }
}

TEST_F(OnDevice, ByItselfOnlyWhereItPays) {
  if (!Fuses()) GTEST_SKIP() << "register tiles do not pay here";
  Parts few, large;
  few.queries = 8, few.keys = 64;  // half of a vector of queries
  few.mask = "input f32[64]";
  large.queries = large.keys = 64;
  large.mask = "input f32[64]";
  EXPECT_THAT(RunOn(backends_, few, With("")).placed, ::testing::Not(HasSubstr("Attention")));
  EXPECT_THAT(RunOn(backends_, large, With("")).placed, HasSubstr("Attention#4 'mix': tiles"));
  Options relaxed = With("on");
  relaxed.relaxed = true;
  // In bfloat16 the products of Matmul are twice as fast.
  const std::string placed = RunOn(backends_, large, relaxed).placed;
  if (placed.find("bf16") == std::string::npos) GTEST_SKIP() << "no products of bfloat16";
  EXPECT_THAT(placed, ::testing::Not(HasSubstr("Attention")));
  large.half = large.coarse = true;  // of which there are no such products
  EXPECT_THAT(RunOn(backends_, large, relaxed).placed, HasSubstr("Attention#4 'mix': tiles"));
}

TEST_F(OnDevice, WhatFollowsIsFusedIntoIt) {
  if (!Fuses()) GTEST_SKIP() << "register tiles do not pay here";
  Parts p;
  p.depth = 40;
  p.mix = "Matmul#4 \"mix\"(%7, %2) : f32[?]\n";
  p.scale += "%11 = Neg#7(%0) : f32[?]\n";  // where the result may lie
  p.more =
      "%9 = Add#5(%8, %11) : f32[?]\n%10 = Relu#6(%9) : f32[?]\n%12 = Softmax#8(%10) : output "
      "f32[?]\n";
  const Ran on = RunOn(backends_, p, With("on")), off = RunOn(backends_, p, With("off"));
  EXPECT_EQ(on.report.launches, 3u);
  ASSERT_EQ(on.report.parts.size(), 1u);
  EXPECT_THAT(on.report.parts[0].note, HasSubstr("1 result in place"));
  ASSERT_EQ(on.result.size(), off.result.size());
  for (size_t i = 0; i < on.result.size(); ++i) ASSERT_NEAR(on.result[i], off.result[i], 4e-6) << i;
}

TEST_F(OnDevice, ResizedGraphsAreTheSame) {
  if (!Fuses()) GTEST_SKIP() << "register tiles do not pay here";
  Parts p;
  const auto first = ReadGraph(p.Text(), Builtin());
  CompileReport report;
  std::shared_ptr<Kept> kept;
  auto executable = Compile(first, Builtin(), backends_, With("on"), &report, &kept);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  p.queries = p.keys = 33;
  p.mask = "input f32[33]";
  const auto same = Retype(kept.get(), ReadGraph(p.Text(), Builtin()));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_TRUE(*same);
}

}  // namespace
}  // namespace tim::vx::compiler
