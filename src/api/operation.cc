// Operation and BuiltinOp: binding operands, and what callers may ask.
#include "tim/vx/operation.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/graph.h"
#include "api/op_impl.h"
#include "base/log.h"
#include "tim/vx/builtin_op.h"

namespace tim::vx {

OpImpl::OpImpl(Graph* g, std::shared_ptr<const OpDef> d, AnyAttrs a)
    : def(std::move(d)), attrs(std::move(a)), graph_(g), owner_(dynamic_cast<GraphImpl*>(g)) {
  if (owner_ == nullptr) return;
  alive_ = owner_->alive();
  uid = owner_->NextUid(def.get());
}

namespace {

/// What the name means in the graph's context, so that an override reaches typed classes too; for a
/// class of the app's own, whose definition is not registered, the one given.
std::shared_ptr<const OpDef> Resolve(Graph* graph, const OpDef& def) {
  if (const auto* ours = dynamic_cast<const GraphImpl*>(graph)) {
    if (auto registered = ours->ops().Find(def.name)) return registered;
  }
  return std::make_shared<const OpDef>(def);
}

/// Whether an operand may be bound; if not, says so where the user will find it.
bool MayBind(const Operation& op, const char* call, const std::shared_ptr<Tensor>& tensor,
             const char* instead) {
  const OpImpl* impl = op.impl().get();
  if (impl == nullptr) return false;
  if (impl->graph() == nullptr) {
    base::Log("api", base::LogLevel::kError, "{}: {} is ignored, the graph of the op is gone",
              GraphImpl::LabelOf(op), call);
    return false;
  }
  if (tensor != nullptr) return true;
  if (GraphImpl* owner = impl->owner()) {
    owner->Mistake(Status::Error(Code::kInvalidArgument,
                                 fmt::format("{} was given a null tensor{}", call, instead))
                       .AtOp(GraphImpl::LabelOf(op)));
  }
  return false;
}

}  // namespace

Operation::Operation() = default;
Operation::~Operation() = default;
Operation::Operation(Graph* graph, const OpDef& def, AnyAttrs attrs)
    : impl_(std::make_unique<OpImpl>(graph, Resolve(graph, def), std::move(attrs))) {}

void Operation::SetRuntimeDef(Graph* graph, std::shared_ptr<const OpDef> def, AnyAttrs attrs) {
  impl_ = std::make_unique<OpImpl>(graph, std::move(def), std::move(attrs));
}

BuiltinOp::BuiltinOp(Graph* graph, uint32_t kind, int, int, DataLayout) {
  // Op codes belong to the original's runtime. Such an op can be built and bound; Compile() says
  // that it is unknown.
  impl_ = std::make_unique<OpImpl>(graph, nullptr, AnyAttrs());
  impl_->unknown_kind = kind;
}
BuiltinOp::BuiltinOp(Graph* graph, const OpDef& def, AnyAttrs attrs, DataLayout)
    : Operation(graph, def, std::move(attrs)) {}

Operation& Operation::BindInput(const std::shared_ptr<Tensor>& tensor) {
  if (!MayBind(*this, "BindInput", tensor,
               "; bind CreateTensorPlaceHolder() for an operand that is left out")) {
    return *this;
  }
  impl_->inputs.push_back(tensor);
  impl_->graph()->UpdateTensorConsumersMap(tensor, this);
  OnBindInputPostProc(tensor, static_cast<int32_t>(impl_->inputs.size()) - 1);
  if (GraphImpl* owner = impl_->owner()) owner->Edited();
  return *this;
}

Operation& Operation::BindOutput(const std::shared_ptr<Tensor>& tensor) {
  if (!MayBind(*this, "BindOutput", tensor, "")) return *this;
  impl_->outputs.push_back(tensor);
  impl_->graph()->UpdateTensorProducerMap(tensor, this);
  if (GraphImpl* owner = impl_->owner()) owner->Edited();
  return *this;
}

Operation& Operation::BindInputs(const std::vector<std::shared_ptr<Tensor>>& tensors) {
  for (const auto& t : tensors) BindInput(t);
  return *this;
}
Operation& Operation::BindOutputs(const std::vector<std::shared_ptr<Tensor>>& tensors) {
  for (const auto& t : tensors) BindOutput(t);
  return *this;
}

Operation& Operation::SetRoundingPolicy(OverflowPolicy overflow_policy,
                                        RoundingPolicy rounding_policy,
                                        RoundType down_scale_size_rounding,
                                        uint32_t accumulator_bits) {
  if (impl_ == nullptr) return *this;
  impl_->overflow_policy = overflow_policy;
  impl_->rounding_policy = rounding_policy;
  impl_->down_scale_size_rounding = down_scale_size_rounding;
  impl_->accumulator_bits = accumulator_bits;
  return *this;
}

std::unique_ptr<OpImpl>& Operation::impl() { return impl_; }
const std::unique_ptr<OpImpl>& Operation::impl() const { return impl_; }

const uint32_t& Operation::uid() const {
  static const uint32_t kNone = static_cast<uint32_t>(-1);
  return impl_ ? impl_->uid : kNone;
}

bool Operation::IsAllInputsConst() const {
  return impl_ != nullptr && std::all_of(impl_->inputs.begin(), impl_->inputs.end(),
                                         [](const auto& t) { return t->IsConstTensor(); });
}

const std::vector<std::shared_ptr<Tensor>> Operation::ConstantInputsTensor() const {
  if (!IsAllInputsConst()) return {};
  return impl_->inputs;
}

void Operation::OnBindInputPostProc(const std::shared_ptr<Tensor>&, int32_t) {}

Operation& Operation::SetName(const std::string& name) {
  if (impl_ != nullptr) impl_->name = name;
  return *this;
}
const std::string& Operation::Name() const {
  static const std::string kNone;
  return impl_ ? impl_->name : kNone;
}
const char* Operation::Kind() const {
  return impl_ && impl_->def ? impl_->def->name.data() : "unknown";
}
AttrMap Operation::Attributes() const {
  if (impl_ == nullptr) return AttrMap();
  // A class that was made by name has attributes of its own inside.
  return impl_->registered && impl_->registered->create ? impl_->given : impl_->attrs.Map();
}
const OpDef& Operation::Def() const {
  static const OpDef kUnknown{.name = "unknown"};
  return impl_ && impl_->def ? *impl_->def : kUnknown;
}

const AnyAttrs& AttrsOf(const Operation& op) {
  static const AnyAttrs kNone;
  return op.impl() ? op.impl()->attrs : kNone;
}

const std::vector<std::shared_ptr<Tensor>>& InputsOf(const Operation& op) {
  static const std::vector<std::shared_ptr<Tensor>> kNone;
  return op.impl() ? op.impl()->inputs : kNone;
}
const std::vector<std::shared_ptr<Tensor>>& OutputsOf(const Operation& op) {
  static const std::vector<std::shared_ptr<Tensor>> kNone;
  return op.impl() ? op.impl()->outputs : kNone;
}

Status SetAttrs(Operation& op, const AttrMap& attrs) {
  const AttrSchema* schema = AttrsOf(op).schema();
  if (schema == nullptr) {
    if (attrs.size() == 0) return Status();
    return Status::Error(Code::kInvalidArgument, "it has no attributes")
        .AtOp(GraphImpl::LabelOf(op));
  }
  auto data = schema->from_map(attrs);
  if (!data.ok()) return data.status().AtOp(GraphImpl::LabelOf(op));
  op.impl()->attrs = AnyAttrs(schema, std::move(*data));
  if (GraphImpl* owner = op.impl()->owner()) owner->Edited();
  return Status();
}

}  // namespace tim::vx
