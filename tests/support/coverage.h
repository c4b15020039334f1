// What tests note down about the cases that they ran: files in a folder, the only source of the
// figures that `timcl ops` shows.
#ifndef TIMCL_TESTS_SUPPORT_COVERAGE_H_
#define TIMCL_TESTS_SUPPORT_COVERAGE_H_

#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tim::vx::coverage {

/// One case of one operator, run one way.
struct CaseRun {
  std::string op;
  std::string name;   // of the case; the same in every test that runs it
  std::string by;     // a kernel, "expanded" or "reference"
  std::string types;  // "f32 f32 -> f32"
  bool passed = false;
};

/// Writes <folder>/<kind>.<test>.json, in place of what an earlier run of that test left. By
/// rename, since ctest runs several programs at once. `kind`: "conformance" or "golden".
inline void Write(const std::string& folder, const std::string& kind, std::string test,
                  const std::vector<CaseRun>& runs) {
  namespace fs = std::filesystem;
  nlohmann::json rows = nlohmann::json::array();
  for (const CaseRun& r : runs) {
    rows.push_back(
        {{"op", r.op}, {"case", r.name}, {"by", r.by}, {"types", r.types}, {"passed", r.passed}});
  }
  for (char& c : test) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '_';
  }
  fs::create_directories(folder);
  const fs::path file = fs::path(folder) / (kind + "." + test + ".json");
  const fs::path unfinished = file.string() + "." + std::to_string(getpid());
  std::ofstream(unfinished) << nlohmann::json{{"kind", kind}, {"runs", rows}}.dump(1) << "\n";
  fs::rename(unfinished, file);
}

}  // namespace tim::vx::coverage
#endif  // TIMCL_TESTS_SUPPORT_COVERAGE_H_
