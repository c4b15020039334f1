// Includes one operator's header and the context, and nothing of the standard library: programs for
// the original name these without including them.
#include "tim/vx/context.h"
#include "tim/vx/ops/conv2d.h"

int main() {
  const std::shared_ptr<tim::vx::Graph> graph = tim::vx::Context::Create()->CreateGraph();
  const std::map<std::string, std::vector<uint32_t>> shapes = {
      {"x", {3, 3, 1, 1}}, {"kernel", {2, 2, 1, 1}}, {"y", {2, 2, 1, 1}}};
  const std::vector<float> weights = {1, 2, 3, 4}, image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const tim::vx::TensorSpec constant(tim::vx::DataType::FLOAT32, shapes.at("kernel"),
                                     tim::vx::CONSTANT);
  const tim::vx::TensorSpec input(tim::vx::DataType::FLOAT32, shapes.at("x"), tim::vx::INPUT);
  const tim::vx::TensorSpec output(tim::vx::DataType::FLOAT32, shapes.at("y"), tim::vx::OUTPUT);
  const std::shared_ptr<tim::vx::Tensor> x = graph->CreateTensor(input);
  const std::shared_ptr<tim::vx::Tensor> y = graph->CreateTensor(output);
  const std::array<uint32_t, 2> one = {{1, 1}};
  graph->CreateOperation<tim::vx::ops::Conv2d>(tim::vx::PadType::VALID, one, one)
      ->BindInputs({x, graph->CreateTensor(constant, weights.data())})
      .BindOutputs({y});
  std::vector<float> result(4);
  const bool ran =
      x->CopyDataToTensor(image.data()) && graph->Run() && y->CopyDataFromTensor(result.data());
  for (const float value : result) std::cout << value << " ";
  std::cout << std::endl;
  return ran && result == std::vector<float>{37, 47, 67, 77} ? 0 : 1;
}
