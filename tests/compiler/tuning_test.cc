// Tuning: what was measured decides which kernel is asked first, and a file that does not fit is
// not used.
#include "backends/opencl/compile/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/compile/unit.h"
#include "ir/graph.h"
#include "support/ir_builder.h"

namespace tim::vx::opencl {
namespace {

using ::testing::HasSubstr;

Result<Launches> NoLaunches(const OpView&, const KernelRequest&) { return Launches(); }
Result<KernelOffer> Refuses(const OpView&, const KernelRequest&) {
  return Status::Error(Code::kUnsupported, "not today");
}

/// Relu with kernels of our own.
class TuningTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"first", "second", "third"}) {
      KernelCandidate candidate;
      candidate.name = name;
      candidate.make = NoLaunches;
      kernels_.push_back(candidate);
    }
    kernels_[2].accepts = Refuses;
    auto graph = ir::Parse("%0 = input f32[4]\n%1 = Relu(%0) : output f32[4]\n",
                           tim::vx::testing::Builtin());
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    graph_ = std::move(*graph);
    def_ = *graph_->node(0).def;
    def_.kernels = KernelList(kernels_.data(), kernels_.size());
    graph_->node(0).def = std::shared_ptr<const OpDef>(std::shared_ptr<const OpDef>(), &def_);
  }
  OpView op() const { return graph_->view(0); }
  std::string Chosen(const Tuning& tuning) const {
    Wishes wishes;
    wishes.tuning = std::make_shared<const Tuning>(tuning);
    const auto group = SelectKernel(op(), DeviceCaps(), wishes);
    return group.ok() ? group->kernel->name : group.status().message();
  }
  std::vector<KernelCandidate> kernels_;
  OpDef def_;
  std::unique_ptr<ir::Graph> graph_;
};

TEST_F(TuningTest, TheFastestThatAcceptsIsTaken) {
  Tuning tuning;
  EXPECT_EQ(Chosen(tuning), "first");
  tuning.kernels["Relu(f32[5]) -> f32[5] ()"] = {{"second", 1}};
  EXPECT_EQ(Chosen(tuning), "first");  // another op
  auto& times = tuning.kernels[SignatureOf(op())];
  times = {{"first", 2}, {"second", 1}};
  EXPECT_EQ(Chosen(tuning), "second");
  times = {{"first", 1}, {"second", 2}};
  EXPECT_EQ(Chosen(tuning), "first");
  times = {{"second", 100}, {"of another version", 1}};  // those that were never measured are last
  EXPECT_EQ(Chosen(tuning), "second");
  times = {{"third", 1}, {"second", 2}, {"first", 3}};
  EXPECT_EQ(Chosen(tuning), "second");  // the third refuses
}

TEST_F(TuningTest, OneSignatureForOpsOfTheSameWork) {
  EXPECT_EQ(SignatureOf(op()), "Relu(f32[4]) -> f32[4] ()");
}

TEST_F(TuningTest, ReadsWhatItWrote) {
  Tuning tuning;
  tuning.library = "1", tuning.device = "a \"device\"", tuning.driver = "2";
  tuning.kernels["Relu"] = {{"first", 0.25}, {"second", 0}};
  const auto read = Tuning::Parse(tuning.ToJson());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->library, "1");
  EXPECT_EQ(read->device, "a \"device\"");
  EXPECT_EQ(read->driver, "2");
  EXPECT_EQ(read->kernels, tuning.kernels);
}

TEST_F(TuningTest, RefusesWhatIsNone) {
  const std::string head = R"({"format": "timcl tuning 1", )";
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "no JSON object"},
           {"[1]", "no JSON object"},
           {"{}", "its format is ''"},
           {R"({"format": "timcl tuning 2"})", "its format is 'timcl tuning 2'"},
           {head + R"("kernels_ms": 3})", "no object 'kernels_ms'"},
           {head + R"("kernels_ms": {"Relu": [1]}})", "'Relu' is no object"},
           {head + R"("kernels_ms": {"Relu": {"first": "1"}}})", "time of kernel 'first'"},
           {head + R"("kernels_ms": {"Relu": {"first": -1}}})", "is no time"},
           {head + R"("kernels_ms": {"Relu": {"first": 1e999}}})", ""}}) {
    const auto read = Tuning::Parse(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.status().message(), HasSubstr(words));
  }
}

TEST_F(TuningTest, HoldsForOneDeviceOnly) {
  const std::string file = ::testing::TempDir() + "timcl_tuning_test.json";
  Tuning tuning;
  tuning.library = TIMCL_VERSION, tuning.device = "cpu", tuning.driver = "3";
  const auto write = [&] { std::ofstream(file) << tuning.ToJson(); };
  write();
  EXPECT_TRUE(Tuning::Read(file, "cpu", "3").ok());
  const auto refused = [&](const char* device, const char* driver, const char* words) {
    const auto read = Tuning::Read(file, device, driver);
    EXPECT_EQ(read.status().code(), Code::kVersionMismatch);
    EXPECT_THAT(read.status().message(), HasSubstr(words));
  };
  refused("gpu", "3", "is for device 'cpu', and this is 'gpu': run `timcl tune` again");
  refused("cpu", "4", "is for driver '3'");
  tuning.library = "0.0.1";
  write();
  refused("cpu", "3", "is for version '0.0.1'");
  std::filesystem::remove(file);
  EXPECT_EQ(Tuning::Read(file, "cpu", "3").status().code(), Code::kIo);
  EXPECT_EQ(Tuning::Read(::testing::TempDir(), "cpu", "3").status().code(), Code::kIo);
  EXPECT_EQ(Tuning::FileFor("", "cpu", "3"), "");
  EXPECT_NE(Tuning::FileFor("/c", "cpu", "3"), Tuning::FileFor("/c", "cpu", "4"));
}

}  // namespace
}  // namespace tim::vx::opencl
