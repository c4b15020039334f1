// Joined plans of whole graphs: what keeps launches apart, whatever the kernels are, and that the
// report tells the truth of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/run/device.h"
#include "support/pipeline.h"
#include "support/plus_one.h"

namespace tim::vx::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// By a kernel of this head that finds its work-item by this expression.
Result<Launches> Launch(const OpView& op, const std::string& head, const std::string& item) {
  return LaunchPlusOne(op, "#include \"tensor.clh\"\n" + head +
                               "(IN(X), OUT(Y), SIZE(N)) {\n"
                               "  const int i = " +
                               item + ";\n  if (i < N) STORE(Y, i, LOAD(X, i) + 1);\n}\n");
}
Result<Launches> AsShould(const OpView& op, const KernelRequest&) {
  return Launch(op, "// Not get_global_id(0).\nKERNEL(plus_one)", "WORK_ITEM(0)");
}
Result<Launches> AsksOpenCl(const OpView& op, const KernelRequest&) {
  return Launch(op, "KERNEL(plus_one)", "get_global_id(0)");
}
Result<Launches> AsksByGroup(const OpView& op, const KernelRequest&) {
  return Launch(op, "#define ITEM (get_group_id(0) * 4 + get_local_id(0))\nKERNEL(plus_one)",
                "ITEM");
}
Result<Launches> Waits(const OpView& op, const KernelRequest&) {
  return Launch(op, "KERNEL(plus_one)", "WORK_ITEM(0);\n  barrier(CLK_LOCAL_MEM_FENCE)");
}
Result<Launches> PlainKernel(const OpView& op, const KernelRequest&) {
  return Launch(op, "kernel void plus_one", "get_global_id(0)");
}
/// Nobody sees before the build that it cannot be joined.
Result<Launches> BuildsAlone(const OpView& op, const KernelRequest&) {
  return Launch(op, "#ifdef TIMCL_PARAMETERS\n#error not here\n#endif\nKERNEL(plus_one)",
                "WORK_ITEM(0)");
}

constexpr KernelCandidate kShould[] = {{"should", nullptr, AsShould}};
constexpr KernelCandidate kOpenCl[] = {{"opencl", nullptr, AsksOpenCl}};
constexpr KernelCandidate kGroup[] = {{"group", nullptr, AsksByGroup}};
constexpr KernelCandidate kWaits[] = {{"waits", nullptr, Waits}};
constexpr KernelCandidate kPlain[] = {{"plain", nullptr, PlainKernel}};
constexpr KernelCandidate kAlone[] = {{"alone", nullptr, BuildsAlone}};

const OpRegistry& Registry() {
  static const OpRegistry* const registry = [] {
    auto* r = new OpRegistry(Builtin());
    const auto add = [r](const char* name, KernelList kernels) {
      OpDef def;
      def.name = name, def.origin = "test", def.kernels = kernels;
      def.infer = ShapeOfInput, def.reference = PlusOne;
      r->Add(def);
    };
    add("Should", kShould);
    add("OpenCl", kOpenCl);
    add("Group", kGroup);
    add("Waits", kWaits);
    add("Plain", kPlain);
    add("Alone", kAlone);
    return r;
  }();
  return *registry;
}

struct Outcome {
  Status status;
  CompileReport report;
  Floats results;
  std::string note() const { return report.parts.empty() ? "no parts" : report.parts[0].note; }
};
using Choices = std::vector<std::pair<std::string, std::string>>;
Outcome RunOn(const std::shared_ptr<Backend>& device, const std::string& text,
              const Choices& choices = {}) {
  const auto graph = ReadGraph(text, Registry());
  compiler::Options options;
  options.options_for = [&](const std::string& name) {
    return name == "opencl" ? choices : Choices();
  };
  Outcome o;
  o.status = RunGraph(graph, Registry(), {{device, 0, false, true}}, options, &o.report);
  EXPECT_TRUE(o.status.ok()) << o.status.message();
  if (o.status.ok()) o.results = OutputsOf(*graph);
  return o;
}
const Choices kApart = {{"one_kernel", "off"}};

/// Launches that no pass merges.
std::string Between(const std::string& kind) {
  return "%0 = input f32[37]\n%1 = Softmax(%0) {axis=0, beta=1.0} : f32[37]\n%2 = " + kind +
         " \"mine\"(%1) : f32[37]\n%3 = Softmax(%2) {axis=0, beta=1.0} : output f32[37]\n";
}

class JoinedGraphs : public ::testing::Test {
 protected:
  void SetUp() override {
    device_ = OpenCl();
    if (device_ == nullptr) GTEST_SKIP() << "needs OpenCL";
    const std::string note = RunOn(device_, Between("Should")).note();
    if (note.find("3 launches in one kernel") == std::string::npos)
      GTEST_SKIP() << "nothing is joined on this device: " << note;
  }
  /// Of the device.
  static uint32_t Threads() {
    const char* device = std::getenv("TIMCL_DEVICE");
    const auto choice = opencl::ChooseDevice(device == nullptr ? "" : device, "");
    EXPECT_TRUE(choice.ok()) << choice.status().message();
    return choice.ok() ? choice->chosen().caps.compute_units : 0;
  }
  std::shared_ptr<Backend> device_;
};

TEST_F(JoinedGraphs, KernelsThatAskForTheirWorkItemAsTheyShould) {
  const Outcome joined = RunOn(device_, Between("Should"));
  EXPECT_EQ(joined.report.launches, 1u);
  EXPECT_EQ(joined.results, RunOn(device_, Between("Should"), kApart).results);
}

