// The handles that definitions, backends and tools see: TensorView, OpView, GraphView, Selection.
#include <fmt/format.h>

#include "ir/graph.h"
#include "ir/operands.h"
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
bool TensorView::is_scalar() const {
  return present() && (shape().empty() || graph_->value(value_).scalar);
}
bool TensorView::is_graph_input() const {
  return present() && graph_->value(value_).role == ir::Role::kInput;
}
bool TensorView::is_graph_output() const {
  return present() && graph_->value(value_).role == ir::Role::kOutput;
}
const void* TensorView::data() const {
  // Layout inference asks about types alone: its constants have no data.
  return is_const() && graph_->value(value_).storage != nullptr
             ? graph_->value(value_).storage->data()
             : nullptr;
}

std::shared_ptr<const kernel::Memory> TensorView::memory() const {
  return is_const() ? graph_->value(value_).storage : nullptr;
}

std::shared_ptr<const void> TensorView::Data() const {
  const void* data = this->data();
  if (data == nullptr && present() && graph_->placed()) {
    const ir::Value& v = graph_->value(value_);
    if (v.placed != nullptr) data = static_cast<const std::byte*>(v.placed->data()) + v.placed_at;
    if (v.on_demand != nullptr) data = v.on_demand->data();
  }
  return std::shared_ptr<const void>(std::shared_ptr<void>(), data);
}

void* TensorView::MutableData() const {
  if (present() && !is_const() && graph_->placed()) {
    const ir::Value& v = graph_->value(value_);
    if (v.placed == nullptr && v.on_demand == nullptr)
      v.on_demand = base::Storage::Allocate(v.type.bytes());
  }
  return const_cast<void*>(Data().get());
}

std::string ir::OpLabel(std::string_view kind, int64_t number, const std::string& name,
                        const std::string& part) {
  const std::string label = fmt::format("{}#{}{}", kind, number, part);
  return name.empty() ? label : fmt::format("{} '{}'", label, name);
}

