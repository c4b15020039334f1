// Which library has which kernel files: see embedded.h.
#include "kernels/embedded.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

namespace tim::vx::kernels {
namespace {

struct Table {
  std::mutex mutex;
  std::map<const void*, std::pair<const KernelSources*, int>> by_library;  // and by how many added
};
Table& Known() {
  static Table* const table = new Table;  // plugins may be closed while the process ends
  return *table;
}

/// Where the library begins in memory; null for none.
const void* LibraryOf(const void* code) {
  Dl_info info;
  return dladdr(code, &info) == 0 ? nullptr : info.dli_fbase;
}

}  // namespace

void AddSources(const void* code, const KernelSources* sources) {
  const std::lock_guard lock(Known().mutex);
  auto& [known, users] = Known().by_library[LibraryOf(code)];
  known = sources;
  ++users;
}

void RemoveSources(const void* code) {
  const std::lock_guard lock(Known().mutex);
  const auto it = Known().by_library.find(LibraryOf(code));
  if (it != Known().by_library.end() && --it->second.second == 0) Known().by_library.erase(it);
}

const KernelSources* SourcesOf(const void* code) {
  const std::lock_guard lock(Known().mutex);
  if (Known().by_library.empty()) return nullptr;
  const auto it = Known().by_library.find(LibraryOf(code));
  return it == Known().by_library.end() ? nullptr : it->second.first;
}

}  // namespace tim::vx::kernels
