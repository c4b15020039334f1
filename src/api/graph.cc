// GraphImpl: building, lowering to IR, Compile and Run.
#include "api/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "api/op_impl.h"
#include "base/log.h"

namespace tim::vx {
namespace {

/// Exceptions end at the API: they become a Status.
template <class F>
Status Fenced(F f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Status::Error(Code::kOutOfMemory, "the host is out of memory");
  } catch (const std::exception& e) {
    return Status::Error(Code::kInternal,
                         fmt::format("an exception reached the API: {}", e.what()));
  } catch (...) {
    return Status::Error(Code::kInternal, "an unknown exception reached the API");
  }
}

/// The type as the user gave it, also where a shape is left to inference.
std::string Asked(const TensorImpl& tensor) {
  const TensorSpec& spec = const_cast<TensorImpl&>(tensor).GetSpec();
  return TensorType{spec.datatype_, Shape(spec.shape_), spec.quantization_}.ToString();
}

bool Aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; }

}  // namespace

GraphImpl::GraphImpl(std::shared_ptr<ContextImpl> context, const CompileOption& options)
    : context_(std::move(context)),
      options_(options),
      token_(std::make_shared<char>()),
      placeholder_(std::make_shared<PlaceHolder>()) {}

GraphImpl::~GraphImpl() {
  executable_.reset();
  // Operations hold tensors, tensors nothing: clearing both breaks no cycle, but fixes the order.
  consumers_.clear();
  producers_.clear();
}

void GraphImpl::SetCompileOption(const CompileOption& options) {
  options_ = options;
  Edited();
}

void GraphImpl::Edited() {
  ++edits_;
  // Compile() told of it, and the graph is another one now. What is still wrong shows again:
  // tensors keep why they could not be made, and ops miss the operands that were not bound.
  if (mistake_reported_) mistake_ = Status();
  mistake_reported_ = false;
}

void GraphImpl::Mistake(Status status) {
  Edited();
  if (mistake_.ok()) mistake_ = std::move(status);
}

std::string GraphImpl::LabelOf(const Operation& op) const {
  const auto& impl = op.impl();
  if (impl == nullptr) return "an operation";
  const std::string label = fmt::format("{}#{}", op.Kind(), impl->uid);
  return impl->name.empty() ? label : fmt::format("{} '{}'", label, impl->name);
}

std::string GraphImpl::LabelOf(const TensorImpl& t) const {
  return t.Name().empty()
             ? fmt::format("#{} {}", const_cast<TensorImpl&>(t).GetId(), t.type().ToString())
             : fmt::format("'{}' {}", t.Name(), t.type().ToString());
}

std::shared_ptr<Tensor> GraphImpl::NewTensor(const TensorSpec& spec, const void* data,
                                             void* user_memory) {
  Edited();
  auto tensor = std::make_shared<TensorImpl>(token_, tensor_ids_, spec);
  const Status status = Fenced([&]() -> Status {
    if (tensor->open_shape()) {
      // What an op writes may be left to inference; what the host fills may not.
      if (spec.attr_ == TensorAttribute::CONSTANT || tensor->has(TensorAttribute::INPUT) ||
          (spec.attr_ == TensorAttribute::VARIABLE && !spec.shape_.empty())) {
        return Status::Error(Code::kInvalidShape,
                             fmt::format("a CONSTANT, INPUT or VARIABLE tensor needs all extents, "
                                         "but {} is given",
                                         Shape(spec.shape_).ToString()));
      }
      return Status();
    }
    if (BitsOf(spec.datatype_) == 0) return Status();  // Compile() names the op that meets it
    const TensorType type = tensor->type();
    TIMCL_ASSIGN(const size_t bytes, type.CheckedBytes());
    if (user_memory != nullptr) {
      if (!Aligned(user_memory)) {
        return Status::Error(
            Code::kInvalidArgument,
            fmt::format("CreateIOTensor: the memory at {} is not aligned to 64 bytes",
                        user_memory));
      }
      tensor->set_storage(base::Storage::Wrap(user_memory, bytes));
      return Status();
    }
    TIMCL_TRY(tensor->AllocateStorage(type, context_->max_allocation()));
    if (data != nullptr) tensor->CopyDataToTensor(data);
    return Status();
  });
  if (!status.ok()) return FailedTensor(spec, status);
  if (spec.attr_ == TensorAttribute::TRANSIENT && data != nullptr) {
    base::Log("api", base::LogLevel::kError,
              "tensor {}: data given to a TRANSIENT tensor is ignored", LabelOf(*tensor));
  }
  ++tensor_ids_;
  if (tensor->has(TensorAttribute::INPUT)) inputs_.push_back(tensor);
  if (tensor->has(TensorAttribute::OUTPUT)) outputs_.push_back(tensor);
  return tensor;
}

