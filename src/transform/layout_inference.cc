// LayoutInference: walks over the source graph, producers first, and rebuilds it. What an operator
// needs is said by its LayoutRule alone.
#include "tim/transform/layout_inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/log.h"
#include "compat/permute_vector.h"
#include "ir/graph.h"
#include "ir/operands.h"
#include "tim/vx/builtin_op.h"
#include "tim/vx/context.h"
#include "transform/forms.h"
#include "transform/layout_plan.h"

namespace tim::transform {
namespace {

using vx::Code;
using vx::Result;
using vx::Shape;
using vx::Status;
using vx::TensorAttribute;
using vx::TensorType;
using vx::ir::Identity;
using vx::ir::Order;
using vx::ir::Permuted;

using OpPtr = std::shared_ptr<vx::Operation>;
using OrderMap = std::map<TensorPtr, std::shared_ptr<IPermuteVector>>;
using TensorMap = std::map<TensorPtr, TensorPtr>;

std::string LabelOf(const vx::Operation& op) {
  return vx::ir::OpLabel(op.Kind(), op.uid(), op.Name());
}

class Inference {
 public:
  /// `ops`: what the names of operators mean in the new graph.
  Inference(const GraphPtr& source, GraphPtr graph, std::shared_ptr<const vx::OpRegistry> ops,
            const OrderMap& orders)
      : source_(source),
        graph_(std::move(graph)),
        ops_(std::move(ops)),
        former_(graph_),
        orders_(orders) {}

  /// Inputs and outputs of the new graph, in the order in which the source's were made.
  TensorMap CopyInterface() {
    std::vector<TensorPtr> all = source_->InputsTensor();
    for (const TensorPtr& t : source_->OutputsTensor()) all.push_back(t);
    std::stable_sort(all.begin(), all.end(), [](const TensorPtr& a, const TensorPtr& b) {
      return a->GetId() < b->GetId();
    });
    TensorMap map;
    for (const TensorPtr& t : all) {
      if (map.count(t) != 0) continue;
      map[t] = CopyOf(*t);
    }
    interface_ = map;
    return map;
  }

  Status Run() {
    TIMCL_ASSIGN(const std::vector<OpPtr> ops, Sorted());
    for (const OpPtr& op : ops) TIMCL_TRY(Visit(op));
    return Status();
  }

 private:
  // ------------------------------------------------------------------------ the source's tensors

  TensorPtr CopyOf(vx::Tensor& t) {
    TensorPtr copy = graph_->CreateTensor(t.GetSpec());
    copy->SetName(t.Name());
    if (t.IsScalar()) copy->SetScalar(1);
    return copy;
  }

  /// Producers before consumers, else in the order of creation. Every operand gets its Data.
  Result<std::vector<OpPtr>> Sorted() {
    const std::vector<OpPtr>& ops = source_->OpVector();
    std::unordered_map<const Data*, size_t> producer;
    for (size_t i = 0; i < ops.size(); ++i) {
      for (const TensorPtr& t : vx::OutputsOf(*ops[i])) {
        if (t->IsPlaceHolder()) continue;
        TIMCL_ASSIGN(Data* const y, Meet(t));
        if (!producer.emplace(y, i).second) {
          return Status::Error(Code::kInvalidGraph,
                               fmt::format("{} has two producers: {} and {}", y->label(),
                                           LabelOf(*ops[i]), LabelOf(*ops[producer[y]])));
        }
        y->written = true;
      }
    }
    std::vector<std::vector<size_t>> next(ops.size());
    std::vector<size_t> waits(ops.size(), 0);
    for (size_t i = 0; i < ops.size(); ++i) {
      for (const TensorPtr& t : vx::InputsOf(*ops[i])) {
        if (t->IsPlaceHolder()) continue;
        TIMCL_ASSIGN(Data* const x, Meet(t));
        ++x->readers;
        if (!x->written && x->forms.empty()) TIMCL_TRY(MeetSource(*x));
        if (x->state || !x->written) continue;
        next[producer[x]].push_back(i);
        ++waits[i];
      }
    }
    std::vector<OpPtr> sorted;
    std::set<size_t> ready;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (waits[i] == 0) ready.insert(i);
    }
    while (!ready.empty()) {
      const size_t i = *ready.begin();
      ready.erase(ready.begin());
      sorted.push_back(ops[i]);
      for (const size_t n : next[i]) {
        if (--waits[n] == 0) ready.insert(n);
      }
    }
    for (size_t i = 0; i < ops.size(); ++i) {
      if (waits[i] == 0) continue;
      return Status::Error(Code::kInvalidGraph, "it is part of a cycle, or reads from one")
          .AtOp(LabelOf(*ops[i]));
    }
    return sorted;
  }

