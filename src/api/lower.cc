// GraphImpl::Lower: what the user built becomes IR. What only the whole graph shows is checked
// here: two producers, tensors of other graphs, reads of what nobody writes.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "api/graph.h"
#include "api/op_impl.h"
#include "ir/operands.h"

namespace tim::vx {
namespace {

/// "input 1 'kernel'": for messages that cannot count on names of tensors.
std::string OperandPlace(const OpImpl& op, bool input, size_t i) {
  const std::string_view name =
      ir::OperandNames(input ? op.def->inputs : op.def->outputs).at(i).name;
  const std::string place = fmt::format("{} {}", input ? "input" : "output", i);
  return name.empty() || name == "input" || name == "output" ? place
                                                             : fmt::format("{} '{}'", place, name);
}

class Lowering {
 public:
  using Ops = std::vector<std::shared_ptr<Operation>>;
  Lowering(const GraphImpl& graph, const std::shared_ptr<const void>& token, const Ops& ops,
           const GraphImpl::Reshaped* reshaped)
      : graph_(graph), token_(token), ops_(ops), reshaped_(reshaped), next_(ops.size()) {}

  Result<GraphImpl::Lowered> Run() {
    TIMCL_TRY(CheckOperands());
    WarnOfUnbound(graph_.InputsTensor(), "input");
    WarnOfUnbound(graph_.OutputsTensor(), "output");
    FindOldState();
    lowered_.graph = std::make_shared<ir::Graph>();
    for (int i = 0; i < static_cast<int>(ops_.size()); ++i) TIMCL_TRY(AddNode(i));
    TIMCL_TRY(SplitState());
    return std::move(lowered_);
  }

 private:
  const OpImpl& op(int i) const { return *ops_[static_cast<size_t>(i)]->impl(); }
  std::string LabelOf(int i) const { return graph_.LabelOf(*ops_[static_cast<size_t>(i)]); }
  int ProducerOf(const TensorImpl* tensor) const {
    const auto it = producer_.find(tensor);
    return it == producer_.end() ? -1 : it->second;
  }

  /// Who writes each tensor; that all of them are ours and could be made.
  Status CheckOperands() {
    for (int i = 0; i < static_cast<int>(ops_.size()); ++i) {
      const auto& impl = ops_[static_cast<size_t>(i)]->impl();
      if (impl == nullptr || impl->def == nullptr) {
        return Status::Error(Code::kUnsupported,
                             fmt::format("op code {} of a BuiltinOp built by number is not known "
                                         "here; use the operator's class",
                                         impl ? impl->unknown_kind : 0))
            .AtOp(LabelOf(i));
      }
      TIMCL_TRY(impl->creation.AtOp(LabelOf(i)));
      for (size_t k = 0; k < impl->inputs.size(); ++k) TIMCL_TRY(CheckOperand(i, true, k));
      for (size_t k = 0; k < impl->outputs.size(); ++k) TIMCL_TRY(CheckOperand(i, false, k));
    }
    return Status();
  }

  Status CheckOperand(int i, bool input, size_t k) {
    const auto& t = (input ? op(i).inputs : op(i).outputs)[k];
    if (t->IsPlaceHolder()) return Status();
    auto* tensor = dynamic_cast<TensorImpl*>(t.get());
    const std::string place = OperandPlace(op(i), input, k);
    if (tensor == nullptr || !tensor->BelongsTo(token_)) {
      return Status::Error(Code::kInvalidGraph,
                           fmt::format("{} {} belongs to another graph", place,
                                       tensor ? GraphImpl::LabelOf(*tensor) : "of a foreign class"))
          .AtOp(LabelOf(i))
          .AtTensor(tensor ? tensor->Name() : std::string());
    }
    if (!tensor->creation().ok()) {
      return tensor->creation()
          .AtOp(LabelOf(i))
          .AtTensor(
              fmt::format("{} {}, which could not be made", place, GraphImpl::LabelOf(*tensor)));
    }
    const bool first_use = bound_.insert(tensor).second;
    if (input) {
      if (first_use && tensor->IsConstTensor() && !tensor->has_data()) {
        lowered_.warnings.push_back(
            fmt::format("{}: {} {} is CONSTANT and was given no data; it counts as zeros",
                        LabelOf(i), place, GraphImpl::LabelOf(*tensor)));
      }
      return Status();
    }
    if (tensor->IsConstTensor()) {
      return Status::Error(Code::kInvalidGraph, "a CONSTANT tensor is bound as an output")
          .AtOp(LabelOf(i))
          .AtTensor(fmt::format("{} {}", place, GraphImpl::LabelOf(*tensor)));
    }
    const auto [it, first] = producer_.emplace(tensor, i);
    if (first) return Status();
    return Status::Error(Code::kInvalidGraph, fmt::format("it has two producers: {} and {}",
                                                          LabelOf(it->second), LabelOf(i)))
        .AtOp(LabelOf(i))
        .AtTensor(fmt::format("{} {}", place, GraphImpl::LabelOf(*tensor)));
  }

