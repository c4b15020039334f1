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

/// One file per test. A case is one run of a reference (OneOp::Run); what fails after it, before
/// the next one, is its failure.
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
  void OnTestStart(const ::testing::TestInfo&) override { runs_.clear(); }
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed() && !runs_.empty()) runs_.back().passed = false;
  }
  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (runs_.empty()) return;
    const std::string test = std::string(info.test_suite_name()) + "." + info.name();
    for (size_t i = 0; i < runs_.size(); ++i) runs_[i].name = test + " " + std::to_string(i);
    coverage::Write(folder_, "golden", test, runs_);
  }

 private:
  static std::string Type(const TensorView& t) {
    const std::string text = t.present() ? t.type().ToString() : "-";
    return text.substr(0, text.find('['));
  }

  std::string folder_;
  std::vector<coverage::CaseRun> runs_;
};

}  // namespace
}  // namespace tim::vx::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  CLI::App app("References of operators against values computed elsewhere.");
  std::string coverage = TIMCL_BINARY_DIR "/coverage";
  app.add_option("--coverage", coverage, "folder for what ran, which `timcl ops` reads");
  CLI11_PARSE(app, argc, argv);
  ::testing::UnitTest::GetInstance()->listeners().Append(new tim::vx::testing::Notes(coverage));
  return RUN_ALL_TESTS();
}
