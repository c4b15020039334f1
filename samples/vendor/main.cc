// vendor: a graph of which a vendor's plugin takes a part, and who runs what and why.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "tim/vx/backend.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"

namespace {

namespace fs = std::filesystem;
namespace vx = tim::vx;

constexpr char kUsage[] =
    "usage: vendor [--model A100|A50] [--device NAME] [--report FILE] [PLUGIN...]\n"
    "PLUGIN: a directory of plugins, or one plugin; `whole` beside this program if none is named\n";

struct Arguments {
  std::string model, device, report;
  std::vector<std::string> plugins;
  bool good = true;

  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      std::string* const option = word == "--model"    ? &model
                                  : word == "--device" ? &device
                                  : word == "--report" ? &report
                                                       : nullptr;
      if (option != nullptr && i + 1 < argc) {
        *option = argv[++i];
      } else if (word.rfind("--", 0) == 0) {
        good = false;
      } else {
        plugins.push_back(word);
      }
    }
    if (plugins.empty()) {
      std::error_code error;
      plugins.push_back(
          (fs::read_symlink("/proc/self/exe", error).parent_path() / "whole").string());
    }
  }
};

/// Loads the plugins and says what became of each; false if one cannot be loaded.
bool LoadPlugins(vx::Context& context, const std::vector<std::string>& plugins) {
  bool good = true;
  for (const std::string& plugin : plugins) {
    vx::PluginScan scan;
    if (fs::is_directory(plugin)) {
      context.LoadPlugins({plugin}, &scan);
    } else {
      std::vector<vx::PluginInfo> loaded;
      const vx::Status status = context.LoadPlugin(plugin, &loaded);
      scan.files.push_back({plugin, status, loaded.empty() ? vx::PluginInfo() : loaded[0]});
    }
    for (const vx::PluginScan::File& file : scan.files) {
      const std::string name = fs::path(file.path).filename().string();
      if (file.status.ok()) {
        std::printf("%s: %s %s of %s,%s%s\n", name.c_str(), file.plugin.name.c_str(),
                    file.plugin.version.c_str(), file.plugin.vendor.c_str(),
                    file.plugin.compiles ? " compiles" : "",
                    file.plugin.executes ? " executes" : "");
      } else {
        std::printf("%s: %s\n", name.c_str(), file.status.message().c_str());
        good = false;
      }
    }
  }
  return good;
}

// y = clip(tanh(h * h) + h, 0, 1.5) with h = relu(weight x + bias), for two columns x.
constexpr int kIn = 4, kOut = 3, kColumns = 2;
const std::vector<float> kX = {1, -2, 0.5, 0.25, -1, 3, 2, -0.5};
const std::vector<float> kWeight = {0.5, 0.25, 1, -1, -0.5, 0.125, 0.75, 2, 1, 1, -1, 0.5};
const std::vector<float> kBias = {0.125, -0.25, 1};

std::vector<double> Expected() {
  std::vector<double> y;
  for (int b = 0; b < kColumns; ++b) {
    for (int o = 0; o < kOut; ++o) {
      double h = kBias[o];
      for (int k = 0; k < kIn; ++k) h += double{kWeight[o * kIn + k]} * kX[b * kIn + k];
      h = std::max(h, 0.0);
      y.push_back(std::clamp(std::tanh(h * h) + h, 0.0, 1.5));
    }
  }
  return y;
}

struct Net {
  std::shared_ptr<vx::Graph> graph;
  std::shared_ptr<vx::Tensor> x, y;
};

