// HashtableLookup: rows of a table by their key.
#ifndef TIM_VX_OPS_HASHTABLE_LOOKUP_H_
#define TIM_VX_OPS_HASHTABLE_LOOKUP_H_

#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// For each number looked up, the row whose key equals it, or zeros, and whether there was one.
///   input_lookups  i32[n]
///   input_keys     i32[k]; in any order, the first of equal keys counts
///   input_values   T[..., k]       T: f32 f16 i32, quantized
///   output         T[..., n], real 0 where no key was found; its type may differ from the values'
///   output_hits    [n], 1 or 0    of type u8 i8 bool i32 f32 f16
/// Attributes: none.
/// Errors: kInvalidShape if there are not as many keys as rows, or a declared output has another
/// element count.
/// Source: NNAPI HASHTABLE_LOOKUP; TFLite HASHTABLE_LOOKUP.
class TIMCL_API HashtableLookup : public BuiltinOp {
 public:
  HashtableLookup(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_HASHTABLE_LOOKUP_H_