const OpDef& OpView::def() const { return *graph_->node(node_).def; }
std::string_view OpView::def_name() const { return def().name; }
std::string_view OpView::kind() const { return def().name; }
const std::string& OpView::name() const { return graph_->node(node_).name; }
std::string OpView::label() const {
  const ir::Node& n = graph_->node(node_);
  return ir::OpLabel(kind(), n.number, n.name, n.part);
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

namespace {

/// By the tensor's own name where it has one, else by the operand's.
std::string OperandLabel(const char* what, const char* names, size_t i, const TensorView& t) {
  const std::string_view name = t.name().empty() ? ir::OperandNames(names).at(i).name : "";
  return name.empty() ? fmt::format("{} {} {}", what, i, t.label())
                      : fmt::format("{} {} '{}' {}", what, i, name, t.label());
}

}  // namespace

std::string OpView::in_label(size_t i) const {
  return OperandLabel("input", def().inputs, i, in(i));
}
std::string OpView::out_label(size_t i) const {
  return OperandLabel("output", def().outputs, i, out(i));
}
Status OpView::InputError(size_t i, Code code, const std::string& message) const {
  return Error(code, in_label(i) + ": " + message).AtTensor(in(i).name());
}
Status OpView::OutputError(size_t i, Code code, const std::string& message) const {
  return Error(code, out_label(i) + ": " + message).AtTensor(out(i).name());
}
Status OpView::CheckShape(size_t input, const Shape& shape, const std::string& why) const {
  if (in(input).shape() == shape) return Status();
  return InputError(input, Code::kInvalidShape,
                    fmt::format("must be {}{}{}", shape.ToString(), why.empty() ? "" : ", ", why));
}

Status OpView::Error(Code code, const std::string& message) const {
  return Status::Error(code, message).AtOp(label());
}
Status OpView::CheckAxis(int64_t axis, size_t input) const {
  const int64_t rank = static_cast<int64_t>(in(input).shape().rank());
  if (axis >= -rank && axis < rank) return Status();
  return Error(Code::kInvalidArgument,
               fmt::format("axis {} is outside [{}, {}) of {}", axis, -rank, rank, in_label(input)))
      .AtTensor(in(input).name());
}
Status OpView::CheckAxes(const std::vector<int32_t>& axes, size_t input) const {
  std::vector<bool> named(in(input).shape().rank(), false);
  for (const int32_t axis : axes) {
    TIMCL_TRY(CheckAxis(axis, input));
    const size_t d = Axis(axis, input);
    if (named[d])
      return Error(Code::kInvalidArgument,
                   fmt::format("attribute axis names dimension {} twice", d));
    named[d] = true;
  }
  return Status();
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
  return Error(Code::kInvalidShape,
               fmt::format("{} has rank {}, {} is expected", in_label(input), rank, wanted))
      .AtTensor(in(input).name());
}

std::vector<GraphView> GraphView::Divide(const std::shared_ptr<const ir::Graph>& graph,
                                         const std::vector<std::vector<int>>& pieces) {
  std::vector<int> piece_of(graph->nodes().size(), -1);
  for (size_t p = 0; p < pieces.size(); ++p) {
    for (const int id : pieces[p]) piece_of[static_cast<size_t>(id)] = static_cast<int>(p);
  }
  std::vector<bool> read_outside(graph->values().size(), false);
  for (size_t id = 0; id < graph->nodes().size(); ++id) {
    const ir::Node& n = graph->nodes()[id];
    if (n.dead) continue;
    for (const int v : n.inputs) {
      const int producer = v < 0 ? -1 : graph->value(v).producer;
      if (producer >= 0 && piece_of[static_cast<size_t>(producer)] != piece_of[id])
        read_outside[static_cast<size_t>(v)] = true;
    }
  }
  std::vector<GraphView> views;
  for (const std::vector<int>& ops : pieces) views.push_back(GraphView(graph, ops, read_outside));
  return views;
}

GraphView::GraphView(std::shared_ptr<const ir::Graph> graph, const std::vector<int>& ops)
    : GraphView(std::move(Divide(graph, {ops})[0])) {}

GraphView::GraphView(std::shared_ptr<const ir::Graph> graph, const std::vector<int>& ops,
                     const std::vector<bool>& read_outside)
    : graph_(std::move(graph)) {
  for (size_t at = 0; at < ops.size(); ++at) {
    ops_.emplace_back(graph_.get(), ops[at]);
    const ir::Node& n = graph_->node(ops[at]);
    for (int v : n.inputs) {
      if (v < 0) continue;
      const auto [readers, first] = readers_.try_emplace(v);
      if (first || readers->second.back() != at) readers->second.push_back(at);
      // Producers come first: what is not written by now comes from outside.
      if (first && graph_->value(v).role != ir::Role::kConstant && writer_.count(v) == 0)
        inputs_.emplace_back(graph_.get(), v);
    }
    for (int v : n.outputs) {
      writer_[v] = at;
      if (graph_->value(v).role != ir::Role::kOutput && !read_outside[static_cast<size_t>(v)])
        continue;
      outputs_.emplace_back(graph_.get(), v);
      leaving_.insert(v);
    }
  }
}

std::vector<OpView> GraphView::AllOps() const {
  std::vector<OpView> ops;
  if (graph_ == nullptr) return ops;
  const auto order = graph_->TopologicalOrder();  // a graph under compilation has one
  if (!order.ok()) return ops;
  for (const int id : *order) ops.push_back(graph_->view(id));
  return ops;
}

std::vector<OpView> GraphView::consumers(const TensorView& tensor) const {
  std::vector<OpView> ops;
  if (const auto it = readers_.find(tensor.id()); it != readers_.end()) {
    for (const size_t at : it->second) ops.push_back(ops_[at]);
  }
  return ops;
}
const OpView* GraphView::producer(const TensorView& tensor) const {
  const auto it = writer_.find(tensor.id());
  return it == writer_.end() ? nullptr : &ops_[it->second];
}
bool GraphView::leaves(const TensorView& tensor) const { return leaving_.count(tensor.id()) != 0; }

void Selection::Select(const OpView& op, int partition_index) {
  answers_[op.id()] = {true, false, partition_index, ""};
}
void Selection::Whole(int partition_index) { wholes_.insert(partition_index); }
void Selection::Keep(std::shared_ptr<void> live) { kept_.push_back(std::move(live)); }
void Selection::Reject(const OpView& op, std::string why) {
  answers_[op.id()] = {false, false, 0, std::move(why)};
}
void Selection::OnlyExpanded(const OpView& op, std::string why) {
  answers_[op.id()] = {false, true, 0, std::move(why)};
}

ExpandBuilder::~ExpandBuilder() = default;

ExpandBuilder::Value ExpandBuilder::Constant(float value) {
  return Constant(TensorType{DataType::FLOAT32, {1}, Quantization()}, &value);
}
ExpandBuilder::Value ExpandBuilder::Add(std::string_view kind, const AttrMap& attrs,
                                        const std::vector<Value>& inputs, const TensorType& like) {
  const Value out = Between(like);
  Add(kind, attrs, inputs, std::vector<Value>{out});
  return out;
}
void ExpandBuilder::AddTo(size_t output, std::string_view kind, const AttrMap& attrs,
                          const std::vector<Value>& inputs) {
  Add(kind, attrs, inputs, std::vector<Value>{out(output)});
}

namespace {
Status CheckRegistrable(const OpDef* def) {
  if (def == nullptr || def->name.empty()) {
    return Status::Error(Code::kInvalidArgument, "an operator needs a name to be registered");
  }
  if (def->origin == nullptr || def->inputs == nullptr || def->outputs == nullptr) {
    return Status::Error(
        Code::kInvalidArgument,
        fmt::format("operator '{}' lacks the names of its operands or its origin", def->name));
  }
  return ParseTypes(*def);
}
Status Duplicate(const OpDef& def, const OpDef& registered) {
  return Status::Error(Code::kAlreadyExists,
                       fmt::format("operator '{}' of '{}' is registered already, by '{}'", def.name,
                                   def.origin, registered.origin));
}
}  // namespace

Status OpRegistry::Register(const OpDef& def, OnDuplicate on_duplicate) {
  return Register(std::make_shared<const OpDef>(def), on_duplicate);
}
Status OpRegistry::Register(std::shared_ptr<const OpDef> def, OnDuplicate on_duplicate) {
  TIMCL_TRY(CheckRegistrable(def.get()));
  const std::string name(def->name);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const OpDef>& entry = defs_[name];
  if (entry != nullptr && on_duplicate == OnDuplicate::kError) return Duplicate(*def, *entry);
  entry = std::move(def);
  return Status();
}
Status OpRegistry::RegisterAll(const std::vector<std::shared_ptr<const OpDef>>& defs) {
  for (const auto& def : defs) TIMCL_TRY(CheckRegistrable(def.get()));
  const std::lock_guard lock(mutex_);
  Map all = defs_;
  for (const auto& def : defs) {
    const auto [it, fresh] = all.emplace(def->name, def);
    if (!fresh) return Duplicate(*def, *it->second);
  }
  defs_ = std::move(all);
  return Status();
}
std::shared_ptr<const OpDef> OpRegistry::Find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = defs_.find(name);
  return it == defs_.end() ? nullptr : it->second;
}
std::vector<std::shared_ptr<const OpDef>> OpRegistry::All() const {
  std::vector<std::shared_ptr<const OpDef>> all;
  for (const auto& [name, def] : Snapshot()) all.push_back(def);
  return all;
}
OpRegistry::Map OpRegistry::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return defs_;
}
OpRegistry::OpRegistry(const OpRegistry& other) : defs_(other.Snapshot()) {}
OpRegistry& OpRegistry::operator=(const OpRegistry& other) {
  Map defs = other.Snapshot();
  const std::lock_guard lock(mutex_);
  defs_ = std::move(defs);
  return *this;
}

}  // namespace tim::vx
