// CompileReport: what Compile() fills in, stage by stage, and how it reads as text and JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/host_backend.h"
#include "support/pipeline.h"

namespace tim::vx::compiler {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using tim::vx::testing::Builtin;
using tim::vx::testing::ReadGraph;
using tim::vx::testing::Reference;

/// Takes Relu and Neg; says something of each of its partitions.
class Npu : public test::HostBackend {
 public:
  explicit Npu(Status begins = Status())
      : HostBackend("npu",
                    [](const OpView& op) {
                      return op.kind() == "Relu" || op.kind() == "Neg" ? "" : "Relu and Neg only";
                    }),
        begins_(std::move(begins)) {}
  Status Begin(const CompileEnv&) override { return begins_; }
  Status Compile(const std::vector<GraphView>& parts, const CompileEnv& env,
                 CompiledUnits* units) override {
    if (!compiles.ok()) return compiles;
    TIMCL_TRY(HostBackend::Compile(parts, env, units));
    for (size_t i = 0; i < parts.size(); ++i)
      units->calls[i].note = "compiled " + std::to_string(i);
    for (CodeModule& module : units->modules) module.bytes.resize(100);
    return Status();
  }
  Status compiles;

 private:
  Status begins_;
};

constexpr const char* kGraph =
    "%0 = input \"x\" f32[4]\n%1 = constant f32[2] {1, 2}\n%2 = Relu#1 \"first\"(%0) : f32[4]\n"
    "%3 = Neg#2(%2) : f32[4] \"inner\"\n%4 = Abs#3(%3) : f32[4]\n"
    "%5 = Add#4(%4, %0) : f32[4]\n%6 = Relu#5(%5) : output f32[4] \"y\"\n"
    "%7 = Neg#6(%3) : output f32[4]\n%8 = Abs#7(%1) : f32[2]\n"
    "%9 = Add#8(%8, %8) : f32[2]\n%10 = Sub#9(%3, %0) : output f32[4]\n";

struct Outcome {
  Status status;
  CompileReport report;
};
Outcome CompileOn(const std::vector<RankedBackend>& backends, Options options = {},
                  const std::string& text = kGraph) {
  Outcome o;
  options.fallback = Fallback::kAllow;
  const auto made = Compile(ReadGraph(text, Builtin()), Builtin(), backends, options, &o.report);
  o.status = made.status();
  return o;
}
std::vector<RankedBackend> Usual() { return {{std::make_shared<Npu>(), 1}, Reference()}; }

TEST(Report, PartitionsAndWhatCrossesTheirBorders) {
  const Outcome o = CompileOn(Usual());
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  const CompileReport& r = o.report;
  ASSERT_EQ(r.parts.size(), 3u);
  EXPECT_EQ(r.partitions, 3u);
  const PartitionReport& first = r.parts[0];
  EXPECT_EQ(first.backend, "npu");
  EXPECT_THAT(first.inputs, ElementsAre("'x' f32[4]"));
  EXPECT_THAT(first.outputs, ElementsAre("'inner' f32[4]", "%7 f32[4]"));
  EXPECT_EQ(first.input_bytes, 16u);
  EXPECT_EQ(first.output_bytes, 32u);
  EXPECT_EQ(first.note, "compiled 0");
  EXPECT_EQ(r.parts[1].backend, "reference");
  EXPECT_THAT(r.parts[1].inputs, ElementsAre("'inner' f32[4]", "'x' f32[4]"));
  EXPECT_EQ(r.parts[1].note, "");
  EXPECT_EQ(r.parts[2].note, "compiled 1");
  // Both ways from an op to its partition.
  size_t ops = 0;
  for (size_t p = 0; p < r.parts.size(); ++p) {
    for (size_t at : r.parts[p].ops) {
      ASSERT_LT(at, r.ops.size());
      EXPECT_EQ(r.ops[at].partition, static_cast<int>(p));
      EXPECT_EQ(r.ops[at].backend, r.parts[p].backend);
      ++ops;
    }
  }
  EXPECT_EQ(ops, r.ops.size());
  EXPECT_EQ(r.ops.size(), 7u) << "what was folded is no op";
}

TEST(Report, Backends) {
  const Outcome o =
      CompileOn({{std::make_shared<Npu>(Status::Error(Code::kUnsupported, "no licence")), 2},
                 {std::make_shared<test::HostBackend>("host"), 1},
                 Reference()});
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  const auto& b = o.report.backends;
  ASSERT_EQ(b.size(), 3u);
  EXPECT_EQ(b[0].name, "npu");
  EXPECT_EQ(b[0].passed_over, "no licence");
  EXPECT_EQ(b[0].ops, 0u);
  EXPECT_EQ(b[1].name, "host");
  EXPECT_EQ(b[1].vendor, "tests");
  EXPECT_EQ(b[1].version, "1");
  EXPECT_EQ(b[1].device, "host");
  EXPECT_EQ(b[1].ops, 7u);
  EXPECT_EQ(b[1].partitions, 1u);
  EXPECT_EQ(b[2].name, "reference");
  EXPECT_EQ(b[2].ops, 0u);
  EXPECT_THAT(o.report.ToText(),
              AllOf(HasSubstr("\nbackends: host (7 ops, 1 partition), reference (0 ops, 0 "
                              "partitions); not asked: npu, no licence\n"),
                    Not(HasSubstr("partition 0:"))));
}

TEST(Report, Stages) {
  const Outcome o = CompileOn(Usual());
  std::vector<std::string> names;
  std::map<std::string, uint64_t> bytes;
  double sum = 0;
  for (const StageReport& s : o.report.stages) {
    names.push_back(s.stage);
    EXPECT_GE(s.ms, 0);
    sum += s.ms;
    bytes[s.stage] = s.bytes;
  }
  EXPECT_THAT(names, ElementsAre("infer types", "fold", "merge", "partition", "compile: npu",
                                 "load: npu", "compile: reference", "load: reference", "prepare"));
  EXPECT_EQ(bytes["fold"], 16u) << "two constants of 8 bytes";
  EXPECT_EQ(bytes["compile: npu"], 200u) << "two modules";
  EXPECT_EQ(bytes["prepare"], o.report.arena_bytes);
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, o.report.compile_ms);
}

