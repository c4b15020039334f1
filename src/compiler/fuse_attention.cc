// FuseAttention: scores, softmax and mix of attention become one op.
// Source: Dao et al., "FlashAttention" (2022): what attention costs is the traffic of its scores.
#include <string>
#include <vector>

#include "compiler/rewriter.h"
#include "tim/vx/backend.h"

namespace tim::vx::compiler {
namespace {

/// Queries and keys of one batch from which on it pays: with fewer, vectors of queries are not
/// full. Measured with 12 heads of 64: 16 tokens 1.2, 128 tokens 1.1, 512 tokens 1.8 times as fast.
constexpr int64_t kLeastTokens = 16;

class Fuser {
 public:
  Fuser(const std::shared_ptr<ir::Graph>& graph, const Options& options, const Taken& taken,
        bool always, std::vector<OpPlacement>* merged)
      : shared_(graph),
        graph_(*graph),
        taken_(taken),
        always_(always),
        rewriter_(graph.get(), options, merged) {}

  void Visit(int softmax) {
    const FoldRule* const rule = graph_.node(softmax).dead ? nullptr : rewriter_.RuleOf(softmax);
    if (rule == nullptr || rule->attention == nullptr || graph_.node(softmax).outputs.empty())
      return;
    dtype_ = graph_.value(graph_.node(softmax).outputs[0]).type.dtype;
    if (dtype_ != DataType::FLOAT32 && dtype_ != DataType::FLOAT16) return;
    const int mix = ReaderOf(graph_.node(softmax).outputs[0]);
    const auto second = ProductOf(mix);
    if (!second || second->a || second->b || In(mix, 0) != graph_.node(softmax).outputs[0] ||
        !Plain(softmax) || !Alike(In(mix, 1)))
      return;
    const auto scores = ScoresOf(In(softmax, 0), softmax);
    if (!scores || scores->form.a) return;
    const auto whole = rule->attention(graph_.view(softmax), scores->scale, !scores->form.b);
    if (!whole) return;
    const Shape& shape = graph_.value(In(softmax, 0)).type.shape;
    if (!always_ && (shape.dim(0) < kLeastTokens || shape.dim(1) < kLeastTokens)) return;
    Replace(mix, softmax, *scores, *whole);
  }

 private:
  struct Scores {
    int product = -1;
    TurnedFactors form;
    double scale = 1;
    int mask = -1;             // a value
    std::vector<int> between;  // nodes from the product to the softmax
  };

  int In(int node, size_t i) { return graph_.node(node).inputs[i]; }
  bool Alike(int value) { return value >= 0 && graph_.value(value).type.dtype == dtype_; }
  /// One result like the softmax's, of the type that its tensor is declared with.
  bool Plain(int node) {
    const ir::Node& n = graph_.node(node);
    return n.outputs.size() == 1 && Alike(n.outputs[0]) &&
           n.out_types[0] == graph_.value(n.outputs[0]).type;
  }
  int ReaderOf(int value) { return rewriter_.OnlyReader(value); }
  std::optional<TurnedFactors> ProductOf(int node) {
    const FoldRule* const rule = node < 0 ? nullptr : rewriter_.RuleOf(node);
    if (rule == nullptr || rule->product == nullptr || !Plain(node)) return std::nullopt;
    return rule->product(graph_.view(node));
  }

