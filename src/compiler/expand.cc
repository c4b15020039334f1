// Expand: a composed op becomes the ops that define it. The shapes and the reference of one that
// has none of its own come from the same definition, expanded in a graph of its own.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <new>
#include <set>

#include "compiler/pipeline.h"
#include "tim/vx/composed_op.h"
#include "tim/vx/ops/custom_base.h"

namespace tim::vx::compiler {
namespace {

/// Ends an expansion whose definition asked for what is not there; the builder knows why.
struct Stop {};

class Builder : public ExpandBuilder {
 public:
  Builder(ir::Graph& graph, int node, const OpRegistry& registry)
      : graph_(graph), node_(node), op_(graph.view(node)), registry_(registry) {
    for (size_t i = 0; i < op_.num_inputs(); ++i) {
      if (op_.in(i).present()) readable_.insert(op_.in(i).id());
    }
    for (size_t i = 0; i < op_.num_outputs(); ++i) open_.insert(op_.out(i).id());
  }

  using ExpandBuilder::Add;
  using ExpandBuilder::Constant;
  const OpView& op() const override { return op_; }
  Value in(size_t i) override { return op_.in(i).id(); }
  Value out(size_t i) override { return op_.out(i).id(); }

  Value Constant(const TensorType& type, const void* data) override {
    const auto bytes = type.CheckedBytes();
    if (!bytes.ok()) return Fail(bytes.status().AtOp(op_.label()));
    if (data == nullptr && *bytes != 0)
      return Fail(op_.Error(Code::kInternal, "its expansion gives a constant no data"));
    ir::Value v;
    v.type = type;
    v.role = ir::Role::kConstant;
    v.storage = base::Storage::Allocate(*bytes);
    if (v.storage == nullptr)
      return Fail(op_.Error(Code::kOutOfMemory, "no memory for a constant"));
    std::memcpy(v.storage->data(), data, *bytes);
    return *readable_.insert(graph_.AddValue(std::move(v))).first;
  }

  Value Between(const TensorType& like) override {
    ir::Value v;
    v.type = {like.dtype, Shape(), like.quant};
    v.infer_shape = true;
    return *open_.insert(graph_.AddValue(std::move(v))).first;
  }

  void Add(std::string_view kind, const AttrMap& attrs, const std::vector<Value>& inputs,
           const std::vector<Value>& outputs) override {
    ir::Node n;
    n.def = registry_.Find(kind);
    if (n.def == nullptr) {
      Fail(
          op_.Error(Code::kNotFound, fmt::format("its expansion names the unknown op '{}'", kind)));
      return;
    }
    auto parsed = AnyAttrs::From(n.def->schema, attrs);
    if (!parsed.ok()) {
      Fail(op_.Error(parsed.status().code(),
                     fmt::format("its expansion into {}: {}", kind, parsed.status().detail())));
      return;
    }
    n.attrs = std::move(*parsed);
    AddNode(std::move(n), inputs, outputs);
  }

  void Add(std::shared_ptr<const Operation> part, const std::vector<Value>& inputs,
           const std::vector<Value>& outputs) override {
    if (part == nullptr || part->Def().infer == nullptr) {
      Fail(op_.Error(Code::kInvalidArgument,
                     "its expansion adds an operation that has no definition"));
      return;
    }
    ir::Node n;
    // Each custom op has a definition of its own; what other classes are called has a meaning here.
    if (dynamic_cast<const ops::CustomOpBase*>(part.get()) == nullptr)
      n.def = registry_.Find(part->Def().name);
    if (n.def == nullptr) {
      n.def = std::shared_ptr<const OpDef>(part, &part->Def());
    } else if (const Status s = CheckComposedName(*part, *n.def); !s.ok()) {
      Fail(op_.Error(s.code(), "in its expansion, " + s.detail()));
      return;
    }
    // The attributes keep the user's object, which they may point to.
    const AnyAttrs& attrs = AttrsOf(*part);
    n.attrs = AnyAttrs(attrs.schema(), std::shared_ptr<const void>(part, attrs.data()));
    AddNode(std::move(n), inputs, outputs);
  }

  const TensorType& TypeOf(Value v) override {
    if (readable_.count(v) == 0) {
      const std::string what = v == -1               ? "an operand that was left out"
                               : open_.count(v) != 0 ? Words(v) + ", which no op has produced yet"
                                                     : Words(v) + ", which is no value of it";
      Fail(op_.Error(Code::kInternal, "its expansion asks for the type of " + what));
    }
    if (!status_.ok()) throw Stop();
    return graph_.value(v).type;
  }

  const Status& status() const { return status_; }
  const std::vector<int>& added() const { return added_; }

