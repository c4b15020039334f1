// Callers of the original API saw `false` and nothing else: a failed call logs its message, once,
// at level error; what is accepted but makes little sense is a warning in the log and in the
// report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/simple_operations.h"

namespace tim::vx::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Collects the lines of one level while it lives.
class Lines {
 public:
  explicit Lines(base::LogLevel wanted) {
    base::SetLogLevels({});  // whatever the environment of the tests says
    base::SetLogSink([this, wanted](base::LogLevel level, std::string_view, std::string_view text) {
      if (level == wanted) lines.emplace_back(text);
    });
  }
  ~Lines() { base::SetLogSink(nullptr); }
  std::vector<std::string> lines;
};

GraphPtr HostGraph() {
  ContextOptions options;
  options.host_only = true;
  return Context::Create(options)->CreateGraph();
}

TEST(Regress, AFailedCompileIsLoggedOnce) {
  const Lines errors(base::LogLevel::kError);
  auto graph = HostGraph();
  Bind<ops::Add>(graph, {Input(graph, {4})}, {Output(graph, {4})});
  EXPECT_FALSE(graph->Compile());
  const std::string message = graph->LastStatus().message();
  EXPECT_FALSE(graph->Compile());
  EXPECT_FALSE(graph->Run());
  EXPECT_THAT(errors.lines, ElementsAre(message));
  // Another graph, another failure.
  Bind<ops::Relu>(graph, {Input(graph, {4})}, {});
  EXPECT_FALSE(graph->Run());
  EXPECT_EQ(errors.lines.size(), 2u);
}

TEST(Regress, AFailedRunIsLogged) {
  auto graph = HostGraph();
  auto x = Input(graph, {4});
  Bind<ops::Relu>(graph, {x}, {Output(graph, {4})});
  ASSERT_TRUE(graph->Run());
  void* old = nullptr;
  ASSERT_TRUE(x->SwapHandle(nullptr, false, &old));
  const Lines errors(base::LogLevel::kError);
  EXPECT_FALSE(graph->Run());
  EXPECT_THAT(errors.lines,
              ElementsAre(AllOf(HasSubstr("graph input 0 f32[4]"), HasSubstr("SwapHandle"))));
  size_t size = 0;
  EXPECT_FALSE(graph->CompileToBinary(nullptr, &size));
  EXPECT_EQ(errors.lines.size(), 2u);
}

TEST(Regress, OpsAddedAfterCompileAreOneWarning) {
  auto graph = HostGraph();
  auto x = Input(graph, {4});
  Bind<ops::Relu>(graph, {x}, {Output(graph, {4})});
  ASSERT_TRUE(graph->Compile());
  const Lines warnings(base::LogLevel::kWarn);
  Bind<ops::Abs>(graph, {x}, {Output(graph, {4})});
  Bind<ops::Neg>(graph, {x}, {Output(graph, {4})});
  EXPECT_TRUE(graph->Run());
  EXPECT_THAT(warnings.lines, ElementsAre(AllOf(HasSubstr("Abs#2"), HasSubstr("ignored"))));
  EXPECT_EQ(graph->Report().warnings, warnings.lines);
}

TEST(Regress, AConstantWithoutDataIsAWarning) {
  const Lines warnings(base::LogLevel::kWarn);
  auto graph = HostGraph();
  auto nothing = Make(graph, TensorAttribute::CONSTANT, {4});
  auto y = Output(graph, {4});
  Bind<ops::Add>(graph, {Input(graph, {4}), nothing}, {y})->SetName("sum");
  Bind<ops::Add>(graph, {Constant(graph, {4}, {1, 2, 3, 4}), nothing}, {Output(graph, {4})});
  ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
  EXPECT_EQ(Read(y, 4), std::vector<float>(4, 0.0f));
  EXPECT_THAT(warnings.lines,
              ElementsAre(AllOf(HasSubstr("Add#1 'sum': input 1"), HasSubstr("no data"))));
  EXPECT_EQ(graph->Report().warnings, warnings.lines);
}

TEST(Regress, FloatWeightsWithAQuantizedInputAreAWarning) {
  const Quantization q(QuantType::ASYMMETRIC, 0.5f, 3);
  for (const bool quantized : {true, false}) {
    const Lines warnings(base::LogLevel::kWarn);
    auto graph = HostGraph();
    const DataType type = quantized ? DataType::UINT8 : DataType::FLOAT32;
    const Quantization quant = quantized ? q : Quantization();
    Bind<ops::Conv2d>(graph,
                      {Input(graph, {4, 4, 1, 1}, type, quant), Constant(graph, {1, 1, 1, 1}, {1})},
                      {Output(graph, {}, type, quant)}, PadType::VALID,
                      std::array<uint32_t, 2>{1, 1}, std::array<uint32_t, 2>{1, 1});
    ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
    if (quantized) {
      EXPECT_THAT(warnings.lines, ElementsAre(AllOf(HasSubstr("Conv2d#1: input 1 'kernel' f32"),
                                                    HasSubstr("input 0 'input' u8(0.5,3)"))));
    } else {
      EXPECT_THAT(warnings.lines, IsEmpty());
    }
    EXPECT_EQ(graph->Report().warnings, warnings.lines);
  }
}

