// Space2Batch: blocks of cells become images.
#ifndef TIM_VX_OPS_SPACE2BATCH_H_
#define TIM_VX_OPS_SPACE2BATCH_H_

#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Adds cells of 0 around the images, then moves each block of bw * bh cells to bw * bh images.
///   input   T[W, H, C, N] or T[W, C, N]    T: f32 f16 i32 bool, quantized
///   output  T[Wp / bw, Hp / bh, C, N * bw * bh]
/// Wp = W + left + right, Hp = H + top + bottom. Cell x, y of image n, counted with the padding,
/// goes to image ((y % bh) * bw + x % bw) * N + n.
/// Attributes: block_size {bw, bh}; pad {left, right, top, bottom}; layout, read by layout
/// inference alone. Errors: kInvalidArgument if an entry is missing, a block is not positive or a
/// pad negative; kInvalidShape if blocks do not divide the padded extents or the rank does not fit.
/// Source: tf.space_to_batch_nd; NNAPI SPACE_TO_BATCH_ND.
class TIMCL_API Space2Batch : public BuiltinOp {
 public:
  Space2Batch(Graph* graph, const std::vector<int>& block_size, const std::vector<int>& pad,
              DataLayout layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int> block_size_;
  std::vector<int> pad_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SPACE2BATCH_H_