Net Build(vx::Context& context, const vx::CompileOption& options) {
  const auto graph = context.CreateGraph(options);
  const auto tensor = [&](const vx::ShapeType& shape, vx::TensorAttribute attribute,
                          const float* data = nullptr) {
    return graph->CreateTensor({vx::DataType::FLOAT32, shape, attribute}, data);
  };
  const Net net = {graph, tensor({kIn, kColumns}, vx::INPUT), tensor({kOut, kColumns}, vx::OUTPUT)};
  const auto sum = tensor({}, vx::TRANSIENT), h = tensor({}, vx::TRANSIENT),
             square = tensor({}, vx::TRANSIENT), bent = tensor({}, vx::TRANSIENT),
             high = tensor({}, vx::TRANSIENT);
  const auto dense = graph->CreateOperation<vx::ops::FullyConnected>(0);
  dense->BindInputs({net.x, tensor({kIn, kOut}, vx::CONSTANT, kWeight.data()),
                     tensor({kOut}, vx::CONSTANT, kBias.data())});
  dense->BindOutput(sum).SetName("dense");
  graph->CreateOperation<vx::ops::Relu>()->BindInput(sum).BindOutput(h);
  graph->CreateOperation<vx::ops::Multiply>()->BindInputs({h, h}).BindOutput(square);
  graph->CreateOperation<vx::ops::Tanh>()->BindInput(square).BindOutput(bent);
  graph->CreateOperation<vx::ops::Add>()->BindInputs({bent, h}).BindOutput(high);
  graph->CreateOperation<vx::ops::Clip>(0.0f, 1.5f)->BindInput(high).BindOutput(net.y);
  return net;
}

/// Whether each operation runs where it should.
bool PlacedWell(const vx::CompileReport& report, const vx::Context& context,
                const std::string& model) {
  bool acme_runs = false;
  for (const vx::BackendInfo& backend : context.Backends()) {
    if (backend.name == "Acme") acme_runs = backend.compiles && backend.executes;
  }
  bool good = true;
  for (const vx::OpPlacement& op : report.ops) {
    const bool can = op.kind != "Tanh" && !(op.kind == "FullyConnected" && model == "A50");
    if ((op.backend == "Acme") == (acme_runs && can)) continue;
    std::printf("%s should %srun on Acme\n", op.op.c_str(), acme_runs && can ? "" : "not ");
    good = false;
  }
  return good;
}

/// One line of JSON, as scripts/samples.sh reads it.
bool Append(const std::string& file, const std::string& device, const vx::CompileReport& report,
            double max_diff, bool ok) {
  if (file.empty()) return true;
  std::string name;
  for (const char c : device) name += c == '"' || c == '\\' ? ' ' : c;
  std::ofstream out(file, std::ios::app);
  out << "{\"sample\":\"vendor\",\"device\":\"" << name << "\",\"steps\":" << report.steps
      << ",\"syncs\":" << report.syncs << ",\"max_diff\":" << max_diff
      << ",\"ok\":" << (ok ? "true" : "false") << "}\n";
  out.close();
  return static_cast<bool>(out);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  if (!arguments.good) {
    std::fputs(kUsage, stderr);
    return 1;
  }
  vx::ContextOptions context_options;
  context_options.device = arguments.device;
  const auto context = vx::Context::Create(context_options);
  bool ok = LoadPlugins(*context, arguments.plugins);

  vx::CompileOption options;
  if (!arguments.model.empty()) options.SetTarget({"Acme", arguments.model});
  const Net net = Build(*context, options);
  std::vector<float> y(kOut * kColumns);
  if (!net.graph->Compile() || !net.x->CopyDataToTensor(kX.data()) || !net.graph->Run() ||
      !net.y->CopyDataFromTensor(y.data())) {
    std::printf("%s\n", net.graph->LastStatus().message().c_str());
    return 1;
  }
  const vx::CompileReport report = net.graph->Report();
  std::cout << "\n" << report.ToText() << "\n";

  double max_diff = 0;
  bool close = true;
  const std::vector<double> expected = Expected();
  for (size_t i = 0; i < y.size(); ++i) {
    std::printf("%9.5f, expected %9.5f\n", y[i], expected[i]);
    const double diff = std::abs(y[i] - expected[i]);
    max_diff = std::max(max_diff, diff);
    close = close && diff < 1e-5;  // no NaN is
  }
  ok = PlacedWell(report, *context, arguments.model) && close && ok;
  std::printf("largest difference %.3g: %s\n", max_diff, ok ? "good" : "WRONG");
  if (!Append(arguments.report, context->DeviceName(), report, max_diff, ok)) {
    std::fprintf(stderr, "cannot write to %s\n", arguments.report.c_str());
    return 1;
  }
  return ok ? 0 : 1;
}
