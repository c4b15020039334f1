// Where passes find what tim/vx/fold_rule.h lets operators say.
#ifndef TIMCL_IR_FOLD_RULES_H_
#define TIMCL_IR_FOLD_RULES_H_

#include "tim/vx/fold_rule.h"

namespace tim::vx {

/// The rule that AddFoldRule was given for this definition; null: there is none.
const FoldRule* FoldRuleOf(const OpDef& def);

}  // namespace tim::vx
#endif  // TIMCL_IR_FOLD_RULES_H_
