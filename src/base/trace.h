// Trace: a timeline of what the library does, as a file that chrome://tracing, Perfetto and
// speedscope open ("Trace Event Format", Google, 2016: an array of complete events).
#ifndef TIMCL_BASE_TRACE_H_
#define TIMCL_BASE_TRACE_H_

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tim::vx::base {

/// What happened, from when on and how long.
struct TraceEvent {
  std::string name, category;
  double start_us = 0, duration_us = 0;  // by Trace::Now()
  std::string track = {};                // a line of the timeline; "": that of the calling thread
  std::vector<std::pair<std::string, std::string>> details = {};
};

/// The file is whole JSON after each Add, so that it can be read when the process was killed.
/// Threads: any.
class Trace {
 public:
  /// The one of that path: everybody in the process who names the file shares it. Null, with a line
  /// in the log, where it cannot be written, and for "".
  static std::shared_ptr<Trace> To(const std::string& path);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Microseconds of the steady clock.
  static double Now() {
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void Add(const std::vector<TraceEvent>& events);

 private:
  Trace(std::FILE* file, double start) : file_(file), start_(start) {}
  /// Number of a line; a new one is named in the file.
  int LineOf(const std::string& track, std::string* text);

  std::mutex mutex_;
  std::FILE* const file_;
  const double start_;
  bool first_ = true;
  std::map<std::string, int> lines_;
};

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_TRACE_H_
