// Pool2d: pooling over windows of the first two dimensions.
#ifndef TIM_VX_OPS_POOL2D_H_
#define TIM_VX_OPS_POOL2D_H_

#include <array>
#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Maximum, average or L2 norm over windows of {W, H}. MAX ignores padded cells; AVG divides by the
/// whole window; AVG_ANDROID by its real cells; L2 is the root of the mean square, as AVG.
///   input   T[W, H, C, N] or T[W, C, N] (then windows of W alone)    T: f32 f16, quantized
///   output  T[Wo, Ho, C, N]; a declared shape is overwritten
/// Wo = round_type((W + left + right - kw) / stride) + 1, Ho likewise. PadType::NONE means no
/// padding.
/// Attributes: type; padding, or pad {left, right, top, bottom}; ksize {w, h}; stride {w, h}, 0
/// only where input and ksize are equal; round_type. Global form: ksize = stride = input_size.
/// Adaptive form: stride = floor(input_size / output_size), ksize = input_size - (output_size - 1)
/// * stride.
/// Errors: kInvalidArgument for ksize or output_size 0, or a stride of 0 elsewhere; kInvalidShape
/// if the rank does not fit or a window does not fit into the padded input.
/// Source: ONNX MaxPool-12, AveragePool-11, LpPool-11; NNAPI AVERAGE_POOL_2D (AVG_ANDROID).
class TIMCL_API Pool2d : public BuiltinOp {
 public:
  Pool2d(Graph* graph, PoolType type, PadType padding, const std::array<uint32_t, 2>& ksize,
         const std::array<uint32_t, 2>& stride, RoundType round_type = RoundType::FLOOR,
         DataLayout layout = DataLayout::WHCN);
  Pool2d(Graph* graph, PoolType type, const std::array<uint32_t, 4>& pad,
         const std::array<uint32_t, 2>& ksize, const std::array<uint32_t, 2>& stride,
         RoundType round_type = RoundType::FLOOR, DataLayout layout = DataLayout::WHCN);
  /// Global.
  Pool2d(Graph* graph, PoolType type, const std::array<uint32_t, 2>& input_size,
         RoundType round_type = RoundType::FLOOR, DataLayout layout = DataLayout::WHCN);
  /// Adaptive.
  Pool2d(Graph* graph, PoolType type, const std::array<uint32_t, 2>& input_size,
         const std::array<uint32_t, 2>& output_size, RoundType round_type = RoundType::FLOOR,
         DataLayout layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

  /// Original API; does nothing here, the constructors do all.
  void Init();

 protected:
  const PoolType type_;
  const PadType padding_;
  const std::array<uint32_t, 2> ksize_;
  const std::array<uint32_t, 2> stride_;
  const RoundType round_type_;
  const std::array<uint32_t, 4> pad_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_POOL2D_H_