  /// The data of a tensor of the source graph; made when first met.
  Result<Data*> Meet(const TensorPtr& t) {
    const auto [it, first] = all_.try_emplace(t.get());
    Data& x = it->second;
    if (!first) return &x;
    const vx::TensorSpec& spec = t->GetSpec();
    x.source = t;
    x.constant = t->IsConstTensor();
    x.scalar = t->IsScalar();
    x.state = (spec.attr_ & TensorAttribute::VARIABLE) != 0;
    x.open = spec.attr_ == TensorAttribute::TRANSIENT || spec.shape_.empty() ||
             std::count(spec.shape_.begin(), spec.shape_.end(), 0u) != 0;
    TIMCL_ASSIGN(x.stored, StoredOrder(t, x.open));
    x.type = InOrder({spec.datatype_, Shape(spec.shape_), spec.quantization_},
                     vx::ir::Inverse(x.stored));
    if (x.open) x.type.shape = Shape();
    const auto mapped = interface_.find(t);
    if (mapped != interface_.end()) {
      x.mapped = mapped->second;
    } else if ((spec.attr_ & (TensorAttribute::INPUT | TensorAttribute::OUTPUT)) != 0) {
      return Status::Error(Code::kInvalidGraph, x.label() + " belongs to another graph");
    }
    if (x.state) TIMCL_TRY(MeetSource(x));
    return &x;
  }

  /// The order in which the caller says that its memory lies.
  Result<Order> StoredOrder(const TensorPtr& t, bool open) const {
    const size_t rank = t->GetShape().size();
    const auto it = orders_.find(t);
    const bool has_memory = t->GetSpec().attr_ != TensorAttribute::TRANSIENT;
    if (it == orders_.end() || it->second == nullptr || !has_memory)
      return Identity(open ? 0 : rank);
    const Order order = it->second->AsStdVec();
    if (vx::ir::IsPermutation(order) && (open || order.size() == rank)) return order;
    return Status::Error(
        Code::kInvalidArgument,
        fmt::format("tensor_pv_map gives {} to '{}' {}, which is no permutation "
                    "of its dimensions",
                    it->second->AsText(), t->Name(), Shape(t->GetShape()).ToString()));
  }

  /// What no op of the graph writes, and state, which is there before.
  Status MeetSource(Data& x) {
    if (x.constant) return Status();  // its forms are made as they are wanted
    if (x.source->GetSpec().attr_ == TensorAttribute::TRANSIENT) {
      return Status::Error(Code::kInvalidGraph, x.label() + " is read but nothing produces it");
    }
    if (x.mapped == nullptr) x.mapped = CopyOf(*x.source);
    if (x.state) {
      if (const auto elements = ElementsOf(*x.source)) x.mapped->CopyDataToTensor(elements.get());
    }
    x.forms = {{x.stored, x.mapped}};
    return Status();
  }

  // --------------------------------------------------------------------------------- the operators

  struct Operands {
    std::vector<Data*> in, out;  // null: left out
    std::vector<size_t> ranks;   // of the inputs
  };

  Result<Operands> OperandsOf(const vx::Operation& op) {
    Operands operands;
    for (const TensorPtr& t : vx::InputsOf(op)) {
      Data* const x = t->IsPlaceHolder() ? nullptr : &all_.at(t.get());
      operands.in.push_back(x);
      operands.ranks.push_back(x ? x->type.shape.rank() : 0);
    }
    for (const TensorPtr& t : vx::OutputsOf(op)) {
      operands.out.push_back(t->IsPlaceHolder() ? nullptr : &all_.at(t.get()));
    }
    return operands;
  }

  enum class Declarations { kHeeded, kIgnored };

