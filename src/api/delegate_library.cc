// Opening libraries of delegates: see delegate_library.h.
#include "api/delegate_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "base/log.h"
#include "tim/vx/op_plugin.h"

namespace tim::vx {
namespace {

namespace fs = std::filesystem;

/// The file to open. Beside the library or program that this code lies in, or where that program's
/// libraries are.
std::string FileOf(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const std::string file = "libtimcl_" + name + ".so";
  Dl_info own = {};
  if (dladdr(reinterpret_cast<const void*>(&OpenDelegate), &own) == 0 || own.dli_fname == nullptr)
    return file;
  std::error_code error;
  const fs::path folder = fs::absolute(own.dli_fname, error).parent_path();
  for (const fs::path& at : {folder / file, folder / TIMCL_LIBRARIES_FROM_PROGRAMS / file}) {
    if (fs::exists(at, error)) return at.lexically_normal().string();
  }
  return file;
}

Result<CreateDelegateFunction> Open(const std::string& name) {
  const std::string file = FileOf(name);
  auto failed = [&](const std::string& why) {
    return Status::Error(Code::kNotFound,
                         fmt::format("TIMCL_DELEGATE '{}' is passed over: {}", name, why));
  };
  auto words = [] {
    const char* text = dlerror();
    return std::string(text != nullptr ? text : "the loader gives no reason");
  };
  // Never closed: delegates and their threads may outlive every context.
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) return failed(words());
  const auto create =
      reinterpret_cast<CreateDelegateFunction>(dlsym(handle, "timcl_create_delegate"));
  if (create == nullptr) return failed("no library of a delegate: " + words());
  return create;
}

}  // namespace

Result<std::shared_ptr<Delegate>> OpenDelegate(const std::string& name) {
  static std::mutex mutex;
  static auto* const opened = new std::map<std::string, Result<CreateDelegateFunction>>();
  const std::lock_guard lock(mutex);
  auto it = opened->find(name);
  if (it == opened->end()) {
    it = opened->emplace(name, Open(name)).first;
    if (!it->second.ok())
      base::Log("delegate", base::LogLevel::kWarn, "{}", it->second.status().detail());
  }
  if (!it->second.ok()) return it->second.status();
  std::shared_ptr<Delegate> delegate;
  const char* const why = (*it->second)(TIMCL_CXX_TAG, &delegate);
  if (why == nullptr && delegate != nullptr) return delegate;
  const std::string text = fmt::format("TIMCL_DELEGATE '{}' is passed over: {}", name,
                                       why != nullptr ? why : "it makes no delegate");
  it->second = Status::Error(Code::kVersionMismatch, text);
  base::Log("delegate", base::LogLevel::kWarn, "{}", text);
  return it->second.status();
}

}  // namespace tim::vx
