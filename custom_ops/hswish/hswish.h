// Hswish: x * clamp(x + 3, 0, 6) / 6 as a custom operator, for FLOAT32 and UINT8 tensors.
#ifndef CUSTOM_OPS_HSWISH_HSWISH_H_
#define CUSTOM_OPS_HSWISH_HSWISH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tim/vx/ops/custom_base.h"

namespace custom_ops {

/// One input and one output of the same type (FLOAT32 or UINT8), any rank.
class Hswish : public tim::vx::ops::CustomOpBase {
 public:
  /// Scale and zero point of the input, then of the output: a kernel sees the stored numbers. The
  /// float variant takes them too and does not read them.
  using ParamTuple = std::tuple<float, int, float, int>;

  explicit Hswish(tim::vx::Graph* graph, ParamTuple tuple_list = ParamTuple(1.0f, 0, 1.0f, 0),
                  uint32_t input_num = 1, uint32_t output_num = 1);
  std::shared_ptr<tim::vx::Operation> Clone(std::shared_ptr<tim::vx::Graph>& graph) const override;

 protected:
  void SetupShapeInfor() override;
  void SetupParams(std::vector<tim::vx::DataType> input_types, std::string& build_option) override;
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                    std::vector<size_t>& local_size) override;

 private:
  ParamTuple tuple_list_;
  static const char* kernel_name_;
  static int32_t kernel_id_;
};

}  // namespace custom_ops

#endif  // CUSTOM_OPS_HSWISH_HSWISH_H_
