// An op that a backend accepted but could not emit, build or load stopped the compilation, although
// the reference could run it: it is a refusal with its reason, and the next backend takes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "base/log.h"
#include "opencl/run_fixture.h"
#include "support/host_backend.h"
#include "support/pipeline.h"
#include "support/plus_one.h"

namespace tim::vx::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kGood =
    "#include \"tensor.clh\"\nkernel void plus_one(IN(X), OUT(Y), SIZE(N)) {\n"
    "  const int i = get_global_id(0);\n  if (i < N) STORE(Y, i, LOAD(X, i) + 1);\n}\n";
Result<Launches> Good(const OpView& op, const KernelRequest&) { return LaunchPlusOne(op, kGood); }
Result<Launches> RefusesLate(const OpView&, const KernelRequest&) {
  return Status::Error(Code::kUnsupported, "the weights do not pack");
}
Result<Launches> DoesNotBuild(const OpView& op, const KernelRequest&) {
  return LaunchPlusOne(op,
                       "#include \"tensor.clh\"\n"
                       "kernel void plus_one(IN(X), OUT(Y), SIZE(N)) { no_such_function(X); }\n");
}
Result<Launches> NoSuchInclude(const OpView& op, const KernelRequest&) {
  return LaunchPlusOne(op, "#include \"no_such_file.clh\"\n");
}
Result<Launches> NoSuchSource(const OpView& op, const KernelRequest&) {
  TIMCL_ASSIGN(Launches launches, LaunchPlusOne(op, ""));
  launches[0].source = "no_such_source.cl";
  return launches;
}
Result<Launches> ReadsWhatIsNotThere(const OpView& op, const KernelRequest&) {
  TIMCL_ASSIGN(Launches launches, LaunchPlusOne(op, kGood));
  launches[0].operands.push_back(In(7, "Z"));
  return launches;
}

constexpr KernelCandidate kGoodKernel[] = {{"good", nullptr, Good}};
constexpr KernelCandidate kLate[] = {{"late", nullptr, RefusesLate}};
constexpr KernelCandidate kBroken[] = {{"broken", nullptr, DoesNotBuild}};
constexpr KernelCandidate kInclude[] = {{"include", nullptr, NoSuchInclude}};
constexpr KernelCandidate kSource[] = {{"source", nullptr, NoSuchSource}};
constexpr KernelCandidate kOperand[] = {{"operand", nullptr, ReadsWhatIsNotThere}};

OpDef Define(const char* name, KernelList kernels) {
  OpDef def;
  def.name = name, def.origin = "test", def.kernels = kernels;
  def.infer = ShapeOfInput, def.reference = PlusOne;
  return def;
}
OpRegistry Registry() {
  OpRegistry r(Builtin());
  r.Add(Define("Good", kGoodKernel));
  r.Add(Define("Late", kLate));
  r.Add(Define("Broken", kBroken));
  r.Add(Define("Include", kInclude));
  r.Add(Define("Source", kSource));
  r.Add(Define("Operand", kOperand));
  OpDef alone = Define("BrokenAlone", kBroken);
  alone.reference = nullptr;
  r.Add(alone);
  alone = Define("LateAlone", kLate);
  alone.reference = nullptr;
  r.Add(alone);
  return r;
}

struct Outcome {
  Status status;
  CompileReport report;
  Floats results;
  std::string backend(const std::string& kind) const {
    for (const OpPlacement& p : report.ops) {
      if (p.kind == kind) return p.backend;
    }
    return "";
  }
  std::string reason(const std::string& kind) const {
    for (const OpPlacement& p : report.ops) {
      if (p.kind == kind) return p.reason;
    }
    return "";
  }
};
Outcome RunText(const std::string& text, const std::vector<compiler::RankedBackend>& backends,
                Fallback fallback = Fallback::kWarn) {
  const OpRegistry registry = Registry();
  const auto graph = ReadGraph(text, registry);
  compiler::Options options;
  options.fallback = fallback;
  Outcome o;
  o.status = RunGraph(graph, registry, backends, options, &o.report);
  if (o.status.ok()) o.results = OutputsOf(*graph);
  return o;
}

/// Between two ops that OpenCL runs.
std::string Between(const std::string& kind) {
  return "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = " + kind +
         " \"culprit\"(%1) : f32[4]\n%3 = Neg(%2) : output f32[4]\n";
}
const Floats kExpected = {{3, {-1, -1, -1, -2}}};

class LateRefusal : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = OpenCl();
    if (device_ == nullptr) GTEST_SKIP() << "needs OpenCL";
  }
  std::vector<compiler::RankedBackend> Both() const { return {{device_, -1000}, Reference()}; }
  std::shared_ptr<Backend> device_;
};

