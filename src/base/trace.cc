// Writing the timeline: see trace.h.
#include "base/trace.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/log.h"

namespace tim::vx::base {
namespace {

using Json = nlohmann::ordered_json;

std::string ThreadName() {
  std::ostringstream name;
  name << "thread " << std::this_thread::get_id();
  return name.str();
}

}  // namespace

std::shared_ptr<Trace> Trace::To(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Trace>> traces;
  if (path.empty()) return nullptr;
  const std::lock_guard lock(mutex);
  const auto [it, first] = traces.try_emplace(path);
  if (!first) return it->second;  // also null: told once
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fputs("[\n]\n", file) < 0 || std::fflush(file) != 0) {
    Log("trace", LogLevel::kWarn, "cannot write '{}': {}", path, std::strerror(errno));
    if (file != nullptr) std::fclose(file);
    return nullptr;
  }
  return it->second = std::shared_ptr<Trace>(new Trace(file, Now()));
}

Trace::~Trace() { std::fclose(file_); }

int Trace::LineOf(const std::string& track, std::string* text) {
  const auto [it, first] = lines_.try_emplace(track, static_cast<int>(lines_.size()) + 1);
  if (first) {
    const Json named = {{"name", "thread_name"},
                        {"ph", "M"},
                        {"pid", getpid()},
                        {"tid", it->second},
                        {"args", {{"name", track}}}};
    *text += ",\n" + named.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return it->second;
}

void Trace::Add(const std::vector<TraceEvent>& events) {
  if (events.empty()) return;
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const TraceEvent& e : events) {
    Json json = {{"name", e.name},
                 {"cat", e.category},
                 {"ph", "X"},
                 {"pid", getpid()},
                 {"tid", LineOf(e.track.empty() ? ThreadName() : e.track, &text)},
                 {"ts", e.start_us - start_},
                 {"dur", e.duration_us}};
    for (const auto& [key, value] : e.details) json["args"][key] = value;
    // Names come from callers, and JSON is UTF-8: what is not is replaced.
    text += ",\n" + json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  // Over the end of the array that was written last: "]\n" of the empty one, else "\n]\n".
  const bool first = std::exchange(first_, false);
  if (first) text.erase(0, 2);
  text += "\n]\n";
  if (std::fseek(file_, first ? -2 : -3, SEEK_END) != 0 ||
      std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0)
    Log("trace", LogLevel::kWarn, "cannot write the timeline: {}", std::strerror(errno));
}

}  // namespace tim::vx::base
