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

  const OpView& op() const override { return op_; }
  Value in(size_t i) override { return op_.in(i).id(); }

  Value Constant(float value) override {
    ir::Value v;
    v.type = {DataType::FLOAT32, {1}, Quantization()};
    v.role = ir::Role::kConstant;
    v.storage = base::Storage::Allocate(sizeof value);
    if (v.storage == nullptr) {
      Fail(op_.Error(Code::kOutOfMemory, "no memory for a constant"));
      return -1;
    }
    std::memcpy(v.storage->data(), &value, sizeof value);
    return graph_.AddValue(std::move(v));
  }

  Value Add(std::string_view kind, const AttrMap& attrs, const std::vector<Value>& inputs,
            const TensorType& like) override {
    ir::Value v;
    v.type = {like.dtype, Shape(), like.quant};
    v.infer_shape = true;
    const int out = graph_.AddValue(std::move(v));
    AddNode(kind, attrs, inputs, out);
    return out;
  }

  void AddTo(size_t output, std::string_view kind, const AttrMap& attrs,
             const std::vector<Value>& inputs) override {
    AddNode(kind, attrs, inputs, op_.out(output).id());
  }

  const Status& status() const { return status_; }
  const std::vector<int>& added() const { return added_; }

 private:
  void Fail(Status s) {
    if (status_.ok()) status_ = std::move(s);
  }

  void AddNode(std::string_view kind, const AttrMap& attrs, const std::vector<Value>& inputs,
               int out) {
    const OpDef* def = registry_.Find(kind);
    if (def == nullptr)
      return Fail(
          op_.Error(Code::kNotFound, fmt::format("its expansion names the unknown op '{}'", kind)));
    auto parsed =
        def->schema ? def->schema->from_map(attrs) : Result<std::shared_ptr<const void>>(nullptr);
    if (!parsed.ok()) return Fail(parsed.status().AtOp(op_.label()));
    ir::Node n;
    n.def = def;
    n.attrs = AnyAttrs(def->schema, *parsed);
    n.inputs = inputs;
    n.outputs = {out};
    // AddNode of the graph may move the nodes: copy what is needed of the expanded one first.
    n.number = graph_.node(node_).number;
    n.name = graph_.node(node_).name;
    added_.push_back(graph_.AddNode(std::move(n)));
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
