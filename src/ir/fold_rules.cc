// The rules that operators have beside their definitions.
#include "ir/fold_rules.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace tim::vx {
namespace {

/// What tells one definition from another that has its name.
auto KeyOf(const OpDef& def) {
  return std::tuple(std::string(def.name), reinterpret_cast<const void*>(def.infer),
                    reinterpret_cast<const void*>(def.reference));
}

struct Rules {
  std::mutex mutex;
  std::map<decltype(KeyOf(OpDef())), const FoldRule*> of;  // guarded by it
};
Rules& AllRules() {
  static Rules* const rules = new Rules;  // threads that compile may outlive static objects
  return *rules;
}

}  // namespace

void AddFoldRule(const OpDef& def, const FoldRule* rule) {
  Rules& rules = AllRules();
  const std::lock_guard<std::mutex> lock(rules.mutex);
  rules.of[KeyOf(def)] = rule;
}

const FoldRule* FoldRuleOf(const OpDef& def) {
  Rules& rules = AllRules();
  const std::lock_guard<std::mutex> lock(rules.mutex);
  const auto it = rules.of.find(KeyOf(def));
  return it == rules.of.end() ? nullptr : it->second;
}

}  // namespace tim::vx
