// CancelMoves: ops that only move elements, and undo each other or move none, are left out.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "compiler/rewriter.h"

namespace tim::vx::compiler {
namespace {

using Order = std::vector<int64_t>;

class Mover {
 public:
  explicit Mover(Rewriter* rewriter) : rewriter_(*rewriter), graph_(rewriter->graph()) {}

  void Visit(int id) {
    if (!Moves(id)) return;
    while (Shorten(id)) {
    }
    Drop(id);
  }

 private:
  /// One input to one output, by their elements' order or encoding alone.
  bool Moves(int id) {
    const ir::Node& n = graph_.node(id);
    const bool moves = n.def->moves_nothing || n.def->layout.kind == LayoutRule::Kind::kPermutes;
    return moves && !n.dead && n.inputs.size() == 1 && n.inputs[0] >= 0 && n.outputs.size() == 1 &&
           rewriter_.MayChange(id);
  }

  /// Its permutation; empty for one that leaves the order as it is.
  Order OrderOf(int id) {
    const OpDef& def = *graph_.node(id).def;
    Order order;
    if (def.layout.kind != LayoutRule::Kind::kPermutes) return order;
    const AttrMap attrs = graph_.node(id).attrs.Map();
    const AttrValue* value = attrs.Find(def.layout.axes);
    if (value != nullptr) attrs_detail::FromValue(*value, &order);
    return order;
  }

  const TensorType& In(int id) { return graph_.value(graph_.node(id).inputs[0]).type; }
  const TensorType& Out(int id) { return graph_.value(graph_.node(id).outputs[0]).type; }

  /// What it computes is what its tensor is declared as, in the encoding of its input.
  bool KeepsEncoding(int id) { return SameEncoding(In(id), Out(id)) && !In(id).per_channel(); }

  /// Every number of this type is a float32.
  static bool FitsFloat(const TensorType& t) {
    return (IsInteger(t.dtype) && BitsOf(t.dtype) <= 16 && t.dtype != DataType::BOOL8 &&
            !t.per_channel()) ||
           t.dtype == DataType::FLOAT16;
  }

  /// A step that lets the op read what its producer reads, or makes it cheaper.
  bool Shorten(int id) {
    ir::Node& n = graph_.node(id);
    const int before = graph_.value(n.inputs[0]).producer;
    if (before >= 0 && Moves(before)) {
      const bool here = n.def->moves_nothing, there = graph_.node(before).def->moves_nothing;
      if (here == there && (here ? SkipNothing(id, before) : Compose(id, before))) return true;
    }
    return Simplify(id);
  }

  bool SkipNothing(int id, int before) {
    const bool back = Out(before).dtype == DataType::FLOAT32 && FitsFloat(In(before)) &&
                      SameEncoding(In(before), Out(id));
    if (!KeepsEncoding(before) && !back) return false;
    return Bypass(id, before, [](ir::Node*) {});
  }

  bool Compose(int id, int before) {
    // An extent may be declared otherwise than it was computed.
    if (!KeepsEncoding(before) || graph_.node(before).out_types[0] != Out(before)) return false;
    const Order first = OrderOf(before), second = OrderOf(id);
    if (first.size() != second.size()) return false;
    Order both;
    bool ordered = true;
    for (const int64_t s : second) {
      both.push_back(first[static_cast<size_t>(s)]);
      ordered = ordered && both.back() == static_cast<int64_t>(both.size()) - 1;
    }
    // Else as many elements would be moved as before.
    if (!ordered && rewriter_.OnlyReader(graph_.node(id).inputs[0]) != id) return false;
    return Bypass(id, before, [&](ir::Node* n) {
      AttrMap attrs = n->attrs.Map();
      attrs.Set(n->def->layout.axes, AttrValue(both));
      if (auto changed = AnyAttrs::From(n->def->schema, attrs); changed.ok())
        n->attrs = std::move(*changed);
    });
  }

  template <class Edit>
  bool Bypass(int id, int before, Edit edit) {
    const int from = graph_.node(before).inputs[0], to = graph_.node(id).inputs[0];
    const bool done = rewriter_.Try(id, [&](ir::Node* n) {
      n->inputs[0] = from;
      edit(n);
    });
    if (done && rewriter_.IsTransient(to) && rewriter_.readers(to).empty())
      rewriter_.Remove(before, "merged into " + graph_.view(id).label(), "one move instead of two");
    return done;
  }

  bool Simplify(int id) {
    const FoldRule* const rule = rewriter_.RuleOf(id);
    if (rule == nullptr || rule->simpler == nullptr || graph_.ops() == nullptr) return false;
    const ir::Node& n = graph_.node(id);
    // Between memory of the caller's it is a copy in any case.
    const bool inside =
        graph_.value(n.inputs[0]).producer >= 0 || rewriter_.IsTransient(n.outputs[0]);
    const auto other = inside ? rule->simpler(graph_.view(id)) : std::nullopt;
    if (!other) return false;
    const std::shared_ptr<const OpDef> def = graph_.ops()->Find(other->kind);
    if (def == nullptr) return false;
    auto attrs = AnyAttrs::From(def->schema, other->attrs);
    return attrs.ok() && rewriter_.Try(id, [&](ir::Node* changed) {
      changed->def = def;
      changed->attrs = *attrs;
    });
  }

  /// Its readers read what it reads, where that is the same.
  void Drop(int id) {
    const ir::Node& n = graph_.node(id);
    const ir::Value &x = graph_.value(n.inputs[0]), &y = graph_.value(n.outputs[0]);
    const Order order = OrderOf(id);
    for (size_t d = 0; d < order.size(); ++d) {
      if (order[d] != static_cast<int64_t>(d)) return;
    }
    if (y.role != ir::Role::kTransient || !(x.type == y.type) || x.scalar != y.scalar ||
        !(n.out_types[0] == y.type) || rewriter_.readers(n.outputs[0]).empty())
      return;
    rewriter_.ReplaceUses(n.outputs[0], n.inputs[0]);
    rewriter_.Remove(id, "left out", "its result is its input");
  }

  Rewriter& rewriter_;
  ir::Graph& graph_;
};

}  // namespace

Status CancelMoves(ir::Graph& graph, const Options& options, std::vector<OpPlacement>* merged) {
  TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
  Rewriter rewriter(&graph, options, merged);
  Mover mover(&rewriter);
  for (const int id : order) mover.Visit(id);
  return Status();
}

}  // namespace tim::vx::compiler
