// UnidirectionalSequenceRnn: a simple recurrent network over a sequence.
#ifndef TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_RNN_H_
#define TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_RNN_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Over all steps: h = act(weight_i * x + bias_i + weight_h * h + bias_h).
///   input        T[I, B, time], or T[I, time, B] without time_major    T: f32 f16, quantized
///   weight_i     T[I, U]
///   weight_h     T[U, U]
///   bias_i       f32 f16[U], or i32[U] with scale input * weight_i; may be left out
///   bias_h       the same, i32 with scale h_state * weight_h; may be left out
///   h_state      T[U, B] before the first step; zeros where left out
///   output 0     T[U, B], h after the last step
///   output 1     T, input's shape with U in place of I: h of every step
/// The state stays float32 between steps; each output has a type and a quantization of its own.
/// Where h_state is left out an i32 bias_h counts in the scale of input * weight_h.
/// Attributes: act_type (hard sigmoid is clamp(0.2 x + 0.5, 0, 1)); time_major.
/// Errors: kInvalidShape if the extents do not fit; kInvalidArgument for another act_type.
/// Source: NNAPI UNIDIRECTIONAL_SEQUENCE_RNN; TFLite.
class TIMCL_API UnidirectionalSequenceRnn : public BuiltinOp {
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

  UnidirectionalSequenceRnn(Graph* graph, ActivationType act_type, bool time_major = false);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const ActivationType act_type_;
  const bool time_major_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_RNN_H_
