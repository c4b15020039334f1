// Logging over spdlog: see log.h.
#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "base/env.h"

namespace tim::vx::base {
namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 7> kNames = {
    {{"trace", LogLevel::kTrace},
     {"debug", LogLevel::kDebug},
     {"info", LogLevel::kInfo},
     {"warn", LogLevel::kWarn},
     {"warning", LogLevel::kWarn},
     {"error", LogLevel::kError},
     {"off", LogLevel::kOff}}};

std::optional<LogLevel> LevelOf(std::string_view word) {
  for (const auto& [name, level] : kNames) {
    if (name == word) return level;
  }
  return std::nullopt;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

struct State {
  std::shared_mutex mutex;
  LogLevels levels;
  LogSink sink;
  // A logger of our own: the application may use spdlog's registry for itself.
  spdlog::logger stderr_logger{"timcl", std::make_shared<spdlog::sinks::stderr_sink_mt>()};

  State() {
    const Environment& env = Environment::Process();
    levels = ParseLogLevels(env.Get(Env::kLog), env.Get(Env::kVsiLogLevel));
    stderr_logger.set_level(spdlog::level::trace);
    stderr_logger.set_pattern("[%n %l] %v");
    stderr_logger.flush_on(spdlog::level::trace);
  }
};

/// Never destroyed: threads may log while the process ends.
State& TheState() {
  static State* const state = new State();
  return *state;
}

}  // namespace

LogLevel LogLevels::For(std::string_view topic) const {
  const auto found = topics.find(topic);
  return found == topics.end() ? standard : found->second;
}

LogLevels ParseLogLevels(std::string_view timcl_log, std::string_view vsi_level) {
  LogLevels levels;
  if (timcl_log.empty()) {
    constexpr std::array<LogLevel, 6> kByNumber = {LogLevel::kOff,   LogLevel::kError,
                                                   LogLevel::kWarn,  LogLevel::kInfo,
                                                   LogLevel::kDebug, LogLevel::kTrace};
    if (vsi_level.size() == 1 && vsi_level[0] >= '0' && vsi_level[0] <= '5') {
      levels.standard = kByNumber[static_cast<size_t>(vsi_level[0] - '0')];
    } else if (!vsi_level.empty()) {
      levels.unknown.push_back(fmt::format("VSI_NN_LOG_LEVEL: '{}'", vsi_level));
    }
    return levels;
  }
  while (!timcl_log.empty()) {
    const size_t comma = std::min(timcl_log.find(','), timcl_log.size());
    const std::string_view word = timcl_log.substr(0, comma);
    timcl_log.remove_prefix(std::min(comma + 1, timcl_log.size()));
    const size_t equals = word.find('=');
    const bool of_topic = equals != std::string_view::npos;
    const auto level = LevelOf(of_topic ? word.substr(equals + 1) : word);
    if (!level || equals == 0) {
      if (!word.empty()) levels.unknown.push_back(fmt::format("TIMCL_LOG: '{}'", word));
    } else if (of_topic) {
      levels.topics[std::string(word.substr(0, equals))] = *level;
    } else {
      levels.standard = *level;
    }
  }
  return levels;
}

void SetLogSink(LogSink sink) noexcept {
  try {
    State& state = TheState();
    const std::unique_lock lock(state.mutex);
    state.sink = std::move(sink);
  } catch (...) {
  }
}

void SetLogLevels(LogLevels levels) noexcept {
  try {
    State& state = TheState();
    const std::unique_lock lock(state.mutex);
    state.levels = std::move(levels);
  } catch (...) {
  }
}

bool LogEnabled(std::string_view topic, LogLevel level) noexcept {
  try {
    State& state = TheState();
    const std::shared_lock lock(state.mutex);
    return level != LogLevel::kOff && level >= state.levels.For(topic);
  } catch (...) {
    return false;
  }
}

void LogText(std::string_view topic, LogLevel level, std::string_view text) noexcept {
  try {
    State& state = TheState();
    LogSink sink;
    {
      const std::shared_lock lock(state.mutex);
      sink = state.sink;  // called without the lock: a sink may log or be replaced
    }
    if (sink) {
      sink(level, topic, text);
    } else {
      state.stderr_logger.log(ToSpdlog(level), "{}: {}", topic, text);
    }
  } catch (...) {
  }
}

}  // namespace tim::vx::base
