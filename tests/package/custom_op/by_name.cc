// Knows nothing of RmsNorm but its name.
#include <cmath>
#include <iostream>

#include "tim/vx/attrs.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/operation.h"
#include "tim/vx/status.h"
#include "tim/vx/tensor.h"

int main() {
  using namespace tim::vx;
  auto context = Context::Create();
  context->LoadPlugins();
  auto graph = context->CreateGraph();
  auto x = graph->CreateTensor({DataType::FLOAT32, {2}, INPUT});
  auto y = graph->CreateTensor({DataType::FLOAT32, {2}, OUTPUT});
  graph->CreateOperation("custom_ops.rms_norm", {{"epsilon", 75.0}})->BindInput(x).BindOutput(y);

  const float in[] = {-1, 7};
  float out[2] = {};
  if (!x->CopyDataToTensor(in) || !graph->Run() || !y->CopyDataFromTensor(out)) {
    std::cerr << graph->LastStatus().message() << "\n";
    return 1;
  }
  std::cout << out[0] << " " << out[1] << "\n";  // by sqrt((1 + 49) / 2 + 75) = 10
  return std::fabs(out[0] + 0.1f) < 1e-6f && std::fabs(out[1] - 0.7f) < 1e-6f ? 0 : 1;
}
