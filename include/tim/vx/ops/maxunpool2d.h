// MaxUnpool2d: puts values back where MaxpoolWithArgmax found them.
#ifndef TIM_VX_OPS_MAXUNPOOL2D_H_
#define TIM_VX_OPS_MAXUNPOOL2D_H_

#include <array>
#include <cstdint>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Puts values back to the cells of 2x2 blocks that MaxpoolWithArgmax found them in; others are 0.
///   input   T[w, h, C, N] or T[w, h, C]    T: f32 f16 i32, quantized
///   input1  u8 or i16, shape of input: MaxpoolWithArgmax's indices 0 to 3, as stored numbers
///   output  T[W, H, C, N]; a declared extent wins
/// Blocks are 2x2, 2 apart, whatever ksize and stride say. W and H are those of ksize where it is
/// not 0 (it doubles as the size of the output, as in the original), else w * stride. Cells outside
/// the output are dropped, and so are values whose index is none of 0 to 3.
/// Attributes: ksize, stride {w, h}; layout is read by tim::transform::LayoutInference alone.
/// Errors: kInvalidArgument if ksize and stride are both 0; kInvalidShape if the rank or the
/// shapes do not fit.
/// Source: TIM-VX MaxUnpool2d; SegNet.
class TIMCL_API MaxUnpool2d : public BuiltinOp {
 public:
  MaxUnpool2d(Graph* graph, const std::array<uint32_t, 2>& ksize,
              const std::array<uint32_t, 2>& stride, DataLayout layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const std::array<uint32_t, 2> ksize_;
  const std::array<uint32_t, 2> stride_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_MAXUNPOOL2D_H_
