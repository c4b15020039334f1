// Operation and BuiltinOp: binding operands, and what callers may ask.
#include "tim/vx/operation.h"

#include <algorithm>

#include "api/graph.h"
#include "api/op_impl.h"
#include "tim/vx/builtin_op.h"

namespace tim::vx {

OpImpl::OpImpl(Graph* g, std::shared_ptr<const OpDef> d, AnyAttrs a)
    : graph(g), owner(dynamic_cast<GraphImpl*>(g)), def(std::move(d)), attrs(std::move(a)) {
  if (owner != nullptr) uid = owner->NextUid();
}

Operation::Operation() = default;
Operation::~Operation() = default;
Operation::Operation(Graph* graph, const OpDef& def, AnyAttrs attrs)
    : impl_(std::make_unique<OpImpl>(graph, nullptr, std::move(attrs))) {
  // What the name means in the graph's context, so that an override reaches typed classes too; for
  // a class of the app's own, whose definition is not registered, the one given.
  if (impl_->owner != nullptr) impl_->def = impl_->owner->context()->ops().Find(def.name);
  if (impl_->def == nullptr) impl_->def = std::make_shared<const OpDef>(def);
}

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
  if (impl_ == nullptr) return *this;
  if (tensor == nullptr) {
    if (impl_->owner != nullptr) {
      impl_->owner->Mistake(
          Status::Error(Code::kInvalidArgument,
                        "BindInput was given a null tensor; bind "
                        "CreateTensorPlaceHolder() for an operand that is left out")
              .AtOp(impl_->owner->LabelOf(*this)));
    }
    return *this;
  }
  impl_->inputs.push_back(tensor);
  impl_->graph->UpdateTensorConsumersMap(tensor, this);
  OnBindInputPostProc(tensor, static_cast<int32_t>(impl_->inputs.size()) - 1);
  if (impl_->owner != nullptr) impl_->owner->Edited();
  return *this;
}

Operation& Operation::BindOutput(const std::shared_ptr<Tensor>& tensor) {
  if (impl_ == nullptr) return *this;
  if (tensor == nullptr) {
    if (impl_->owner != nullptr) {
      impl_->owner->Mistake(
          Status::Error(Code::kInvalidArgument, "BindOutput was given a null tensor")
              .AtOp(impl_->owner->LabelOf(*this)));
    }
    return *this;
  }
  impl_->outputs.push_back(tensor);
  impl_->graph->UpdateTensorProducerMap(tensor, this);
  if (impl_->owner != nullptr) impl_->owner->Edited();
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
AttrMap Operation::Attributes() const { return impl_ ? impl_->attrs.Map() : AttrMap(); }
const OpDef& Operation::Def() const {
  static const OpDef kUnknown{.name = "unknown"};
  return impl_ && impl_->def ? *impl_->def : kUnknown;
}

const AnyAttrs& AttrsOf(const Operation& op) {
  static const AnyAttrs kNone;
  return op.impl() ? op.impl()->attrs : kNone;
}

}  // namespace tim::vx
