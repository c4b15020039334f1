// NBG: a compiled graph as one operator of another.
#ifndef TIM_VX_OPS_NBG_H_
#define TIM_VX_OPS_NBG_H_

#include <cstddef>
#include <memory>

#include "tim/vx/builtin_op.h"

namespace tim {
namespace vx {
namespace ops {

/// Runs a binary graph: the bytes that Graph::CompileToBinary wrote, as one operator.
///   input*   T[declared]     the original graph's InputsTensor(), in that order
///   output*  T[declared]     its OutputsTensor(), in that order
/// Each tensor has element type, quantization and shape of the original's; nothing is inferred.
/// This version reads and writes no binary graphs yet, so Compile() fails with kUnsupported.
/// Attributes: binary, of which the pointer alone is kept: it must stay valid until the graph is
/// gone (a clone keeps the same one); input_count, output_count.
/// Errors: kInvalidArgument for a null binary; kInvalidGraph if the operands are not input_count
/// and output_count; else kUnsupported.
/// Source: TIM-VX NBG.
class TIMCL_API NBG : public BuiltinOp {
 public:
  NBG(Graph* graph, const char* binary, size_t input_count, size_t output_count);
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override;
};

}  // namespace ops
}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_OPS_NBG_H_
