// PadV2: adds cells around a tensor.
#ifndef TIM_VX_OPS_PAD_V2_H_
#define TIM_VX_OPS_PAD_V2_H_

#include <cstdint>
#include <vector>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Pad, with a constant that need not be whole.
///   input   T[any rank]          T: f32 f16 i32 bool, quantized
///   output  T, extents front_size + input + back_size
/// Attributes: front_size, back_size, one entry per dimension, 0 = fastest; const_val, a real
/// number that is quantized like the output, or rounded to a plain integer; pad_mode, CONSTANT if
/// not given.
/// Errors: kInvalidArgument if the sizes are not one per dimension or a mirror image is larger than
/// the input; kInvalidShape if a declared output disagrees.
/// Source: ONNX Pad-13; tf.raw_ops.PadV2.
class TIMCL_API PadV2 : public BuiltinOp {
 public:
  enum pad_mode_type {
    PAD_MODE_CONSTANT = 0,
    PAD_MODE_EDGE = 1,
    PAD_MODE_SYMMETRIC = 2,
    PAD_MODE_REFLECT = 3,
  };

  PadV2(Graph* graph, const std::vector<uint32_t>& front_size,
        const std::vector<uint32_t>& back_size, float const_val);
  PadV2(Graph* graph, const std::vector<uint32_t>& front_size,
        const std::vector<uint32_t>& back_size, float const_val, pad_mode_type pad_mode);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  std::vector<uint32_t> front_size_;
  std::vector<uint32_t> back_size_;
  float const_val_;
  pad_mode_type pad_mode_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_PAD_V2_H_
