// Rewriter: see rewriter.h.
#include "compiler/rewriter.h"

#include <algorithm>
#include <utility>

namespace tim::vx::compiler {

Rewriter::Rewriter(ir::Graph* graph, const Options& options, std::vector<OpPlacement>* merged)
    : graph_(*graph), options_(options), merged_(merged), readers_(graph->values().size()) {
  for (size_t id = 0; id < graph_.nodes().size(); ++id) {
    if (!graph_.nodes()[id].dead) Link(static_cast<int>(id));
  }
}

void Rewriter::Link(int node) {
  for (const int v : graph_.node(node).inputs) {
    if (v >= 0) readers_[static_cast<size_t>(v)].push_back(node);
  }
}

void Rewriter::Unlink(int node) {
  for (const int v : graph_.node(node).inputs) {
    if (v < 0) continue;
    std::vector<int>& readers = readers_[static_cast<size_t>(v)];
    readers.erase(std::find(readers.begin(), readers.end(), node));
  }
}

bool Rewriter::MayChange(int node) const {
  const ir::Node& n = graph_.node(node);
  const auto named = [&](const std::pair<std::string, std::string>& wish) {
    return wish.first == n.def->name || (!n.name.empty() && wish.first == n.name);
  };
  return std::none_of(options_.pins.begin(), options_.pins.end(), named) &&
         std::none_of(options_.excludes.begin(), options_.excludes.end(), named);
}

const FoldRule* Rewriter::RuleOf(int node) {
  const OpDef* const def = graph_.node(node).def.get();
  const auto [it, added] = rules_.try_emplace(def);
  if (added) it->second = FoldRuleOf(*def);
  return it->second != nullptr && MayChange(node) ? it->second : nullptr;
}

int Rewriter::OnlyReader(int value) const {
  return IsTransient(value) && readers(value).size() == 1 ? readers(value)[0] : -1;
}

bool Rewriter::Try(int node, const std::function<void(ir::Node*)>& edit) {
  ir::Node& n = graph_.node(node);
  const ir::Node before = n;
  std::vector<TensorType> declared;
  for (const int v : n.outputs) declared.push_back(graph_.value(v).type);
  Unlink(node);
  edit(&n);
  const bool same = ir::VerifyNode(graph_, node).ok() && n.out_types == before.out_types;
  if (!same) {
    n = before;
    for (size_t i = 0; i < n.outputs.size(); ++i) graph_.value(n.outputs[i]).type = declared[i];
  }
  Link(node);
  return same;
}

void Rewriter::ReplaceUses(int from, int to) {
  std::vector<int>& readers = readers_[static_cast<size_t>(from)];
  for (const int reader : readers) {
    std::vector<int>& inputs = graph_.node(reader).inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
    readers_[static_cast<size_t>(to)].push_back(reader);
  }
  readers.clear();
}

void Rewriter::Remove(int node, std::string what, std::string why) {
  const OpView op = graph_.view(node);
  OpPlacement place;
  place.op = op.label();
  place.kind = std::string(op.kind());
  place.kernel = std::move(what);
  place.reason = std::move(why);
  place.part_of = graph_.PartOf(node);
  place.origin = op.def().origin;
  place.id = node;
  if (merged_ != nullptr) merged_->push_back(std::move(place));
  Unlink(node);
  graph_.Kill(node);
}

int Rewriter::AddConstant(const TensorType& type, void** data) {
  ir::Value v;
  v.type = type;
  v.role = ir::Role::kConstant;
  v.storage = base::Storage::Allocate(type.bytes());
  if (v.storage == nullptr) return -1;
  *data = v.storage->data();
  readers_.emplace_back();
  return graph_.AddValue(std::move(v));
}

}  // namespace tim::vx::compiler
