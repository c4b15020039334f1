// Opening plugins and reading their tables. Nothing that stands in them is trusted further than the
// operating system lets a library be: sizes first, then pointers.
#include "api/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "backends/plugin/host.h"
#include "kernels/embedded.h"
#include "tim/vx/op_plugin.h"

namespace tim::vx {
namespace {

namespace fs = std::filesystem;

static_assert(std::string_view(TIMCL_VERSION).starts_with(TIMCL_CXX_VERSION "."),
              "op_plugin.h names another version than CMakeLists.txt");
using plugin::Ask;

Status CheckHeader(const char* what, const timcl_header& h) {
  // The size of another major means nothing to us.
  if (h.major != TIMCL_ABI_MAJOR) {
    return Status::Error(Code::kVersionMismatch,
                         fmt::format("{} is of plugin ABI {}.{}, this library has {}.{}", what,
                                     h.major, h.minor, TIMCL_ABI_MAJOR, TIMCL_ABI_MINOR));
  }
  return Status();
}
Status TooShort(const char* what, const timcl_header& h, const char* member) {
  return Status::Error(Code::kPlugin, fmt::format("{} of {} bytes ends before its member '{}'",
                                                  what, h.size, member));
}

/// A table as this library knows it: what it lacks is null, what is beyond is left out.
template <class Table>
Table Known(const Table* table) {
  Table known = {};
  std::memcpy(&known, table, std::min<size_t>(table->h.size, sizeof known));
  return known;
}

/// Why somebody else than this user and root may write to a file or directory; "": nobody may.
std::string WhoElse(const fs::path& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return std::generic_category().message(errno);
  if (s.st_uid != 0 && s.st_uid != geteuid()) return fmt::format("user {} owns it", s.st_uid);
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("its mode is {:o} (chmod go-w)", s.st_mode & 07777);
  return "";
}
/// A plugin is code that runs: kPlugin unless the file and the directories that lead to it, links
/// followed, belong to this user or to root alone.
Status CheckOwners(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  for (const fs::path& path : {file.parent_path(), real.parent_path(), real}) {
    const std::string why = error ? error.message() : WhoElse(path);
    if (why.empty()) continue;
    return Status::Error(Code::kPlugin, fmt::format("others may write to '{}': {}; a plugin is "
                                                    "code that runs, so it must be yours or root's "
                                                    "alone",
                                                    path.string(), why));
  }
  return Status();
}

std::string LoaderWords() {
  const char* words = dlerror();
  return words ? words : "the loader gives no reason";
}

}  // namespace

Result<std::shared_ptr<PluginLibrary>> PluginLibrary::Open(const std::string& file,
                                                           bool stay_mapped, PluginInfo* info) {
  std::error_code error;
  // With a slash in it, so that the loader looks nowhere else.
  const std::string path = fs::absolute(file, error).lexically_normal().string();
  info->file = path;
  if (file.empty() || !fs::exists(path, error)) {
    return Status::Error(Code::kNotFound, fmt::format("there is no file '{}'", file));
  }
  TIMCL_TRY(CheckOwners(path));
  void* const handle =
      dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | (stay_mapped ? RTLD_NODELETE : 0));
  if (handle == nullptr) {
    return Status::Error(Code::kPlugin, "it cannot be opened as a library: " + LoaderWords());
  }
  const std::shared_ptr<PluginLibrary> library(new PluginLibrary(path, handle));
  TIMCL_TRY(library->Query(info));
  return library;
}

PluginLibrary::~PluginLibrary() {
  if (has_kernels_) kernels::RemoveSources(table_);
  dlclose(handle_);
}