// What is known stays.
TEST(Report, OfCompilationsThatFail) {
  auto npu = std::make_shared<Npu>();
  npu->compiles = Status::Error(Code::kOutOfMemory, "the card is full");
  Outcome o = CompileOn({{npu, 1}, Reference()});
  EXPECT_EQ(o.status.code(), Code::kOutOfMemory);
  EXPECT_EQ(o.report.ops.size(), 7u);
  EXPECT_EQ(o.report.parts.size(), 3u);
  EXPECT_EQ(o.report.stages.back().stage, "compile: npu");
  EXPECT_GT(o.report.compile_ms, 0);

  o = CompileOn({{std::make_shared<Npu>(), 1}});  // nobody runs Abs
  EXPECT_EQ(o.status.code(), Code::kUnsupported);
  EXPECT_THAT(o.report.ops, IsEmpty());
  ASSERT_EQ(o.report.backends.size(), 1u);
  EXPECT_EQ(o.report.backends[0].name, "npu");

  o = CompileOn({{std::make_shared<Npu>(Status::Error(Code::kDevice, "it is on fire")), 1}});
  EXPECT_EQ(o.status.code(), Code::kDevice);
  EXPECT_EQ(o.report.backends.size(), 1u);

  o = CompileOn(Usual(), {},
                "%0 = input f32[4]\n%1 = input f32[3]\n"
                "%2 = Add(%0, %1) : output f32[4]\n");
  EXPECT_EQ(o.status.code(), Code::kInvalidShape);
  ASSERT_EQ(o.report.stages.size(), 1u);
  EXPECT_EQ(o.report.stages[0].stage, "infer types");
}

TEST(Report, TextOfSeveralPartitions) {
  const std::string text = CompileOn(Usual()).report.ToText();
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("\nbackends: npu (4 ops, 2 partitions), reference (3 ops, 1 partition)\n"),
            HasSubstr("\npartition 0: npu, 3 ops (Relu#1 'first' to Neg#6); in: 'x' f32[4], 16 "
                      "bytes; out: 'inner' f32[4], %7 f32[4], 32 bytes; compiled 0\n"),
            HasSubstr("\npartition 2: npu, 1 op (Relu#5); in: %5 f32[4], 16 bytes; out: 'y' "
                      "f32[4], 16 bytes; compiled 1\n")));
}

TEST(Report, TextOfFallbacks) {
  CompileReport r;
  r.fallbacks = {"Abs#1 was taken by backend 'npu', which ...; 'cpu' runs it now"};
  EXPECT_THAT(r.ToText(), HasSubstr("fallback: Abs#1 was taken by backend 'npu', which ...; 'cpu' "
                                    "runs it now\n"));
  r.warnings = r.fallbacks;  // told already
  EXPECT_THAT(r.ToText(), Not(HasSubstr("fallback: ")));
}

