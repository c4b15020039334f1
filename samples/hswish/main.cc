// hswish: a custom OpenCL operator in a graph, once on float and once on uint8 tensors.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "hswish.h"
#include "report.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"

namespace {

namespace vx = tim::vx;

constexpr int kCount = 25;  // x = -6, -5.5, ... 6

// The result in plain C++: a user's kernel has no other implementation to be compared with.
double HswishOf(double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }

/// Compiles and runs the graph that turns `in`, filled from `data`, into `out`.
bool Run(vx::Graph& graph, vx::Tensor& in, const void* data, vx::Tensor& out, void* result,
         samples::Report* report) {
  const bool ok =
      graph.Compile() && in.CopyDataToTensor(data) && graph.Run() && out.CopyDataFromTensor(result);
  if (!ok) {
    std::fprintf(stderr, "%s\n", graph.LastStatus().message().c_str());
    return false;
  }
  samples::AddPlan(graph, report);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The custom operator hswish, x * clamp(x + 3, 0, 6) / 6, on float and uint8.");
  const samples::Options options(app);
  CLI11_PARSE(app, argc, argv);

  const auto context = options.CreateContext();
  samples::Report report;
  report.sample = "hswish";
  report.device = context->DeviceName();

  std::vector<float> x(kCount), y(kCount);
  for (int i = 0; i < kCount; ++i) x[i] = static_cast<float>(i) / 2 - 6;
  const vx::ShapeType shape = {5, 5};  // any rank will do
  {
    const auto graph = context->CreateGraph();
    const auto in = graph->CreateTensor({vx::DataType::FLOAT32, shape, vx::INPUT});
    const auto out = graph->CreateTensor({vx::DataType::FLOAT32, shape, vx::OUTPUT});
    graph->CreateOperation<custom_ops::Hswish>()->BindInput(in).BindOutput(out);
    if (!Run(*graph, *in, x.data(), *out, y.data(), &report)) return 1;
  }

  // The same numbers as uint8: real number = (stored number - zero point) * scale.
  const float in_scale = 0.0625f, out_scale = 0.03125f;
  const int in_zero = 112, out_zero = 16;
  std::vector<uint8_t> qx(kCount), qy(kCount);
  for (int i = 0; i < kCount; ++i) {
    qx[i] = static_cast<uint8_t>(std::lround(x[i] / in_scale) + in_zero);
  }
  {
    const auto graph = context->CreateGraph();
    const vx::Quantization in_quant(vx::QuantType::ASYMMETRIC, in_scale, in_zero);
    const vx::Quantization out_quant(vx::QuantType::ASYMMETRIC, out_scale, out_zero);
    const auto in = graph->CreateTensor({vx::DataType::UINT8, shape, vx::INPUT, in_quant});
    const auto out = graph->CreateTensor({vx::DataType::UINT8, shape, vx::OUTPUT, out_quant});
    // A kernel sees the stored numbers, so it is given scales and zero points.
    const custom_ops::Hswish::ParamTuple params(in_scale, in_zero, out_scale, out_zero);
    graph->CreateOperation<custom_ops::Hswish>(params)->BindInput(in).BindOutput(out);
    if (!Run(*graph, *in, qx.data(), *out, qy.data(), &report)) return 1;
  }

  std::printf("hswish on %s\n\n      x    float    uint8\n", report.device.c_str());
  report.ok = true;
  for (int i = 0; i < kCount; ++i) {
    const double from_uint8 = (qy[i] - out_zero) * out_scale;
    const double diff = std::abs(y[i] - HswishOf(x[i]));
    // uint8 can be off by half a step, and more where it has no numbers.
    const double nearest = std::clamp(HswishOf(x[i]), (0 - out_zero) * double{out_scale},
                                      (255 - out_zero) * double{out_scale});
    report.max_diff = std::max(report.max_diff, diff);
    report.ok = report.ok && diff < 1e-5 && std::abs(from_uint8 - nearest) < 0.501 * out_scale;
    std::printf("%7.2f %8.4f %8.4f  %*s\n", x[i], y[i], from_uint8,
                static_cast<int>(std::lround(6 + 4 * y[i])), "*");
  }
  std::printf("\nlargest difference of the float results to the formula in C++: %.3g\n",
              report.max_diff);
  std::printf("uint8 results are %s\n",
              report.ok ? "the nearest there are" : "NOT as they should be");
  if (!samples::Append(options.report_file, report)) return 1;
  return report.ok ? 0 : 1;
}
