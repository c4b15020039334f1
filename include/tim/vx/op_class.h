// Operators that are a class of their author's own, such as one derived from CustomOpBase, by name.
#ifndef TIM_VX_OP_CLASS_H_
#define TIM_VX_OP_CLASS_H_

#include <memory>
#include <string_view>
#include <type_traits>

#include "tim/vx/op_def.h"
#include "tim/vx/op_kit.h"
#include "tim/vx/operation.h"

namespace tim::vx {

/// A copy of an operation that Graph::CreateOperation(name, attrs) made, for another graph: of the
/// same definition, whatever its name means there. Null for other operations.
TIMCL_API std::shared_ptr<Operation> CloneByName(const Operation& op, Graph& graph);

namespace op_class_detail {

template <class Class, class = void>
struct AttrsOf {
  using Type = NoAttrs;
};
template <class Class>
struct AttrsOf<Class, std::void_t<typename Class::Attrs>> {
  using Type = typename Class::Attrs;
};

/// What the library knows such an object by.
class TIMCL_API NamedObject {
 public:
  virtual ~NamedObject();
};

/// Copies of it are made by name too: they then own what the definition owns, such as the library
/// that the class lives in.
template <class Class>
class Named final : public Class, public NamedObject {
 public:
  using Class::Class;
  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    return CloneByName(*this, *graph);
  }
};

template <class Class>
std::shared_ptr<Operation> Create(Graph* graph, [[maybe_unused]] const AnyAttrs& attrs) {
  using Attrs = typename AttrsOf<Class>::Type;
  if constexpr (std::is_same_v<Attrs, NoAttrs>) {
    static_assert(std::is_constructible_v<Class, Graph*>,
                  "a class without Attrs needs a constructor that takes a Graph* alone");
    return std::make_shared<Named<Class>>(graph);
  } else {
    static_assert(std::is_constructible_v<Class, Graph*, const Attrs&>,
                  "the class needs a constructor (Graph*, const Attrs&)");
    return std::make_shared<Named<Class>>(graph, attrs.As<Attrs>("operation"));
  }
}

inline Result<Shapes> NeedsItsClass(const OpView& op) {
  return op.Error(Code::kUnsupported,
                  "the operator is a class: Graph::CreateOperation makes it, an expansion cannot");
}

}  // namespace op_class_detail

/// The definition that makes a class known by name, for OpRegistry::Register and for plugins, whose
/// OpDef::create comes from here alone: objects that another function makes of a plugin's own class
/// fail Compile(), because the copies that such a class makes would outlive the library. The
/// class has a constructor (Graph*); or one (Graph*, const Attrs&) and, nested and public, the
/// struct Attrs with TIMCL_FIELDS, whose members are the attributes by name.
template <class Class>
OpDef DefineOpClass(std::string_view name) {
  static_assert(std::is_base_of_v<Operation, Class>, "the class is not derived from Operation");
  OpDef def;
  def.name = name;
  def.schema = &kAttrSchema<typename op_class_detail::AttrsOf<Class>::Type>;
  def.infer = op_class_detail::NeedsItsClass;
  def.create = op_class_detail::Create<Class>;
  return def;
}

}  // namespace tim::vx

#endif  // TIM_VX_OP_CLASS_H_
