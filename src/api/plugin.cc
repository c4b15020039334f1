// Opening plugins and reading their tables. Nothing that stands in them is trusted further than the
// operating system lets a library be: sizes first, then pointers.
#include "api/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/log.h"
#include "kernels/embedded.h"
#include "tim/vx/op_plugin.h"

namespace tim::vx {
namespace {

namespace fs = std::filesystem;

static_assert(std::string_view(TIMCL_VERSION).starts_with(TIMCL_CXX_VERSION "."),
              "op_plugin.h names another version than CMakeLists.txt");
static_assert(static_cast<timcl_status>(Code::kInternal) == TIMCL_INTERNAL &&
              static_cast<timcl_status>(Code::kPlugin) == TIMCL_PLUGIN &&
              static_cast<timcl_status>(Code::kKernelBuild) == TIMCL_KERNEL_BUILD);

// The library's side of the tables.

std::string& LastWords() {
  thread_local std::string words;
  return words;
}

/// What register_ops fills.
struct Collector {
  std::vector<OpDef> defs;
  Status status;
};

extern "C" {
static void HostLog(int32_t level, const char* text) {
  using base::LogLevel;
  const LogLevel l = level <= TIMCL_LOG_ERROR  ? LogLevel::kError
                     : level == TIMCL_LOG_WARN ? LogLevel::kWarn
                     : level == TIMCL_LOG_INFO ? LogLevel::kInfo
                                               : LogLevel::kDebug;
  base::Log("plugin", l, "{}", text ? text : "");
}
static void HostSetError(const char* text) {
  try {
    LastWords() = text ? text : "";
  } catch (...) {  // no memory for the words
  }
}
static timcl_status HostAddOp(void* registry, const void* op_def) {
  if (registry == nullptr || op_def == nullptr) return TIMCL_INVALID_ARGUMENT;
  auto& collector = *static_cast<Collector*>(registry);
  try {
    collector.defs.push_back(*static_cast<const OpDef*>(op_def));
  } catch (...) {
    return TIMCL_OUT_OF_MEMORY;
  }
  return TIMCL_OK;
}
}

constexpr timcl_host_api MakeHost() {
  timcl_host_api host = {};
  host.h = {offsetof(timcl_host_api, graph_num_ops), TIMCL_ABI_MAJOR, 0};
  host.library_version = TIMCL_VERSION;
  host.log = HostLog;
  host.set_error = HostSetError;
  host.add_op = HostAddOp;
  return host;
}
constexpr timcl_host_api kHost = MakeHost();

/// Calls into the plugin: the status that it returns, with the words that it left.
template <class F>
Status Call(const char* what, F f) {
  LastWords().clear();
  timcl_status status = TIMCL_OK;
  try {
    status = f();
  } catch (const std::exception& e) {
    return Status::Error(Code::kPlugin, fmt::format("{} threw: {}", what, e.what()));
  } catch (...) {
    return Status::Error(Code::kPlugin, fmt::format("{} threw an exception of unknown type", what));
  }
  if (status == TIMCL_OK) return Status();
  const bool known = status > TIMCL_OK && status <= TIMCL_INTERNAL;
  return Status::Error(known ? static_cast<Code>(status) : Code::kPlugin,
                       fmt::format("{} failed{}{}", what,
                                   known ? "" : fmt::format(" with the unknown status {}", status),
                                   LastWords().empty() ? "" : ": " + LastWords()));
}

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
  TIMCL_TRY(Call("timcl_plugin_query", [&] { return query(TIMCL_ABI_MAJOR, &kHost, &table); }));
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
  if (TIMCL_HAS(timcl_plugin, table, vendor) && table->vendor) info->vendor = table->vendor;
  table_ = table;
  return Status();
}

Result<std::vector<std::shared_ptr<const OpDef>>> PluginLibrary::Ops() {
  if (!TIMCL_HAS(timcl_plugin, table_, ops)) {
    return TooShort("its table timcl_plugin", table_->h, "ops");
  }
  const timcl_ops_api* const ops = table_->ops;
  if (ops == nullptr) {
    return Status::Error(Code::kPlugin, "it brings nothing that this library knows: no operators");
  }
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
    std::vector<OpDef> defs;
  };
  auto owned = std::make_shared<Owned>();
  owned->library = shared_from_this();
  Collector collector;
  TIMCL_TRY(
      Call("its registration of operators", [&] { return ops->register_ops(&kHost, &collector); }));
  if (collector.defs.empty()) return Status::Error(Code::kPlugin, "it registers no operator");
  owned->defs = std::move(collector.defs);
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
  if (dladdr(reinterpret_cast<const void*>(&kHost), &own) == 0 || own.dli_fname == nullptr)
    return dirs;
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
