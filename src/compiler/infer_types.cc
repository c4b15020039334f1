// InferTypes: shapes flow from producers to consumers.
#include "compiler/pipeline.h"

namespace tim::vx::compiler {

Status InferTypes(ir::Graph& graph) {
  TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
  for (int id : order) TIMCL_TRY(ir::VerifyNode(graph, id));
  return Status();
}

}  // namespace tim::vx::compiler