Status PluginLibrary::Query(PluginInfo* info) {
  const auto query =
      reinterpret_cast<decltype(&timcl_plugin_query)>(dlsym(handle_, "timcl_plugin_query"));
  if (query == nullptr) {
    return Status::Error(Code::kPlugin, "it is no plugin of this library: " + LoaderWords());
  }
  const timcl_plugin* table = nullptr;
  TIMCL_TRY(
      Ask("timcl_plugin_query", [&] { return query(TIMCL_ABI_MAJOR, &plugin::Host(), &table); }));
  if (table == nullptr) {
    return Status::Error(Code::kPlugin, "timcl_plugin_query gave no table");
  }
  const char* const what = "its table timcl_plugin";
  TIMCL_TRY(CheckHeader(what, table->h));
  if (!TIMCL_HAS(timcl_plugin, table, name)) return TooShort(what, table->h, "name");
  if (table->name == nullptr || *table->name == 0) {
    return Status::Error(Code::kPlugin, "its table names no plugin");
  }
  info->name = table->name;
  if (!TIMCL_HAS(timcl_plugin, table, version)) return TooShort(what, table->h, "version");
  info->version = table->version ? table->version : "";
  if (!TIMCL_HAS(timcl_plugin, table, ops)) return TooShort(what, table->h, "ops");
  const timcl_plugin known = Known(table);
  if (known.vendor != nullptr) info->vendor = known.vendor;
  info->compiles = known.compiler != nullptr;
  info->executes = known.dispatch != nullptr;
  if (info->compiles || info->executes)
    info->sdk_version = known.sdk_version != nullptr ? known.sdk_version : info->version;
  table_ = table;
  if (known.ops != nullptr || info->compiles || info->executes) return Status();
  return Status::Error(
      Code::kPlugin,
      "it brings nothing that this library knows: no operators, no compiler, no dispatcher");
}

Result<std::vector<std::shared_ptr<const OpDef>>> PluginLibrary::Ops() {
  const timcl_ops_api* const ops = table_->ops;
  if (ops == nullptr) return std::vector<std::shared_ptr<const OpDef>>();
  const char* const what = "its table timcl_ops_api";
  TIMCL_TRY(CheckHeader(what, ops->h));
  if (!TIMCL_HAS(timcl_ops_api, ops, cxx_tag)) return TooShort(what, ops->h, "cxx_tag");
  const std::string_view tag = ops->cxx_tag ? ops->cxx_tag : "";
  if (tag != TIMCL_CXX_TAG) {
    return Status::Error(Code::kVersionMismatch,
                         fmt::format("its operators were compiled for '{}', this library is '{}'",
                                     tag, TIMCL_CXX_TAG));
  }
  if (!TIMCL_HAS(timcl_ops_api, ops, register_ops)) return TooShort(what, ops->h, "register_ops");
  if (ops->register_ops == nullptr) {
    return Status::Error(Code::kPlugin, "its register_ops is null");
  }

  /// The definitions, and what they point to: the library is the last to go.
  struct Owned {
    std::shared_ptr<PluginLibrary> library;
    plugin::AddedOps defs;
  };
  auto owned = std::make_shared<Owned>();
  owned->library = shared_from_this();
  TIMCL_TRY(Ask("its registration of operators",
                [&] { return ops->register_ops(&plugin::Host(), &owned->defs); }));
  if (owned->defs.empty()) return Status::Error(Code::kPlugin, "it registers no operator");
  if (TIMCL_HAS(timcl_ops_api, ops, kernels) && ops->kernels != nullptr && !has_kernels_) {
    kernels::AddSources(table_, static_cast<const KernelSources*>(ops->kernels));
    has_kernels_ = true;
  }
  std::vector<std::shared_ptr<const OpDef>> all;
  for (OpDef& def : owned->defs) {
    def.origin = file_.c_str();
    all.emplace_back(owned, &def);
  }
  return all;
}

plugin::Origin PluginLibrary::Origin() {
  const timcl_plugin known = Known(table_);
  plugin::Origin origin;
  origin.name = known.name;
  if (known.version != nullptr) origin.version = known.version;
  if (known.vendor != nullptr) origin.vendor = known.vendor;
  origin.sdk_version = known.sdk_version != nullptr ? known.sdk_version : origin.version;
  origin.file = file_;
  origin.library = shared_from_this();
  return origin;
}

