// UnidirectionalSequenceLstm: a long short-term memory over a sequence.
#ifndef TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_LSTM_H_
#define TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_LSTM_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Over all steps: c = f * c + i * tanh(g) and h = o * tanh(c), with the gates i, f, g, o.
///   i = ract(Wi x + Ri h + Pi * c + bi + di), o likewise with the previous c as well, f with
///   forget_bias besides; g = Wg x + Rg h + bg + dg. Without Wi: i = 1 - f.
///   input 0        T[I, B, time], or T[I, time, B] without time_major     T: f32 f16 i8 u8
///   h_state, c_state   inputs 1 and 2: T[S, B] and T[U, B]; zeros where left out
///   weights        3-6: Wi? Wf Wg Wo, T[I, U]; 7-10: Ri? Rf Rg Ro, T[S, U]
///   peepholes      11-13: Pi? Pf? Po?, T[U]
///   biases         14-17: bi? bf? bg? bo?, f32 f16[U], or i32[U] with scale input * weight
///   projection     18, T[U, S]: h = projection * (o * tanh(c)) + bias; S = U where it is left out
///   projection_bias  19, f32 f16[S], or i32 with projection's scale
///   norms          20-23, T[U]: each left out or there: the sum without b is normalised over the
///                  units (epsilon 1e-8), multiplied by it, and then b is added
///   aux_input      24, T[A, ...], a second sequence of input's form; 25-28: its weights T[A, U]
///   recurrent_biases  29-32: di? df? dg? do?; they belong to R h and are normalised with it; i32
///                  counts in h_state * weight
///   output 0       T[S, B], h after the last step; with return_sequences h of every step, in
///                  input's shape with S in place of I
///   output 1, 2    T[S, B], T[U, B]: h and c after the last step; may be left out
/// '?' stands for what may be left out. States stay float32 between steps. An LSTM without weights
/// of the gate i takes none of its other operands into account.
/// Attributes: cell_clip limits c to [-cell_clip, cell_clip] where it is positive; forget_bias;
/// time_major; recurrent_act_type (ract); return_sequences. As in the original, proj_clip and
/// act_type change nothing (it is tanh): a proj_clip, and an act_type but tanh, give a warning.
/// Errors: kInvalidShape if the extents do not fit; kInvalidGraph if an aux input comes without its
/// weights or a projection's bias without a projection; kInvalidArgument for another
/// activation, or a cell_clip or forget_bias that is NaN.
/// Source: NNAPI UNIDIRECTIONAL_SEQUENCE_LSTM, with the peephole of o as in TIM-VX; ONNX LSTM-14.
class TIMCL_API UnidirectionalSequenceLstm : public BuiltinOp {
 public:
  enum ActivationType {
    kNONE = 0,
    kRELU = 1,
    kRELU6 = 2,
    kTANH = 3,
    kSIGMOID = 4,
    kHARDSIGMOID = 5,
    kCOUNT = 6,
  };

  UnidirectionalSequenceLstm(Graph* graph, float cell_clip, float proj_clip,
                             ActivationType act_type, float forget_bias, bool time_major = false,
                             ActivationType recurrent_act_type = ActivationType::kSIGMOID,
                             bool return_sequences = false);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  ActivationType act_type_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_LSTM_H_