TEST(Report, Json) {
  const Outcome o = CompileOn(Usual());
  const std::string text = o.report.ToJson();
  const auto json = nlohmann::ordered_json::parse(text);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("ops", "warnings", "device", "steps", "syncs", "partitions",
                                "launches", "arena_bytes", "live_bytes_bound", "constant_bytes",
                                "compile_ms", "programs_built", "programs_from_cache", "parts",
                                "backends", "stages", "fallbacks"));
  EXPECT_EQ(json["ops"].size(), 7u);
  EXPECT_EQ(json["ops"][0]["op"], "Relu#1 'first'");
  EXPECT_EQ(json["ops"][0]["partition"], 0);
  EXPECT_EQ(json["ops"][0]["refusals"].size(), 0u);
  EXPECT_THAT(json["ops"].dump(), HasSubstr("npu: Relu and Neg only"));
  EXPECT_EQ(json["parts"][0]["outputs"][0], "'inner' f32[4]");
  EXPECT_EQ(json["parts"][0]["output_bytes"], 32);
  EXPECT_EQ(json["parts"][0]["note"], "compiled 0");
  EXPECT_EQ(json["backends"][0]["name"], "npu");
  EXPECT_EQ(json["backends"][0]["partitions"], 2);
  EXPECT_EQ(json["stages"][0]["stage"], "infer types");
  EXPECT_EQ(json["partitions"], 3);
  EXPECT_EQ(o.report.ToJson(), text);
  EXPECT_EQ(nlohmann::json::parse(CompileReport().ToJson())["ops"].size(), 0u);
}

// Names are the caller's, JSON is UTF-8.
TEST(Report, JsonOfAnyName) {
  CompileReport r;
  OpPlacement op;
  op.op = "\xff\xfe\"quoted\"\\ \n\x01 \xc3\xa9 \xc3";
  r.ops.push_back(op);
  r.parts.push_back({"\x80", {0}, {"\xed\xa0\x80"}, {}, 0, 0, ""});
  r.device = std::string("a\0b", 3);
  const auto json = nlohmann::json::parse(r.ToJson());
  EXPECT_EQ(json["ops"][0]["op"],
            "\xef\xbf\xbd\xef\xbf\xbd\"quoted\"\\ \n\x01 \xc3\xa9 \xef\xbf\xbd");
  EXPECT_EQ(json["parts"][0]["backend"], "\xef\xbf\xbd");
  EXPECT_EQ(json["device"], std::string("a\0b", 3));
}

TEST(Preview, SaysWhatCompileWouldDo) {
  const auto graph = ReadGraph(kGraph, Builtin());
  ASSERT_TRUE(InferTypes(*graph).ok());
  ASSERT_TRUE(FoldConstants(*graph).ok());
  CompileReport r;
  std::string drawing;
  auto npu = std::make_shared<Npu>();
  npu->compiles = Status::Error(Code::kInternal, "nobody asked for code");
  const Status done = Preview(graph, Builtin(), {{npu, 1}, Reference()}, Options(), &r, &drawing);
  ASSERT_TRUE(done.ok()) << done.message();
  const CompileReport compiled = CompileOn(Usual()).report;
  ASSERT_EQ(r.ops.size(), compiled.ops.size());
  for (size_t i = 0; i < r.ops.size(); ++i) {
    EXPECT_EQ(r.ops[i].op, compiled.ops[i].op);
    EXPECT_EQ(r.ops[i].backend, compiled.ops[i].backend);
    EXPECT_EQ(r.ops[i].reason, compiled.ops[i].reason);
    EXPECT_EQ(r.ops[i].partition, compiled.ops[i].partition);
  }
  for (size_t p = 0; p < r.parts.size(); ++p)
    EXPECT_EQ(r.parts[p].outputs, compiled.parts[p].outputs);
  EXPECT_THAT(drawing, AllOf(HasSubstr("label=\"npu 0\""), HasSubstr("label=\"reference 1\""),
                             HasSubstr("legend1"), HasSubstr("inner\\nf32[4]\\n16 bytes")));
  Options forbid;
  forbid.fallback = Fallback::kForbid;
  EXPECT_EQ(Preview(graph, Builtin(), {{npu, 1}, Reference()}, forbid, &r).code(),
            Code::kUnsupported)
      << "the last resort runs Abs";
}

}  // namespace
}  // namespace tim::vx::compiler
