// PlaceInPlace: a result takes the memory of a tensor that its kernel reads for the last time.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "backends/opencl/compile/unit.h"

namespace tim::vx::opencl {
namespace {

using Key = std::pair<int, TensorForm>;

class Placer {
 public:
  explicit Placer(Unit* unit) : unit_(*unit) {}

  size_t Run() {
    for (size_t g = 0; g < unit_.groups.size(); ++g) {
      if (unit_.groups[g].gone) continue;
      for (const auto& [value, form] : Uses(unit_.groups[g]))
        last_[MemoryOf(value, form).key()] = g;
    }
    size_t placed = 0;
    for (size_t g = 0; g < unit_.groups.size(); ++g) placed += Place(g);
    return placed;
  }

 private:
  /// The value whose bytes these are, and where in them.
  Unit::Memory MemoryOf(int value, TensorForm form) const {
    return unit_.MemoryOf(form == TensorForm::kPlain ? unit_.root(value) : value, form);
  }

  /// Every value that a group reads or writes, in the form in which it does.
  static std::vector<Key> Uses(const Group& group) {
    if (group.converts())
      return {{group.converted.id(), group.in}, {group.converted.id(), group.out}};
    std::vector<Key> uses;
    for (size_t i = 0; i < group.op.num_inputs(); ++i) {
      const TensorView t = group.input(i);
      if (t.present()) uses.emplace_back(t.id(), FormOf(t, group.in));
    }
    for (const TensorView& t : group.pre_others) uses.emplace_back(t.id(), TensorForm::kPlain);
    for (const TensorView& t : group.others) uses.emplace_back(t.id(), FormOf(t, group.out));
    for (size_t i = 0; i < group.last().num_outputs(); ++i) {
      const TensorView t = group.last().out(i);
      if (t.present()) uses.emplace_back(t.id(), FormOf(t, group.out));
    }
    return uses;
  }

  bool IsInside(const Key& key) const {
    const auto it = unit_.places.find(key.first);
    if (it == unit_.places.end()) return false;
    return key.second != TensorForm::kPlain ? it->second.kind != Place::Kind::kConstant
                                            : it->second.kind == Place::Kind::kInternal;
  }

  /// Whether the group reads its op's input `t` element by element, as it stores: a point-wise op
  /// does that which does not repeat it.
  static bool ReadsInStep(const Group& group, const TensorView& t) {
    return group.op.def().pointwise != nullptr && group.in == group.out &&
           t.shape() == group.op.out(0).shape();
  }

  bool Place(size_t g) {
    const Group& group = unit_.groups[g];
    if (group.gone || group.converts() || group.no_launch || !group.offer.stores_once ||
        group.last().num_outputs() != 1)
      return false;
    const TensorView out = group.last().out(0);
    const Key own = {out.id(), FormOf(out, group.out)};
    const Unit::Memory to = MemoryOf(own.first, own.second);
    if (to.key() != own || to.offset != 0 || !IsInside(own)) return false;
    const TensorType lies = InForm(out.type(), own.second);
    std::vector<TensorView> in_step = group.others, inputs = group.pre_others;
    for (size_t i = 0; i < group.op.num_inputs(); ++i) {
      if (!group.op.in(i).present()) continue;
      inputs.push_back(group.input(i));
      if (ReadsInStep(group, inputs.back())) in_step.push_back(inputs.back());
    }
    for (const TensorView& t : in_step) {
      const TensorForm form = FormOf(t, group.out);
      const Unit::Memory from = MemoryOf(t.id(), form);
      if (from.offset != 0 || from.key() == own || !IsInside(from.key()) || last_[from.key()] != g)
        continue;
      // All of it, element for element.
      const TensorType type = InForm(t.type(), form);
      const TensorType whole = InForm(unit_.places.at(from.value).tensor.type(), from.form);
      if (BitsOf(type.dtype) != BitsOf(lies.dtype) || type.bytes() != lies.bytes() ||
          whole.bytes() != lies.bytes())
        continue;
      const bool in_any_order = std::any_of(inputs.begin(), inputs.end(), [&](const auto& in) {
        return MemoryOf(in.id(), FormOf(in, group.in)).key() == from.key() &&
               !ReadsInStep(group, in);
      });
      if (in_any_order) continue;
      unit_.parts[own] = {from.value, from.form, 0};
      last_[from.key()] = last_[own];
      return true;
    }
    return false;
  }

  Unit& unit_;
  std::map<Key, size_t> last_;  // the last group that uses a memory
};

}  // namespace

size_t PlaceInPlace(Unit* unit) { return Placer(unit).Run(); }

}  // namespace tim::vx::opencl
