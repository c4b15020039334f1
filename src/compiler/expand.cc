// Expand: a composed op becomes the ops that define it.
#include <fmt/format.h>

#include <cstring>
#include <set>

#include "compiler/pipeline.h"

namespace tim::vx::compiler {
namespace {

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
    if (n.def->schema != nullptr) {
      auto parsed = n.def->schema->from_map(attrs);
      if (!parsed.ok()) {
        Fail(op_.Error(parsed.status().code(),
                       fmt::format("its expansion into {}: {}", kind, parsed.status().detail())));
        return;
      }
      n.attrs = AnyAttrs(n.def->schema, *parsed);
    } else if (attrs.size() != 0) {
      Fail(op_.Error(Code::kInvalidArgument,
                     fmt::format("its expansion into {}: unknown attribute '{}' (there are none)",
                                 kind, attrs.begin()->first)));
      return;
    }
    for (const Value v : inputs) CheckInput(kind, v);
    for (const Value v : outputs) CheckOutput(kind, v);
    if (!status_.ok()) return;
    n.inputs = inputs;
    n.outputs = outputs;
    n.expanded_from = node_;
    n.number = graph_.node(node_).number;
    n.name = graph_.node(node_).name;
    added_.push_back(graph_.AddNode(std::move(n)));
  }

  const Status& status() const { return status_; }
  const std::vector<int>& added() const { return added_; }

 private:
  Value Fail(Status s) {
    if (status_.ok()) status_ = std::move(s);
    return -1;
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

}  // namespace

Status Expand(ir::Graph& graph, int node, const OpRegistry& registry) {
  Builder builder(graph, node, registry);
  TIMCL_TRY(graph.node(node).def->expand(builder));
  TIMCL_TRY(builder.status());
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
  for (int id : builder.added()) {
    const Status s = ir::VerifyNode(graph, id);
    if (s.ok()) continue;
    return whole
        .Error(s.code(),
               fmt::format("in its expansion, {}: {}", graph.view(id).label(), s.detail()))
        .AtTensor(s.tensor());
  }
  return Status();
}

}  // namespace tim::vx::compiler
