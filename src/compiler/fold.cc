// FoldConstants: what does not depend on any input is computed once, here.
#include <algorithm>

#include "compiler/pipeline.h"

namespace tim::vx::compiler {
namespace {
// Larger results are left to the device: the reference is slow and constants stay in memory for
// good.
constexpr int64_t kMaxElements = 1 << 20;

bool Foldable(const ir::Graph& graph, const ir::Node& n) {
  if (n.dead || n.def->reference == nullptr || n.inputs.empty()) return false;
  for (int v : n.inputs) {
    if (v >= 0 && graph.value(v).role != ir::Role::kConstant) return false;
  }
  return std::all_of(n.outputs.begin(), n.outputs.end(), [&](int v) {
    const ir::Value& value = graph.value(v);
    return value.role == ir::Role::kTransient && value.type.count() <= kMaxElements;
  });
}
}  // namespace

Status FoldConstants(ir::Graph& graph) {
  TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
  for (int id : order) {
    const ir::Node& n = graph.node(id);
    if (!Foldable(graph, n)) continue;
    const OpView op = graph.view(id);
    ref::Inputs ins;
    ref::Outputs outs;
    std::vector<std::shared_ptr<base::Storage>> storages;
    for (size_t i = 0; i < op.num_inputs(); ++i) {
      ins.push_back(op.in(i).present() ? ref::Input(op.in(i).data(), op.in(i).type())
                                       : ref::Input());
    }
    for (size_t i = 0; i < op.num_outputs(); ++i) {
      TIMCL_ASSIGN(const size_t bytes, op.out(i).type().CheckedBytes());
      storages.push_back(base::Storage::Allocate(bytes));
      if (storages.back() == nullptr)
        return op.Error(Code::kOutOfMemory, "no memory for a folded constant");
      outs.emplace_back(storages.back()->data(), op.out(i).type());
    }
    const Status computed = n.def->reference(op, ins, outs);
    // That of a composed op may find out that a part has none.
    if (computed.code() == Code::kUnsupported) continue;
    TIMCL_TRY(computed);
    const std::vector<int> results = n.outputs;
    graph.Kill(id);
    for (size_t i = 0; i < results.size(); ++i) {
      graph.value(results[i]).role = ir::Role::kConstant;
      graph.value(results[i]).storage = storages[i];
    }
  }
  return Status();
}

}  // namespace tim::vx::compiler
