// What the pin_*.cc files say of classes, at compile time.
#ifndef TIMCL_TESTS_API_PINS_H_
#define TIMCL_TESTS_API_PINS_H_

#include <memory>
#include <type_traits>

#include "tim/vx/builtin_op.h"
#include "tim/vx/graph.h"

namespace tim::vx::test {

/// Constructible from a Graph* and these arguments: one of the lists that defaults allow.
template <class Op, class... Args>
constexpr bool kTakes = std::is_constructible_v<Op, Graph*, Args...>;
/// Derives from this base and is complete.
template <class Op, class Base>
constexpr bool kDerives = std::is_base_of_v<Base, Op> && !std::is_abstract_v<Op>;
/// The same, with a Clone of its own.
template <class Op, class Base = BuiltinOp>
constexpr bool kNode =
    kDerives<Op, Base>&& std::is_same_v<decltype(&Op::Clone), std::shared_ptr<Operation> (Op::*)(
                                                                  std::shared_ptr<Graph>&) const>;
/// Classes whose only constructor takes the graph.
template <class... Ops>
constexpr bool kAllPlain = ((kNode<Ops> && kTakes<Ops> && !kTakes<Ops, int> &&
                             !kTakes<Ops, float>)&&...);

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_API_PINS_H_
