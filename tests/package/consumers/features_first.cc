// Programs for the original ask for an operator's macro before they include anything. Only compiler
// options can answer them: the CMake targets and the pkg-config files carry these.
#ifndef VSI_FEAT_OP_CUMSUM
#error "VSI_FEAT_OP_CUMSUM is not on the command line"
#endif
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops/cumsum.h"

int main() {
  auto graph = tim::vx::Context::Create()->CreateGraph();
  const tim::vx::ShapeType shape = {4};
  auto x = graph->CreateTensor({tim::vx::DataType::FLOAT32, shape, tim::vx::INPUT});
  auto y = graph->CreateTensor({tim::vx::DataType::FLOAT32, shape, tim::vx::OUTPUT});
  graph->CreateOperation<tim::vx::ops::CumSum>(0, 0, 1)->BindInput(x).BindOutput(y);
  const std::vector<float> in = {1, 2, 3, 4};
  std::vector<float> out(4);
  const bool ran =
      x->CopyDataToTensor(in.data()) && graph->Run() && y->CopyDataFromTensor(out.data());
  return ran && out == std::vector<float>{10, 9, 7, 4} ? 0 : 1;
}