TEST(Regress, WeightsThatContradictTheirTensorAreAWarning) {
  for (const uint32_t weights : {0u, 2u, 5u}) {
    const Lines warnings(base::LogLevel::kWarn);
    auto graph = HostGraph();
    Bind<ops::FullyConnected>(graph, {Input(graph, {2}), Constant(graph, {2, 2}, {1, 2, 3, 4})},
                              {Output(graph, {})}, 0u, weights);
    ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
    if (weights == 5) {
      EXPECT_THAT(warnings.lines, ElementsAre(AllOf(HasSubstr("FullyConnected#1"),
                                                    HasSubstr("weights 5"), HasSubstr("[2,2]"))));
    } else {
      EXPECT_THAT(warnings.lines, IsEmpty());
    }
  }
}

TEST(Regress, MessagesNameOpAndOperand) {
  const Lines errors(base::LogLevel::kError);
  auto graph = HostGraph();
  Bind<ops::Add>(graph, {Input(graph, {4}), Between(graph)}, {Output(graph, {4})});
  EXPECT_FALSE(graph->Compile());
  EXPECT_THAT(errors.lines, ElementsAre(AllOf(HasSubstr("Add#1: input 1 'input1' f32"),
                                              HasSubstr("nothing produces it"))));
  EXPECT_THAT(errors.lines, ElementsAre(testing::Not(HasSubstr("[]"))));
}

/// What a fresh process writes to stderr that has these variables and then does this.
void ExpectStderr(const std::vector<std::pair<const char*, const char*>>& env,
                  const std::function<void()>& work,
                  const testing::Matcher<const std::string&>& said) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto child = [&] {
    for (const auto& [name, value] : env) setenv(name, value, 1);
    work();
    std::_Exit(0);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), said);
}

size_t Count(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++count;
  return count;
}
MATCHER_P2(Says, word, times, "") { return Count(arg, word) == static_cast<size_t>(times); }

void FailingCompile() {
  auto graph = HostGraph();
  Bind<ops::Add>(graph, {Input(graph, {4})}, {Output(graph, {4})});
  if (graph->Run() || graph->Run()) std::_Exit(1);
}
void TwoGraphsWithoutADevice() {
  auto context = Context::Create();
  for (int i = 0; i < 2; ++i) {
    auto graph = context->CreateGraph();
    Bind<ops::Relu>(graph, {Input(graph, {4})}, {Output(graph, {4})});
    if (graph->Run()) std::_Exit(1);
  }
}

TEST(RegressDeathTest, FailuresGoToStderrByDefault) {
  ExpectStderr({{"TIMCL_LOG", ""}, {"VSI_NN_LOG_LEVEL", ""}}, FailingCompile,
               AllOf(Says("1 inputs are bound", 1), Says("[timcl error]", 1)));
}
TEST(RegressDeathTest, OffSilences) {
  ExpectStderr({{"TIMCL_LOG", "off"}}, FailingCompile, IsEmpty());
  ExpectStderr({{"TIMCL_LOG", "off"}, {"TIMCL_DEVICE", ""}, {"OCL_ICD_VENDORS", "/nonexistent"}},
               TwoGraphsWithoutADevice, IsEmpty());
}
TEST(RegressDeathTest, AMissingDeviceIsLoggedOnce) {
  ExpectStderr({{"TIMCL_LOG", ""}, {"TIMCL_DEVICE", ""}, {"OCL_ICD_VENDORS", "/nonexistent"}},
               TwoGraphsWithoutADevice, Says("[timcl error]", 1));
}

void ReportsItsEnvironment() {
  auto graph = HostGraph();
  HostGraph();
  Bind<ops::Relu>(graph, {Input(graph, {4})}, {Output(graph, {4})});
  if (!graph->Run() || graph->Report().warnings.size() != 1) std::_Exit(1);
}
TEST(RegressDeathTest, NonsenseInTheEnvironmentIsAWarning) {
  ExpectStderr({{"TIMCL_LOG", "wran,select=debug"}, {"TIMCL_KERNEL_DIR", ""}},
               ReportsItsEnvironment, AllOf(Says("'wran'", 1), Says("[timcl warning]", 1)));
  ExpectStderr({{"TIMCL_LOG", "select=loud"}, {"TIMCL_KERNEL_DIR", ""}}, ReportsItsEnvironment,
               Says("'select=loud'", 1));
  ExpectStderr({{"TIMCL_LOG", ""}, {"VSI_NN_LOG_LEVEL", "9"}, {"TIMCL_KERNEL_DIR", ""}},
               ReportsItsEnvironment, Says("VSI_NN_LOG_LEVEL: '9'", 1));
  ExpectStderr({{"TIMCL_LOG", ""}, {"TIMCL_KERNEL_DIR", "/nonexistent"}}, ReportsItsEnvironment,
               Says("TIMCL_KERNEL_DIR '/nonexistent'", 1));
}

}  // namespace
}  // namespace tim::vx::test
