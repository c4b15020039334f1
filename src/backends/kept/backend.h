// A backend whose compiler is slow: what it selected and compiled is kept in the cache folder, and
// found again by the same graph, options and compiler, in any process of the user.
#ifndef TIMCL_BACKENDS_KEPT_BACKEND_H_
#define TIMCL_BACKENDS_KEPT_BACKEND_H_

#include <functional>
#include <memory>
#include <string>

#include "tim/vx/backend.h"

namespace tim::vx::kept {

/// `identity`: what tells this compiler from another of the same name and version (its file, say).
/// Modules that are live objects are not kept: the report says so.
std::shared_ptr<Backend> KeepUnits(std::shared_ptr<Backend> backend,
                                   std::function<std::string()> identity);

/// All that a compiler may see of this part of a graph, as text: equal texts, equal code. Names are
/// in it; constants are there as digests.
std::string Describe(const GraphView& graph);

}  // namespace tim::vx::kept
#endif  // TIMCL_BACKENDS_KEPT_BACKEND_H_
