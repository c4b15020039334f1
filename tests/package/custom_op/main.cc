// The program of custom_ops/README.md: y = RmsNorm(x) * gain.
#include <cmath>
#include <iostream>
#include <vector>

#include "rms_norm.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/profile.h"
#include "tim/vx/status.h"
#include "tim/vx/tensor.h"

int main() {
  using namespace tim::vx;
  auto context = Context::Create();
  auto graph = context->CreateGraph();
  auto x = graph->CreateTensor({DataType::FLOAT32, {512, 64}, INPUT});
  auto normal = graph->CreateTensor({DataType::FLOAT32, {}, TRANSIENT});
  const std::vector<float> gains(512, 2.0f);
  auto gain = graph->CreateTensor({DataType::FLOAT32, {512}, CONSTANT}, gains.data());
  auto y = graph->CreateTensor({DataType::FLOAT32, {512, 64}, OUTPUT});
  const custom_ops::RmsNorm::Attrs attrs = {1e-5f};
  graph->CreateOperation<custom_ops::RmsNorm>(attrs)->BindInput(x).BindOutput(normal);
  graph->CreateOperation<ops::Multiply>()->BindInputs({normal, gain}).BindOutput(y);

  std::vector<float> in(512 * 64, -3.0f), out(in.size());
  x->CopyDataToTensor(in.data());
  if (!graph->Compile() || !graph->Run()) {
    std::cerr << graph->LastStatus().message() << "\n";
    return 1;
  }
  y->CopyDataFromTensor(out.data());
  std::cout << graph->Profile().ToText();
  for (const float value : out) {
    if (std::fabs(value + 2) > 1e-5f) return 1;  // -3 / sqrt(9) * 2
  }
  return 0;
}
