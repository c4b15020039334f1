// Process-wide state of the run half: see process.h.
#include "backends/opencl/run/process.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <new>

namespace tim::vx::opencl {
namespace {

constinit std::atomic<pid_t> opened_by{0};
constinit std::mutex driver_mutex;

/// True in the process that opened OpenCL, and false again in a child of it, in which the kernel
/// wipes the page (Linux 4.14). Null where it does not.
std::atomic<bool>* TheMark() {
  static std::atomic<bool>* const mark = []() -> std::atomic<bool>* {
#ifdef MADV_WIPEONFORK
    const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const page =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    if (madvise(page, bytes, MADV_WIPEONFORK) == 0) return new (page) std::atomic<bool>(false);
    munmap(page, bytes);
#endif
    return nullptr;
  }();
  return mark;
}

/// Kernels begin and end without the mutex, which a Run of a small graph would feel: each side says
/// what it does before it looks at the other.
struct Turns {
  std::atomic<size_t> sessions_running{0};
  std::atomic<bool> asking{false};
  std::mutex mutex;  // of who waits
  std::condition_variable binaries_done;
};
/// Never destroyed: a Context in static storage may end after every static object.
Turns& TheTurns() {
  static Turns* const turns = new Turns();
  return *turns;
}

}  // namespace

Status CheckProcess() {
  // A Run asks, and getpid() is a system call.
  std::atomic<bool>* const mark = TheMark();
  if (mark != nullptr && mark->load(std::memory_order_relaxed)) return Status();
  const pid_t me = getpid();
  pid_t first = 0;
  if (opened_by.compare_exchange_strong(first, me) || first == me) {
    if (mark != nullptr) mark->store(true, std::memory_order_relaxed);
    return Status();
  }
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
  for (;;) {
    ++t.sessions_running;
    if (!t.asking) return;
    --t.sessions_running;
    std::unique_lock lock(t.mutex);
    t.binaries_done.wait(lock, [&] { return !t.asking; });
  }
}

void EndKernels() { --TheTurns().sessions_running; }

BinaryTurn::BinaryTurn() {
  Turns& t = TheTurns();
  if (t.asking.exchange(true)) {
    granted_ = false;
    return;
  }
  granted_ = t.sessions_running == 0;
  if (!granted_) Done();
}

BinaryTurn::~BinaryTurn() {
  if (granted_) Done();
}

void BinaryTurn::Done() {
  Turns& t = TheTurns();
  {
    const std::lock_guard lock(t.mutex);
    t.asking = false;
  }
  t.binaries_done.notify_all();
}

}  // namespace tim::vx::opencl