TEST_F(LateRefusal, TheNextBackendTakesWhatCannotBeMadeOrBuilt) {
  const std::pair<const char*, const char*> kinds[] = {
      {"Late", "the weights do not pack"},
      {"Broken", "no_such_function"},
      {"Include", "no_such_file.clh"},
      {"Source", "no_such_source.cl"},
  };
  for (const auto& [kind, words] : kinds) {
    const Outcome o = RunText(Between(kind), Both());
    ASSERT_TRUE(o.status.ok()) << o.status.message();
    EXPECT_EQ(o.results, kExpected) << kind;
    EXPECT_EQ(o.backend(kind), "reference");
    EXPECT_EQ(o.backend("Relu"), "opencl") << kind;
    EXPECT_EQ(o.backend("Neg"), "opencl") << kind;
    EXPECT_THAT(o.reason(kind), AllOf(HasSubstr("opencl: "), HasSubstr(words)));
    EXPECT_THAT(o.report.warnings, Contains(AllOf(HasSubstr("'culprit'"), HasSubstr(words))));
  }
}

TEST_F(LateRefusal, ForbiddenFallbackMakesItAnError) {
  const Outcome o = RunText(Between("Late"), Both(), Fallback::kForbid);
  EXPECT_EQ(o.status.code(), Code::kUnsupported);
  EXPECT_EQ(o.status.op(), "Late#1 'culprit'");
  EXPECT_THAT(o.status.message(), HasSubstr("the weights do not pack"));
}

TEST_F(LateRefusal, AMistakeInTheOpsOwnCodeIsAnError) {
  const Outcome o = RunText(Between("Operand"), Both());
  EXPECT_EQ(o.status.code(), Code::kInternal) << o.status.message();
  EXPECT_THAT(o.status.message(), HasSubstr("kernel 'operand' asks for input 7"));
}

// The text is shared by all kernels of a graph, whatever partition they are in.
TEST_F(LateRefusal, OnlyTheCulpritMovesWhereverItIs) {
  // Softmax is pinned to the reference, so that OpenCL has two partitions.
  for (const bool first : {true, false}) {
    const std::string text = std::string("%0 = input f32[4]\n%1 = ") + (first ? "Broken" : "Relu") +
                             "(%0) : f32[4]\n%2 = Good(%1) : f32[4]\n%3 = Abs(%2) : f32[4]\n%4 = " +
                             (first ? "Relu" : "Broken") + "(%3) : output f32[4]\n";
    const OpRegistry registry = Registry();
    const auto graph = ReadGraph(text, registry);
    compiler::Options options;
    options.pins = {{"Abs", "reference"}};
    CompileReport report;
    const Status s = RunGraph(graph, registry, Both(), options, &report);
    ASSERT_TRUE(s.ok()) << s.message();
    std::map<std::string, std::string> backend;
    for (const OpPlacement& p : report.ops) backend[p.kind] = p.backend;
    EXPECT_EQ(backend["Broken"], "reference") << first;
    EXPECT_EQ(backend["Relu"], "opencl") << first;
    EXPECT_EQ(backend["Good"], "opencl") << first;
    const Floats expected = {
        {4, first ? std::vector<float>{0, 1, 2, 3} : std::vector<float>{2, 2, 2, 3}}};
    EXPECT_EQ(OutputsOf(*graph), expected) << first;
  }
}

TEST_F(LateRefusal, AKernelReplacedByABrokenOne) {
  const opencl::TemporaryFolder folder;
  std::ofstream(folder.path() + "/softmax.cl") << "this is no OpenCL\n";
  opencl::BackendOptions options;
  options.kernel_dir = folder.path();
  const Outcome o = RunText(
      "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = Softmax(%1) {axis=0, beta=1.0} : f32[4]\n"
      "%3 = Abs(%2) : output f32[4]\n",
      {{OpenCl(options), -1000}, Reference()});
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_EQ(o.backend("Relu"), "opencl");
  EXPECT_EQ(o.backend("Softmax"), "reference");
  EXPECT_EQ(o.backend("Abs"), "opencl");
  EXPECT_THAT(o.reason("Softmax"), HasSubstr("softmax.cl"));
  EXPECT_NEAR(o.results.at(3)[3], 0.4754, 1e-4);
}

TEST_F(LateRefusal, WhereNobodyIsLeftTheFirstFailureIsTheError) {
  Outcome o = RunText(Between("BrokenAlone"), Both());
  EXPECT_EQ(o.status.code(), Code::kKernelBuild) << o.status.message();
  EXPECT_EQ(o.status.op(), "BrokenAlone#1 'culprit'");
  EXPECT_THAT(o.status.message(), AllOf(HasSubstr("clBuildProgram"), HasSubstr("no_such_function"),
                                        Not(HasSubstr("fully_connected"))));
  o = RunText(Between("LateAlone"), Both());
  EXPECT_EQ(o.status.code(), Code::kUnsupported);
  EXPECT_EQ(o.status.op(), "LateAlone#1 'culprit'");
  EXPECT_THAT(o.status.message(), HasSubstr("the weights do not pack"));
}

