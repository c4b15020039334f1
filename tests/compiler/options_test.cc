// CompileOption::SetOption: what backends do with it, and what becomes of a typing error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/host_backend.h"
#include "support/pipeline.h"

namespace tim::vx::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Pieces of one memory, and a Reshape between two kernels.
constexpr const char* kGraph =
    "%0 = input f32[32,2]\n%1 = Softmax(%0) {axis=0, beta=1.0} : f32[32,2]\n"
    "%2 = Softmax(%0) {axis=1, beta=1.0} : f32[32,2]\n"
    "%3 = Concat(%1, %2) {axis=1} : f32[32,4]\n"
    "%4 = CumSum(%3) {axis=0} : f32[32,4]\n%5 = Reshape(%4) {target_shape=[128]} : f32[128]\n"
    "%6 = CumSum(%5) {axis=0} : output f32[128]\n";

struct Outcome {
  Status status;
  CompileReport report;
  Floats results;
  size_t Without(const std::string& words) const {
    size_t count = 0;
    for (const OpPlacement& p : report.ops) count += p.kernel == "no launch: " + words;
    return count;
  }
};
using Backends = std::vector<compiler::RankedBackend>;
Outcome RunWith(const CompileOption& choices, const Backends& backends) {
  const auto graph = ReadGraph(kGraph, Builtin());
  compiler::Options options;
  options.options_for = [&](const std::string& name) { return choices.OptionsFor(name); };
  Outcome o;
  o.status = RunGraph(graph, Builtin(), backends, options, &o.report);
  if (o.status.ok()) o.results = OutputsOf(*graph);
  return o;
}

class Options : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto device = OpenCl();
    if (device == nullptr) GTEST_SKIP() << "needs OpenCL";
    backends_ = {{device, 0, false, true}, Reference()};
  }
  Outcome With(const std::string& key, const std::string& value,
               const std::string& backend = "opencl") {
    CompileOption choices;
    choices.SetOption(backend, key, value);
    return RunWith(choices, backends_);
  }
  Backends backends_;
};

TEST_F(Options, WhatLeavesLaunchesOutOnAndOff) {
  const std::pair<const char*, const char*> alias = {"alias", "same bytes"},
                                            pieces = {"pieces", "pieces of one memory"};
  for (const auto& [one, other] : {std::pair(alias, pieces), std::pair(pieces, alias)}) {
    SCOPED_TRACE(one.first);
    const Outcome on = With(one.first, "on"), off = With(one.first, "off");
    ASSERT_TRUE(on.status.ok() && off.status.ok()) << off.status.message();
    EXPECT_EQ(on.results, off.results);
    EXPECT_EQ(on.Without(one.second), 1u);
    EXPECT_EQ(off.Without(one.second), 0u);
    EXPECT_EQ(off.Without(other.second), 1u) << "another switch";
  }
}

// They did nothing, and nobody said so.
TEST_F(Options, AKeyOrAValueThatNobodyKnowsIsAnError) {
  const auto expect = [](const Outcome& o, const std::vector<std::string>& words) {
    EXPECT_EQ(o.status.code(), Code::kInvalidArgument) << o.status.message();
    for (const std::string& w : words) EXPECT_THAT(o.status.message(), HasSubstr(w));
  };
  expect(With("one_kernal", "off"),
         {"'opencl' has no option 'one_kernal'; it has: ", "one_kernel"});
  expect(With("helpers", "On"),
         {"option 'helpers' of 'opencl' is 'On', and may be: on, off, early"});
  expect(With("alias", "no"), {"may be: on, off"});
  expect(With("fold_scale", "off", "compiler"),
         {"'compiler' has no option 'fold_scale'", "merge_twins"});
  expect(With("fuse_attention", "of", "compiler"), {"may be: on, off"});
}

TEST_F(Options, WhatIsSaidToAllIsForThoseWhomItTellsSomething) {
  EXPECT_TRUE(With("effort", "3", "*").status.ok());
  EXPECT_EQ(With("alias", "off", "*").Without("same bytes"), 0u);
  EXPECT_TRUE(With("alias", "", "opencl").status.ok()) << "says nothing";
}

/// One that says nothing of its options is given them all.
TEST_F(Options, OfAnyBackend) {
  CompileOption choices;
  choices.SetOption("host", "anything", "goes");
  const auto host = std::make_shared<test::HostBackend>("host");
  EXPECT_TRUE(RunWith(choices, {{host, 1}, Reference()}).status.ok());
}

TEST_F(Options, AKernelThatNobodyHasIsAWarning) {
  Outcome o = With("without_kernels", "general,winogard");
  ASSERT_TRUE(o.status.ok()) << o.status.message();
  EXPECT_THAT(o.report.warnings,
              Contains(AllOf(HasSubstr("option 'without_kernels' of 'opencl' names 'winogard'"),
                             HasSubstr("no operation has a kernel of that name"))));
  EXPECT_THAT(With("first_kernels", "winograd,tile bf16").report.warnings, IsEmpty());
}

}  // namespace
}  // namespace tim::vx::testing
