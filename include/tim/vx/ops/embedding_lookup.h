// EmbeddingLookup: rows of a table by their number.
#ifndef TIM_VX_OPS_EMBEDDING_LOOKUP_H_
#define TIM_VX_OPS_EMBEDDING_LOOKUP_H_

#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Copies the rows of a table that the ids name; converted where the types differ.
///   input_ids    i32[n]; also f16, of which the whole part counts
///   input_table  T[..., rows]      T: f32 f16 i32, quantized
///   output       T[..., n]; its type may differ from the table's
/// A negative id counts from the last row; an id beyond either end means the nearest row.
/// Attributes: none.
/// Errors: kInvalidShape if a declared output has another element count.
/// Source: NNAPI EMBEDDING_LOOKUP; TFLite EMBEDDING_LOOKUP.
class TIMCL_API EmbeddingLookup : public BuiltinOp {
 public:
  EmbeddingLookup(Graph* graph);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_EMBEDDING_LOOKUP_H_
