// LayoutPlan: see layout_plan.h. Attributes are read and written by name: no operator is known
// here.
#include "transform/layout_plan.h"

#include <algorithm>
#include <sstream>
#include <string>

namespace tim::transform {

using vx::AttrMap;
using vx::AttrValue;
using vx::DataLayout;
using vx::LayoutRule;
using vx::ir::Order;

namespace {

std::vector<std::string> Words(const char* text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// The whole numbers that an attribute holds: one, or a list. None for another kind.
std::optional<std::vector<int64_t>> Numbers(const AttrMap& attrs, const std::string& name) {
  const AttrValue* value = attrs.Find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* one = std::get_if<int64_t>(value)) return std::vector<int64_t>{*one};
  if (const auto* flag = std::get_if<bool>(value)) return std::vector<int64_t>{*flag};
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return *list;
  return std::nullopt;
}

bool IsSet(const AttrMap& attrs, const std::string& name) {
  const auto numbers = Numbers(attrs, name);
  return numbers && std::any_of(numbers->begin(), numbers->end(), [](int64_t n) { return n != 0; });
}

/// The DataLayout that an attribute holds.
DataLayout LayoutNamed(const AttrMap& attrs, const std::string& name) {
  DataLayout layout = DataLayout::ANY;
  if (const AttrValue* value = attrs.Find(name)) vx::attrs_detail::FromValue(*value, &layout);
  return layout;
}

/// `order` without some dimensions, and the others counted anew.
Order Without(const Order& order, const std::vector<bool>& dropped) {
  Order rest;
  for (const uint32_t d : order) {
    if (dropped[d]) continue;
    rest.push_back(d -
                   static_cast<uint32_t>(std::count(dropped.begin(), dropped.begin() + d, true)));
  }
  return rest;
}

/// `order` with a new dimension, which stands at place `dim` in both shapes.
Order With(const Order& order, uint32_t dim) {
  Order more;
  for (const uint32_t d : order) more.push_back(d < dim ? d : d + 1);
  more.insert(more.begin() + dim, dim);
  return more;
}

/// Rewrites the attributes of a plan for data in one order.
class Rewriter {
 public:
  Rewriter(const LayoutRule& rule, const AttrMap& attrs, const Order& order)
      : rule_(rule), attrs_(attrs), order_(order), dropped_(order.size(), false) {}

  bool Run() {
    for (const std::string& name : Words(rule_.axes)) {
      if (!(rule_.named == LayoutRule::Named::kGained ? Gain(name) : MapAxes(name))) return false;
    }
    for (const std::string& name : Words(rule_.per_dimension)) {
      if (!Permute(name)) return false;
    }
    for (const std::string& name : Words(rule_.masks)) {
      if (!MapMask(name, nullptr)) return false;
    }
    for (const std::string& name : Words(rule_.dropped_mask)) {
      if (!MapMask(name, &dropped_)) return false;
    }
    return true;
  }

  AttrMap& attrs() { return attrs_; }
  Order Results() const {
    const Order rest = Without(order_, dropped_);
    return gained_ ? With(rest, *gained_) : rest;
  }

 private:
  bool MapAxes(const std::string& name) {
    auto axes = Numbers(attrs_, name);
    if (!axes) return false;
    const bool drops = rule_.named == LayoutRule::Named::kDropped && !IsSet(attrs_, rule_.kept_if);
    for (int64_t& axis : *axes) {
      const auto rank = static_cast<int64_t>(order_.size());
      if (axis < -rank || axis >= rank) return false;
      if (axis < 0) axis += rank;
      if (drops) dropped_[static_cast<size_t>(axis)] = true;
      axis = static_cast<int64_t>(vx::ir::PlaceOf(order_, static_cast<size_t>(axis)));
    }
    Set(name, std::move(*axes));
    return true;
  }

  bool Gain(const std::string& name) {
    const auto axis = Numbers(attrs_, name);
    if (!axis || axis->size() != 1 || gained_) return false;
    if (axis->front() < 0 || axis->front() > static_cast<int64_t>(order_.size())) return false;
    gained_ = static_cast<uint32_t>(axis->front());
    return true;
  }

