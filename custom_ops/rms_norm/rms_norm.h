// RmsNorm: x / sqrt(mean(x * x) + epsilon) along dimension 0, the operator of the tutorial.
#ifndef CUSTOM_OPS_RMS_NORM_RMS_NORM_H_
#define CUSTOM_OPS_RMS_NORM_RMS_NORM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/attrs.h"
#include "tim/vx/ops/custom_base.h"

namespace custom_ops {

/// One FLOAT32 input of any rank, and a FLOAT32 output of its shape.
/// Source: B. Zhang, R. Sennrich, "Root mean square layer normalization", 2019.
class RmsNorm : public tim::vx::ops::CustomOpBase {
 public:
  struct Attrs {
    float epsilon = 1e-6f;  // keeps rows of zeros finite
    TIMCL_FIELDS(epsilon)
  };
  RmsNorm(tim::vx::Graph* graph, const Attrs& attrs);
  std::shared_ptr<tim::vx::Operation> Clone(std::shared_ptr<tim::vx::Graph>& graph) const override;

 protected:
  void SetupShapeInfor() override;
  void SetupParams(std::vector<tim::vx::DataType> input_types, std::string& build_option) override;
  void SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                    std::vector<size_t>& local_size) override;

 private:
  Attrs attrs_;
};

}  // namespace custom_ops

#endif  // CUSTOM_OPS_RMS_NORM_RMS_NORM_H_
