// Watch: who wants to know how a compilation goes, while it goes.
#ifndef TIMCL_COMPILER_WATCH_H_
#define TIMCL_COMPILER_WATCH_H_

#include <functional>
#include <memory>
#include <string>

#include "base/trace.h"
#include "tim/vx/compile_option.h"

namespace tim::vx::compiler {

struct Watch {
  std::function<void(const CompileProgress&)> progress = {};  // null: nobody
  std::shared_ptr<base::Trace> trace = {};                    // the timeline; null: none

  /// CompileEnv::progress of a backend; null where nobody watches.
  std::function<void(const std::string&, size_t, size_t)> For(const std::string& backend) const {
    if (!progress) return nullptr;
    return [to = progress, backend](const std::string& what, size_t done, size_t total) {
      to({backend + ": " + what, done, total});
    };
  }
};

}  // namespace tim::vx::compiler
#endif  // TIMCL_COMPILER_WATCH_H_
