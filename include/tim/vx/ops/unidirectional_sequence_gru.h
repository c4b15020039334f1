// UnidirectionalSequenceGRU: a gated recurrent unit over a sequence.
#ifndef TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_GRU_H_
#define TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_GRU_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// GRUCell at every step of a sequence.
///   input     T[I, B, time], or T[I, time, B] without time_major    T: f32 f16, quantized
///   h_state   T[U, B] before the first step; zeros where left out
///   weights   6, as in GRUCell
///   biases    6, as in GRUCell; any may be left out
///   output 0  T[U, B], h after the last step; with return_sequences h of every step, in input's
///             shape with U in place of I
///   output 1  T[U, B], h after the last step; may be left out
/// The state stays float32 between steps. Attributes: num_units, 0 where the weights say it;
/// activation, recurrent_activation and reset_after as in GRUCell; return_sequences; time_major,
/// which is true by default, unlike elsewhere.
/// Errors: as in GRUCell: kInvalidShape, kInvalidArgument.
/// Source: tf.keras.layers.GRU; ONNX GRU-14 (linear_before_reset is reset_after).
class TIMCL_API UnidirectionalSequenceGRU : public BuiltinOp {
 public:
  enum ActivationType {
    kNONE = 0,
    kRELU = 1,
    kRELU6 = 3,
    kTANH = 4,
    kSIGMOID = 6,
    kHARDSIGMOID = 31,
  };

  UnidirectionalSequenceGRU(Graph* graph, uint32_t num_units,
                            ActivationType activation = ActivationType::kTANH,
                            ActivationType recurrent_activation = ActivationType::kSIGMOID,
                            bool reset_after = true, bool return_sequences = false,
                            bool time_major = true);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const uint32_t num_units_;
  const ActivationType activation_;
  const ActivationType recurrent_activation_;
  const bool reset_after_;
  const bool return_sequences_;
  const bool time_major_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_UNIDIRECTIONAL_SEQUENCE_GRU_H_