  /// What makes this value, which `reader` alone reads.
  std::optional<Scores> ScoresOf(int value, int reader) {
    Scores s;
    if (auto found = Scaled(value, reader, &s)) return found;
    const int add = MakerOf(value, reader);
    const FoldRule* const rule = add < 0 ? nullptr : rewriter_.RuleOf(add);
    if (rule == nullptr || !rule->adds || graph_.node(add).inputs.size() != 2) return std::nullopt;
    for (const size_t i : {0, 1}) {
      const int sum = In(add, i), mask = In(add, 1 - i);
      // The mask broadcasts to the scores, and not the other way round.
      if (!Alike(mask) || sum < 0 || graph_.value(sum).type != graph_.value(value).type) continue;
      Scores masked;
      masked.mask = mask;
      masked.between = {add};
      if (auto found = Scaled(sum, add, &masked)) return found;
    }
    return std::nullopt;
  }
  /// A product, times a number or not.
  std::optional<Scores> Scaled(int value, int reader, Scores* s) {
    const int maker = MakerOf(value, reader);
    if (maker < 0) return std::nullopt;
    if (const auto form = ProductOf(maker)) {
      s->product = maker, s->form = *form;
      s->between.push_back(maker);
      return Alike(In(maker, 0)) && Alike(In(maker, 1)) ? std::optional(*s) : std::nullopt;
    }
    const FoldRule* const rule = rewriter_.RuleOf(maker);
    if (s->scale != 1 || rule == nullptr || rule->affine == nullptr) return std::nullopt;
    const auto affine = rule->affine(graph_.view(maker));
    if (!affine || affine->scale.size() != 1 || affine->shift.size() != 1 || affine->shift[0] != 0)
      return std::nullopt;
    const int before = In(maker, affine->input);
    if (before < 0 || graph_.value(before).type != graph_.value(value).type) return std::nullopt;
    s->scale = affine->scale[0];
    s->between.push_back(maker);
    return Scaled(before, maker, s);
  }
  /// The op that makes this value of the graph's own for this reader alone; -1: none.
  int MakerOf(int value, int reader) {
    if (value < 0 || ReaderOf(value) != reader) return -1;
    const int maker = graph_.value(value).producer;
    return maker >= 0 && Plain(maker) ? maker : -1;
  }

  void Replace(int mix, int softmax, const Scores& s, const OtherOp& whole) {
    const std::shared_ptr<const OpDef> def = InternalOp(whole.kind);
    if (def == nullptr) return;
    auto attrs = AnyAttrs::From(def->schema, whole.attrs);
    if (!attrs.ok()) return;
    const ir::Node before = graph_.node(mix);
    std::vector<int> inputs = {In(s.product, 0), In(s.product, 1), before.inputs[1]};
    if (s.mask >= 0) inputs.push_back(s.mask);
    const bool made = rewriter_.Try(mix, [&](ir::Node* n) {
      n->def = def;
      n->attrs = *attrs;
      n->inputs = inputs;
    });
    if (!made) return;
    if (!taken_(shared_, mix)) {
      rewriter_.Try(mix, [&](ir::Node* n) { *n = before; });
      return;
    }
    const std::string what = "merged into " + graph_.view(mix).label();
    for (const int node : s.between) rewriter_.Remove(node, what, kWhy);
    rewriter_.Remove(softmax, what, kWhy);
  }

  static constexpr const char* kWhy = "whose scores stay in the caches";
  const std::shared_ptr<ir::Graph>& shared_;
  ir::Graph& graph_;
  const Taken& taken_;
  const bool always_;
  DataType dtype_ = DataType::UNKNOWN;  // of all tensors of the attention in hand
  Rewriter rewriter_;
};

}  // namespace

Taken TakenByFirst(const std::vector<RankedBackend>& backends,
                   const std::vector<CompileEnv>* begin) {
  return [&backends, begin](const std::shared_ptr<ir::Graph>& graph, int node) {
    for (size_t b = 0; b < backends.size(); ++b) {
      const RankedBackend& ranked = backends[b];
      if (!ranked.passed_over.empty()) continue;
      if (!ranked.own || ranked.fallback) return false;
      if (begin != nullptr && !ranked.backend->Begin((*begin)[b]).ok()) return false;
      Selection selection;
      if (!ranked.backend->Partition(GraphView(graph, {node}), &selection).ok()) return false;
      const auto answer = selection.answers().find(node);
      return answer != selection.answers().end() && answer->second.selected;
    }
    return false;
  };
}

Status FuseAttention(const std::shared_ptr<ir::Graph>& graph, const Options& options,
                     const Taken& taken, std::vector<OpPlacement>* merged) {
  const std::string choice = ChoiceFor(options, "fuse_attention");
  if (choice == "off" || !options.fuse || options.strategy == PartitionStrategy::kPerOp)
    return Status();
  TIMCL_ASSIGN(const std::vector<int> order, graph->TopologicalOrder());
  Fuser fuser(graph, options, taken, choice == "on", merged);
  for (const int id : order) fuser.Visit(id);
  return Status();
}

}  // namespace tim::vx::compiler