Result<plugin::Halves> PluginLibrary::Halves() {
  const timcl_plugin known = Known(table_);
  plugin::Halves halves;
  if (known.compiler == nullptr && known.dispatch == nullptr) return halves;
  const plugin::Origin origin = Origin();
  if (origin.vendor.empty()) {
    return Status::Error(Code::kPlugin,
                         fmt::format("it brings a {} and names no vendor",
                                     known.compiler != nullptr ? "compiler" : "dispatcher"));
  }
// Ends the function with an error unless the table has the function.
#define TIMCL_NEEDS(table_type, table, member)                                         \
  do {                                                                                 \
    if (!TIMCL_HAS(table_type, table, member))                                         \
      return TooShort("its table " #table_type, (table)->h, #member);                  \
    if ((table)->member == nullptr)                                                    \
      return Status::Error(Code::kPlugin, "its table " #table_type " lacks " #member); \
  } while (false)
  if (const timcl_compiler_api* const t = known.compiler) {
    TIMCL_TRY(CheckHeader("its table timcl_compiler_api", t->h));
    TIMCL_NEEDS(timcl_compiler_api, t, create);
    TIMCL_NEEDS(timcl_compiler_api, t, destroy);
    TIMCL_NEEDS(timcl_compiler_api, t, partition);
    TIMCL_NEEDS(timcl_compiler_api, t, compile);
    TIMCL_NEEDS(timcl_compiler_api, t, num_modules);
    TIMCL_NEEDS(timcl_compiler_api, t, module);
    TIMCL_NEEDS(timcl_compiler_api, t, num_calls);
    TIMCL_NEEDS(timcl_compiler_api, t, call);
    TIMCL_NEEDS(timcl_compiler_api, t, destroy_result);
    auto compiler = std::make_shared<plugin::Compiler>(plugin::Compiler{origin, Known(t), {}});
    for (const char* const* model = t->models; model != nullptr && *model != nullptr; ++model)
      compiler->models.emplace_back(*model);
    halves.compiler = std::move(compiler);
  }
  if (const timcl_dispatch_api* const t = known.dispatch) {
    TIMCL_TRY(CheckHeader("its table timcl_dispatch_api", t->h));
    TIMCL_NEEDS(timcl_dispatch_api, t, device_create);
    TIMCL_NEEDS(timcl_dispatch_api, t, device_destroy);
    TIMCL_NEEDS(timcl_dispatch_api, t, context_create);
    TIMCL_NEEDS(timcl_dispatch_api, t, context_destroy);
    TIMCL_NEEDS(timcl_dispatch_api, t, bind);
    TIMCL_NEEDS(timcl_dispatch_api, t, invoke);
    halves.dispatcher = std::make_shared<plugin::Dispatcher>(plugin::Dispatcher{origin, Known(t)});
  }
#undef TIMCL_NEEDS
  return halves;
}

bool InOnePlugin(const void* one, const void* other) {
  Dl_info first, second;
  if (dladdr(one, &first) == 0 || dladdr(other, &second) == 0) return false;
  if (first.dli_fbase != second.dli_fbase) return false;
  void* const handle = dlopen(first.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  // Not of a library that it is linked with.
  void* const query = dlsym(handle, "timcl_plugin_query");
  const bool plugin =
      query != nullptr && dladdr(query, &second) != 0 && first.dli_fbase == second.dli_fbase;
  dlclose(handle);
  return plugin;
}

Result<std::vector<std::string>> PluginFiles(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> files;
  const fs::directory_iterator end;
  fs::directory_iterator it(directory, error);
  for (; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code type;
    if (!name.starts_with("libtimcl_") || !name.ends_with(".so") || it->is_directory(type))
      continue;
    files.push_back(it->path().string());
  }
  if (error) {
    return Status::Error(
        error == std::errc::no_such_file_or_directory ? Code::kNotFound : Code::kIo,
        fmt::format("the directory '{}' cannot be read: {}", directory, error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> PluginDirs(const base::Environment& env) {
  std::vector<std::string> dirs;
  const std::string& path = env.Get(base::Env::kPluginPath);
  if (path.empty() && env.IsSet(base::Env::kPluginPath)) return dirs;
  for (size_t at = 0; at < path.size();) {
    const size_t colon = std::min(path.find(':', at), path.size());
    if (colon > at) dirs.push_back(path.substr(at, colon - at));
    at = colon + 1;
  }
  // Where this code lies: in the shared library; or, with the archive, in a program (the timcl
  // command), which stands in the folder of programs.
  Dl_info own;
  if (dladdr(&plugin::Host(), &own) == 0 || own.dli_fname == nullptr) return dirs;
  std::error_code error;
  const fs::path file = fs::absolute(own.dli_fname, error);
  const bool library = file.filename().string().find(".so") != std::string::npos;
  fs::path beside = library ? file.parent_path() / "timcl/plugins"
                            : fs::read_symlink("/proc/self/exe", error).parent_path() /
                                  TIMCL_PLUGINS_FROM_PROGRAMS;
  beside = beside.lexically_normal();
  if (fs::is_directory(beside, error)) dirs.push_back(beside.string());
  return dirs;
}

std::vector<std::string> Context::DefaultPluginDirs() {
  return PluginDirs(base::Environment::Process());
}

}  // namespace tim::vx
