// UnidirectionalSequenceRnnExt: ONNX's RNN with direction forward.
#ifndef TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_RNN_EXT_H_
#define TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_RNN_EXT_H_

#include "tim/vx/ops/unidirectional_sequence_rnn.h"

namespace tim {
namespace vx {
namespace ops {

/// Over all steps: h = act(W * x + B_i + R * h + B_h), with the operands that ONNX's RNN has.
///   input      T[I, B, time]      T: f32 f16, quantized
///   weight     T[I, U, 1]
///   recurrent  T[U, U, 1]
///   bias       f32 f16[2 * U, 1], B_i then B_h, or i32; may be left out
///   h_state    T[U, B, 1] before the first step; zeros where left out
///   output 0   T[U, B, 1], Y_h: h after the last step
///   output 1   T[U, B, 1, time], Y: h of every step
/// i32 biases are as in UnidirectionalSequenceRnn.
/// Attributes: act_type, of UnidirectionalSequenceRnn.
/// Errors: kInvalidShape if the extents do not fit; kInvalidArgument for another act_type.
/// Source: ONNX RNN-14.
class TIMCL_API UnidirectionalSequenceRnnExt : public Operation {
 public:
  UnidirectionalSequenceRnnExt(Graph* graph,
                               tim::vx::ops::UnidirectionalSequenceRnn::ActivationType act_type);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const tim::vx::ops::UnidirectionalSequenceRnn::ActivationType act_type_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_RNN_EXT_H_