  /// Checks the op over operands in the orders of the plan. What it computes, in those orders.
  Result<std::vector<TensorType>> Infer(const vx::Operation& op, const vx::AnyAttrs& attrs,
                                        const Operands& operands, const LayoutPlan& plan,
                                        Declarations declarations = Declarations::kHeeded) {
    vx::ir::Graph graph;
    graph.set_ops(ops_);
    vx::ir::Node node;
    node.def = std::shared_ptr<const vx::OpDef>(std::shared_ptr<void>(), &op.Def());
    node.attrs = attrs;
    node.name = op.Name();
    node.number = static_cast<int>(op.uid());
    for (size_t i = 0; i < operands.in.size(); ++i) {
      const Data* const x = operands.in[i];
      vx::ir::Value v;
      if (x != nullptr) {
        v.type = InOrder(x->type, plan.inputs[i]);
        v.name = x->source->Name();
        v.role = x->constant ? vx::ir::Role::kConstant : vx::ir::Role::kInput;
        v.scalar = x->scalar && v.type.shape == Shape{1};
      }
      node.inputs.push_back(x != nullptr ? graph.AddValue(std::move(v)) : -1);
    }
    // As Compile() does: those left out keep their positions, unless they are optional and last.
    const vx::ir::OperandNames names(op.Def().outputs);
    const size_t outputs = names.WithoutTrailing(
        operands.out.size(), [&](size_t k) { return operands.out[k] == nullptr; });
    std::vector<size_t> left_out;
    for (size_t k = 0; k < outputs; ++k) {
      if (operands.out[k] == nullptr) left_out.push_back(k);
      node.outputs.push_back(graph.AddValue(ResultValue(operands.out[k], plan, declarations)));
    }
    const int id = graph.AddNode(std::move(node));
    if (!left_out.empty()) TIMCL_TRY(vx::ir::ChooseTypes(graph, id, left_out));
    TIMCL_TRY(vx::ir::VerifyNode(graph, id));
    return graph.node(id).out_types;
  }

  /// What an op writes, with the shape that is declared for it. Null: for nobody.
  static vx::ir::Value ResultValue(const Data* y, const LayoutPlan& plan,
                                   Declarations declarations) {
    vx::ir::Value v;
    v.infer_shape = true;
    if (y == nullptr) return v;
    const Shape declared = y->open ? Shape() : y->declared();
    const bool permuted = !plan.outputs.empty() && !vx::ir::IsIdentity(plan.outputs);
    const Order order = permuted ? plan.outputs : Identity(declared.rank());
    // A shape of another rank is one that the bytes are given afterwards.
    v.infer_shape =
        y->open || declarations == Declarations::kIgnored || order.size() != declared.rank();
    v.type = InOrder({y->type.dtype, declared, y->type.quant}, order);
    if (v.infer_shape) v.type.shape = Shape();
    v.name = y->source->Name();
    if (!v.infer_shape) v.role = vx::ir::Role::kOutput;
    return v;
  }

  struct Choice {
    LayoutPlan plan;
    std::vector<TensorType> results;
  };

  Result<Choice> Choose(const vx::Operation& op, const Operands& operands) {
    const vx::AnyAttrs& own = vx::AttrsOf(op);
    const vx::LayoutRule& rule = op.Def().layout;
    Choice choice;
    if (rule.kind == vx::LayoutRule::Kind::kFixed && own.schema() != nullptr) {
      const vx::AttrMap defaults = own.schema()->to_map(own.schema()->make_default().get());
      choice.plan = FixedPlan(rule, own.Map(), defaults, operands.ranks);
      TIMCL_ASSIGN(choice.results, InferBy(op, operands, choice.plan));
      return choice;
    }
    choice.plan = CanonicalPlan(own.Map(), operands.ranks);
    TIMCL_ASSIGN(choice.results, InferBy(op, operands, choice.plan));
    if (rule.kind != vx::LayoutRule::Kind::kFollows) return choice;
    std::optional<Choice> best;
    size_t least = 0;
    for (const Order& order : OrdersOf(rule, operands)) {
      Choice other;
      if (vx::ir::IsIdentity(order)) {
        other = choice;
      } else if (!Follow(op, operands, order, choice, &other)) {
        continue;
      }
      // Equal costs: the first order stands, which is that of the first operand.
      const size_t cost = Cost(operands, other);
      if (best && cost >= least) continue;
      best = std::move(other);
      least = cost;
    }
    return best ? std::move(*best) : std::move(choice);
  }

