// The table of environment variables: see env.h.
#include "base/env.h"

#include <cstdlib>

namespace tim::vx::base {

const std::array<EnvVariable, kEnvCount>& EnvTable() {
  static constexpr std::array<EnvVariable, kEnvCount> kTable = {{
      {Env::kDevice, "TIMCL_DEVICE",
       "the OpenCL device: its index in `timcl devices`, or part of its name or its platform's"},
      {Env::kCacheDir, "TIMCL_CACHE_DIR",
       "folder of compiled programs, for drivers that keep none themselves (PoCL does); unset: "
       "$XDG_CACHE_HOME/timcl, else $HOME/.cache/timcl"},
      {Env::kLog, "TIMCL_LOG",
       "level off, error, warn, info, debug or trace, and levels of single topics: "
       "warn,select=debug"},
      {Env::kVsiLogLevel, "VSI_NN_LOG_LEVEL",
       "0..5 = off, error, warn, info, debug, trace; TIMCL_LOG wins"},
      {Env::kDump, "TIMCL_DUMP",
       "folder that receives the graph after each pass, its drawings, and the full text of each "
       "program"},
      {Env::kTrace, "TIMCL_TRACE",
       "file that receives a timeline of compilations and runs, launch by launch, for "
       "chrome://tracing or Perfetto; runs take longer then"},
      {Env::kTuning, "TIMCL_TUNING",
       "file of `timcl tune`: which kernels are fast on this device; unset: that of the device in "
       "the cache folder, if there is one"},
      {Env::kKernelDir, "TIMCL_KERNEL_DIR",
       "folder whose .cl and .clh files replace built-in ones of the same name"},
      {Env::kTerm, "TERM",
       "the kind of terminal: where it is not set or dumb, no line tells of long compilations"},
      {Env::kXdgCacheHome, "XDG_CACHE_HOME", "the user's cache folder"},
      {Env::kHome, "HOME", "the user's home folder"},
      {Env::kIcdVendors, "OCL_ICD_VENDORS",
       "where the OpenCL loader looks for drivers; only named in messages"},
      {Env::kPoclCacheDir, "POCL_CACHE_DIR",
       "folder of PoCL's compiled programs; only named in messages and by `timcl cache`"},
      {Env::kPluginPath, "TIMCL_PLUGIN_PATH",
       "directories of plugins, separated by ':', before timcl/plugins beside the library; set and "
       "empty: none at all"},
      {Env::kPluginNodelete, "TIMCL_PLUGIN_NODELETE",
       "1: plugins stay in memory after their last user, for profilers and sanitizers"},
      {Env::kCheck, "TIMCL_CHECK",
       "oclgrind: a program that calls tim::vx::testing::CheckOp starts again under Oclgrind, "
       "whose findings then fail the check"},
      {Env::kCheckLog, "TIMCL_CHECK_LOG",
       "set by the above for the program that it starts: the file of Oclgrind's findings"},
      {Env::kDelegate, "TIMCL_DELEGATE",
       "a delegate for every context: a name such as onednn, for libtimcl_onednn.so beside the "
       "library or where the loader looks, or the path of such a file"},
      {Env::kInline, "TIMCL_INLINE",
       "1: small graphs run in the thread that calls Run, on a second device of PoCL; all: every "
       "graph does"},
  }};
  return kTable;
}

Environment Environment::Read() {
  Environment env;
  for (const EnvVariable& v : EnvTable()) {
    if (const char* value = std::getenv(v.name)) env.Set(v.id, value);
  }
  return env;
}

const Environment& Environment::Process() {
  static const Environment env = Read();
  return env;
}

std::string Environment::CacheDir() const {
  if (!Get(Env::kCacheDir).empty()) return Get(Env::kCacheDir);
  if (!Get(Env::kXdgCacheHome).empty()) return Get(Env::kXdgCacheHome) + "/timcl";
  if (!Get(Env::kHome).empty()) return Get(Env::kHome) + "/.cache/timcl";
  return "";
}

std::string Environment::PoclCacheDir() const {
  if (!Get(Env::kPoclCacheDir).empty()) return Get(Env::kPoclCacheDir);
  if (!Get(Env::kXdgCacheHome).empty()) return Get(Env::kXdgCacheHome) + "/pocl/kcache";
  if (!Get(Env::kHome).empty()) return Get(Env::kHome) + "/.cache/pocl/kcache";
  return "";
}

}  // namespace tim::vx::base