// It was built again, alone, to find out that it is the one that does not build.
TEST_F(LateRefusal, AKernelThatDoesNotBuildIsBuiltOnce) {
  size_t builds = 0;
  base::LogLevels levels;
  levels.topics["cache"] = base::LogLevel::kInfo;
  base::SetLogLevels(levels);
  base::SetLogSink([&](base::LogLevel, std::string_view, std::string_view text) {
    builds += text.find("building ") == 0;
  });
  const Outcome o = RunText("%0 = input f32[4]\n%1 = Broken(%0) : output f32[4]\n", Both());
  base::SetLogSink(nullptr);
  base::SetLogLevels({});
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_EQ(o.backend("Broken"), "reference");
  EXPECT_EQ(builds, 1u);
}

/// Takes Relu; what it does then is the test's.
class Odd : public test::HostBackend {
 public:
  enum class Does {
    kRefusesAtLoad,
    kRefusesAStrangerAtCompile,
    kRefusesAStrangerAtLoad,
    kTooFewCalls,
    kModuleOutOfRange,
    kNullKernel,
    kTooFewKernels,
  };
  explicit Odd(Does does)
      : HostBackend("odd", [](const OpView& op) { return op.kind() == "Relu" ? "" : "Relu only"; }),
        does_(does) {}
  Status Compile(const std::vector<GraphView>& parts, const CompileEnv&,
                 CompiledUnits* units) override {
    relu_ = parts[0].Ops()[0].id();
    if (does_ == Does::kRefusesAStrangerAtCompile)
      units->refusals[relu_ + 1] = Status(Code::kUnsupported);
    if (does_ != Does::kTooFewCalls) units->calls.resize(parts.size());
    if (does_ == Does::kModuleOutOfRange) units->calls[0].module = 3;
    units->modules.resize(1);
    return Status();
  }
  Status Load(const std::vector<CodeModule>&, const std::vector<Call>& calls, const CompileEnv&,
              LoadedUnits* units) override {
    if (does_ == Does::kRefusesAtLoad)
      units->refusals[relu_] = Status::Error(Code::kDevice, "no room on the chip");
    if (does_ == Does::kRefusesAStrangerAtLoad) units->refusals[77] = Status(Code::kUnsupported);
    if (does_ != Does::kTooFewKernels) units->kernels.resize(calls.size());  // null
    return Status();
  }

 private:
  Does does_;
  int relu_ = -1;
};

constexpr const char* kRelu =
    "%0 = input f32[4]\n%1 = Relu(%0) : f32[4]\n%2 = Neg(%1) : output f32[4]\n";

TEST(LateRefusalOfAnyBackend, AtLoad) {
  const Outcome o =
      RunText(kRelu, {{std::make_shared<Odd>(Odd::Does::kRefusesAtLoad), 100}, Reference()});
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_EQ(o.reason("Relu"), "odd: no room on the chip");
  EXPECT_EQ(o.results, (Floats{{2, {0, 0, 0, -1}}}));
  // Nobody else: the backend's own failure is the error.
  const Outcome alone = RunText("%0 = input f32[4]\n%1 = Relu(%0) : output f32[4]\n",
                                {{std::make_shared<Odd>(Odd::Does::kRefusesAtLoad), 100}});
  EXPECT_EQ(alone.status.code(), Code::kDevice);
  EXPECT_EQ(alone.status.op(), "Relu#0");
}

TEST(LateRefusalOfAnyBackend, BrokenPromisesAreErrorsWithWords) {
  const std::pair<Odd::Does, const char*> all[] = {
      {Odd::Does::kRefusesAStrangerAtCompile, "refuses op 1, which it was not given"},
      {Odd::Does::kRefusesAStrangerAtLoad, "refuses op 77, which it was not given"},
      {Odd::Does::kTooFewCalls, "compiled 0 of 1 partitions"},
      {Odd::Does::kModuleOutOfRange, "names module 3 of 1"},
      {Odd::Does::kNullKernel, "loaded 0 of 1 partitions"},
      {Odd::Does::kTooFewKernels, "loaded 0 of 1 partitions"},
  };
  for (const auto& [does, words] : all) {
    const Outcome o = RunText(kRelu, {{std::make_shared<Odd>(does), 100}, Reference()});
    EXPECT_EQ(o.status.code(), Code::kInternal) << words;
    EXPECT_THAT(o.status.message(), AllOf(HasSubstr("backend 'odd'"), HasSubstr(words)));
  }
}

}  // namespace
}  // namespace tim::vx::testing
