// Operations made by the name of their operator.
#include <fmt/format.h>

#include <cstring>
#include <exception>

#include "api/graph.h"
#include "api/op_impl.h"
#include "api/plugin.h"
#include "tim/vx/op_class.h"

namespace tim::vx {

op_class_detail::NamedObject::~NamedObject() = default;

namespace {

/// Of an operator whose definition and attributes say all of it; or one that could not be made.
class NamedOperation : public Operation {
 public:
  NamedOperation(Graph* graph, std::shared_ptr<const OpDef> def, AnyAttrs attrs) {
    SetRuntimeDef(graph, std::move(def), std::move(attrs));
  }
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return CloneByName(*this, *graph);
  }
};

/// A definition with strings of its own, in the place of another that it keeps alive.
struct OwnedDef {
  std::shared_ptr<const OpDef> base, registered;
  std::string name;
  OpDef def;
};

/// For the label of an operation that could not be made.
std::shared_ptr<const OpDef> UnknownDef(const std::string& kind) {
  auto owned = std::make_shared<OwnedDef>();
  owned->name = kind;
  owned->def.name = owned->name;
  return {owned, &owned->def};
}

/// What a class made at run time, under the name by which it was asked for.
std::shared_ptr<const OpDef> Renamed(std::shared_ptr<const OpDef> def,
                                     std::shared_ptr<const OpDef> registered) {
  auto owned = std::make_shared<OwnedDef>();
  owned->def = *def;
  owned->def.name = registered->name;
  owned->def.version = registered->version;
  owned->def.origin = registered->origin;
  owned->base = std::move(def);
  owned->registered = std::move(registered);
  return {owned, &owned->def};
}

/// An object of the plugin that does not know that it was made by name: what its own Clone makes
/// would hold nothing of the library that it needs, down to its destructor.
bool MayOutlive(const Operation& made, const OpDef& def) {
  if (dynamic_cast<const op_class_detail::NamedObject*>(&made) != nullptr) return false;
  const void* table = nullptr;  // an object begins with the address of its virtual functions
  std::memcpy(&table, &made, sizeof table);
  return InOnePlugin(reinterpret_cast<const void*>(def.create), table);
}

/// What the author's function makes. It may belong to a plugin: the result owns the definition, and
/// with it the library, until the object is destroyed.
Result<std::shared_ptr<Operation>> Create(Graph* graph, std::shared_ptr<const OpDef> def,
                                          const AnyAttrs& attrs) {
  std::shared_ptr<Operation> made;
  try {
    made = def->create(graph, attrs);
  } catch (const std::exception& e) {
    return Status::Error(Code::kPlugin, fmt::format("its creation threw: {}", e.what()));
  } catch (...) {
    return Status::Error(Code::kPlugin, "its creation threw an exception of unknown type");
  }
  if (made == nullptr || made->impl() == nullptr) {
    return Status::Error(Code::kPlugin,
                         fmt::format("its creation by '{}' returned null", def->origin));
  }
  if (MayOutlive(*made, *def)) {
    return Status::Error(
        Code::kPlugin,
        fmt::format("its creation by '{}' gave an object of a class of its own, whose Clone makes "
                    "copies that outlive the library; DefineOpClass (tim/vx/op_class.h) makes a "
                    "function whose objects do not",
                    def->origin));
  }
  Operation* const raw = made.get();
  auto release = [made = std::move(made), def = std::move(def)](Operation*) mutable {
    made.reset();
    def.reset();
  };
  return std::shared_ptr<Operation>(raw, std::move(release));
}

}  // namespace

std::shared_ptr<Operation> GraphImpl::Keep(std::shared_ptr<Operation> op,
                                           std::shared_ptr<const OpDef> registered, AttrMap given) {
  op->impl()->registered = std::move(registered);
  op->impl()->given = std::move(given);
  op_vector_.push_back(op);
  Edited();
  return op;
}

std::shared_ptr<Operation> GraphImpl::KeepFailed(const std::string& kind, Status why,
                                                 std::shared_ptr<const OpDef> registered,
                                                 const AttrMap& given) {
  auto op = std::make_shared<NamedOperation>(this, UnknownDef(kind), AnyAttrs());
  op->impl()->creation = std::move(why);
  if (registered == nullptr) registered = op->impl()->def;
  return Keep(std::move(op), std::move(registered), given);
}

std::shared_ptr<Operation> GraphImpl::MakeByName(const std::shared_ptr<const OpDef>& def,
                                                 const AttrMap& attrs) {
  const std::string kind(def->name);
  Result<AnyAttrs> parsed = AnyAttrs::From(def->schema, attrs);
  if (!parsed.ok()) return KeepFailed(kind, parsed.status(), def, attrs);
  if (def->create == nullptr)
    return Keep(std::make_shared<NamedOperation>(this, def, *parsed), def, parsed->Map());
  Result<std::shared_ptr<Operation>> made = Create(this, def, *parsed);
  if (!made.ok()) return KeepFailed(kind, made.status(), def, parsed->Map());
  (*made)->impl()->def = Renamed((*made)->impl()->def, def);
  return Keep(std::move(*made), def, parsed->Map());
}

std::shared_ptr<Operation> GraphImpl::CreateOperation(const std::string& kind,
                                                      const AttrMap& attrs) {
  if (const auto def = ops().Find(kind)) return MakeByName(def, attrs);
  return KeepFailed(
      kind,
      Status::Error(
          Code::kNotFound,
          "this context knows no operator of that name; Context::Ops() has those that there are, "
          "and Context::LoadPlugins() and OpRegistry::Register() add to them"),
      nullptr, attrs);
}

std::shared_ptr<Operation> CloneByName(const Operation& op, Graph& graph) {
  auto* target = dynamic_cast<GraphImpl*>(&graph);
  const OpImpl* impl = op.impl().get();
  if (target == nullptr || impl == nullptr || impl->registered == nullptr) return nullptr;
  if (impl->registered->create == nullptr && impl->creation.ok()) {
    return target->Keep(std::make_shared<NamedOperation>(target, impl->registered, impl->attrs),
                        impl->registered, impl->given);
  }
  auto copy = target->MakeByName(impl->registered, impl->given);
  if (!impl->creation.ok()) copy->impl()->creation = impl->creation;
  return copy;
}

}  // namespace tim::vx
