// ShuffleChannel: channels of several groups take turns.
#ifndef TIM_VX_OPS_SHUFFLE_CHANNEL_H_
#define TIM_VX_OPS_SHUFFLE_CHANNEL_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// out[k * num_groups + g] = in[g * n + k] along one axis, of num_groups groups of n.
///   input   T[any rank]          T: f32 f16 i32 bool, quantized
///   output  T, shape of input
/// Attributes: num_groups; index_axis in [-rank, rank), 0 = fastest.
/// Errors: kInvalidArgument if index_axis is out of range or num_groups is not positive;
/// kInvalidShape if num_groups does not divide the extent.
/// Source: NNAPI CHANNEL_SHUFFLE; torch.nn.ChannelShuffle.
class TIMCL_API ShuffleChannel : public BuiltinOp {
 public:
  explicit ShuffleChannel(Graph* graph, int32_t num_groups, int32_t index_axis);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  int32_t num_groups_;
  int32_t index_axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SHUFFLE_CHANNEL_H_
