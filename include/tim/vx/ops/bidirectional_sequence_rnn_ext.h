// BidirectionalSequenceRnnExt: ONNX's RNN with direction bidirectional.
#ifndef TIM_VX_OPS_BIDIRECTIONAL_SEQUENCE_RNN_EXT_H_
#define TIM_VX_OPS_BIDIRECTIONAL_SEQUENCE_RNN_EXT_H_

#include "tim/vx/ops/bidirectional_sequence_rnn.h"

namespace tim {
namespace vx {
namespace ops {

/// UnidirectionalSequenceRnnExt forward and backward; index 0 of a direction is forward.
///   input      T[I, B, time]      T: f32 f16, quantized
///   weight     T[I, U, 2]
///   recurrent  T[U, U, 2]
///   bias       f32 f16[2 * U, 2], for each direction B_i then B_h, or i32; may be left out
///   h_state    T[U, B, 2]; zeros where left out
///   output 0   T[U, B, 2], Y_h: forward after the last step, backward after step 0
///   output 1   T[U, B, 2, time], Y: entry t belongs to input step t in both directions
/// i32 biases are as in UnidirectionalSequenceRnn.
/// Attributes: act_type, of BidirectionalSequenceRnn.
/// Errors: kInvalidShape if the extents do not fit; kInvalidArgument for another act_type.
/// Source: ONNX RNN-14.
class TIMCL_API BidirectionalSequenceRnnExt : public Operation {
 public:
  BidirectionalSequenceRnnExt(Graph* graph,
                              tim::vx::ops::BidirectionalSequenceRnn::ActivationType act_type);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const tim::vx::ops::BidirectionalSequenceRnn::ActivationType act_type_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_BIDIRECTIONAL_SEQUENCE_RNN_EXT_H_
