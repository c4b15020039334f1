// What an op needs when its data lie in some order, as its LayoutRule says.
#ifndef TIMCL_TRANSFORM_LAYOUT_PLAN_H_
#define TIMCL_TRANSFORM_LAYOUT_PLAN_H_

#include <optional>
#include <vector>

#include "ir/layout.h"
#include "tim/vx/op_def.h"

namespace tim::transform {

struct LayoutPlan {
  /// The order that each input is wanted in.
  std::vector<vx::ir::Order> inputs;
  /// The order in which all results come. Empty: as the user thinks of them, whatever their rank.
  vx::ir::Order outputs;
  /// The attributes that go with it.
  vx::AttrMap attrs;
  bool rewritten = false;  // whether they are not the op's own
};

/// Every operand as the user thinks of it. `ranks`: of the inputs, 0 for those left out.
LayoutPlan CanonicalPlan(const vx::AttrMap& attrs, const std::vector<size_t>& ranks);

/// kFollows with data in order `order`, of the largest rank among the data inputs. None where the
/// rule does not hold.
std::optional<LayoutPlan> FollowPlan(const vx::LayoutRule& rule, const vx::AttrMap& attrs,
                                     const std::vector<size_t>& ranks, const vx::ir::Order& order);

/// kFixed. `defaults`: the attributes of an op whose operands need no permutation.
LayoutPlan FixedPlan(const vx::LayoutRule& rule, const vx::AttrMap& attrs,
                     const vx::AttrMap& defaults, const std::vector<size_t>& ranks);

/// The permutation that a kPermutes op applies to an input of that rank. None if it is not one.
std::optional<vx::ir::Order> PermutationOf(const vx::LayoutRule& rule, const vx::AttrMap& attrs,
                                           size_t rank);

}  // namespace tim::transform
#endif  // TIMCL_TRANSFORM_LAYOUT_PLAN_H_
