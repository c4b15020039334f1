// Logging: what nobody asked for but may want. What is returned as a Status inside the library is
// not also logged; a call of the API that returns false logs why, once.
// Levels come from TIMCL_LOG, else VSI_NN_LOG_LEVEL, else warn. Never throws. Threads: any.
#ifndef TIMCL_BASE_LOG_H_
#define TIMCL_BASE_LOG_H_

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tim::vx::base {

class Environment;

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError, kOff };

struct LogLevels {
  LogLevel standard = LogLevel::kWarn;
  std::map<std::string, LogLevel, std::less<>> topics;
  /// What made no sense where the levels came from, as "TIMCL_LOG: 'loud'".
  std::vector<std::string> unknown;
  LogLevel For(std::string_view topic) const;
};
/// Reads "warn,select=debug"; words it does not know go to `unknown`.
LogLevels ParseLogLevels(std::string_view timcl_log, std::string_view vsi_level);

using LogSink = std::function<void(LogLevel, std::string_view topic, std::string_view text)>;
/// Lines go to `sink` instead of stderr; an empty function goes back to stderr.
void SetLogSink(LogSink sink) noexcept;
/// Replaces the levels that the environment gave.
void SetLogLevels(LogLevels levels) noexcept;

bool LogEnabled(std::string_view topic, LogLevel level) noexcept;
void LogText(std::string_view topic, LogLevel level, std::string_view text) noexcept;

template <class... Args>
void Log(std::string_view topic, LogLevel level, fmt::format_string<Args...> format,
         Args&&... args) noexcept {
  if (!LogEnabled(topic, level)) return;
  try {
    LogText(topic, level, fmt::format(format, std::forward<Args>(args)...));
  } catch (...) {  // no memory for the text: the line is lost, the work is not
  }
}

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_LOG_H_
