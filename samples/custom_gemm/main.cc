// custom_gemm: a custom matrix product alone, behind a built-in operator, and behind another one.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "gemm.h"
#include "report.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"

namespace {

namespace vx = tim::vx;
using Matrix = std::vector<float>;  // row by row

// The result in plain C++: a user's kernel has no other implementation to be compared with.
Matrix Product(const Matrix& a, const Matrix& b, int m, int k, int n) {
  Matrix c(m * n);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int i = 0; i < k; ++i) sum += double{a[row * k + i]} * b[i * n + column];
      c[row * n + column] = static_cast<float>(sum);
    }
  }
  return c;
}

Matrix Filled(int count, int seed) {
  Matrix values(count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<float>((i * 7 + seed) % 11 - 5) / 4;
  return values;
}

vx::TensorSpec Spec(const vx::ShapeType& shape, vx::TensorAttribute attribute) {
  return vx::TensorSpec(vx::DataType::FLOAT32, shape, attribute);
}

std::shared_ptr<vx::Operation> Gemm(vx::Graph& graph, int m, int k, int n) {
  const custom_ops::CustomGemm::ParamTuple params(m, k, n, 0, 0, 1, 0, 1, 0, 1, 0);
  return graph.CreateOperation<custom_ops::CustomGemm>(false, false, params);
}

/// Compiles, gives the graph's inputs their values, runs, and compares its one output.
bool Check(const char* title, vx::Graph& graph, const std::vector<Matrix>& inputs,
           const Matrix& expected, samples::Report* report) {
  Matrix result(expected.size());
  bool ok = graph.Compile();
  for (size_t i = 0; ok && i < inputs.size(); ++i) {
    ok = graph.InputsTensor()[i]->CopyDataToTensor(inputs[i].data());
  }
  ok = ok && graph.Run() && graph.OutputsTensor()[0]->CopyDataFromTensor(result.data());
  if (!ok) {
    std::fprintf(stderr, "%s: %s\n", title, graph.LastStatus().message().c_str());
    return false;
  }
  double largest = 0, bound = 1e-6;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(double{result[i]} - expected[i]));
    bound = std::max(bound, std::abs(expected[i]) * 1e-5);
  }
  const bool close = largest <= bound;
  std::printf("%-20s steps: %zu, synchronisations: %zu; first row:", title, graph.Report().steps,
              graph.Report().syncs);
  for (size_t i = 0; i < 4; ++i) std::printf(" %8.4f", result[i]);
  std::printf("; largest difference %.3g%s\n", largest, close ? "" : "  WRONG");
  samples::AddPlan(graph, report);
  report->max_diff = std::max(report->max_diff, largest);
  report->ok = report->ok && close;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The custom operator gemm, a matrix product, in three graphs.");
  const samples::Options options(app);
  CLI11_PARSE(app, argc, argv);

  const auto context = options.CreateContext();
  samples::Report report;
  report.sample = "custom_gemm";
  report.device = context->DeviceName();
  report.ok = true;
  std::printf("custom_gemm on %s\n\n", report.device.c_str());

  // Shapes are listed fastest dimension first: a matrix of m rows and k columns is {k, m}.
  const int m = 5, k = 7, n = 6, p = 4;
  const Matrix a = Filled(m * k, 0), a2 = Filled(m * k, 3), b = Filled(k * n, 5),
               c = Filled(n * p, 8);
  {
    const auto graph = context->CreateGraph();
    const auto in_a = graph->CreateTensor(Spec({k, m}, vx::INPUT));
    const auto in_b = graph->CreateTensor(Spec({n, k}, vx::INPUT));
    const auto out = graph->CreateTensor(Spec({n, m}, vx::OUTPUT));
    Gemm(*graph, m, k, n)->BindInputs({in_a, in_b}).BindOutput(out);
    if (!Check("gemm(a, b)", *graph, {a, b}, Product(a, b, m, k, n), &report)) return 1;
  }
  {
    const auto graph = context->CreateGraph();
    const auto in_a = graph->CreateTensor(Spec({k, m}, vx::INPUT));
    const auto in_a2 = graph->CreateTensor(Spec({k, m}, vx::INPUT));
    const auto in_b = graph->CreateTensor(Spec({n, k}, vx::INPUT));
    const auto sum = graph->CreateTensor(Spec({}, vx::TRANSIENT));
    const auto out = graph->CreateTensor(Spec({n, m}, vx::OUTPUT));
    graph->CreateOperation<vx::ops::Add>()->BindInputs({in_a, in_a2}).BindOutput(sum);
    Gemm(*graph, m, k, n)->BindInputs({sum, in_b}).BindOutput(out);
    Matrix added(m * k);
    for (int i = 0; i < m * k; ++i) added[i] = a[i] + a2[i];
    if (!Check("gemm(a + a2, b)", *graph, {a, a2, b}, Product(added, b, m, k, n), &report)) {
      return 1;
    }
  }
  {
    const auto graph = context->CreateGraph();
    const auto in_a = graph->CreateTensor(Spec({k, m}, vx::INPUT));
    const auto in_b = graph->CreateTensor(Spec({n, k}, vx::INPUT));
    const auto in_c = graph->CreateTensor(Spec({p, n}, vx::INPUT));
    const auto ab = graph->CreateTensor(Spec({}, vx::TRANSIENT));
    const auto out = graph->CreateTensor(Spec({p, m}, vx::OUTPUT));
    Gemm(*graph, m, k, n)->BindInputs({in_a, in_b}).BindOutput(ab);
    Gemm(*graph, m, n, p)->BindInputs({ab, in_c}).BindOutput(out);
    const Matrix expected = Product(Product(a, b, m, k, n), c, m, n, p);
    if (!Check("gemm(gemm(a, b), c)", *graph, {a, b, c}, expected, &report)) return 1;
  }

  std::printf("\nlargest difference to the products in C++: %.3g\n", report.max_diff);
  if (!samples::Append(options.report_file, report)) return 1;
  return report.ok ? 0 : 1;
}
