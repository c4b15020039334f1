// BidirectionalSequenceRnn: two simple recurrent networks, forward and backward over a sequence.
#ifndef TIM_VX_OPS_BIDIRECTIONAL_SEQUENCE_RNN_H_
#define TIM_VX_OPS_BIDIRECTIONAL_SEQUENCE_RNN_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// UnidirectionalSequenceRnn forward (fw) and backward (bw) over the same sequence.
///   input      T[I, B, time], or T[I, time, B] without time_major    T: f32 f16, quantized
///   fw         weight_i T[I, U], weight_h T[U, U], bias_i, bias_h, h_state T[U, B], as there
///   bw         the same five with their own number of units
///   aux_input  T[A, ...], a second sequence of input's form; may be left out
///   aux        fw and bw weights of aux_input, T[A, U]: their products are added to the sums
///   output 0   T[U, B], h of fw after the last step
///   output 1   T[U, B], h of bw after step 0
///   output 2   T, input's shape with U in place of I: h of fw at every step
///   output 3   the same of bw: entry t belongs to input step t
/// With merge_outputs there are two outputs: the states and the sequences, each with fw before bw
/// along dimension 0. Attributes: act_type; time_major; merge_outputs.
/// Errors: kInvalidShape if the extents do not fit; kInvalidGraph if the count of outputs does not
/// fit merge_outputs, or aux_input comes without both weights; kInvalidArgument for another
/// act_type.
/// Source: NNAPI BIDIRECTIONAL_SEQUENCE_RNN.
class TIMCL_API BidirectionalSequenceRnn : public BuiltinOp {
 public:
  enum ActivationType {
    kNONE = 0,
    kRELU = 1,
    kRELU1 = 2,
    kRELU6 = 3,
    kTANH = 4,
    kSIGMOID = 6,
    kHARDSIGMOID = 31,
  };

  BidirectionalSequenceRnn(Graph* graph, ActivationType act_type, bool time_major = false,
                           bool merge_outputs = false);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const ActivationType act_type_;
  const bool time_major_;
  const bool merge_outputs_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_BIDIRECTIONAL_SEQUENCE_RNN_H_
