// MergeTwins: what is computed twice is computed once.
#include <map>
#include <tuple>
#include <vector>

#include "compiler/rewriter.h"

namespace tim::vx::compiler {
namespace {

/// Its results depend on its operands alone: it has a definition in terms of them.
bool Pure(Rewriter* rewriter, int id) {
  const ir::Node& n = rewriter->graph().node(id);
  if (n.dead || n.def->reference == nullptr || n.inputs.empty()) return false;
  for (const int v : n.outputs) {
    if (!rewriter->IsTransient(v)) return false;
  }
  return rewriter->MayChange(id);
}

bool Alike(const ir::Graph& graph, const ir::Node& a, const ir::Node& b) {
  if (a.outputs.size() != b.outputs.size() || a.out_types != b.out_types) return false;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const ir::Value &x = graph.value(a.outputs[i]), &y = graph.value(b.outputs[i]);
    if (!(x.type == y.type) || x.scalar != y.scalar) return false;
  }
  return a.attrs.Map() == b.attrs.Map();
}

}  // namespace

Status MergeTwins(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged) {
  TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
  Rewriter rewriter(&graph, options, merged);
  std::multimap<std::pair<const OpDef*, std::vector<int>>, int> seen;
  for (const int id : order) {
    if (!Pure(&rewriter, id)) continue;
    // Only with a sibling: most values have one reader.
    const std::vector<int>& inputs = graph.node(id).inputs;
    if (inputs[0] >= 0 && rewriter.readers(inputs[0]).size() < 2) continue;
    const std::pair key(graph.node(id).def.get(), inputs);
    int twin = -1;
    for (auto [at, end] = seen.equal_range(key); at != end && twin < 0; ++at) {
      if (Alike(graph, graph.node(at->second), graph.node(id))) twin = at->second;
    }
    if (twin < 0) {
      seen.emplace(key, id);
      continue;
    }
    const std::vector<int> from = graph.node(id).outputs, to = graph.node(twin).outputs;
    for (size_t i = 0; i < from.size(); ++i) rewriter.ReplaceUses(from[i], to[i]);
    rewriter.Remove(id, "merged into " + graph.view(twin).label(), "which computes the same");
  }
  return Status();
}

}  // namespace tim::vx::compiler
