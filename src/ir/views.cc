// The handles that definitions, backends and tools see: TensorView, OpView, GraphView, Selection.
#include <fmt/format.h>

#include <set>

#include "ir/graph.h"
#include "tim/vx/backend.h"

namespace tim::vx {

const TensorType& TensorView::type() const {
  static const TensorType kAbsent;
  if (type_ != nullptr) return *type_;
  return present() ? graph_->value(value_).type : kAbsent;
}
const std::string& TensorView::name() const {
  static const std::string kNone;
  return present() ? graph_->value(value_).name : kNone;
}
std::string TensorView::label() const {
  if (!present()) return "(left out)";
  return name().empty() ? type().ToString() : fmt::format("'{}' {}", name(), type().ToString());
}
bool TensorView::is_const() const {
  return present() && graph_->value(value_).role == ir::Role::kConstant;
}
bool TensorView::is_graph_input() const {
  return present() && graph_->value(value_).role == ir::Role::kInput;
}
bool TensorView::is_graph_output() const {
  return present() && graph_->value(value_).role == ir::Role::kOutput;
}
const void* TensorView::data() const {
  return is_const() ? graph_->value(value_).storage->data() : nullptr;
}

const OpDef& OpView::def() const { return *graph_->node(node_).def; }
std::string_view OpView::kind() const { return def().name; }
const std::string& OpView::name() const { return graph_->node(node_).name; }
std::string OpView::label() const {
  const std::string label = fmt::format("{}#{}", kind(), graph_->node(node_).number);
  return name().empty() ? label : fmt::format("{} '{}'", label, name());
}
size_t OpView::num_inputs() const { return graph_->node(node_).inputs.size(); }
size_t OpView::num_outputs() const { return graph_->node(node_).outputs.size(); }
TensorView OpView::in(size_t i) const {
  const auto& inputs = graph_->node(node_).inputs;
  return i < inputs.size() ? TensorView(graph_, inputs[i]) : TensorView();
}
TensorView OpView::out(size_t i) const {
  const ir::Node& n = graph_->node(node_);
  return i < n.outputs.size() ? TensorView(graph_, n.outputs[i], &n.out_types[i]) : TensorView();
}
const AnyAttrs& OpView::any_attrs() const { return graph_->node(node_).attrs; }
const void* OpView::raw_attrs() const { return any_attrs().data(); }

Status OpView::Error(Code code, const std::string& message) const {
  return Status::Error(code, message).AtOp(label());
}
Status OpView::CheckAxis(int64_t axis, size_t input) const {
  const int64_t rank = static_cast<int64_t>(in(input).shape().rank());
  if (axis >= -rank && axis < rank) return Status();
  return Error(Code::kInvalidArgument, fmt::format("axis {} is outside [{}, {}) of input {} {}",
                                                   axis, -rank, rank, input, in(input).label()));
}
size_t OpView::Axis(int64_t axis, size_t input) const {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(in(input).shape().rank())
                                      : axis);
}
Status OpView::CheckRank(size_t input, size_t lo, size_t hi) const {
  const size_t rank = in(input).shape().rank();
  if (rank >= lo && rank <= hi) return Status();
  const std::string wanted =
      lo == hi ? fmt::format("rank {}", lo) : fmt::format("a rank from {} to {}", lo, hi);
  return Error(Code::kInvalidShape, fmt::format("input {} {} has rank {}, {} is expected", input,
                                                in(input).label(), rank, wanted));
}

GraphView::GraphView(const ir::Graph* graph, std::vector<int> ops) : graph_(graph) {
  const std::set<int> inside(ops.begin(), ops.end());
  std::vector<bool> read_outside(graph->values().size(), false);
  for (size_t id = 0; id < graph->nodes().size(); ++id) {
    const ir::Node& n = graph->nodes()[id];
    if (n.dead || inside.count(static_cast<int>(id)) != 0) continue;
    for (int v : n.inputs) {
      if (v >= 0) read_outside[static_cast<size_t>(v)] = true;
    }
  }
  std::set<int> seen;
  for (int id : ops) {
    ops_.emplace_back(graph, id);
    const ir::Node& n = graph->node(id);
    for (int v : n.inputs) {
      if (v < 0 || !seen.insert(v).second) continue;
      const ir::Value& value = graph->value(v);
      if (value.role == ir::Role::kConstant ||
          (value.producer >= 0 && inside.count(value.producer) != 0))
        continue;
      inputs_.emplace_back(graph, v);
    }
    for (int v : n.outputs) {
      if (graph->value(v).role == ir::Role::kOutput || read_outside[static_cast<size_t>(v)])
        outputs_.emplace_back(graph, v);
    }
  }
}

void Selection::Select(const OpView& op, int partition_index) {
  answers_[op.id()] = {true, false, partition_index, ""};
}
void Selection::Reject(const OpView& op, std::string why) {
  answers_[op.id()] = {false, false, 0, std::move(why)};
}
void Selection::OnlyExpanded(const OpView& op, std::string why) {
  answers_[op.id()] = {false, true, 0, std::move(why)};
}

ExpandBuilder::~ExpandBuilder() = default;

Status OpRegistry::Register(const OpDef& def, OnDuplicate on_duplicate) {
  const std::string name(def.name);
  if (on_duplicate == OnDuplicate::kError && defs_.count(name) != 0) {
    return Status::Error(Code::kAlreadyExists,
                         fmt::format("an operator named '{}' is registered already", name));
  }
  defs_[name] = std::make_shared<const OpDef>(def);
  return Status();
}
const OpDef* OpRegistry::Find(std::string_view name) const {
  const auto it = defs_.find(name);
  return it == defs_.end() ? nullptr : it->second.get();
}
std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> all;
  for (const auto& [name, def] : defs_) all.push_back(def.get());
  return all;
}

}  // namespace tim::vx
