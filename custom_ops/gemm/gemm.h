// CustomGemm: the product of two matrices as a custom operator, for FLOAT32 and UINT8 tensors.
#ifndef CUSTOM_OPS_GEMM_GEMM_H_
#define CUSTOM_OPS_GEMM_GEMM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tim/vx/ops/custom_base.h"

namespace custom_ops {

/// Inputs A {K, M} ({M, K} if trans_a) and B {N, K} ({K, N} if trans_b), fastest dimension first;
/// output {N, M}. All of one type, FLOAT32 or UINT8. Graph::Compile() fails if M, K, N are not
/// those of the tensors.
class CustomGemm : public tim::vx::ops::CustomOpBase {
 public:
  /// M, K, N, ac2zero, bc2zero, then scale and zero point of A, of B, of the output.
  using ParamTuple = std::tuple<int, int, int, int, int, float, float, float, float, float, float>;

  CustomGemm(tim::vx::Graph* graph, bool trans_a, bool trans_b, ParamTuple tuple_list,
             uint32_t input_num = 2, uint32_t output_num = 1);
  std::shared_ptr<tim::vx::Operation> Clone(std::shared_ptr<tim::vx::Graph>& graph) const override;

 protected:
  void SetupShapeInfor() override;
  void SetupParams(std::vector<tim::vx::DataType> input_types, std::string& build_option) override;
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                    std::vector<size_t>& local_size) override;

 private:
  ParamTuple tuple_list_;
  bool trans_a_;
  bool trans_b_;
  static const char* kernel_name_;
  static int32_t kernel_id_;
};

}  // namespace custom_ops

#endif  // CUSTOM_OPS_GEMM_GEMM_H_
