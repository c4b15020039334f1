// Callers name these through ops.h and context.h alone.
#include "tim/vx/context.h"
#include "tim/vx/ops.h"

std::size_t Sum();
std::size_t Sum() {
  const std::array<uint32_t, 2> stride = {{1, 1}};
  const std::tuple<std::string, int> pair("x", 2);
  std::cout << std::get<0>(pair) << std::endl;
  const std::shared_ptr<tim::vx::Context> context = tim::vx::Context::Create();
  const std::shared_ptr<tim::vx::Graph> graph = context->CreateGraph();
  graph->CreateOperation<tim::vx::ops::Conv2d>(tim::vx::PadType::SAME, stride, stride);
  return stride.size();
}
