// What passes that merge neighbours of a graph share: who reads a value, edits that can be taken
// back, and the list of what was done.
#ifndef TIMCL_COMPILER_REWRITER_H_
#define TIMCL_COMPILER_REWRITER_H_

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/pipeline.h"
#include "ir/fold_rules.h"

namespace tim::vx::compiler {

class Rewriter {
 public:
  /// `merged` receives the ops that vanish.
  Rewriter(ir::Graph* graph, const Options& options, std::vector<OpPlacement>* merged);

  ir::Graph& graph() { return graph_; }
  /// Null where the definition has none, and for ops that the caller pinned or excluded by name or
  /// by kind: those stay as they are.
  const FoldRule* RuleOf(int node);
  /// Whether the caller left the op to us.
  bool MayChange(int node) const;

  /// Live nodes that read the value, one entry for each operand.
  const std::vector<int>& readers(int value) const { return readers_[static_cast<size_t>(value)]; }
  /// The node that reads this transient value, in one operand; -1 where there are more or none.
  int OnlyReader(int value) const;
  bool IsTransient(int value) const { return graph_.value(value).role == ir::Role::kTransient; }

  /// Edits a node and infers its types again. Where that fails, or what it computes is not what it
  /// was, everything is as before and the result is false.
  bool Try(int node, const std::function<void(ir::Node*)>& edit);
  /// All that read `from` read `to`.
  void ReplaceUses(int from, int to);
  /// The node is gone; the report says what became of it.
  void Remove(int node, std::string what, std::string why);
  /// A constant of this type, whose bytes are to be written; -1: no memory.
  int AddConstant(const TensorType& type, void** data);

 private:
  void Unlink(int node);
  void Link(int node);

  ir::Graph& graph_;
  const Options& options_;
  std::vector<OpPlacement>* merged_;
  std::vector<std::vector<int>> readers_;
  std::unordered_map<const OpDef*, const FoldRule*> rules_;
};

}  // namespace tim::vx::compiler
#endif  // TIMCL_COMPILER_REWRITER_H_
