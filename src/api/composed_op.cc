// ComposedOpBase: a user's operator whose parts are other operators. What it becomes is in
// compiler/expand.cc.
#include "tim/vx/composed_op.h"

#include <fmt/format.h>

#include <string_view>

#include "api/graph.h"
#include "api/op_impl.h"

namespace tim::vx {

ComposedOpBase::ComposedOpBase(Graph* graph, const OpDef& def, AnyAttrs attrs)
    : Operation(graph, def, std::move(attrs)) {
  GraphImpl* owner = impl()->owner();
  if (owner == nullptr) return;
  Status named = CheckComposedName(*this, Def()).AtOp(GraphImpl::LabelOf(*this));
  if (!named.ok()) owner->Mistake(std::move(named));
}

Status CheckComposedName(const Operation& part, const OpDef& meant) {
  if (std::string_view(meant.origin) != "built-in") return Status();
  if (dynamic_cast<const ComposedOpBase*>(&part) == nullptr) return Status();
  return Status::Error(Code::kAlreadyExists,
                       fmt::format("'{}' is a built-in operator; give the composed one another "
                                   "name, or Register it with OnDuplicate::kOverride",
                                   meant.name));
}

}  // namespace tim::vx
