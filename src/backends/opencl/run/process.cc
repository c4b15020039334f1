// Process-wide state of the run half: see process.h.
#include "backends/opencl/run/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>

namespace tim::vx::opencl {
namespace {

constinit std::atomic<pid_t> opened_by{0};
constinit std::mutex driver_mutex;

struct Turns {
  std::mutex mutex;
  std::condition_variable binaries_done;
  size_t sessions_running = 0;
  bool asking = false;
};
/// Never destroyed: a Context in static storage may end after every static object.
Turns& TheTurns() {
  static Turns* const turns = new Turns();
  return *turns;
}

}  // namespace

Status CheckProcess() {
  const pid_t me = getpid();
  pid_t first = 0;
  if (opened_by.compare_exchange_strong(first, me) || first == me) return Status();
  return Status::Error(
      Code::kDevice,
      fmt::format("process {} was made by fork() after process {} had opened OpenCL, and drivers "
                  "do not work in such a child. Call fork() before the first Context, or exec() "
                  "after it; the reference backend (ContextOptions::host_only) works everywhere",
                  me, first));
}

std::mutex& DriverMutex() { return driver_mutex; }

void BeginKernels() {
  Turns& t = TheTurns();
  std::unique_lock lock(t.mutex);
  t.binaries_done.wait(lock, [&] { return !t.asking; });
  ++t.sessions_running;
}

void EndKernels() {
  Turns& t = TheTurns();
  const std::lock_guard lock(t.mutex);
  --t.sessions_running;
}

BinaryTurn::BinaryTurn() {
  Turns& t = TheTurns();
  const std::lock_guard lock(t.mutex);
  granted_ = t.sessions_running == 0 && !t.asking;
  if (granted_) t.asking = true;
}

BinaryTurn::~BinaryTurn() {
  if (!granted_) return;
  Turns& t = TheTurns();
  {
    const std::lock_guard lock(t.mutex);
    t.asking = false;
  }
  t.binaries_done.notify_all();
}

}  // namespace tim::vx::opencl
