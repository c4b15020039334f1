// Hswish: what the library asks of a custom operator: shape, kernel and options, work size.
#include "hswish.h"

#include <algorithm>

#include "tim/vx/kernel_sources.h"
#include "tim/vx/op_def.h"

namespace custom_ops {

extern const tim::vx::KernelSources kHswishFiles;  // hswish.cl, by CMakeLists.txt

const char* Hswish::kernel_name_ = "custom_ops.hswish";
int32_t Hswish::kernel_id_ = -1 * (++tim::vx::ops::gobal_kernel_id_);

Hswish::Hswish(tim::vx::Graph* graph, ParamTuple tuple_list, uint32_t input_num,
               uint32_t output_num)
    : CustomOpBase(graph, input_num, output_num, kernel_id_, kernel_name_),
      tuple_list_(tuple_list) {
  tim::vx::ops::param_transform(tuple_list_, param_list_);
  kernel_resource_ = kHswishFiles.Find("hswish.cl")->text;
  // The definition: tests compare the kernels with it, and it runs where there is no OpenCL.
  SetReference([](const tim::vx::ref::Inputs& inputs, tim::vx::ref::Outputs& outputs) {
    for (int64_t i = 0; i < outputs[0].count(); ++i) {
      const double x = inputs[0].At(i);
      outputs[0].Set(i, x * std::clamp(x + 3, 0.0, 6.0) / 6);
    }
    return tim::vx::Status();
  });
}

std::shared_ptr<tim::vx::Operation> Hswish::Clone(std::shared_ptr<tim::vx::Graph>& graph) const {
  return graph->CreateOperation<Hswish>(tuple_list_, input_num_, output_num_);
}

void Hswish::SetupShapeInfor() { outputs_size_[0] = inputs_size_[0]; }

void Hswish::SetupParams(std::vector<tim::vx::DataType> input_types, std::string& build_option) {
  // Of another type neither kernel is right. Without a kernel the graph does not compile.
  if (input_types[0] == tim::vx::DataType::FLOAT32) func_name_ = "hswish_F32toF32";
  if (input_types[0] == tim::vx::DataType::UINT8) func_name_ = "hswish_U8toU8";
  build_option = "";
}

void Hswish::SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                          std::vector<size_t>& local_size) {
  // One work-item per element. Those beyond the edge read 0 and write nothing.
  const tim::vx::ShapeType& shape = outputs_size_[0];
  size_t layers = 1;
  for (size_t i = 2; i < shape.size(); ++i) layers *= shape[i];
  dim = 3;
  global_size[0] = gpu_align(shape.size() > 0 ? shape[0] : 1, 4);
  global_size[1] = gpu_align(shape.size() > 1 ? shape[1] : 1, 4);
  global_size[2] = layers;
  for (size_t& size : local_size) size = 0;  // the library's choice
}

}  // namespace custom_ops