std::shared_ptr<Tensor> GraphImpl::FailedTensor(const TensorSpec& spec, const Status& why) {
  auto failed = std::make_shared<TensorImpl>(token_, static_cast<uint32_t>(-1), spec);
  failed->set_creation(why);
  Mistake(why.AtTensor(Asked(*failed)));
  return failed;
}

std::shared_ptr<Tensor> GraphImpl::CreateTensor(const TensorSpec& spec, const void* data) {
  return NewTensor(spec, data, nullptr);
}

std::shared_ptr<Tensor> GraphImpl::CreateTensor(const TensorSpec& spec, const DmaBufferDesc&) {
  return FailedTensor(
      spec, Status::Error(Code::kUnsupported,
                          "tensors over dma-buf descriptors are not supported by OpenCL devices; "
                          "CreateIOTensor shares memory instead"));
}

std::shared_ptr<Tensor> GraphImpl::CreateIOTensor(const TensorSpec& spec, void* data) {
  if ((spec.attr_ & (TensorAttribute::INPUT | TensorAttribute::OUTPUT)) == 0) {
    return FailedTensor(spec,
                        Status::Error(Code::kInvalidArgument,
                                      "CreateIOTensor: the tensor is neither INPUT nor OUTPUT"));
  }
  return NewTensor(spec, nullptr, data);
}

std::shared_ptr<Tensor> GraphImpl::CreateTensorPlaceHolder() { return placeholder_; }

void GraphImpl::UpdateTensorConsumersMap(const std::shared_ptr<Tensor>& tensor,
                                         const Operation* op) {
  for (const auto& added : op_vector_) {
    if (added.get() == op) consumers_[tensor].push_back(added);
  }
}

void GraphImpl::RenewTensorConsumersMap(const std::shared_ptr<Tensor>& org_tensor,
                                        const std::shared_ptr<Tensor>& dst_tensor,
                                        const Operation* op) {
  consumers_.erase(org_tensor);
  UpdateTensorConsumersMap(dst_tensor, op);
}

void GraphImpl::UpdateTensorProducerMap(const std::shared_ptr<Tensor>& tensor,
                                        const Operation* op) {
  for (const auto& added : op_vector_) {
    if (added.get() == op) producers_[tensor] = added;
  }
}

const std::vector<std::shared_ptr<Operation>> GraphImpl::GetConsumersOp(
    std::shared_ptr<Tensor> tensor) const {
  const auto it = consumers_.find(tensor);
  return it == consumers_.end() ? std::vector<std::shared_ptr<Operation>>() : it->second;
}

std::shared_ptr<Operation> GraphImpl::GetProducerOp(std::shared_ptr<Tensor> tensor) {
  const auto it = producers_.find(tensor);
  return it == producers_.end() ? nullptr : it->second;
}