 private:
  Value Fail(Status s) {
    if (status_.ok()) status_ = std::move(s);
    return -1;
  }
  void AddNode(ir::Node n, const std::vector<Value>& inputs, const std::vector<Value>& outputs) {
    for (const Value v : inputs) CheckInput(n.def->name, v);
    for (const Value v : outputs) CheckOutput(n.def->name, v);
    if (!status_.ok()) return;
    n.inputs = inputs;
    n.outputs = outputs;
    n.expanded_from = node_;
    n.number = graph_.node(node_).number;
    n.part = fmt::format("{}.{}", graph_.node(node_).part, added_.size() + 1);
    n.name = graph_.node(node_).name;
    if (n.def->expand != nullptr && !(status_ = CheckDepth(n)).ok()) return;
    const int id = graph_.AddNode(std::move(n));
    added_.push_back(id);
    const Status s = ir::VerifyNode(graph_, id);
    if (s.ok()) return;
    Fail(op_.Error(s.code(),
                   fmt::format("in its expansion, {}: {}", graph_.view(id).label(), s.detail()))
             .AtTensor(s.tensor()));
  }
  /// A composed part may not lead back to an op of which it is a part. The same kind over smaller
  /// operands or with other attributes may, some levels deep.
  Status CheckDepth(const ir::Node& part) const {
    int depth = 0;
    for (int at = node_; at >= 0; at = graph_.node(at).expanded_from, ++depth) {
      const ir::Node& whole = graph_.node(at);
      if (whole.def->name != part.def->name || whole.inputs.size() != part.inputs.size()) continue;
      bool same = whole.attrs.Map() == part.attrs.Map();
      for (size_t i = 0; same && i < part.inputs.size(); ++i)
        same = TensorView(&graph_, whole.inputs[i]).type() ==
               TensorView(&graph_, part.inputs[i]).type();
      if (!same) continue;
      return op_.Error(Code::kInvalidGraph, "its expansion leads back to the same: " + Path(part));
    }
    if (depth < kMaxExpansions) return Status();
    return op_.Error(Code::kInvalidGraph, fmt::format("expansions are more than {} deep: {}",
                                                      kMaxExpansions, Path(part)));
  }
  std::string Path(const ir::Node& part) const {
    const std::string from = graph_.PartOf(node_);
    return (from.empty() ? "" : from + " / ") + op_.label() + " / " +
           ir::OpLabel(part.def->name, part.number, part.name, part.part);
  }
  /// Producers come first, which leaves no room for cycles either.
  void CheckInput(std::string_view kind, Value v) {
    if (v == -1 || readable_.count(v) != 0) return;
    Fail(op_.Error(
        Code::kInternal,
        fmt::format("its expansion lets {} read {}, which {}", kind, Words(v),
                    open_.count(v) != 0 ? "no op has produced yet" : "is no value of it")));
  }
  void CheckOutput(std::string_view kind, Value v) {
    if (open_.erase(v) != 0) {
      readable_.insert(v);
      return;
    }
    Fail(op_.Error(Code::kInternal,
                   fmt::format("its expansion lets {} write {}, which {}", kind, Words(v),
                               readable_.count(v) != 0 ? "is produced or given already"
                                                       : "is no value of it")));
  }
  /// "output 0 'y' f32[4]" or "%7".
  std::string Words(Value v) const {
    for (size_t i = 0; i < op_.num_outputs(); ++i) {
      if (op_.out(i).id() == v) return op_.out_label(i);
    }
    return fmt::format("%{}", v);
  }

