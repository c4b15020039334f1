// FoldPadding: cells around a tensor become pads of the convolutions and poolings that read it.
#include <string>
#include <vector>

#include "compiler/rewriter.h"

namespace tim::vx::compiler {
namespace {

/// The attributes of a reader that pads by itself; nullopt where it cannot.
std::optional<AnyAttrs> Padded(Rewriter* rewriter, int reader, int value, const Padding& padding) {
  const ir::Node& n = rewriter->graph().node(reader);
  const FoldRule* const rule = rewriter->RuleOf(reader);
  if (rule == nullptr || rule->with_padding == nullptr || n.inputs[0] != value) return std::nullopt;
  const auto attrs = rule->with_padding(rewriter->graph().view(reader), padding);
  if (!attrs) return std::nullopt;
  auto typed = AnyAttrs::From(n.def->schema, *attrs);
  if (!typed.ok()) return std::nullopt;
  return std::move(*typed);
}

void Visit(Rewriter* rewriter, int id) {
  ir::Graph& graph = rewriter->graph();
  const FoldRule* const rule = rewriter->RuleOf(id);
  if (rule == nullptr || rule->padding == nullptr) return;
  const int to = graph.node(id).outputs[0], from = graph.node(id).inputs[0];
  const std::vector<int> readers = rewriter->readers(to);
  if (!rewriter->IsTransient(to) || readers.empty()) return;
  const auto padding = rule->padding(graph.view(id));
  if (!padding) return;
  // All of them, or the padded tensor is needed in any case. One that reads it in two operands is
  // listed twice, and cannot.
  std::vector<AnyAttrs> before, after;
  for (const int reader : readers) {
    auto attrs = Padded(rewriter, reader, to, *padding);
    if (!attrs || std::count(readers.begin(), readers.end(), reader) != 1) return;
    after.push_back(std::move(*attrs));
    before.push_back(graph.node(reader).attrs);
  }
  const auto change = [&](size_t k, int value, const AnyAttrs& attrs) {
    return rewriter->Try(readers[k], [&](ir::Node* n) {
      n->inputs[0] = value;
      n->attrs = attrs;
    });
  };
  size_t done = 0;
  while (done < readers.size() && change(done, from, after[done])) ++done;
  if (done < readers.size()) {
    while (done-- > 0) change(done, to, before[done]);
    return;
  }
  std::string into;
  for (const int reader : readers) into += (into.empty() ? "" : ", ") + graph.view(reader).label();
  rewriter->Remove(id, "merged into " + into, "which pads by itself");
}

}  // namespace

Status FoldPadding(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged) {
  TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
  Rewriter rewriter(&graph, options, merged);
  for (const int id : order) Visit(&rewriter, id);
  return Status();
}

}  // namespace tim::vx::compiler