  void WarnOfUnbound(const std::vector<std::shared_ptr<Tensor>>& list, const char* what) {
    for (size_t i = 0; i < list.size(); ++i) {
      const auto* tensor = static_cast<const TensorImpl*>(list[i].get());
      if (bound_.count(tensor) != 0) continue;
      lowered_.warnings.push_back(fmt::format("graph {} {} {} is not bound to any op", what, i,
                                              GraphImpl::LabelOf(*tensor)));
    }
  }

  /// A VARIABLE that an op reads and that is written further down holds state: the op sees what
  /// the last run left. `old_readers_` are those ops, for each such tensor.
  void FindOldState() {
    std::unordered_map<const TensorImpl*, std::vector<int>> state_readers;
    std::vector<int> waiting(ops_.size(), 0);
    for (int i = 0; i < static_cast<int>(ops_.size()); ++i) {
      for (const auto& t : op(i).inputs) {
        const auto* tensor = dynamic_cast<const TensorImpl*>(t.get());
        const int from = ProducerOf(tensor);
        if (from < 0) continue;
        if (tensor->has(TensorAttribute::VARIABLE)) {
          state_readers[tensor].push_back(i);
        } else {
          next_[static_cast<size_t>(from)].push_back(i);
          ++waiting[static_cast<size_t>(i)];
        }
      }
    }
    if (state_readers.empty()) return;
    // Producers first; ops of a cycle stay out, and make the compilation fail later.
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(ops_.size()); ++i) {
      if (waiting[static_cast<size_t>(i)] == 0) order.push_back(i);
    }
    for (size_t at = 0; at < order.size(); ++at) {
      for (const int n : next_[static_cast<size_t>(order[at])]) {
        if (--waiting[static_cast<size_t>(n)] == 0) order.push_back(n);
      }
    }
    for (const auto& [tensor, readers] : state_readers) {
      // Backwards from the producer: who leads to it.
      std::vector<bool> leads(ops_.size(), false);
      leads[static_cast<size_t>(ProducerOf(tensor))] = true;
      for (auto it = order.rbegin(); it != order.rend(); ++it) {
        for (const int n : next_[static_cast<size_t>(*it)]) {
          if (leads[static_cast<size_t>(n)]) leads[static_cast<size_t>(*it)] = true;
        }
      }
      for (const int reader : readers) {
        if (leads[static_cast<size_t>(reader)]) old_readers_[tensor].insert(reader);
      }
    }
  }

  Status AddNode(int i) {
    const OpImpl& impl = op(i);
    ir::Node n;
    n.def = impl.def;
    n.attrs = impl.attrs;
    n.name = impl.name;
    n.number = static_cast<int>(impl.uid);
    for (size_t k = 0; k < impl.inputs.size(); ++k) {
      TIMCL_ASSIGN(const int id, ValueOf(i, true, k));
      n.inputs.push_back(id);
    }
    // The others keep their positions: what a placeholder stands for is computed and thrown away,
    // unless it is optional and nothing follows.
    const ir::OperandNames names(impl.def->outputs);
    const size_t outputs = names.WithoutTrailing(
        impl.outputs.size(), [&](size_t k) { return impl.outputs[k]->IsPlaceHolder(); });
    std::vector<size_t> left_out;
    for (size_t k = 0; k < outputs; ++k) {
      TIMCL_ASSIGN(int id, ValueOf(i, false, k));
      if (id < 0) {
        ir::Value v;
        v.infer_shape = true;
        id = lowered_.graph->AddValue(std::move(v));
        left_out.push_back(k);
      }
      n.outputs.push_back(id);
    }
    const int node = lowered_.graph->AddNode(std::move(n));
    return left_out.empty() ? Status() : ir::ChooseTypes(*lowered_.graph, node, left_out);
  }

