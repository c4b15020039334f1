// The golden tests' main: beside running them, notes which operators' cases were run and passed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "support/coverage.h"
#include "support/ir_builder.h"

namespace tim::vx::testing {
namespace {

/// A case is one run of a reference (OneOp::Run); what fails after it, before the next one, is its
/// failure.
class Notes : public ::testing::EmptyTestEventListener {
 public:
  explicit Notes(std::string folder) : folder_(std::move(folder)) {
    OneOp::on_run = [this](const OpView& op) {
      std::string types;
      for (size_t i = 0; i < op.num_inputs(); ++i) types += Type(op.in(i)) + " ";
      types += "->";
      for (size_t i = 0; i < op.num_outputs(); ++i) types += " " + Type(op.out(i));
      runs_.push_back({std::string(op.kind()), "", "reference", types, true});
    };
  }
  void OnTestStart(const ::testing::TestInfo&) override { first_ = runs_.size(); }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed() && runs_.size() > first_) runs_.back().passed = false;
  }
  void OnTestEnd(const ::testing::TestInfo& info) override {
    for (size_t i = first_; i < runs_.size(); ++i) {
      runs_[i].name = std::string(info.name()) + " " + std::to_string(i - first_);
    }
  }
  // One file for all, so that nothing is left of tests that there are no more.
  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    coverage::Write(folder_, "golden", "all", runs_);
  }

 private:
  static std::string Type(const TensorView& t) {
    const std::string text = t.present() ? t.type().ToString() : "-";
    return text.substr(0, text.find('['));
  }

  std::string folder_;
  std::vector<coverage::CaseRun> runs_;
  size_t first_ = 0;  // of the test that runs
};

}  // namespace
}  // namespace tim::vx::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  CLI::App app("References of operators against values computed elsewhere.");
  std::string folder;
  app.add_option("--coverage", folder,
                 "folder for what ran, which `timcl ops` reads; 'coverage' of the build tree");
  CLI11_PARSE(app, argc, argv);
  // A run of some of the tests would take the place of all.
  if (folder.empty() && GTEST_FLAG_GET(filter) == "*") folder = TIMCL_BINARY_DIR "/coverage";
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (!folder.empty()) listeners.Append(new tim::vx::testing::Notes(folder));
  return RUN_ALL_TESTS();
}