TEST_F(JoinedGraphs, OneThreadDoesStepsThatAreTooShortForTwo) {
  const auto by = [this](const std::string& text, const Choices& choices) {
    const Outcome o = RunOn(device_, text, choices);
    EXPECT_EQ(o.report.launches, 1u);
    EXPECT_EQ(o.results, RunOn(device_, text, kApart).results);
    return o.note().substr(o.note().find("launches"));
  };
  const std::string large =
      "%0 = input f32[300000]\n%1 = CumSum(%0) {axis=0} : f32[300000]\n"
      "%2 = Softmax(%1) {axis=0, beta=0.0} : output f32[300000]\n";
  const std::string one = "launches in one kernel by one thread of the device",
                    all = "launches in one kernel";
  EXPECT_EQ(by(Between("Should"), {{"workers", "one"}}), Threads() < 2 ? all : one);
  EXPECT_EQ(by(Between("Should"), {{"workers", "all"}}), all);
  EXPECT_EQ(by(Between("Should"), {}), Threads() < 2 ? all : one);
  EXPECT_EQ(by(large, {}), all);
}

// In a joined kernel get_global_id(0) is the number of the worker: all but a few results were left
// unwritten, and nobody said so.
TEST_F(JoinedGraphs, KernelsThatAskOpenClAreLaunchedOneByOne) {
  for (const auto& [kind, word] :
       {std::pair("OpenCl", "get_global_id"), std::pair("Group", "get_group_id"),
        std::pair("Waits", "barrier"), std::pair("Plain", "kernel")}) {
    SCOPED_TRACE(kind);
    const Outcome o = RunOn(device_, Between(kind));
    EXPECT_EQ(o.results, RunOn(device_, Between(kind), kApart).results);
    EXPECT_EQ(o.results, RunOn(device_, Between("Should")).results);
    EXPECT_EQ(o.report.launches, 3u);
    EXPECT_THAT(o.note(), HasSubstr("3 launches one by one: "));
    EXPECT_THAT(o.note(), HasSubstr("#1 'mine'"));
    EXPECT_THAT(o.note(), HasSubstr("'" + std::string(word) + "'"));
  }
}

TEST_F(JoinedGraphs, TheReportTellsOfAJoinedKernelThatDoesNotBuild) {
  const Outcome o = RunOn(device_, Between("Alone"));
  EXPECT_EQ(o.results, RunOn(device_, Between("Should")).results);
  EXPECT_EQ(o.report.launches, 3u);
  EXPECT_THAT(o.note(), Not(HasSubstr("in one kernel")));
  EXPECT_THAT(o.note(), HasSubstr("3 launches one by one: the joined kernel does not build ("));
  EXPECT_THAT(o.note(), HasSubstr("not here"));
  EXPECT_THAT(o.note(), HasSubstr("TIMCL_LOG=compile=info"));
  // No more than it was.
  const Outcome resident = RunOn(device_, Between("Alone"), {{"resident", "on"}});
  EXPECT_EQ(resident.results, o.results);
  EXPECT_EQ(resident.report.launches, 3u);
  EXPECT_THAT(resident.note(), Not(HasSubstr("resident on")));
}

std::string Constant(int count, int period) {
  std::string text = "constant f32[" + std::to_string(count) + "] {1";
  for (int i = 1; i < count; ++i) text += "," + std::to_string(i % period);
  return text + "}\n";
}

// Each value and each constant fits the device, but not the one memory in which a joined kernel
// wants them: Compile() failed.
TEST_F(JoinedGraphs, OfMoreThanTheLargestAllocationAreLaunchedOneByOne) {
  opencl::BackendOptions small;
  small.max_allocation = 4096;
  const auto device = OpenCl(small);
  const std::string values =
      "%0 = input f32[900]\n%1 = Softmax(%0) {axis=0, beta=1.0} : f32[900]\n"
      "%2 = Softmax(%0) {axis=0, beta=2.0} : f32[900]\n"
      "%3 = CumSum(%1) {axis=0} : f32[900]\n%4 = CumSum(%2) {axis=0} : f32[900]\n"
      "%5 = Maximum(%3, %4) : output f32[900]\n";
  const std::string constants =
      "%0 = input f32[900]\n%1 = CumSum(%0) {axis=0} : f32[900]\n%2 = " + Constant(900, 7) +
      "%3 = Maximum(%1, %2) : f32[900]\n%4 = CumSum(%3) {axis=0} : f32[900]\n" +
      "%5 = " + Constant(900, 5) + "%6 = Maximum(%4, %5) : output f32[900]\n";
  for (const auto& [text, words] : {std::pair(values, "values between its kernels take "),
                                    std::pair(constants, "constants take ")}) {
    SCOPED_TRACE(words);
    const Outcome all = RunOn(device_, text);
    EXPECT_THAT(all.note(), HasSubstr("launches in one kernel"));
    const Outcome o = RunOn(device, text);
    EXPECT_EQ(o.results, all.results);
    EXPECT_GT(o.report.launches, 1u);
    EXPECT_THAT(o.note(), AllOf(HasSubstr(" launches one by one: "), HasSubstr(words),
                                HasSubstr("the device's largest allocation is 4096")));
  }
}

TEST(JoinedGraphsOfOtherDevices, TheNoteSaysWhatTheDeviceLacks) {
  opencl::BackendOptions gpu;
  gpu.as_discrete_gpu = true;
  const auto device = OpenCl(gpu);
  if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
  const Outcome o = RunOn(device, Between("Should"));
  EXPECT_EQ(o.report.launches, 3u);
  EXPECT_THAT(o.note(), HasSubstr("3 launches one by one: "));
  EXPECT_THAT(o.note(), HasSubstr("the device is no CPU"));
  EXPECT_EQ(RunOn(device, Between("Should"), kApart).note(), "");
}

}  // namespace
}  // namespace tim::vx::testing
