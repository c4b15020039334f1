// A user's program: includes what users include, runs one operator.
#include <iostream>
#include <memory>
#include <vector>

#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"

int main() {
  tim::vx::ContextOptions options;
  options.host_only = true;  // this is about building and linking
  auto graph = tim::vx::Context::Create(options)->CreateGraph();
  const tim::vx::ShapeType shape = {3};
  auto x = graph->CreateTensor({tim::vx::DataType::FLOAT32, shape, tim::vx::INPUT});
  auto y = graph->CreateTensor({tim::vx::DataType::FLOAT32, shape, tim::vx::OUTPUT});
  graph->CreateOperation<tim::vx::ops::Relu>()->BindInput(x).BindOutput(y);
  const std::vector<float> in = {-1, 0, 2};
  std::vector<float> out(3);
  const bool ran =
      x->CopyDataToTensor(in.data()) && graph->Run() && y->CopyDataFromTensor(out.data());
  if (!ran || out != std::vector<float>{0, 0, 2}) {
    std::cerr << "wrong: " << graph->LastStatus().message() << "\n";
    return 1;
  }
  return 0;
}
