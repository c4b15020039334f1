// OperandNames: see operands.h.
#include "ir/operands.h"

#include <algorithm>

namespace tim::vx::ir {

OperandNames::OperandNames(std::string_view list) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    OperandName operand{list.substr(0, end)};
    list.remove_prefix(std::min(end + 1, list.size()));
    if (operand.name.empty()) continue;
    operand.optional = operand.name.back() == '?';
    operand.repeated = operand.name.back() == '*';
    if (operand.optional || operand.repeated) operand.name.remove_suffix(1);
    names_.push_back(operand);
    if (!operand.optional) least_ = names_.size();
  }
}

OperandName OperandNames::at(size_t i) const {
  if (i < names_.size()) return names_[i];
  return repeats() ? names_.back() : OperandName();
}

std::string OperandNames::ToString() const {
  std::string text;
  for (const OperandName& operand : names_) {
    if (!text.empty()) text += ", ";
    text += operand.name;
    if (operand.optional) text += '?';
    if (operand.repeated) text += '*';
  }
  return text;
}

}  // namespace tim::vx::ir