  ir::Graph& graph_;
  int node_;
  OpView op_;
  const OpRegistry& registry_;
  std::set<Value> readable_;  // given, constant or produced
  std::set<Value> open_;      // outputs and values between that no op has produced
  Status status_;
  std::vector<int> added_;
};

/// The definition's own code may throw: that ends here. The first mistake is the one told.
Status Run(Builder& builder) {
  Status said;
  try {
    said = builder.op().def().expand(builder);
  } catch (const Stop&) {
  } catch (const std::bad_alloc&) {
    throw;  // no words without memory; the API has some
  } catch (const std::exception& e) {
    said =
        builder.op().Error(Code::kInternal, std::string("its function Expand threw: ") + e.what());
  } catch (...) {
    said = builder.op().Error(Code::kInternal, "its function Expand threw");
  }
  return builder.status().ok() ? said : builder.status();
}

/// A copy of the op in a graph of its own, and dead ones of the ops that it is a part of.
int CopyAlone(const ir::Graph& from, int id, ir::Graph* to) {
  const ir::Node& n = from.node(id);
  ir::Node copy;
  copy.def = n.def;
  copy.attrs = n.attrs;
  copy.name = n.name;
  copy.number = n.number;
  copy.part = n.part;
  if (n.expanded_from >= 0) {
    copy.expanded_from = CopyAlone(from, n.expanded_from, to);
    to->Kill(copy.expanded_from);
  }
  for (const int i : n.inputs) {
    if (i < 0) {
      copy.inputs.push_back(-1);
      continue;
    }
    ir::Value v = from.value(i);
    const bool constant = v.role == ir::Role::kConstant;
    v.role = constant ? ir::Role::kConstant : ir::Role::kInput;
    if (!constant) v.storage = nullptr;
    v.producer = -1;
    v.infer_shape = false;
    copy.inputs.push_back(to->AddValue(std::move(v)));
  }
  for (const int o : n.outputs) {
    ir::Value v;
    v.type = {from.value(o).type.dtype, Shape(), from.value(o).type.quant};
    v.name = from.value(o).name;
    v.infer_shape = true;
    copy.outputs.push_back(to->AddValue(std::move(v)));
  }
  return to->AddNode(std::move(copy));
}

/// The parts of an op, in a graph of their own.
struct Parts {
  ir::Graph graph;
  std::vector<int> inputs, outputs;  // values of the whole
};

Status MakeParts(const OpView& op, const ir::Graph& graph, Parts* parts) {
  const auto& ops = graph.ops();
  if (ops == nullptr) return op.Error(Code::kInternal, "there is no table to look up its parts in");
  const int id = CopyAlone(graph, op.id(), &parts->graph);
  parts->graph.set_ops(ops);
  parts->inputs = parts->graph.node(id).inputs;
  parts->outputs = parts->graph.node(id).outputs;
  return Expand(parts->graph, id, *ops);
}

}  // namespace

Status Expand(ir::Graph& graph, int node, const OpRegistry& registry) {
  Builder builder(graph, node, registry);
  TIMCL_TRY(Run(builder));
  const OpView whole = graph.view(node);
  const std::vector<int> outputs = graph.node(node).outputs;
  graph.Kill(node);
  // The new nodes took the outputs over while the old one was alive.
  for (int id : builder.added()) {
    for (int v : graph.node(id).outputs) graph.value(v).producer = id;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (graph.value(outputs[i]).producer >= 0) continue;
    return whole.Error(Code::kInternal, fmt::format("its expansion leaves {} without a producer",
                                                    whole.out_label(i)));
  }
  return Status();
}

}  // namespace tim::vx::compiler

namespace tim::vx {

Result<Shapes> InferByExpansion(const OpView& op) {
  compiler::Parts parts;
  TIMCL_TRY(compiler::MakeParts(op, *op.graph_, &parts));
  Shapes shapes;
  for (const int v : parts.outputs) shapes.push_back(parts.graph.value(v).type.shape);
  return shapes;
}

Status ReferenceByExpansion(const OpView& op, const ref::Inputs& inputs, ref::Outputs& outputs) {
  compiler::Parts parts;
  TIMCL_TRY(compiler::MakeParts(op, *op.graph_, &parts));
  const ir::Graph& graph = parts.graph;
  std::map<int, ref::Input> known;  // by value
  for (size_t i = 0; i < inputs.size(); ++i) known[parts.inputs[i]] = inputs[i];
  std::vector<std::shared_ptr<base::Storage>> memory;
  TIMCL_ASSIGN(const std::vector<int> order, graph.TopologicalOrder());
  for (const int id : order) {
    const OpView part = graph.view(id);
    const auto reference = part.def().expand != nullptr && part.def().reference == nullptr
                               ? ReferenceByExpansion
                               : part.def().reference;
    if (reference == nullptr) {
      return op.Error(Code::kUnsupported,
                      fmt::format("in its expansion, {} has no reference function", part.label()));
    }
    ref::Inputs in;
    for (size_t i = 0; i < part.num_inputs(); ++i) {
      const TensorView t = part.in(i);
      if (t.present() && known.count(t.id()) == 0) known[t.id()] = ref::Input(t.data(), t.type());
      in.push_back(t.present() ? known.at(t.id()) : ref::Input());
    }
    ref::Outputs out;
    for (size_t i = 0; i < part.num_outputs(); ++i) {
      const TensorView t = part.out(i);
      TIMCL_ASSIGN(const size_t bytes, t.type().CheckedBytes());
      memory.push_back(base::Storage::Allocate(bytes));
      if (memory.back() == nullptr) return op.Error(Code::kOutOfMemory, "no memory for its parts");
      known[t.id()] = ref::Input(memory.back()->data(), graph.value(t.id()).type);
      out.emplace_back(memory.back()->data(), t.type());
    }
    TIMCL_TRY(reference(part, in, out));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ref::Input& y = known.at(parts.outputs[i]);
    for (int64_t k = 0; k < outputs[i].count(); ++k) ref::Copy(outputs[i], k, y, k);
  }
  return Status();
}

}  // namespace tim::vx
