// Prints who runs its one operator.
#include "tim/vx/delegates/onednn.h"

#include <cstdio>

#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/activations.h"

int main() {
  using namespace tim::vx;
  ContextOptions options;
  options.host_only = true;
  const auto context = Context::Create(options);
  if (!context->SetDelegate(CreateOneDnnDelegate()).ok()) return 1;
  const auto graph = context->CreateGraph();
  const auto x = graph->CreateTensor(TensorSpec(DataType::FLOAT32, {4}, TensorAttribute::INPUT));
  const auto y = graph->CreateTensor(TensorSpec(DataType::FLOAT32, {4}, TensorAttribute::OUTPUT));
  graph->CreateOperation<ops::Relu>()->BindInput(x).BindOutput(y);
  const float in[4] = {-1, 2, -3, 4};
  float out[4] = {};
  if (!x->CopyDataToTensor(in) || !graph->Run() || !y->CopyDataFromTensor(out)) return 1;
  if (out[0] != 0 || out[1] != 2 || out[2] != 0 || out[3] != 4) return 1;
  std::puts(graph->Report().ops[0].backend.c_str());
  return 0;
}