  Result<std::vector<TensorType>> InferBy(const vx::Operation& op, const Operands& operands,
                                          const LayoutPlan& plan,
                                          Declarations declarations = Declarations::kHeeded) {
    if (!plan.rewritten) return Infer(op, vx::AttrsOf(op), operands, plan, declarations);
    const auto attrs = vx::AnyAttrs::From(vx::AttrsOf(op).schema(), plan.attrs);
    if (!attrs.ok()) return attrs.status().AtOp(LabelOf(op));
    return Infer(op, *attrs, operands, plan, declarations);
  }

  /// The orders in which the data of an op are there, those of the first operand first; the user's
  /// own order last.
  static std::vector<Order> OrdersOf(const vx::LayoutRule& rule, const Operands& operands) {
    const size_t inputs = std::min(rule.data_inputs, operands.in.size());
    size_t rank = 0;
    for (size_t i = 0; i < inputs; ++i) rank = std::max(rank, operands.ranks[i]);
    std::vector<Order> orders;
    for (size_t i = 0; i < inputs; ++i) {
      if (operands.in[i] == nullptr || operands.in[i]->constant || operands.ranks[i] != rank)
        continue;
      for (const Form& f : operands.in[i]->forms) {
        if (f.order.size() == rank &&
            std::find(orders.begin(), orders.end(), f.order) == orders.end())
          orders.push_back(f.order);
      }
    }
    orders.push_back(Identity(rank));
    return orders;
  }

  /// The op over data in this order, if its rule holds there and what comes out is the permuted
  /// result of `canonical`.
  bool Follow(const vx::Operation& op, const Operands& operands, const Order& order,
              const Choice& canonical, Choice* choice) {
    auto plan = FollowPlan(op.Def().layout, vx::AttrsOf(op).Map(), operands.ranks, order);
    if (!plan) return false;
    for (size_t i = 0; i < operands.in.size(); ++i) {
      // One element fits everywhere.
      const Data* const x = operands.in[i];
      if (x != nullptr && x->type.count() == 1 && operands.ranks[i] < order.size())
        plan->inputs[i] = Identity(operands.ranks[i]);
    }
    auto results = InferBy(op, operands, *plan);
    if (!results.ok() || results->size() != canonical.results.size()) return false;
    for (size_t j = 0; j < results->size(); ++j) {
      const Shape& shape = canonical.results[j].shape;
      if (plan->outputs.empty() && shape.rank() <= 1) continue;
      if (plan->outputs.size() != shape.rank()) return false;
      if ((*results)[j].shape != Permuted(shape, plan->outputs)) return false;
    }
    choice->plan = std::move(*plan);
    choice->results = std::move(*results);
    return true;
  }

  /// How many transposes a plan asks for.
  static size_t Cost(const Operands& operands, const Choice& choice) {
    size_t cost = 0;
    for (size_t i = 0; i < operands.in.size(); ++i) {
      const Data* const x = operands.in[i];
      if (x != nullptr && !x->constant && SameBytes(*x, choice.plan.inputs[i]) == nullptr) ++cost;
    }
    for (size_t k = 0; k < operands.out.size(); ++k) {
      const Data* const y = operands.out[k];
      if (y == nullptr) continue;
      const Shape& shape = choice.results[k].shape;
      if (y->mapped == nullptr || choice.plan.outputs.size() != shape.rank()) continue;
      const Shape seen = Permuted(shape, vx::ir::Inverse(choice.plan.outputs));
      const Order stored = y->stored.size() == seen.rank() ? y->stored : Identity(seen.rank());
      if (!SamePlaces(seen, choice.plan.outputs, stored)) ++cost;
    }
    return cost;
  }

