// Where passes find what tim/vx/fold_rule.h lets operators say.
#ifndef TIMCL_IR_FOLD_RULES_H_
#define TIMCL_IR_FOLD_RULES_H_

#include <memory>
#include <string_view>
#include <vector>

#include "tim/vx/fold_rule.h"

namespace tim::vx {

/// The rule that AddFoldRule was given for this definition; null: there is none.
const FoldRule* FoldRuleOf(const OpDef& def);

/// What AddInternalOp was given, the same object each time; null: there is none of the name.
std::shared_ptr<const OpDef> InternalOp(std::string_view name);
std::vector<std::shared_ptr<const OpDef>> InternalOps();

}  // namespace tim::vx
#endif  // TIMCL_IR_FOLD_RULES_H_
