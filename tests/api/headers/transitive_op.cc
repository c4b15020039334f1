// Callers of the original name these through one operator header alone.
#include "tim/vx/ops/clip.h"

std::shared_ptr<tim::vx::Tensor> MakeTensor(const std::shared_ptr<tim::vx::Graph>& graph);
std::shared_ptr<tim::vx::Tensor> MakeTensor(const std::shared_ptr<tim::vx::Graph>& graph) {
  const std::map<std::string, std::vector<uint32_t>> shapes = {{"x", {2, 3}}};
  std::cout << shapes.size() << std::endl;
  tim::vx::TensorSpec spec(tim::vx::DataType::FLOAT32, shapes.at("x"), tim::vx::INPUT);
  (*graph->CreateOperation<tim::vx::ops::Clip>(0.0f, 6.0f)).BindInputs({}).BindOutputs({});
  return graph->CreateTensor(spec);
}
