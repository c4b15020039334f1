// BidirectionalSequenceLstm: two long short-term memories, forward and backward over a sequence.
#ifndef TIM_VX_OPS_BIDIRECTIONAL_SEQUENCE_LSTM_H_
#define TIM_VX_OPS_BIDIRECTIONAL_SEQUENCE_LSTM_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// UnidirectionalSequenceLstm forward (fw) and backward (bw) over the same sequence.
///   input 0        T[I, B, time], or T[I, time, B] without time_major     T: f32 f16 i8 u8
///   fw             1-4 weights, 5-8 recurrent weights, 9-11 peepholes, 12-15 biases, 16
///   projection,
///                  17 its bias, as there
///   bw             18-34, the same with its own number of units
///   states         35, 36: fw h_state, c_state; 37, 38: bw; zeros where left out
///   aux            39 and 40-47 are not used, as in the original: they give a warning
///   norms          48-51 of fw, 52-55 of bw
///   recurrent_biases  56-59 of fw, 60-63 of bw
///   output 0, 1, 2   of fw: h of the last step, or of every step with return_sequences; h and c
///                  after the last step
///   output 3, 4, 5   of bw, whose last step is step 0: with return_sequences entry t of output 3
///                  belongs to input step t
/// Attributes: as in UnidirectionalSequenceLstm, with RNN's numbers; kRELU1 counts as kNONE, as in
/// the original.
/// Errors: as in UnidirectionalSequenceLstm: kInvalidShape, kInvalidGraph, kInvalidArgument.
/// Source: NNAPI BIDIRECTIONAL_SEQUENCE_LSTM, with the peephole of o as in TIM-VX; ONNX LSTM-14.
class TIMCL_API BidirectionalSequenceLstm : public Operation {
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

  BidirectionalSequenceLstm(Graph* graph, float cell_clip, float proj_clip, ActivationType act_type,
                            float forget_bias, bool time_major = false,
                            ActivationType recurrent_act_type = ActivationType::kSIGMOID,
                            bool return_sequences = false);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const float cell_clip_;
  const float proj_clip_;
  const ActivationType act_type_;
  const float forget_bias_;
  const bool time_major_;
  const ActivationType recurrent_act_type_;
  const bool return_sequences_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_BIDIRECTIONAL_SEQUENCE_LSTM_H_
