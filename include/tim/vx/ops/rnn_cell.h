// RNNCell: one step of a simple recurrent network, composed of other operators.
#ifndef TIM_VX_OPS_RNN_CELL_H_
#define TIM_VX_OPS_RNN_CELL_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// One step: output = tanh(weight * input + bias + recurrent * state).
///   input      T[I, B]           T: f32 f16, quantized
///   weight     T[I, U]; f32 or f16 beside a quantized input is computed in float, with a warning
///   bias       f32[U], or i32[U] with scale input * weight
///   state      T[U, B]           the previous step's state_out
///   recurrent  T[U, U]
///   output     T[U, B]
///   state_out  T[U, B]           output, converted to its own type and quantization
/// Attributes: activation is kept but not used: it is tanh whatever is given, as in the original.
/// Errors: kInvalidShape if the extents do not fit.
/// Source: TIM-VX RNNCell; tf.keras.layers.SimpleRNNCell.
class TIMCL_API RNNCell : public Operation {
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

  RNNCell(Graph* graph, ActivationType activation);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const ActivationType activation_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_RNN_CELL_H_
