// Pool1d: pooling over windows of the first dimension.
#ifndef TIM_VX_OPS_POOL1D_H_
#define TIM_VX_OPS_POOL1D_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Maximum, average or L2 norm over windows of W; MAX, AVG, AVG_ANDROID and L2 as for Pool2d.
///   input   T[W, C, N]     T: f32 f16, quantized
///   output  T[Wo, C, N]; a declared shape is overwritten
/// Wo = round_type((W + front + rear - ksize) / stride) + 1. PadType::NONE means no padding.
/// Attributes: type; padding, or pad {front, rear}; ksize; stride, 0 only where input and ksize are
/// equal; round_type. Global form: ksize = stride = input_size. Adaptive form: stride =
/// floor(input_size / output_size), ksize = input_size - (output_size - 1) * stride.
/// Errors: kInvalidArgument for ksize or output_size 0, or a stride of 0 elsewhere; kInvalidShape
/// if the rank does not fit or a window does not fit into the padded input.
/// Source: ONNX MaxPool-12, AveragePool-11, LpPool-11.
class TIMCL_API Pool1d : public BuiltinOp {
 public:
  Pool1d(Graph* graph, PoolType type, PadType padding, uint32_t ksize, uint32_t stride,
         RoundType round_type = RoundType::FLOOR, DataLayout layout = DataLayout::WCN);
  Pool1d(Graph* graph, PoolType type, const std::array<uint32_t, 2>& pad, uint32_t ksize,
         uint32_t stride, RoundType round_type = RoundType::FLOOR,
         DataLayout layout = DataLayout::WCN);
  /// Global.
  Pool1d(Graph* graph, PoolType type, uint32_t input_size, RoundType round_type = RoundType::FLOOR,
         DataLayout layout = DataLayout::WCN);
  /// Adaptive.
  Pool1d(Graph* graph, PoolType type, uint32_t input_size, uint32_t output_size,
         RoundType round_type = RoundType::FLOOR, DataLayout layout = DataLayout::WCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

  /// Original API; does nothing here, the constructors do all.
  void Init();

 protected:
  const PoolType type_;
  const PadType padding_;
  const uint32_t ksize_;
  const uint32_t stride_;
  const RoundType round_type_;
  const std::array<uint32_t, 2> pad_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_POOL1D_H_
