// Knows nothing of the operator but its name: main <directory of plugins>.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tim/vx/attrs.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/operation.h"
#include "tim/vx/tensor.h"

int main(int argc, char** argv) {
  using namespace tim::vx;
  auto context = Context::Create();
  PluginScan scan;
  context->LoadPlugins(argc > 1 ? std::vector<std::string>{argv[1]} : Context::DefaultPluginDirs(),
                       &scan);
  for (const PluginScan::File& file : scan.files) {
    if (!file.status.ok()) std::cerr << file.status.message() << "\n";
  }

  auto graph = context->CreateGraph();
  auto x = graph->CreateTensor({DataType::FLOAT32, {3}, INPUT});
  auto y = graph->CreateTensor({DataType::FLOAT32, {3}, OUTPUT});
  graph->CreateOperation("acme.softcap", {{"cap", 2.0}})->BindInput(x).BindOutput(y);
  const float in[] = {-100, 0, 1};
  float out[3] = {};
  if (!x->CopyDataToTensor(in) || !graph->Run() || !y->CopyDataFromTensor(out)) {
    std::cerr << graph->LastStatus().message() << "\n";
    return 1;
  }
  std::cout << out[0] << " " << out[1] << " " << out[2] << "\n" << graph->Report().ToText();
  for (int i = 0; i < 3; ++i) {
    if (std::fabs(out[i] - 2 * std::tanh(in[i] / 2)) > 1e-5f) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
