// Expand: a composed op becomes the ops that define it.
#include <fmt/format.h>

#include <cstring>

#include "compiler/pipeline.h"

namespace tim::vx::compiler {
namespace {

class Builder : public ExpandBuilder {
 public:
  Builder(ir::Graph& graph, int node, const OpRegistry& registry)
      : graph_(graph), node_(node), op_(graph.view(node)), registry_(registry) {}

  using ExpandBuilder::Add;
  using ExpandBuilder::Constant;
  const OpView& op() const override { return op_; }
  Value in(size_t i) override { return op_.in(i).id(); }
  Value out(size_t i) override { return op_.out(i).id(); }

  Value Constant(const TensorType& type, const void* data) override {
    const auto bytes = type.CheckedBytes();
    if (!bytes.ok()) return Fail(bytes.status().AtOp(op_.label()));
    ir::Value v;
    v.type = type;
    v.role = ir::Role::kConstant;
    v.storage = base::Storage::Allocate(*bytes);
    if (v.storage == nullptr)
      return Fail(op_.Error(Code::kOutOfMemory, "no memory for a constant"));
    std::memcpy(v.storage->data(), data, *bytes);
    return graph_.AddValue(std::move(v));
  }

  Value Between(const TensorType& like) override {
    ir::Value v;
    v.type = {like.dtype, Shape(), like.quant};
    v.infer_shape = true;
    return graph_.AddValue(std::move(v));
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
    }
    for (const Value v : inputs) Check(v, v == -1);
    for (const Value v : outputs) Check(v, false);
    if (!status_.ok()) return;
    n.inputs = inputs;
    n.outputs = outputs;
    n.expanded_from = node_;
    // AddNode of the graph may move the nodes: copy what is needed of the expanded one first.
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
  void Check(Value v, bool left_out) {
    if (left_out || (v >= 0 && v < static_cast<int>(graph_.values().size()))) return;
    Fail(op_.Error(Code::kInternal, fmt::format("its expansion uses {}, which is no value", v)));
  }

  ir::Graph& graph_;
  int node_;
  OpView op_;
  const OpRegistry& registry_;
  Status status_;
  std::vector<int> added_;
};

}  // namespace

Status Expand(ir::Graph& graph, int node, const OpRegistry& registry) {
  Builder builder(graph, node, registry);
  TIMCL_TRY(graph.node(node).def->expand(builder));
  TIMCL_TRY(builder.status());
  const std::vector<int> outputs = graph.node(node).outputs;
  graph.Kill(node);
  // The new nodes took the outputs over while the old one was alive.
  for (int id : builder.added()) {
    for (int v : graph.node(id).outputs) graph.value(v).producer = id;
  }
  for (int v : outputs) {
    if (graph.value(v).producer < 0) {
      return graph.view(node).Error(Code::kInternal,
                                    "its expansion leaves an output without a producer");
    }
  }
  for (int id : builder.added()) TIMCL_TRY(ir::VerifyNode(graph, id));
  return Status();
}

}  // namespace tim::vx::compiler