  Status Visit(const OpPtr& source) {
    const vx::OpDef& def = source->Def();
    if (def.infer == nullptr) {
      return Status::Error(Code::kUnsupported, "the operator is not known here")
          .AtOp(LabelOf(*source));
    }
    TIMCL_ASSIGN(const Operands operands, OperandsOf(*source));
    if (def.layout.kind == vx::LayoutRule::Kind::kPermutes && Merge(*source, operands)) {
      return Status();
    }
    const OpPtr op = source->Clone(graph_);
    if (op == nullptr) {
      return Status::Error(Code::kUnsupported, "its Clone() returns null").AtOp(LabelOf(*source));
    }
    op->SetName(source->Name());
    TIMCL_ASSIGN(const Choice choice, Choose(*op, operands));
    if (choice.plan.rewritten) TIMCL_TRY(vx::SetAttrs(*op, choice.plan.attrs));
    for (size_t i = 0; i < operands.in.size(); ++i) {
      op->BindInput(operands.in[i] == nullptr
                        ? graph_->CreateTensorPlaceHolder()
                        : former_.FormIn(*operands.in[i], choice.plan.inputs[i]));
    }
    for (size_t k = 0; k < operands.out.size(); ++k) {
      if (operands.out[k] == nullptr) {
        op->BindOutput(graph_->CreateTensorPlaceHolder());
      } else {
        TIMCL_TRY(BindResult(*op, operands, choice, k));
      }
    }
    return Status();
  }

  Status BindResult(vx::Operation& op, const Operands& operands, const Choice& choice, size_t k) {
    Data& y = *operands.out[k];
    const TensorType& computed = choice.results[k];
    const size_t rank = computed.shape.rank();
    const Order order = choice.plan.outputs.empty() ? Identity(rank) : choice.plan.outputs;
    if (order.size() != rank) {
      return Status::Error(Code::kInternal,
                           fmt::format("the layout rule gives output {} {} dimensions, it has {}",
                                       k, order.size(), rank))
          .AtOp(LabelOf(op));
    }
    const Shape shape = Permuted(computed.shape, vx::ir::Inverse(order));
    const bool overwritten = op.Def().declared == vx::Declared::kOverwritten;
    const Shape seen = y.open || overwritten ? shape : y.declared();
    if (y.mapped == nullptr) {
      y.type.shape = shape;
      y.forms = {{order, former_.NewTensor(y, order, TensorAttribute::TRANSIENT)}};
      op.BindOutput(y.forms.front().tensor);
      return Status();
    }
    if (y.stored.size() != seen.rank()) {
      if (!vx::ir::IsIdentity(y.stored)) {
        return Status::Error(Code::kInvalidArgument,
                             fmt::format("tensor_pv_map permutes {} dimensions of output {} {}",
                                         y.stored.size(), k, seen.ToString()))
            .AtOp(LabelOf(op));
      }
      y.stored = Identity(seen.rank());
    }
    const bool natural = vx::ir::IsIdentity(order) && vx::ir::IsIdentity(y.stored);
    if (natural || (order == y.stored && seen == shape)) {
      op.BindOutput(y.mapped);
      y.type.shape = seen;
      y.forms = {{y.stored, y.mapped}};
      return Status();
    }
    if (!overwritten && seen.count() != shape.count()) {
      return Status::Error(Code::kInvalidShape,
                           fmt::format("output {} '{}' is declared {}, the op computes {}", k,
                                       y.source->Name(), seen.ToString(), shape.ToString()))
          .AtOp(LabelOf(op));
    }
    // Only memory that is no TRANSIENT keeps extents that the op does not compute by itself.
    bool keeps_shape = false;
    if (op.Def().declared == vx::Declared::kExtentWins && !y.open) {
      const auto alone = InferBy(op, operands, choice.plan, Declarations::kIgnored);
      keeps_shape = !alone.ok() || (*alone)[k].shape != computed.shape;
    }
    y.type.shape = shape;
    const std::vector<Form> state = y.state ? y.forms : std::vector<Form>();
    y.forms = {{order, former_.NewTensor(
                           y, order,
                           keeps_shape ? TensorAttribute::VARIABLE : TensorAttribute::TRANSIENT)}};
    op.BindOutput(y.forms.front().tensor);
    if (overwritten && !y.open && y.declared() != shape) {
      y.mapped->GetSpec().SetShape(Permuted(shape, y.stored).ToShapeType());
    }
    if (seen != shape) {
      // Other dimensions are declared for the same bytes.
      const TensorPtr bytes = former_.FormIn(y, Identity(shape.rank()));
      y.type.shape = seen;
      y.forms = {{Identity(seen.rank()),
                  former_.NewTensor(y, Identity(seen.rank()), TensorAttribute::TRANSIENT)}};
      former_.Reshape(y, bytes, seen, y.forms.front().tensor);
    }
    former_.Deliver(y);
    y.forms.push_back({y.stored, y.mapped});
    if (y.state) y.forms = state;
    return Status();
  }

