// CustomGemm: what the library asks of a custom operator: shape, kernel and options, work size.
#include "gemm.h"

#include "tim/vx/kernel_sources.h"
#include "tim/vx/op_def.h"

namespace custom_ops {

extern const tim::vx::KernelSources kGemmFiles;  // gemm.cl, by CMakeLists.txt

const char* CustomGemm::kernel_name_ = "custom_ops.gemm";
int32_t CustomGemm::kernel_id_ = -1 * (++tim::vx::ops::gobal_kernel_id_);

CustomGemm::CustomGemm(tim::vx::Graph* graph, bool trans_a, bool trans_b, ParamTuple tuple_list,
                       uint32_t input_num, uint32_t output_num)
    : CustomOpBase(graph, input_num, output_num, kernel_id_, kernel_name_),
      tuple_list_(tuple_list),
      trans_a_(trans_a),
      trans_b_(trans_b) {
  tim::vx::ops::param_transform(tuple_list_, param_list_);
  kernel_resource_ = kGemmFiles.Find("gemm.cl")->text;
  // The definition: tests compare the kernels with it, and it runs where there is no OpenCL.
  SetReference([this](const tim::vx::ref::Inputs& inputs, tim::vx::ref::Outputs& outputs) {
    const int64_t m = std::get<0>(tuple_list_), k = std::get<1>(tuple_list_),
                  n = std::get<2>(tuple_list_);
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) {
          sum += inputs[0].At(trans_a_ ? i * m + row : row * k + i) *
                 inputs[1].At(trans_b_ ? column * k + i : i * n + column);
        }
        outputs[0].Set(row * n + column, sum);
      }
    }
    return tim::vx::Status();
  });
}

std::shared_ptr<tim::vx::Operation> CustomGemm::Clone(
    std::shared_ptr<tim::vx::Graph>& graph) const {
  return graph->CreateOperation<CustomGemm>(trans_a_, trans_b_, tuple_list_, input_num_,
                                            output_num_);
}

void CustomGemm::SetupShapeInfor() {
  const uint32_t m = std::get<0>(tuple_list_), k = std::get<1>(tuple_list_),
                 n = std::get<2>(tuple_list_);
  const tim::vx::ShapeType a = trans_a_ ? tim::vx::ShapeType{m, k} : tim::vx::ShapeType{k, m};
  const tim::vx::ShapeType b = trans_b_ ? tim::vx::ShapeType{k, n} : tim::vx::ShapeType{n, k};
  // Left without a shape, the output makes Compile() fail: the kernel would read what is not there.
  if (inputs_size_[0] != a || inputs_size_[1] != b) return;
  outputs_size_[0].push_back(n);
  outputs_size_[0].push_back(m);
}

void CustomGemm::SetupParams(std::vector<tim::vx::DataType> input_types,
                             std::string& build_option) {
  using tim::vx::DataType;
  if (input_types[0] == DataType::FLOAT32 && input_types[1] == DataType::FLOAT32) {
    func_name_ = "gemm_F32F32toF32_2D";
  } else if (input_types[0] == DataType::UINT8 && input_types[1] == DataType::UINT8) {
    func_name_ = "gemm_U8U8toU8_2D";
  }  // else: no kernel, and the graph does not compile
  build_option =
      std::string("-DTRANS_A=") + (trans_a_ ? "1" : "0") + " -DTRANS_B=" + (trans_b_ ? "1" : "0");
}

void CustomGemm::SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                              std::vector<size_t>& local_size) {
  // One work-item per element of the result, rounded up; those beyond the edge write nothing.
  dim = 3;
  global_size[0] = gpu_align(outputs_size_[0][0], 4);
  global_size[1] = gpu_align(outputs_size_[0][1], 4);
  global_size[2] = 1;
  for (size_t& size : local_size) size = 0;  // the library's choice
}

}  // namespace custom_ops
