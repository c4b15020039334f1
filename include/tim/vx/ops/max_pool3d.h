// MaxPool3d: the maximum over windows of three dimensions.
#ifndef TIM_VX_OPS_MAX_POOL3D_H_
#define TIM_VX_OPS_MAX_POOL3D_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// The maximum over windows of {W, H, D}; padded cells do not count.
///   input   T[W, H, D, C, N]       T: f32 f16, quantized
///   output  T[Wo, Ho, Do, C, N]; a declared shape is overwritten
/// Wo = round_type((W + left + right - kw) / stride) + 1, Ho and Do likewise. A window without a
/// real cell gives minus infinity, the lowest number of an integer type. Composed of Pool2d, over W
/// and H, then over D.
/// Attributes: round_type; ksize {w, h, d}; stride {w, h, d}, 0 only where input and ksize are
/// equal; pad_type; pad {left, right, top, bottom, front, rear}, used by AUTO and NONE; layout is
/// read by tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument for a ksize of 0, or a stride of 0 elsewhere; kInvalidShape if the rank
/// does not fit or a window does not fit into the padded input.
/// Source: ONNX MaxPool-12.
class TIMCL_API MaxPool3d : public BuiltinOp {
 public:
  MaxPool3d(Graph* graph, RoundType round_type, const std::array<uint32_t, 3>& ksize,
            const std::array<uint32_t, 3>& stride, const std::array<uint32_t, 6>& pad,
            PadType pad_type, DataLayout layout = DataLayout::WHDCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const RoundType round_type_;
  const std::array<uint32_t, 3> ksize_;
  const std::array<uint32_t, 3> stride_;
  const std::array<uint32_t, 6> pad_;
  const PadType pad_type_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_MAX_POOL3D_H_
