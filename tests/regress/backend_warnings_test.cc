// What a backend warns of reached the report, but not the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/log.h"
#include "support/host_backend.h"
#include "support/pipeline.h"

namespace tim::vx::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Warns : public test::HostBackend {
 public:
  Warns() : HostBackend("warns") {}
  Status Compile(const std::vector<GraphView>& parts, const CompileEnv& env,
                 CompiledUnits* units) override {
    units->warnings.push_back("the weather is bad");
    return HostBackend::Compile(parts, env, units);
  }
};

TEST(Regress, ABackendsWarningIsLoggedOnce) {
  std::vector<std::string> lines;
  base::SetLogLevels({});
  base::SetLogSink([&](base::LogLevel level, std::string_view, std::string_view text) {
    if (level == base::LogLevel::kWarn) lines.emplace_back(text);
  });
  const auto graph = ReadGraph("%0 = input f32[4]\n%1 = Relu(%0) : output f32[4]\n", Builtin());
  CompileReport report;
  const Status s = RunGraph(graph, Builtin(), {{std::make_shared<Warns>(), 1}}, {}, &report);
  base::SetLogSink(nullptr);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_THAT(report.warnings, ElementsAre("the weather is bad"));
  EXPECT_EQ(lines, report.warnings);
}

// A message said a tensor's name twice: "Relu#1: huge: input 0 'huge' f32[...]".
TEST(Regress, ATensorIsNamedOnce) {
  const Status s =
      Status::Error(Code::kInvalidShape, "input 0 'huge' f32[4]: too large").AtOp("Relu#1");
  EXPECT_EQ(s.AtTensor("huge").message(),
            "kInvalidShape: Relu#1: input 0 'huge' f32[4]: too large");
  EXPECT_EQ(s.AtTensor("huge").tensor(), "huge");
  EXPECT_EQ(s.AtTensor("hug").message(),
            "kInvalidShape: Relu#1: hug: input 0 'huge' f32[4]: too large");
  const auto graph = ReadGraph(
      "%0 = input \"main\" f32[4]\n%1 = Softmax(%0) {axis=5} : output f32[4]\n", Builtin());
  const std::string message = compiler::InferTypes(*graph).message();
  EXPECT_THAT(message, HasSubstr("'main'"));
  EXPECT_THAT(message, Not(HasSubstr(": main:")));
}

}  // namespace
}  // namespace tim::vx::testing
