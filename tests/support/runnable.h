// The operators that tests can run: all but those that wait for a later part of the library.
#ifndef TIMCL_TESTS_SUPPORT_RUNNABLE_H_
#define TIMCL_TESTS_SUPPORT_RUNNABLE_H_

#include <iostream>
#include <memory>
#include <vector>

#include "tim/vx/op_def.h"

namespace tim::vx {

/// Prints to stderr which operators are left out, and why.
inline std::vector<std::shared_ptr<const OpDef>> RunnableOps(const OpRegistry& registry) {
  std::vector<std::shared_ptr<const OpDef>> ops;
  for (const auto& def : registry.All()) {
    if (def->waits_for == nullptr) {
      ops.push_back(def);
    } else {
      std::cerr << "skipped: " << def->name << ": " << def->waits_for << "\n";
    }
  }
  return ops;
}

}  // namespace tim::vx
#endif  // TIMCL_TESTS_SUPPORT_RUNNABLE_H_