  /// A permutation of the user's own becomes another way to look at the forms of its input. False
  /// where it does more than that.
  bool Merge(const vx::Operation& op, const Operands& operands) {
    if (operands.in.size() != 1 || operands.out.size() != 1) return false;
    if (operands.in[0] == nullptr || operands.out[0] == nullptr) return false;
    Data& x = *operands.in[0];
    Data& y = *operands.out[0];
    const auto perm = PermutationOf(op.Def().layout, vx::AttrsOf(op).Map(), x.type.shape.rank());
    if (!perm || x.constant || x.state || y.state || x.type.shape.empty()) return false;
    const TensorType type = InOrder(x.type, *perm);
    if (!vx::SameEncoding(type, {y.type.dtype, type.shape, y.type.quant})) return false;
    if (!y.open && y.declared() != type.shape) return false;
    if (y.mapped != nullptr && y.stored.size() != type.shape.rank()) {
      if (!y.stored.empty()) return false;
      y.stored = Identity(type.shape.rank());
    }
    y.type.shape = type.shape;
    const Order back = vx::ir::Inverse(*perm);
    for (const Form& f : x.forms) {
      if (f.order.size() == back.size()) y.forms.push_back({vx::ir::Then(back, f.order), f.tensor});
    }
    if (y.mapped != nullptr) {
      former_.Deliver(y);
      y.forms.insert(y.forms.begin(), {y.stored, y.mapped});
    } else if (y.readers > 1) {
      // Where several read it, it is done here, once.
      const TensorPtr done = former_.FormIn(y, Identity(type.shape.rank()));
      y.forms.insert(y.forms.begin(), {Identity(type.shape.rank()), done});
    }
    return true;
  }

  GraphPtr source_, graph_;
  std::shared_ptr<const vx::OpRegistry> ops_;
  Former former_;
  const OrderMap& orders_;
  TensorMap interface_;
  std::unordered_map<const vx::Tensor*, Data> all_;
};

// ------------------------------------------------------------------------------- what went wrong

struct FailureAttrs {
  Status why;
  TIMCL_FIELDS()
};

Status VerifyFailure(const vx::OpView& op) { return op.attrs<FailureAttrs>().why; }
Result<vx::Shapes> InferFailure(const vx::OpView&) { return vx::Shapes(); }

constexpr vx::OpDef kFailure = {.name = "LayoutInference",
                                .inputs = "",
                                .outputs = "",
                                .schema = &vx::kAttrSchema<FailureAttrs>,
                                .verify = VerifyFailure,
                                .infer = InferFailure};

/// Stands in a graph that could not be made: Compile() returns why.
class Failure : public vx::BuiltinOp {
 public:
  Failure(vx::Graph* graph, Status why)
      : BuiltinOp(graph, kFailure, vx::MakeAttrs(FailureAttrs{std::move(why)})) {}
  OpPtr Clone(GraphPtr& graph) const override {
    return graph->CreateOperation<Failure>(vx::AttrsOf<FailureAttrs>(*this).why);
  }
};

}  // namespace

std::pair<GraphPtr, TensorMap> LayoutInference(const GraphPtr& src_graph,
                                               std::shared_ptr<vx::Context>& ctx,
                                               OrderMap tensor_pv_map) {
  if (src_graph == nullptr || ctx == nullptr) return {};
  try {
    GraphPtr graph = ctx->CreateGraph();
    const auto ops = std::make_shared<const vx::OpRegistry>(ctx->Ops());
    Inference inference(src_graph, graph, ops, tensor_pv_map);
    TensorMap map = inference.CopyInterface();
    const Status status = inference.Run();
    if (status.ok()) return {std::move(graph), std::move(map)};
    graph = ctx->CreateGraph();
    map = Inference(src_graph, graph, ops, tensor_pv_map).CopyInterface();
    graph->CreateOperation<Failure>(status);
    return {std::move(graph), std::move(map)};
  } catch (const std::exception& e) {
    vx::base::Log("layout", vx::base::LogLevel::kError, "layout inference threw: {}", e.what());
  } catch (...) {  // from a Clone() of the user's
    vx::base::Log("layout", vx::base::LogLevel::kError, "layout inference threw");
  }
  return {};
}

}  // namespace tim::transform
