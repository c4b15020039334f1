// A shared library that links the library and is loaded by a program that does not: the sum of x.
#include <cstdint>
#include <vector>

#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/ops.h"

extern "C" float Sum(const float* values, uint32_t count);
extern "C" float Sum(const float* values, uint32_t count) {
  auto graph = tim::vx::Context::Create()->CreateGraph();
  auto x = graph->CreateTensor({tim::vx::DataType::FLOAT32, {count}, tim::vx::INPUT});
  auto y = graph->CreateTensor({tim::vx::DataType::FLOAT32, {1}, tim::vx::OUTPUT});
  const std::vector<int32_t> axes = {0};
  graph->CreateOperation<tim::vx::ops::ReduceSum>(axes, true)->BindInput(x).BindOutput(y);
  float sum = -1;
  return x->CopyDataToTensor(values) && graph->Run() && y->CopyDataFromTensor(&sum) ? sum : -1;
}
