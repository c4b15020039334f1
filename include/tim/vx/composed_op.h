// ComposedOp: an operator of the user's own in terms of other operators.
#ifndef TIM_VX_COMPOSED_OP_H_
#define TIM_VX_COMPOSED_OP_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "tim/vx/op_kit.h"

namespace tim::vx {

/// What all classes below have in common. Threads: as its graph.
class TIMCL_API ComposedOpBase : public Operation {
 protected:
  /// A name that is an operator of the library's own is kAlreadyExists at Compile(), unless `def`
  /// was registered in its place.
  ComposedOpBase(Graph* graph, const OpDef& def, AnyAttrs attrs);
};

/// kAlreadyExists if `part` is of such a class and `meant`, which its name stands for, is an
/// operator of the library's own. For the library.
TIMCL_API Status CheckComposedName(const Operation& part, const OpDef& meant);

/// Derive, name the operands, and say what the operator is made of:
///
///   struct AxpyAttrs {
///     float a = 1;
///     TIMCL_FIELDS(a)
///   };
///   class Axpy : public ComposedOp<Axpy, AxpyAttrs> {
///    public:
///     using ComposedOp::ComposedOp;
///     static void Define(OpDef& def) {
///       def.name = "Axpy";
///       def.inputs = "x y";
///     }
///     static Status Expand(ExpandBuilder& b) {
///       const auto a = b.Constant(b.op().attrs<AxpyAttrs>().a);
///       const auto ax = b.Add<ops::Multiply>({b.in(0), a}, b.TypeOf(b.in(0)));
///       b.AddTo<ops::Add>(0, {ax, b.in(1)});
///       return Status();
///     }
///   };
///
/// and use it as any other: graph->CreateOperation<Axpy>(AxpyAttrs{2}), or by its name in contexts
/// where Register() was called. Define may fill in any field of OpDef. Those that it leaves alone:
/// shapes are what the parts infer, the reference is that of the parts, each element type that they
/// take is taken, and layout inference brings the operands as the user thinks of them.
///
/// A class that has a constructor of its own calls ComposedOp(graph, attrs) in it. To be cloned, it
/// must be one of (Graph*, Attrs), or take the attributes in the order of TIMCL_FIELDS.
template <class Derived, class Attrs = NoAttrs>
class ComposedOp : public ComposedOpBase {
 public:
  explicit ComposedOp(Graph* graph, Attrs attrs = Attrs())
      : ComposedOpBase(graph, Definition(), MakeAttrs(std::move(attrs))) {}

  std::shared_ptr<Operation> Clone(std::shared_ptr<Graph>& graph) const override {
    if constexpr (std::is_constructible_v<Derived, Graph*, Attrs>) {
      return graph->CreateOperation<Derived>(AttrsOf<Attrs>(*this));
    } else {
      return op_kit_detail::CloneOf<Derived, Attrs>(static_cast<const Derived&>(*this), graph);
    }
  }

  /// The definition, made when first asked for.
  static const OpDef& Definition() {
    static const OpDef def = [] {
      OpDef d;
      d.schema = &kAttrSchema<Attrs>;
      d.infer = InferByExpansion;
      d.reference = ReferenceByExpansion;
      d.expand = &Derived::Expand;
      Derived::Define(d);
      return d;
    }();
    return def;
  }
  /// For use by name, and in place of another of that name.
  static Status Register(OpRegistry& ops,
                         OpRegistry::OnDuplicate on_duplicate = OpRegistry::OnDuplicate::kError) {
    return ops.Register(Definition(), on_duplicate);
  }
};

}  // namespace tim::vx

#endif  // TIM_VX_COMPOSED_OP_H_