Result<std::unique_ptr<ir::Graph>> GraphImpl::Lower(
    std::vector<StateCommit>* commits, std::vector<std::string>* warnings,
    std::vector<std::pair<std::shared_ptr<TensorImpl>, int>>* outputs) const {
  // Who writes each tensor, and mistakes that only the whole graph shows.
  std::map<const TensorImpl*, const Operation*> producer;
  std::set<const TensorImpl*> bound;
  for (const auto& op : op_vector_) {
    const auto& impl = op->impl();
    if (impl == nullptr || (impl->def == nullptr)) {
      return Status::Error(Code::kUnsupported,
                           fmt::format("op code {} of a BuiltinOp built by number is not known "
                                       "here; use the operator's class",
                                       impl ? impl->unknown_kind : 0))
          .AtOp(LabelOf(*op));
    }
    for (const auto* list : {&impl->inputs, &impl->outputs}) {
      for (const auto& t : *list) {
        if (t->IsPlaceHolder()) continue;
        const auto* tensor = dynamic_cast<const TensorImpl*>(t.get());
        const std::string operand =
            fmt::format("{} {}", list == &impl->inputs ? "input" : "output", &t - list->data());
        if (tensor == nullptr || !tensor->BelongsTo(token_)) {
          return Status::Error(Code::kInvalidGraph,
                               fmt::format("{} {} belongs to another graph", operand,
                                           tensor ? LabelOf(*tensor) : "of a foreign class"))
              .AtOp(LabelOf(*op))
              .AtTensor(tensor ? tensor->Name() : std::string());
        }
        if (!tensor->creation().ok()) {
          return tensor->creation()
              .AtOp(LabelOf(*op))
              .AtTensor(fmt::format("{} {}, which could not be made", operand, Asked(*tensor)));
        }
        bound.insert(tensor);
        if (list == &impl->inputs) continue;
        if (const auto [it, first] = producer.emplace(tensor, op.get()); !first) {
          return Status::Error(Code::kInvalidGraph,
                               fmt::format("tensor {} has two producers: {} and {}",
                                           LabelOf(*tensor), LabelOf(*it->second), LabelOf(*op)))
              .AtOp(LabelOf(*op))
              .AtTensor(LabelOf(*tensor));
        }
        if (const_cast<TensorImpl*>(tensor)->IsConstTensor()) {
          return Status::Error(Code::kInvalidGraph, "a CONSTANT tensor is bound as an output")
              .AtOp(LabelOf(*op))
              .AtTensor(LabelOf(*tensor));
        }
      }
    }
  }
  for (const auto* list : {&inputs_, &outputs_}) {
    for (const auto& t : *list) {
      const auto* tensor = static_cast<const TensorImpl*>(t.get());
      if (bound.count(tensor) == 0 && warnings != nullptr) {
        warnings->push_back(fmt::format("graph {} {} is not bound to any op",
                                        list == &inputs_ ? "input" : "output", LabelOf(*tensor)));
      }
    }
  }

  // A VARIABLE that an op reads and that is written further down holds state: the op sees what the
  // last run left.
  std::map<const Operation*, std::vector<const Operation*>> next;
  auto is_state = [](const TensorImpl* t) { return t->has(TensorAttribute::VARIABLE); };
  for (const auto& op : op_vector_) {
    for (const auto& t : op->impl()->inputs) {
      const auto* tensor = dynamic_cast<const TensorImpl*>(t.get());
      if (tensor == nullptr || is_state(tensor)) continue;
      if (const auto it = producer.find(tensor); it != producer.end())
        next[it->second].push_back(op.get());
    }
  }
  std::function<bool(const Operation*, const Operation*, std::set<const Operation*>&)> reaches =
      [&](const Operation* from, const Operation* to, std::set<const Operation*>& seen) {
        if (from == to) return true;
        if (!seen.insert(from).second) return false;
        for (const Operation* n : next[from]) {
          if (reaches(n, to, seen)) return true;
        }
        return false;
      };

  auto graph = std::make_unique<ir::Graph>();
  std::map<const TensorImpl*, int> written, read;  // value ids; equal unless the tensor is state
  auto value_of = [&](const std::shared_ptr<Tensor>& t, const Operation* reader) -> Result<int> {
    if (t->IsPlaceHolder()) return -1;
    auto tensor = std::static_pointer_cast<TensorImpl>(t);
    const auto made = producer.find(tensor.get());
    bool old_state = false;
    if (reader != nullptr && made != producer.end() && is_state(tensor.get())) {
      std::set<const Operation*> seen;
      old_state = reaches(reader, made->second, seen);
    }
    auto& ids = old_state ? read : written;
    if (const auto it = ids.find(tensor.get()); it != ids.end()) return it->second;
    ir::Value v;
    v.type = tensor->type();
    v.name = tensor->Name();
    v.infer_shape = tensor->open_shape();
    v.storage = tensor->storage();
    if (tensor->IsConstTensor()) {
      v.role = ir::Role::kConstant;
    } else if (old_state) {
      v.role = ir::Role::kInput;
    } else if (made == producer.end()) {
      v.role = ir::Role::kInput;
      if (v.storage == nullptr && BitsOf(v.type.dtype) != 0) {
        return Status::Error(
                   Code::kInvalidGraph,
                   fmt::format("tensor {} is read but nothing produces it", LabelOf(*tensor)))
            .AtOp(LabelOf(*reader))
            .AtTensor(LabelOf(*tensor));
      }
    } else if (const_cast<TensorImpl&>(*tensor).GetSpec().attr_ != TensorAttribute::TRANSIENT) {
      v.role = ir::Role::kOutput;
    }
    const bool is_output = v.role == ir::Role::kOutput;
    const int id = graph->AddValue(std::move(v));
    if (is_output && outputs != nullptr) outputs->emplace_back(tensor, id);
    ids[tensor.get()] = id;
    return id;
  };
  for (const auto& op : op_vector_) {
    const OpImpl& impl = *op->impl();
    ir::Node n;
    n.def = impl.def;
    n.attrs = impl.attrs;
    n.name = impl.name;
    n.number = static_cast<int>(impl.uid);
    for (const auto& t : impl.inputs) {
      TIMCL_ASSIGN(const int id, value_of(t, op.get()));
      n.inputs.push_back(id);
    }
    for (const auto& t : impl.outputs) {
      TIMCL_ASSIGN(const int id, value_of(t, nullptr));
      n.outputs.push_back(id);
    }
    n.outputs.erase(std::remove(n.outputs.begin(), n.outputs.end(), -1), n.outputs.end());
    graph->AddNode(std::move(n));
  }
  // State that is read and written: the run writes beside it, and the two change places afterwards.
  for (const auto& [tensor, id] : read) {
    ir::Value& v = graph->value(written.at(tensor));
    v.storage = base::Storage::Allocate(tensor->storage()->bytes());
    if (v.storage == nullptr)
      return Status::Error(Code::kOutOfMemory, "no memory for state").AtTensor(LabelOf(*tensor));
    if (outputs != nullptr) {
      const TensorImpl* state = tensor;
      outputs->erase(std::remove_if(outputs->begin(), outputs->end(),
                                    [&](const auto& o) { return o.first.get() == state; }),
                     outputs->end());
    }
    if (commits == nullptr) continue;
    for (const auto& op : op_vector_) {
      for (const auto& t : op->impl()->outputs) {
        if (t.get() == tensor)
          commits->push_back({std::static_pointer_cast<TensorImpl>(t), v.storage});
      }
    }
  }
  return graph;
}

