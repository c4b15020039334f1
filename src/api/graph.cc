// GraphImpl: building, Compile and Run. Lowering to IR is in lower.cc.
#include "api/graph.h"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <utility>

#include "api/op_impl.h"
#include "api/progress.h"
#include "base/float_env.h"
#include "base/log.h"
#include "base/trace.h"

namespace tim::vx {
namespace ops {
void RegisterBuiltinOps(OpRegistry& registry);  // generated: op_table.cc
}

namespace {

/// Says of operators that took the place of built-in ones that they did; whose they are is beside
/// it.
void NoteOverrides(const OpRegistry& registry, CompileReport* report) {
  static const OpRegistry* const built_in = [] {
    auto* all = new OpRegistry;
    ops::RegisterBuiltinOps(*all);
    return all;
  }();
  for (OpPlacement& op : report->ops) {
    if (op.origin == "built-in" || built_in->Find(op.kind) == nullptr) continue;
    const auto meant = registry.Find(op.kind);  // a custom op may have any name
    if (meant != nullptr && meant->origin == op.origin)
      op.reason += ", in place of the built-in operator";
  }
}

/// Made while there is memory: to tell that there is none must not need any.
const Status& OutOfHostMemory() {
  static const Status* const status =
      new Status(Status::Error(Code::kOutOfMemory, "the host is out of memory"));
  return *status;
}

/// In a handler: what was thrown.
Status Caught() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return OutOfHostMemory();
  } catch (const std::exception& e) {
    return Status::Error(Code::kInternal,
                         fmt::format("an exception reached the API: {}", e.what()));
  } catch (...) {
    return Status::Error(Code::kInternal, "an unknown exception reached the API");
  }
}

/// Exceptions end at the API: they become a Status. Nor does the caller's rounding mode come in.
template <class F>
Status Fenced(F f) {
  const base::FloatEnv usual;
  try {
    return f();
  } catch (...) {
    try {
      return Caught();
    } catch (...) {  // no memory for the words
      return OutOfHostMemory();
    }
  }
}

bool Aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; }

}  // namespace

GraphImpl::GraphImpl(std::shared_ptr<ContextImpl> context, const CompileOption& options)
    : context_(std::move(context)),
      options_(options),
      token_(std::make_shared<char>()),
      alive_(std::make_shared<char>()),
      placeholder_(std::make_shared<PlaceHolder>()) {
  (void)OutOfHostMemory();
}

GraphImpl::~GraphImpl() {
  executable_.reset();
  // Operations hold tensors, tensors nothing: clearing both breaks no cycle, but fixes the order.
  consumers_.clear();
  producers_.clear();
  // Before the context, whose plugins the classes of operations may come from.
  op_vector_.clear();
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

uint32_t GraphImpl::NextUid(const OpDef* def) {
  if (state_ == State::kCompiled && !told_of_late_ops_) {
    told_of_late_ops_ = true;
    Warn(
        fmt::format("{}#{} is added after a successful Compile(): like all ops from here on it is "
                    "ignored",
                    def ? def->name : "unknown", uids_ + 1));
  }
  return ++uids_;
}

std::string GraphImpl::LabelOf(const Operation& op) {
  const auto& impl = op.impl();
  return impl == nullptr ? "an operation" : ir::OpLabel(op.Kind(), impl->uid, impl->name);
}

std::string GraphImpl::LabelOf(const TensorImpl& t) {
  TensorType type = t.type();
  // The shape as the user gave it where it is not known better.
  if (type.shape.empty()) type.shape = Shape(const_cast<TensorImpl&>(t).GetSpec().shape_);
  std::string text = type.ToString();
  if (type.shape.empty()) text.replace(text.size() - 2, 2, " (shape left open)");
  return t.Name().empty() ? text : fmt::format("'{}' {}", t.Name(), text);
}

std::string GraphImpl::PlaceOf(const TensorImpl& tensor) const {
  for (const auto* list : {&inputs_, &outputs_}) {
    for (size_t i = 0; i < list->size(); ++i) {
      if ((*list)[i].get() != &tensor) continue;
      return fmt::format("graph {} {} {}", list == &inputs_ ? "input" : "output", i,
                         LabelOf(tensor));
    }
  }
  return LabelOf(tensor);
}

void GraphImpl::Warn(std::string text) {
  base::Log("compile", base::LogLevel::kWarn, "{}", text);
  report_.warnings.push_back(std::move(text));
}

bool GraphImpl::Fail(const char* call, Status why) {
  last_ = std::move(why);
  base::Log(call, base::LogLevel::kError, "{}", last_.message());
  return false;
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
    TIMCL_TRY(type.CheckedBytes().status());
    if (user_memory != nullptr) {
      if (!Aligned(user_memory)) {
        return Status::Error(
            Code::kInvalidArgument,
            fmt::format("CreateIOTensor: the memory at {} is not aligned to 64 bytes",
                        user_memory));
      }
      return tensor->ShareMemory(user_memory);
    }
    TIMCL_TRY(tensor->AllocateStorage(type, context_->max_allocation()));
    if (data != nullptr) tensor->CopyDataToTensor(data);
    return Status();
  });
  if (!status.ok()) return FailedTensor(spec, status);
  if (spec.attr_ == TensorAttribute::TRANSIENT && data != nullptr) {
    base::Log("api", base::LogLevel::kError, "data given to the TRANSIENT tensor {} is ignored",
              LabelOf(*tensor));
  }
  ++tensor_ids_;
  if (tensor->has(TensorAttribute::INPUT)) inputs_.push_back(tensor);
  if (tensor->has(TensorAttribute::OUTPUT)) outputs_.push_back(tensor);
  return tensor;
}

