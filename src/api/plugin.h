// Plugins: shared libraries opened at run time (tim/vx/plugin.h).
#ifndef TIMCL_API_PLUGIN_H_
#define TIMCL_API_PLUGIN_H_

#include <memory>
#include <string>
#include <vector>

#include "backends/plugin/backend.h"
#include "base/env.h"
#include "tim/vx/context.h"
#include "tim/vx/op_def.h"
#include "tim/vx/plugin.h"

namespace tim::vx {

/// An open plugin. The definitions that it brings share its ownership: the last one closes it.
/// What it gives (tables, definitions, their strings) is read-only.
class PluginLibrary : public std::enable_shared_from_this<PluginLibrary> {
 public:
  /// Opens the library and checks its table. `info` receives what is known, also of a plugin that
  /// is refused later. kPlugin: others may write the file or its directory; it brings nothing.
  static Result<std::shared_ptr<PluginLibrary>> Open(const std::string& file, bool stay_mapped,
                                                     PluginInfo* info);
  PluginLibrary(const PluginLibrary&) = delete;
  ~PluginLibrary();

  /// Its operators, by the C++ tier; none: it brings none.
  Result<std::vector<std::shared_ptr<const OpDef>>> Ops();
  /// Its compiler and its dispatcher, where it has them, with all that they must have.
  Result<plugin::Halves> Halves();

 private:
  PluginLibrary(std::string file, void* handle) : file_(std::move(file)), handle_(handle) {}
  Status Query(PluginInfo* info);
  plugin::Origin Origin();

  const std::string file_;
  void* const handle_;
  const timcl_plugin* table_ = nullptr;
  bool has_kernels_ = false;  // its kernel files are known
};

/// Whether both addresses lie in one library, and that is a plugin.
bool InOnePlugin(const void* one, const void* other);

/// The files that a scan of the directory tries, by name.
Result<std::vector<std::string>> PluginFiles(const std::string& directory);

/// TIMCL_PLUGIN_PATH, then the directory beside this library.
std::vector<std::string> PluginDirs(const base::Environment& env);

}  // namespace tim::vx
#endif  // TIMCL_API_PLUGIN_H_
