// Which files a process has in its memory, for tests of how long a plugin stays open.
#ifndef TIMCL_TESTS_PLUGINS_MAPPED_H_
#define TIMCL_TESTS_PLUGINS_MAPPED_H_

#include <cstdlib>
#include <fstream>
#include <string>

namespace tim::vx::test {

/// Whether the process has a file in its memory.
inline bool IsMapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) return true;
  }
  return false;
}
/// Some tools keep every library: then that one is closed cannot be seen.
inline bool ClosesLibraries() {
  const char* nodelete = std::getenv("TIMCL_PLUGIN_NODELETE");
  return nodelete == nullptr || std::string(nodelete) != "1";
}

}  // namespace tim::vx::test
#endif  // TIMCL_TESTS_PLUGINS_MAPPED_H_
