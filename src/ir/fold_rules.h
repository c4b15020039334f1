// Where passes find the operators that tim/vx/fold_rule.h lets op files add.
#ifndef TIMCL_IR_FOLD_RULES_H_
#define TIMCL_IR_FOLD_RULES_H_

#include <memory>
#include <string_view>
#include <vector>

#include "tim/vx/fold_rule.h"

namespace tim::vx {

/// What AddInternalOp was given, the same object each time; null: there is none of the name.
std::shared_ptr<const OpDef> InternalOp(std::string_view name);
std::vector<std::shared_ptr<const OpDef>> InternalOps();

}  // namespace tim::vx
#endif  // TIMCL_IR_FOLD_RULES_H_
