// ScatterND_ONNX_V16: puts slices into a copy of a tensor.
#ifndef TIM_VX_OPS_SCATTERND_ONNX_V16_H_
#define TIM_VX_OPS_SCATTERND_ONNX_V16_H_

#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// A copy of the data into which each slice of the updates is put at its place, see ScatterND; with
/// a reduction it is combined with what is there. Slices with the same place are taken in their
/// order: without a reduction the last one stays.
///   input_data     T[any rank]     T: f32 f16 i32 u32, quantized
///   input_indices  i32[D, n...], D in [1, rank of data]; of rank 1: D = 1
///   input_updates  T[data without its D outermost dimensions, n...]
///   output         T, shape of data; its type may differ
/// A negative coordinate counts from the end; a slice beyond either end is left out. A NaN stays.
/// Attributes: reduction.
/// Errors: kInvalidShape if D is larger than the rank of data, the updates have another element
/// count, or a declared output has.
/// Source: ONNX ScatterND-16, -18 (max, min).
class TIMCL_API ScatterND_ONNX_V16 : public BuiltinOp {
 public:
  enum ReductionType {
    REDUCTION_NONE,
    REDUCTION_ADD,
    REDUCTION_MUL,
    REDUCTION_MAX,
    REDUCTION_MIN,
  };
  ScatterND_ONNX_V16(Graph* graph, ReductionType reduction = ReductionType::REDUCTION_NONE);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;

 protected:
  ReductionType reduction_;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_SCATTERND_ONNX_V16_H_