std::shared_ptr<Tensor> GraphImpl::FailedTensor(const TensorSpec& spec, const Status& why) {
  auto failed = std::make_shared<TensorImpl>(token_, static_cast<uint32_t>(-1), spec);
  failed->set_creation(why);
  Mistake(why.AtTensor(LabelOf(*failed)));
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

std::shared_ptr<Operation> GraphImpl::Owned(const Operation* op) {
  // Callers may edit OpVector(): an answer counts only if it still holds, else all are counted
  // anew.
  for (const bool anew : {false, true}) {
    if (anew || ops_indexed_ > op_vector_.size()) {
      op_index_.clear();
      ops_indexed_ = 0;
    }
    for (; ops_indexed_ < op_vector_.size(); ++ops_indexed_) {
      op_index_[op_vector_[ops_indexed_].get()] = ops_indexed_;
    }
    const auto it = op_index_.find(op);
    if (it != op_index_.end() && op_vector_[it->second].get() == op) return op_vector_[it->second];
  }
  return nullptr;
}

void GraphImpl::UpdateTensorConsumersMap(const std::shared_ptr<Tensor>& tensor,
                                         const Operation* op) {
  if (auto owned = Owned(op)) consumers_[tensor].push_back(std::move(owned));
}

void GraphImpl::RenewTensorConsumersMap(const std::shared_ptr<Tensor>& org_tensor,
                                        const std::shared_ptr<Tensor>& dst_tensor,
                                        const Operation* op) {
  consumers_.erase(org_tensor);
  UpdateTensorConsumersMap(dst_tensor, op);
}

void GraphImpl::UpdateTensorProducerMap(const std::shared_ptr<Tensor>& tensor,
                                        const Operation* op) {
  if (auto owned = Owned(op)) producers_[tensor] = std::move(owned);
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

Status GraphImpl::TakeOver(const Written& w, const ir::Value& v) {
  if (v.storage == nullptr) return Status();  // compilation did not come that far
  TensorImpl& tensor = *w.tensor;
  const Shape declared(tensor.GetSpec().shape_);
  if (!tensor.open_shape() && v.type.shape != declared) {
    Warn(
        fmt::format("{} {} is declared {}, the op computes {}; copies of the tensor stop at its "
                    "declared size",
                    w.place, LabelOf(tensor), declared.ToString(), v.type.shape.ToString()));
  }
  if (w.state != nullptr) {
    if (v.storage == w.state) return Status();
    return Status::Error(Code::kInvalidShape,
                         fmt::format("state declared {} cannot hold what the op computes, {}",
                                     declared.ToString(), v.type.shape.ToString()))
        .AtTensor(w.place);
  }
  tensor.set_inferred(v.type.shape);
  return tensor.set_storage(v.storage);
}

Status GraphImpl::CheckNotEmpty() const {
  if (op_vector_.empty()) return Status::Error(Code::kInvalidGraph, "the graph has no operations");
  if (outputs_.empty()) return Status::Error(Code::kInvalidGraph, "the graph has no OUTPUT tensor");
  return Status();
}

namespace {
Result<std::shared_ptr<const AssetTable>> ReadAssets(const CompileOption& options) {
  auto table = std::make_shared<AssetTable>();
  for (const CompileOption::NamedAsset& asset : options.Assets()) {
    if (asset.bytes == nullptr) {
      TIMCL_TRY(table->AddFile(asset.name, asset.path));
    } else {
      TIMCL_TRY(table->Add(asset.name, asset.bytes,
                           reinterpret_cast<const std::byte*>(asset.bytes->data()),
                           asset.bytes->size()));
    }
  }
  return std::shared_ptr<const AssetTable>(std::move(table));
}
}  // namespace

CompileReport GraphImpl::EmptyReport() const {
  CompileReport report;
  report.device = context_->DeviceName() +
                  (context_->device_reason().empty() ? "" : ": " + context_->device_reason());
  report.warnings = context_->warnings();  // logged when the context was made
  return report;
}

Status GraphImpl::CompileLowered(const Lowered& lowered, CompileReport* report,
                                 std::unique_ptr<runtime::Executable>* executable,
                                 std::shared_ptr<compiler::Kept>* kept) {
  compiler::Options options;
  options.fallback = options_.GetFallback();
  options.fuse = options_.Fusion();
  options.pins = options_.Pins();
  options.dump_dir = context_->env().Get(base::Env::kDump);
  options.excludes = options_.Excludes();
  options.strategy = options_.GetPartitionStrategy();
  options.max_partitions = options_.MaxPartitions();
  options.min_ops = options_.MinOps();
  options.target = options_.GetTarget();
  options.cache_dir = context_->cache_dir();
  options.relaxed = options_.isRelaxMode();
  options.watch.trace = context_->trace();
  options.options_for = [choices = options_,
                         each = context_->trace() != nullptr](const std::string& name) {
    auto asked = choices.OptionsFor(name);
    if (each && name == "opencl") asked.emplace_back("one_kernel", "off");  // the last one counts
    return asked;
  };
  // It ends with this compilation, while the options are kept.
  const auto line =
      std::make_shared<ProgressLine>(ProgressLine::Terminal(context_->env().Get(base::Env::kTerm)));
  options.watch.progress = options_.Progress();
  if (!options.watch.progress) {
    options.watch.progress = [shown = std::weak_ptr(line)](const CompileProgress& progress) {
      if (const auto still = shown.lock()) still->Show(progress);
    };
  }
  TIMCL_ASSIGN(options.assets, ReadAssets(options_));
  TIMCL_ASSIGN(const auto backends, context_->backends(&report->warnings));
  // One meaning per name, whatever others register now.
  lowered.graph->set_ops(std::make_shared<const OpRegistry>(context_->Ops()));
  const OpRegistry& ops = *lowered.graph->ops();
  TIMCL_ASSIGN(*executable, compiler::Compile(lowered.graph, ops, backends, options, report, kept));
  NoteOverrides(ops, report);
  return Status();
}

Status GraphImpl::DoCompile() {
  report_ = EmptyReport();  // of this compilation, whatever becomes of it
  if (!mistake_.ok()) {
    mistake_reported_ = true;
    return mistake_;
  }
  TIMCL_TRY(context_->LastStatus());
  if (op_vector_.empty()) return CheckNotEmpty();
  settled_ = {};
  executable_.reset();
  kept_.reset();
  TIMCL_ASSIGN(Lowered lowered, Lower());
  TIMCL_TRY(CheckNotEmpty());
  for (std::string& w : lowered.warnings) Warn(std::move(w));
  const std::lock_guard<std::mutex> turn(context_->compile_mutex());
  std::unique_ptr<runtime::Executable> executable;
  const Status compiled = CompileLowered(lowered, &report_, &executable, &kept_);
  // Outputs that were left open, or whose declared shape the op overrules (pooling), have their
  // memory and shape now.
  for (const Written& w : lowered.written) {
    const Status taken = TakeOver(w, lowered.graph->value(w.value));
    if (compiled.ok()) TIMCL_TRY(taken);
  }
  TIMCL_TRY(compiled);
  executable_ = std::move(executable);
  Settle(BeginToSettle(std::move(lowered.written)));
  return Status();
}

GraphImpl::Settled GraphImpl::BeginToSettle(std::vector<Written> written) const {
  Settled settled;
  for (Written& w : written) {
    settled.delivered.push_back(w.tensor);
    if (w.state != nullptr) settled.commits.push_back(std::move(w));
  }
  std::set<const Tensor*> seen;
  for (const auto& op : op_vector_) {
    for (const auto* list : {&op->impl()->inputs, &op->impl()->outputs}) {
      for (const auto& t : *list) {
        if (t->IsPlaceHolder() || !seen.insert(t.get()).second) continue;
        settled.run_memory.push_back(std::static_pointer_cast<TensorImpl>(t));
      }
    }
  }
  return settled;
}

void GraphImpl::Settle(Settled settled) {
  for (const auto& tensor : settled.run_memory) tensor->EnsureFilled();
  std::erase_if(settled.run_memory,
                [](const auto& tensor) { return !tensor->is_io() || tensor->handle() == nullptr; });
  settled_ = std::move(settled);
}

Result<GraphImpl::Reshaped> GraphImpl::ReshapeInputs(const std::vector<ShapeType>& shapes) const {
  if (shapes.size() != inputs_.size()) {
    return Status::Error(Code::kInvalidArgument,
                         fmt::format("Resize is given {} shapes, the graph has {} INPUT tensors",
                                     shapes.size(), inputs_.size()));
  }
  Reshaped all;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const auto& tensor = static_cast<const TensorImpl&>(*inputs_[i]);
    const Shape shape(shapes[i]);
    if (shape.empty() || shape == tensor.type().shape) continue;
    auto reshaped = tensor.Reshape(shape);
    if (!reshaped.ok()) {
      return Status::Error(reshaped.status().code(),
                           fmt::format("it cannot become {}: {}", shape.ToString(),
                                       reshaped.status().detail()))
          .AtTensor(PlaceOf(tensor));
    }
    all.emplace(&tensor, std::move(*reshaped));
  }
  return all;
}

Status GraphImpl::DoResize(const std::vector<ShapeType>& shapes) {
  TIMCL_TRY(mistake_);
  TIMCL_TRY(context_->LastStatus());
  TIMCL_ASSIGN(Reshaped inputs, ReshapeInputs(shapes));
  if (inputs.empty() && executable_ != nullptr) return Status();
  TIMCL_TRY(CheckNotEmpty());
  TIMCL_ASSIGN(Lowered lowered, Lower(&inputs));
  const std::lock_guard<std::mutex> turn(context_->compile_mutex());
  CompileReport report = EmptyReport();
  std::unique_ptr<runtime::Executable> executable;
  std::shared_ptr<compiler::Kept> kept;
  // What the tensors become; theirs is the last word.
  std::vector<std::pair<std::shared_ptr<TensorImpl>, TensorImpl::Reshaped>> outputs;
  const auto reshape_outputs = [&]() -> Status {
    outputs.clear();
    for (const Written& w : lowered.written) {
      const ir::Value& v = lowered.graph->value(w.value);
      if (w.state != nullptr || w.tensor->has(TensorAttribute::VARIABLE)) {
        const Shape was = w.tensor->type().shape;
        if (v.type.shape == was && v.storage != nullptr) continue;
        return Status::Error(Code::kInvalidShape,
                             fmt::format("state of {} cannot hold what the op computes, {}",
                                         was.ToString(), v.type.shape.ToString()))
            .AtTensor(w.place);
      }
      auto reshaped = w.tensor->Reshape(v.type.shape, v.storage);
      if (!reshaped.ok()) return reshaped.status().AtTensor(w.place);
      outputs.emplace_back(w.tensor, std::move(*reshaped));
    }
    return Status();
  };
  bool again = true;
  if (kept_ != nullptr && executable_ != nullptr) {
    // Away with both where it throws: the compiled graph may be one of the new shapes in part.
    executable = std::move(executable_);
    kept = std::move(kept_);
    const Result<bool> same = compiler::Retype(kept.get(), lowered.graph);
    if (!same.ok() || !*same) {
      executable_ = std::move(executable);
      kept_ = std::move(kept);
      TIMCL_TRY(same.status());
    } else {
      // From here on the compiled graph is one of the new shapes.
      const auto start = std::chrono::steady_clock::now();
      Status resized = reshape_outputs();
      if (resized.ok()) resized = compiler::Resize(kept.get(), &executable, &report);
      report.compile_ms =
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
              .count();
      again = resized.code() == Code::kUnsupported;  // the partitions come out otherwise now
      if (!again) TIMCL_TRY(resized);
    }
  }
  if (again) {
    report = EmptyReport();
    TIMCL_ASSIGN(lowered, Lower(&inputs));
    TIMCL_TRY(CompileLowered(lowered, &report, &executable, &kept));
    TIMCL_TRY(reshape_outputs());
  }
  // From here on nothing fails.
  Settled settled = BeginToSettle(std::move(lowered.written));
  for (const auto& tensor : inputs_) {
    const auto own = std::static_pointer_cast<TensorImpl>(tensor);
    if (const auto it = inputs.find(own.get()); it != inputs.end())
      own->Apply(std::move(it->second));
  }
  for (auto& [tensor, reshaped] : outputs) tensor->Apply(std::move(reshaped));
  report_ = std::move(report);
  executable_ = std::move(executable);
  kept_ = std::move(kept);
  Settle(std::move(settled));
  return Status();
}

bool GraphImpl::Resize(const std::vector<ShapeType>& input_shapes) {
  const Status resized = Fenced([&] { return DoResize(input_shapes); });
  if (resized.ok()) {
    state_ = State::kCompiled;
    compiled_edits_ = edits_;
    last_ = compile_status_ = resized;
    return true;
  }
  // The kernels may have gone some way: those of the shapes before are made again.
  if (state_ == State::kCompiled && executable_ == nullptr) {
    compile_status_ = Fenced([&] { return DoCompile(); });
    if (!compile_status_.ok()) state_ = State::kFailed;
  }
  last_ = resized;
  return Fail("resize", last_);
}

bool GraphImpl::Compile() {
  if (state_ == State::kCompiled) return true;
  if (state_ == State::kFailed && compiled_edits_ == edits_) {
    last_ = compile_status_;  // told when it happened
    return false;
  }
  compiled_edits_ = edits_;
  last_ = compile_status_ = Fenced([&] { return DoCompile(); });
  state_ = last_.ok() ? State::kCompiled : State::kFailed;
  if (last_.ok()) return true;
  // The context told of its missing device itself.
  if (compile_status_.message() == context_->LastStatus().message()) return false;
  return Fail("compile", compile_status_);
}

Status GraphImpl::DoRun(std::vector<std::vector<kernel::Timing>>* timings) {
  for (const auto& tensor : settled_.run_memory) {
    if (tensor->handle()->data() != nullptr) continue;
    return Status::Error(Code::kInvalidArgument,
                         "its memory was taken back by SwapHandle and no other was given")
        .AtTensor(PlaceOf(*tensor));
  }
  for (const auto& tensor : settled_.run_memory) tensor->Fetch();
  if (timings == nullptr && context_->trace() != nullptr) {
    TIMCL_TRY(RunTraced());
  } else {
    TIMCL_TRY(timings == nullptr ? executable_->Run() : executable_->Profile(timings));
  }
  for (const Written& c : settled_.commits) c.tensor->storage()->SwapWith(*c.state);
  for (const auto& tensor : settled_.delivered) tensor->Deliver();
  return Status();
}

bool GraphImpl::Run() {
  if (!Compile()) return false;
  last_ = Fenced([&] { return DoRun(); });
  return last_.ok() || Fail("run", last_);
}

GraphProfile GraphImpl::Profile(int runs) {
  GraphProfile profile;
  if (!Compile()) return profile;
  last_ = Fenced([&] { return DoProfile(runs, &profile); });
  if (!last_.ok()) (void)Fail("profile", last_);
  return profile;
}

bool GraphImpl::CompileToBinary(void*, size_t* size) {
  if (size != nullptr) *size = 0;
  Status why = CheckNotEmpty();
  if (why.ok()) {
    why = Status::Error(Code::kUnsupported,
                        "this version does not write binary graphs: their format is still to come; "
                        "use Compile() and Run()");
  }
  return Fail("compile", why);
}

std::string GraphImpl::ToText() const {
  const auto lowered = Lower();
  return lowered.ok() ? ir::Print(*lowered->graph) : lowered.status().message() + "\n";
}

void GraphImpl::PrintGraph() const {
  base::Log("graph", base::LogLevel::kInfo, "Graph:\n{}", ToText());
}

}  // namespace tim::vx
