// Every environment variable that the library looks at, in one table; read once, when first asked
// for.
#ifndef TIMCL_BASE_ENV_H_
#define TIMCL_BASE_ENV_H_

#include <array>
#include <string>

namespace tim::vx::base {

enum class Env {
  kDevice,
  kCacheDir,
  kLog,
  kVsiLogLevel,
  kDump,
  kTrace,
  kTuning,
  kKernelDir,
  kTerm,
  kXdgCacheHome,
  kHome,
  kIcdVendors,
  kPoclCacheDir,
  kPluginPath,
  kPluginNodelete,
  kCheck,
  kCheckLog,
  kDelegate,
  kInline,
};
inline constexpr size_t kEnvCount = 19;

struct EnvVariable {
  Env id;
  const char* name;
  const char* description;
};
const std::array<EnvVariable, kEnvCount>& EnvTable();

/// A set of values. Default: all empty, as ContextOptions::use_env = false asks for.
class Environment {
 public:
  Environment() = default;
  /// What the process had when this was first called. Threads: any.
  static const Environment& Process();
  /// Reads the process's variables anew.
  static Environment Read();

  /// "" also for a variable that is not set: the same to all but the few that ask IsSet.
  const std::string& Get(Env id) const { return values_[static_cast<size_t>(id)]; }
  bool IsSet(Env id) const { return set_[static_cast<size_t>(id)]; }
  Environment& Set(Env id, std::string value) {
    values_[static_cast<size_t>(id)] = std::move(value);
    set_[static_cast<size_t>(id)] = true;
    return *this;
  }
  /// Folder of compiled programs: TIMCL_CACHE_DIR, else timcl in XDG_CACHE_HOME, else .cache/timcl
  /// in HOME, else "" (none).
  std::string CacheDir() const;
  /// The folder of PoCL's own cache, as PoCL finds it: POCL_CACHE_DIR, else pocl/kcache in
  /// XDG_CACHE_HOME, else .cache/pocl/kcache in HOME, else "".
  std::string PoclCacheDir() const;

 private:
  std::array<std::string, kEnvCount> values_;
  std::array<bool, kEnvCount> set_{};
};

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_ENV_H_
