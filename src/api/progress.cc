// The line of a long compilation: see progress.h.
#include "api/progress.h"

#include <fmt/format.h>
#include <unistd.h>

namespace tim::vx {
namespace {

constexpr char kWipe[] = "\r\033[K";  // to the first column, erase to the end (ECMA-48)

}  // namespace

std::FILE* ProgressLine::Terminal(const std::string& kind) {
  return kind.empty() || kind == "dumb" || isatty(STDERR_FILENO) == 0 ? nullptr : stderr;
}

ProgressLine::~ProgressLine() {
  if (!shown_) return;
  std::fputs(kWipe, out_);
  std::fflush(out_);
}

void ProgressLine::Show(const CompileProgress& progress) {
  if (out_ == nullptr || std::chrono::steady_clock::now() < from_) return;
  const std::string count =
      progress.total > 1 ? fmt::format(" {}/{}", progress.done + 1, progress.total) : "";
  std::fputs(fmt::format("{}compiling: {}{}", kWipe, progress.stage, count).c_str(), out_);
  std::fflush(out_);
  shown_ = true;
}

}  // namespace tim::vx
