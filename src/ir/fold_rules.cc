// The rules that operators have beside their definitions.
#include "ir/fold_rules.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace tim::vx {
namespace {

/// What tells one definition from another that has its name.
auto KeyOf(const OpDef& def) {
  return std::tuple(std::string(def.name), reinterpret_cast<const void*>(def.infer),
                    reinterpret_cast<const void*>(def.reference));
}

struct Rules {
  std::mutex mutex;
  std::map<decltype(KeyOf(OpDef())), const FoldRule*> of;                     // guarded by it
  std::map<std::string, std::shared_ptr<const OpDef>, std::less<>> internal;  // likewise
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

void AddInternalOp(const OpDef& def) {
  Rules& rules = AllRules();
  const std::lock_guard<std::mutex> lock(rules.mutex);
  // Each context registers its operators: the first one stays, as graphs know it by its address.
  auto& known = rules.internal[std::string(def.name)];
  if (known == nullptr) known = std::make_shared<const OpDef>(def);
}

std::shared_ptr<const OpDef> InternalOp(std::string_view name) {
  Rules& rules = AllRules();
  const std::lock_guard<std::mutex> lock(rules.mutex);
  const auto it = rules.internal.find(name);
  return it == rules.internal.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<const OpDef>> InternalOps() {
  Rules& rules = AllRules();
  const std::lock_guard<std::mutex> lock(rules.mutex);
  std::vector<std::shared_ptr<const OpDef>> all;
  for (const auto& [name, def] : rules.internal) all.push_back(def);
  return all;
}

}  // namespace tim::vx
