// The backend that stands behind a vendor's compiler and dispatcher (tim/vx/plugin.h), of one
// library or of two.
#ifndef TIMCL_BACKENDS_PLUGIN_BACKEND_H_
#define TIMCL_BACKENDS_PLUGIN_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "tim/vx/backend.h"
#include "tim/vx/plugin.h"

namespace tim::vx::plugin {

/// The plugin that a table is of.
struct Origin {
  std::string name, version, vendor, sdk_version, file;
  std::shared_ptr<const void> library;  // open as long as somebody has this
};
// Copies of the plugin's tables: members that an older one lacks are null, all mandatory ones are
// there.
struct Compiler {
  Origin origin;
  timcl_compiler_api api;
  std::vector<std::string> models;
};
struct Dispatcher {
  Origin origin;
  timcl_dispatch_api api;
};

/// What is there of one vendor; one of them may be null.
struct Halves {
  std::shared_ptr<const Compiler> compiler;
  std::shared_ptr<const Dispatcher> dispatcher;
};
/// One that has another half as well is another backend: nothing changes for graphs that are being
/// compiled, or have been.
std::shared_ptr<Backend> CreateBackend(Halves halves);

}  // namespace tim::vx::plugin
#endif  // TIMCL_BACKENDS_PLUGIN_BACKEND_H_
