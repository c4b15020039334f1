// ProgressLine: one line on a terminal that tells how far a long compilation has come.
#ifndef TIMCL_API_PROGRESS_H_
#define TIMCL_API_PROGRESS_H_

#include <chrono>
#include <cstdio>
#include <string>

#include "tim/vx/compile_option.h"

namespace tim::vx {

/// Nothing for the first second, so that short compilations stay silent; then each Show replaces
/// the line, and the end wipes it off.
class ProgressLine {
 public:
  /// `out` null: never shows anything.
  explicit ProgressLine(std::FILE* out, std::chrono::milliseconds silent = std::chrono::seconds(1))
      : out_(out), from_(std::chrono::steady_clock::now() + silent) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Show(const CompileProgress& progress);

  /// stderr if it is a terminal that can do so, else null. `kind`: the value of TERM.
  static std::FILE* Terminal(const std::string& kind);

 private:
  std::FILE* const out_;
  const std::chrono::steady_clock::time_point from_;
  bool shown_ = false;
};

}  // namespace tim::vx
#endif  // TIMCL_API_PROGRESS_H_
