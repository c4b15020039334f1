// Relaxed mode: products of bfloat16 where they were asked for, and nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/api_support.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/matmul.h"

namespace tim::vx::test {
namespace {

using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using Values = std::vector<float>;

/// In [-1, 1], or their magnitudes.
Values Numbers(size_t count, uint32_t seed, bool magnitudes) {
  Values v;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    const float number = static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f;
    v.push_back(magnitudes ? std::fabs(number) : number);
  }
  return v;
}

struct Outcome {
  std::vector<Values> results;
  std::vector<std::string> kernels;
  CompileReport report;
};

/// A convolution, a product with weights and one of two tensors.
Outcome Compute(bool relaxed, bool magnitudes = false) {
  CompileOption option;
  option.setRelaxMode(relaxed);
  const GraphPtr graph = SharedContext()->CreateGraph(option);
  const auto numbers = [&](size_t n, uint32_t seed) { return Numbers(n, seed, magnitudes); };
  const TensorPtr image = Input(graph, {15, 13, 35, 1}), a = Input(graph, {67, 21}),
                  b = Input(graph, {50, 67});
  const TensorPtr filtered = Output(graph, {7, 6, 40, 1}), dense = Output(graph, {70, 21}),
                  product = Output(graph, {50, 21});
  Bind<ops::Conv2d>(graph, {image, Constant(graph, {3, 3, 35, 40}, numbers(3 * 3 * 35 * 40, 1))},
                    {filtered}, PadType::VALID, std::array<uint32_t, 2>{2, 2},
                    std::array<uint32_t, 2>{1, 1});
  Bind<ops::FullyConnected>(graph, {a, Constant(graph, {67, 70}, numbers(67 * 70, 2))}, {dense}, 0,
                            70);
  Bind<ops::Matmul>(graph, {a, b}, {product});
  Outcome outcome;
  EXPECT_TRUE(graph->Compile()) << graph->LastStatus().message();
  outcome.report = graph->Report();
  for (const OpPlacement& op : outcome.report.ops) outcome.kernels.push_back(op.kernel);
  Write(image, numbers(15 * 13 * 35, 3));
  Write(a, numbers(67 * 21, 4));
  Write(b, numbers(50 * 67, 5));
  EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
  outcome.results = {Read(filtered, 7 * 6 * 40), Read(dense, 70 * 21), Read(product, 50 * 21)};
  return outcome;
}

std::string NoteOf(const CompileReport& report) {
  return report.parts.empty() ? "" : report.parts[0].note;
}

TEST(RelaxedTest, OffNeverRounds) {
  const Outcome exact = Compute(false);
  EXPECT_THAT(exact.kernels, Each(Not(HasSubstr("bf16"))));
  EXPECT_THAT(NoteOf(exact.report), Not(HasSubstr("relaxed")));
}

TEST(RelaxedTest, OnRoundsFactorsAndSaysSo) {
  if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL";
  const Outcome exact = Compute(false), relaxed = Compute(true),
                sums = Compute(false, /*magnitudes=*/true);
  if (NoteOf(relaxed.report).find("device has no products of bfloat16") != std::string::npos) {
    EXPECT_EQ(relaxed.results, exact.results);
    EXPECT_EQ(relaxed.kernels, exact.kernels);
    GTEST_SKIP() << "the device has no products of bfloat16";
  }
  EXPECT_THAT(relaxed.kernels, Each(EndsWith("bf16")));
  EXPECT_THAT(NoteOf(relaxed.report), HasSubstr("relaxed: 3 operations in bfloat16"));
  for (size_t r = 0; r < exact.results.size(); ++r) {
    double worst = 0;
    for (size_t i = 0; i < exact.results[r].size(); ++i) {
      const double by = std::fabs(relaxed.results[r][i] - exact.results[r][i]);
      EXPECT_LE(by, sums.results[r][i] * 0x1p-8) << "result " << r << ", element " << i;
      worst = std::max(worst, by / sums.results[r][i]);
    }
    EXPECT_GT(worst, 1e-5) << "result " << r << " was computed in float32";
  }
}

TEST(RelaxedTest, WithoutSuchAnOperationTheReportSaysThatNothingChanged) {
  if (!HasOpenCl()) GTEST_SKIP() << "no OpenCL";
  CompileOption option;
  option.setRelaxMode(true);
  const GraphPtr graph = SharedContext()->CreateGraph(option);
  Bind<ops::Relu>(graph, {Input(graph, {5})}, {Output(graph, {5})});
  ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
  EXPECT_THAT(NoteOf(graph->Report()), HasSubstr("relaxed, but all in float32: "));
}

}  // namespace
}  // namespace tim::vx::test