Status GraphImpl::DoCompile() {
  if (!mistake_.ok()) {
    mistake_reported_ = true;
    return mistake_;
  }
  TIMCL_TRY(context_->LastStatus());
  if (op_vector_.empty()) return Status::Error(Code::kInvalidGraph, "the graph has no operations");
  report_ = CompileReport();
  report_.device = context_->DeviceName() +
                   (context_->device_reason().empty() ? "" : ": " + context_->device_reason());
  commits_.clear();
  run_memory_.clear();
  executable_.reset();
  std::vector<std::pair<std::shared_ptr<TensorImpl>, int>> written;
  TIMCL_ASSIGN(const std::shared_ptr<ir::Graph> graph,
               Lower(&commits_, &report_.warnings, &written));
  if (outputs_.empty()) return Status::Error(Code::kInvalidGraph, "the graph has no OUTPUT tensor");
  for (const std::string& w : report_.warnings)
    base::Log("compile", base::LogLevel::kWarn, "{}", w);

  compiler::Options options;
  options.fallback = options_.GetFallback();
  options.fuse = options_.Fusion();
  options.pins = options_.Pins();
  options.dump_dir = context_->env().Get(base::Env::kDump);
  if (options_.isRelaxMode()) {
    report_.warnings.push_back("relax mode is accepted and changes nothing: float32 stays float32");
  }
  const std::lock_guard<std::mutex> turn(context_->compile_mutex());
  auto executable =
      compiler::Compile(graph, context_->ops(), context_->backends(), options, &report_);
  // Outputs that were left open, or whose declared shape the op overrules (pooling), have their
  // memory and shape now.
  for (const auto& [tensor, id] : written) {
    const ir::Value& v = graph->value(id);
    if (v.storage == nullptr) continue;
    tensor->set_storage(v.storage);
    tensor->set_inferred(v.type.shape);
  }
  TIMCL_TRY(executable.status());
  executable_ = std::move(*executable);
  std::set<const Tensor*> seen;
  for (const auto& op : op_vector_) {
    for (const auto* list : {&op->impl()->inputs, &op->impl()->outputs}) {
      for (const auto& t : *list) {
        if (t->IsPlaceHolder() || !seen.insert(t.get()).second) continue;
        auto tensor = std::static_pointer_cast<TensorImpl>(t);
        tensor->EnsureFilled();
        if (tensor->is_io() && tensor->storage() != nullptr) run_memory_.push_back(tensor);
      }
    }
  }
  return Status();
}

bool GraphImpl::Compile() {
  if (state_ == State::kCompiled) return true;
  if (state_ == State::kFailed && compiled_edits_ == edits_) {
    last_ = compile_status_;
    return false;
  }
  compiled_edits_ = edits_;
  last_ = compile_status_ = Fenced([&] { return DoCompile(); });
  state_ = last_.ok() ? State::kCompiled : State::kFailed;
  return last_.ok();
}

Status GraphImpl::DoRun() {
  for (const auto& tensor : run_memory_) {
    if (tensor->storage()->data() != nullptr) continue;
    return Status::Error(Code::kInvalidArgument,
                         "its memory was taken back by SwapHandle and no other was given")
        .AtTensor(LabelOf(*tensor));
  }
  TIMCL_TRY(executable_->Run());
  for (const StateCommit& c : commits_) c.tensor->storage()->SwapWith(*c.written);
  return Status();
}

bool GraphImpl::Run() {
  if (!Compile()) return false;
  last_ = Fenced([&] { return DoRun(); });
  return last_.ok();
}

bool GraphImpl::CompileToBinary(void*, size_t* size) {
  if (size != nullptr) *size = 0;
  last_ = Status::Error(Code::kUnsupported, "binary graphs are not written by this version");
  return false;
}

std::string GraphImpl::ToText() const {
  auto graph = Lower(nullptr, nullptr, nullptr);
  return graph.ok() ? ir::Print(**graph) : graph.status().message() + "\n";
}

void GraphImpl::PrintGraph() const {
  base::Log("graph", base::LogLevel::kInfo, "Graph:\n{}", ToText());
}

}  // namespace tim::vx
