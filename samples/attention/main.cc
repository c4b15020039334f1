// attention: an operator composed of the library's own, compared with the formula in C++.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "attention.h"
#include "report.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"

namespace {

namespace vx = tim::vx;

constexpr int kHeads = 2, kDepth = 2, kWidth = kHeads * kDepth, kKeys = 12, kQueries = 9;
constexpr double kPi = 3.14159265358979323846;

/// The formula, in double.
std::vector<double> AttentionOf(const std::vector<float>& query, const std::vector<float>& key,
                                const std::vector<float>& value) {
  std::vector<double> output(kQueries * kWidth, 0);
  for (int q = 0; q < kQueries; ++q) {
    for (int h = 0; h < kHeads; ++h) {
      const int at = h * kDepth;
      double weight[kKeys], sum = 0;
      for (int k = 0; k < kKeys; ++k) {
        double fit = 0;
        for (int d = 0; d < kDepth; ++d)
          fit += double{query[q * kWidth + at + d]} * key[k * kWidth + at + d];
        sum += weight[k] = std::exp(fit / std::sqrt(double{kDepth}));
      }
      for (int k = 0; k < kKeys; ++k) {
        for (int d = 0; d < kDepth; ++d)
          output[q * kWidth + at + d] += weight[k] / sum * value[k * kWidth + at + d];
      }
    }
  }
  return output;
}

/// The direction of two numbers, in degrees from 0 to 360.
double Direction(const float* xy) {
  const double degrees = std::atan2(xy[1], xy[0]) * 180 / kPi;
  return degrees < -0.05 ? degrees + 360 : std::abs(degrees);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Attention of two heads, an operator composed of the library's own.");
  const samples::Options options(app);
  CLI11_PARSE(app, argc, argv);

  // Keys stand around a circle, and the value of each is where it stands. A query is a direction:
  // the first head takes the values that lie there, the second those on the other side.
  std::vector<float> query(kQueries * kWidth), key(kKeys * kWidth), value(kKeys * kWidth);
  for (int q = 0; q < kQueries; ++q) {
    const double angle = 2 * kPi * q / kQueries, sharpness = 12;
    for (int d = 0; d < kDepth; ++d) {
      const double x = sharpness * (d == 0 ? std::cos(angle) : std::sin(angle));
      query[q * kWidth + d] = static_cast<float>(x);
      query[q * kWidth + kDepth + d] = static_cast<float>(-x);
    }
  }
  for (int k = 0; k < kKeys; ++k) {
    const double angle = 2 * kPi * k / kKeys;
    for (int h = 0; h < kHeads; ++h) {
      float* at = &key[k * kWidth + h * kDepth];
      at[0] = static_cast<float>(std::cos(angle));
      at[1] = static_cast<float>(std::sin(angle));
    }
  }
  value = key;

  const auto context = options.CreateContext();
  samples::Report report;
  report.sample = "attention";
  report.device = context->DeviceName();

  const auto graph = context->CreateGraph();
  const auto tensor = [&](uint32_t count, vx::TensorAttribute attribute) {
    return graph->CreateTensor(
        vx::TensorSpec(vx::DataType::FLOAT32, {uint32_t{kWidth}, count}, attribute));
  };
  const auto q = tensor(kQueries, vx::INPUT), k = tensor(kKeys, vx::INPUT);
  const auto v = tensor(kKeys, vx::INPUT), y = tensor(kQueries, vx::OUTPUT);
  (*graph->CreateOperation<samples::Attention>(samples::AttentionAttrs{kHeads}))
      .BindInputs({q, k, v})
      .BindOutput(y)
      .SetName("around");

  std::vector<float> output(kQueries * kWidth);
  const bool ok = graph->Compile() && q->CopyDataToTensor(query.data()) &&
                  k->CopyDataToTensor(key.data()) && v->CopyDataToTensor(value.data()) &&
                  graph->Run() && y->CopyDataFromTensor(output.data());
  if (!ok) return samples::Fail(graph->LastStatus().message());
  samples::AddPlan(*graph, &report);

  const std::vector<double> expected = AttentionOf(query, key, value);
  for (size_t i = 0; i < output.size(); ++i)
    report.max_diff = std::max(report.max_diff, std::abs(output[i] - expected[i]));
  report.ok = report.max_diff < 1e-5;

  std::printf("attention on %s\n\nThe parts of the operator, and where they run:\n%s\n",
              report.device.c_str(), graph->Report().ToText().c_str());
  std::printf("query at  head 1 looks to  head 2 looks to\n");
  for (int i = 0; i < kQueries; ++i) {
    std::printf("%8.1f  %15.1f  %15.1f\n", 360.0 * i / kQueries, Direction(&output[i * kWidth]),
                Direction(&output[i * kWidth + kDepth]));
  }
  std::printf("\nlargest difference to the formula: %.3g%s\n", report.max_diff,
              report.ok ? "" : "  TOO MUCH");
  if (!samples::Append(options.report_file, report)) return 1;
  return report.ok ? 0 : 1;
}
