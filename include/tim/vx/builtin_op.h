// BuiltinOp: base class of the operators that are one node of the graph.
#ifndef TIM_VX_BUILTIN_OP_H_
#define TIM_VX_BUILTIN_OP_H_

#include <cstdint>

#include "tim/vx/features.h"
#include "tim/vx/operation.h"

namespace tim {
namespace vx {

// How the operator headers describe operands: shapes list the fastest dimension first. "T" is a
// type whose value may differ between operands unless the text says otherwise. Element types are
// written f32 f16 i8 u8 i16 u16 i4 u4 i32 u32 bool; "quantized" stands for u8, i8, i16, u16, i4 and
// u4 with ASYMMETRIC or DYNAMIC_FIXED_POINT quantization, or with none (scale 1, zero point 0).
// Each operator may also fail with kInvalidGraph (wrong number of operands), kInvalidType (element
// types outside its list) and kInvalidArgument (a quantization without a valid scale).

/// An operator that is one node. Threads: as its graph.
class TIMCL_API BuiltinOp : public Operation {
 public:
  /// Original API: kind is an operator code of the original's private library. Nothing stands
  /// behind such a code here, so Compile() fails with kUnsupported; it lets old subclasses compile.
  BuiltinOp(Graph* graph, uint32_t kind, int in_cnt = 0, int out_cnt = 0,
            DataLayout layout = DataLayout::ANY);

  // Additions to the original API.

  /// An operator told by its definition (tim/vx/op_def.h).
  BuiltinOp(Graph* graph, const OpDef& def, AnyAttrs attrs, DataLayout layout = DataLayout::ANY);
};

}  // namespace vx
}  // namespace tim

/// Older name, still used by callers.
#define DirectMapOp BuiltinOp

#endif  // TIM_VX_BUILTIN_OP_H_
