// GRUCell: one step of a gated recurrent unit.
#ifndef TIM_VX_OPS_GRUCELL_H_
#define TIM_VX_OPS_GRUCELL_H_

#include <cstdint>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// One step: output = (1 - z) * c + z * h, with an update gate z, a reset gate r, a candidate c.
///   z = ract(Wz x + bz + Uz h + dz), r likewise
///   c = act(Wc x + bc + r * (Uc h + dc)), without reset_after act(Wc x + bc + Uc (r * h) + dc)
///   input     T[I, B]      T: f32 f16, quantized
///   h_state   T[U, B]      zeros where left out
///   weights   3: Wz, Wr, Wc, T[I, U] each; then 3 recurrent ones: Uz, Ur, Uc, T[U, U] each
///   biases    3: bz, br, bc, then 3 recurrent ones: dz, dr, dc, each f32 f16[U], or i32[U] with
///             scale input * weight (h_state * weight for dz, dr, dc); any may be left out
///   output 0  T[U, B]
///   output 1  T[U, B], the same values; may be left out
/// Attributes: num_units, 0 where the weights say it; activation (of c), recurrent_activation (of z
/// and r); reset_after. The original's own kernels take tanh for c whatever is given; here
/// `activation` is what it says.
/// Errors: kInvalidShape if the extents do not fit each other or num_units; kInvalidArgument for
/// another activation.
/// Source: tf.keras.layers.GRUCell; ONNX GRU-14 (linear_before_reset is reset_after).
class TIMCL_API GRUCell : public BuiltinOp {
 public:
  enum ActivationType {
    kNONE = 0,
    kRELU = 1,
    kRELU6 = 3,
    kTANH = 4,
    kSIGMOID = 6,
    kHARDSIGMOID = 31,
  };

  GRUCell(Graph* graph, uint32_t num_units, ActivationType activation = ActivationType::kTANH,
          ActivationType recurrent_activation = ActivationType::kSIGMOID, bool reset_after = true);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  const uint32_t num_units_;
  const ActivationType activation_;
  const ActivationType recurrent_activation_;
  const bool reset_after_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_GRUCELL_H_
