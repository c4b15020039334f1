// SignalFrame: overlapping frames of a signal.
#ifndef TIM_VX_OPS_SIGNAL_FRAME_H_
#define TIM_VX_OPS_SIGNAL_FRAME_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Frames of a signal: out[.., k, f, ..] = in[.., f * step + k, ..], 0 behind the end.
///   input   T[.., L, ..]         T: f32 f16 i32 bool, quantized
///   output  T[.., window_length, n, ..], with n = (L - window_length) / step + 1 frames, or all
///   that
///           begin inside the signal, ceil(L / step), if pad_end is not 0
/// Attributes: window_length; step; pad_end; axis of L, 0 = fastest.
/// Errors: kInvalidArgument if axis is out of range or window_length or step is 0; kInvalidShape if
/// no frame fits.
/// Source: tf.signal.frame.
class TIMCL_API SignalFrame : public BuiltinOp {
 public:
  SignalFrame(Graph* graph, uint32_t window_length, uint32_t step, uint32_t pad_end = 0,
              uint32_t axis = 0);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  uint32_t window_length_;
  uint32_t step_;
  uint32_t pad_end_;
  uint32_t axis_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SIGNAL_FRAME_H_