  bool Permute(const std::string& name) {
    const auto entries = Numbers(attrs_, name);
    if (!entries) return false;
    if (entries->empty()) return true;
    if (entries->size() != order_.size()) return false;
    std::vector<int64_t> permuted;
    for (const uint32_t d : order_) permuted.push_back((*entries)[d]);
    Set(name, std::move(permuted));
    return true;
  }

  bool MapMask(const std::string& name, std::vector<bool>* dropped) {
    const auto mask = Numbers(attrs_, name);
    if (!mask || mask->size() != 1 || order_.size() > 31) return false;
    int64_t mapped = 0;
    for (size_t i = 0; i < order_.size(); ++i) {
      if ((mask->front() >> order_[i] & 1) == 0) continue;
      mapped |= int64_t{1} << i;
      if (dropped != nullptr) (*dropped)[order_[i]] = true;
    }
    Set(name, {mapped});
    return true;
  }

  /// In the kind that the attribute had.
  void Set(const std::string& name, std::vector<int64_t> numbers) {
    if (std::holds_alternative<int64_t>(*attrs_.Find(name))) {
      attrs_.Set(name, numbers.front());
    } else {
      attrs_.Set(name, std::move(numbers));
    }
  }

  const LayoutRule& rule_;
  AttrMap attrs_;
  const Order& order_;
  std::vector<bool> dropped_;
  std::optional<uint32_t> gained_;
};

}  // namespace

LayoutPlan CanonicalPlan(const AttrMap& attrs, const std::vector<size_t>& ranks) {
  LayoutPlan plan;
  for (const size_t rank : ranks) plan.inputs.push_back(vx::ir::Identity(rank));
  plan.attrs = attrs;
  return plan;
}

std::optional<LayoutPlan> FollowPlan(const LayoutRule& rule, const AttrMap& attrs,
                                     const std::vector<size_t>& ranks, const Order& order) {
  // Dimensions are counted in input 0.
  if (ranks.empty() || (ranks[0] != order.size() && *rule.axes != 0)) return std::nullopt;
  Rewriter rewriter(rule, attrs, order);
  if (!rewriter.Run()) return std::nullopt;
  LayoutPlan plan = CanonicalPlan(rewriter.attrs(), ranks);
  for (size_t i = 0; i < std::min(rule.data_inputs, ranks.size()); ++i) {
    if (ranks[i] > 0) plan.inputs[i] = order;
  }
  plan.outputs = rewriter.Results();
  plan.rewritten = !(plan.attrs == attrs);
  return plan;
}

LayoutPlan FixedPlan(const LayoutRule& rule, const AttrMap& attrs, const AttrMap& defaults,
                     const std::vector<size_t>& ranks) {
  LayoutPlan plan = CanonicalPlan(attrs, ranks);
  const std::vector<std::string> names = Words(rule.layouts);
  if (names.empty() || ranks.empty()) return plan;
  const DataLayout data = LayoutNamed(attrs, names[0]);
  plan.outputs = vx::ir::NativeOrder(data, ranks[0]);
  for (size_t i = 0; i < std::min(rule.data_inputs, ranks.size()); ++i) {
    plan.inputs[i] = vx::ir::NativeOrder(data, ranks[i]);
  }
  if (names.size() > 1 && ranks.size() > 1) {
    plan.inputs[1] = vx::ir::NativeKernelOrder(LayoutNamed(attrs, names[1]), data, ranks[1]);
  }
  for (const std::string& name : names) {
    const AttrValue* value = defaults.Find(name);
    if (value != nullptr) plan.attrs.Set(name, *value);
  }
  plan.rewritten = !(plan.attrs == attrs);
  return plan;
}

std::optional<Order> PermutationOf(const LayoutRule& rule, const AttrMap& attrs, size_t rank) {
  const auto numbers = Numbers(attrs, rule.axes);
  if (!numbers || numbers->size() != rank) return std::nullopt;
  const Order order(numbers->begin(), numbers->end());
  if (!vx::ir::IsPermutation(order)) return std::nullopt;
  return order;
}

}  // namespace tim::transform
