// Batch2Space: images become blocks of cells.
#ifndef TIM_VX_OPS_BATCH2SPACE_H_
#define TIM_VX_OPS_BATCH2SPACE_H_

#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Moves each bw * bh images to blocks of bw * bh cells, then cuts cells off around them: the
/// inverse of Space2Batch.
///   input   T[W, H, C, N] or T[W, C, N]    T: f32 f16 i32 bool, quantized
///   output  T[W * bw - left - right, H * bh - top - bottom, C, N / (bw * bh)]
/// Cell x, y of image n, counted before cutting, comes from image
/// ((y % bh) * bw + x % bw) * N / (bw * bh) + n.
/// Attributes: block_size {bw, bh}; crop {left, right, top, bottom}; layout, read by layout
/// inference alone.
/// Errors: kInvalidArgument if an entry is missing, a block is not positive or a crop negative;
/// kInvalidShape if bw * bh does not divide N, nothing is left of an extent, or the rank does not
/// fit.
/// Source: tf.batch_to_space; NNAPI BATCH_TO_SPACE_ND.
class TIMCL_API Batch2Space : public BuiltinOp {
 public:
  Batch2Space(Graph* graph, const std::vector<int>& block_size, const std::vector<int>& crop,
              DataLayout layout = DataLayout::WHCN);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<int> block_size_;
  std::vector<int> crop_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_BATCH2SPACE_H_
