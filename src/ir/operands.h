// The names of an op's operands as OpDef::inputs and ::outputs list them: "input kernel bias?".
#ifndef TIMCL_IR_OPERANDS_H_
#define TIMCL_IR_OPERANDS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tim::vx::ir {

struct OperandName {
  std::string_view name;  // without its mark
  bool optional = false;  // '?'
  bool repeated = false;  // '*': one or more
};

class OperandNames {
 public:
  /// `list` must live as long.
  explicit OperandNames(std::string_view list);

  size_t size() const { return names_.size(); }
  /// The i-th; a repeated last one stands for all behind it too. An operand beyond the list has no
  /// name.
  OperandName at(size_t i) const;
  /// How many operands may be bound.
  size_t least() const { return least_; }
  size_t most() const { return repeats() ? static_cast<size_t>(-1) : size(); }
  bool repeats() const { return !names_.empty() && names_.back().repeated; }
  /// How many of `count` operands there are without the optional ones at the end that are left out.
  template <class LeftOut>
  size_t WithoutTrailing(size_t count, LeftOut left_out) const {
    while (!repeats() && count > least() && left_out(count - 1)) --count;
    return count;
  }
  /// "input, kernel, bias?".
  std::string ToString() const;

 private:
  std::vector<OperandName> names_;
  size_t least_ = 0;
};

}  // namespace tim::vx::ir
#endif  // TIMCL_IR_OPERANDS_H_