  /// The value behind an operand, made when first met; -1 for one that is left out.
  Result<int> ValueOf(int i, bool input, size_t k) {
    const auto& t = (input ? op(i).inputs : op(i).outputs)[k];
    if (t->IsPlaceHolder()) return -1;
    const auto tensor = std::static_pointer_cast<TensorImpl>(t);
    const auto state = old_readers_.find(tensor.get());
    const bool old_state = input && state != old_readers_.end() && state->second.count(i) != 0;
    auto& ids = old_state ? read_ : written_;
    if (const auto it = ids.find(tensor.get()); it != ids.end()) return it->second;
    const int producer = ProducerOf(tensor.get());
    ir::Value v;
    v.type = tensor->type();
    v.name = tensor->Name();
    v.infer_shape = tensor->open_shape();
    v.scalar = tensor->IsScalar() && v.type.shape == Shape{1};
    v.storage = tensor->storage();
    if (tensor->IsConstTensor()) {
      v.role = ir::Role::kConstant;
    } else if (old_state) {
      v.role = ir::Role::kInput;
    } else if (producer < 0) {
      v.role = ir::Role::kInput;
      if (v.storage == nullptr && BitsOf(v.type.dtype) != 0) {
        return Status::Error(Code::kInvalidGraph, "it is read but nothing produces it")
            .AtOp(LabelOf(i))
            .AtTensor(
                fmt::format("{} {}", OperandPlace(op(i), input, k), GraphImpl::LabelOf(*tensor)));
      }
    } else if (tensor->GetSpec().attr_ != TensorAttribute::TRANSIENT) {
      v.role = ir::Role::kOutput;
    }
    if (reshaped_ != nullptr) Reshape(*tensor, &v);
    const bool is_output = v.role == ir::Role::kOutput;
    const int id = lowered_.graph->AddValue(std::move(v));
    if (is_output)
      lowered_.written.push_back({tensor, id, OutputPlace(producer, *tensor), nullptr});
    ids[tensor.get()] = id;
    return id;
  }

  /// Under Resize: inputs are what the caller says, what ops write is whatever comes out of that.
  /// State keeps its shape.
  void Reshape(const TensorImpl& tensor, ir::Value* v) const {
    if (const auto it = reshaped_->find(&tensor); it != reshaped_->end()) {
      v->type.shape = it->second.shape;
      v->storage = it->second.storage;
      v->infer_shape = false;
    } else if (v->role == ir::Role::kOutput && !tensor.has(TensorAttribute::VARIABLE)) {
      v->type.shape = Shape();
      v->infer_shape = true;
      if (v->storage != nullptr && v->storage->has_header()) v->storage = nullptr;
    }
  }

  std::string OutputPlace(int producer, const TensorImpl& tensor) const {
    const auto& outputs = op(producer).outputs;
    const auto at = std::find_if(outputs.begin(), outputs.end(),
                                 [&](const auto& t) { return t.get() == &tensor; });
    return fmt::format(
        "{}: {}", LabelOf(producer),
        OperandPlace(op(producer), false, static_cast<size_t>(at - outputs.begin())));
  }

  /// State that is read and written: the run writes beside it, and the two change places after.
  Status SplitState() {
    for (GraphImpl::Written& w : lowered_.written) {
      if (read_.count(w.tensor.get()) == 0) continue;
      ir::Value& v = lowered_.graph->value(w.value);
      v.storage = base::Storage::Allocate(w.tensor->storage()->bytes());
      if (v.storage == nullptr) {
        return Status::Error(Code::kOutOfMemory, "no memory for state").AtTensor(w.place);
      }
      w.state = v.storage;
    }
    return Status();
  }

  const GraphImpl& graph_;
  const std::shared_ptr<const void>& token_;
  const Ops& ops_;
  const GraphImpl::Reshaped* reshaped_;
  GraphImpl::Lowered lowered_;
  std::unordered_map<const TensorImpl*, int> producer_;
  std::unordered_set<const TensorImpl*> bound_;
  std::vector<std::vector<int>> next_;  // op -> ops that read what it writes, state left out
  std::unordered_map<const TensorImpl*, std::unordered_set<int>> old_readers_;
  std::unordered_map<const TensorImpl*, int> written_, read_;  // value ids; both only for state
};

}  // namespace

Result<GraphImpl::Lowered> GraphImpl::Lower(const Reshaped* reshaped) const {
  return Lowering(*this, token_, op_vector_, reshaped).Run();
}

}  // namespace tim::vx
