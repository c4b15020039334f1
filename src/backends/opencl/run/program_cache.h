// Compiled OpenCL programs: shared in the process, and kept on disk between processes.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_PROGRAM_CACHE_H_
#define TIMCL_BACKENDS_OPENCL_RUN_PROGRAM_CACHE_H_

#include <CL/opencl.hpp>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backends/opencl/run/device.h"
#include "backends/opencl/run/plan.h"
#include "tim/vx/status.h"

namespace tim::vx::opencl {

/// How a kernel's parameter is declared.
enum class ParameterKind : uint8_t { kPlain = 0, kImage2d = 1, kImage2dArray = 2 };

/// One program with its state in the disk cache.
struct BuiltProgram {
  cl::Program program;
  std::string key;                   // everything that the binary depends on; "" = not for the disk
  std::vector<std::string> kernels;  // functions that graphs asked for
  /// Parameters of the kernels that emulate images: programs made from binaries cannot tell.
  std::map<std::string, std::vector<ParameterKind>> parameters;
  // Below: guarded by the mutex of the cache.
  bool stored = false;
  std::map<std::string, bool> ran;  // by kernel
};

struct BuiltKernel {
  std::shared_ptr<BuiltProgram> program;
  std::string name;  // of the function in the program
  /// Empty when no parameter is an image.
  std::vector<ParameterKind> parameters;
};

struct BuildStats {
  size_t programs_built = 0, programs_from_cache = 0;
  size_t kernels_built = 0, kernels_from_cache = 0, kernels_reused = 0;
};

struct ProgramCacheOptions {
  std::string cache_dir;   // "" = nothing on disk
  std::string kernel_dir;  // TIMCL_KERNEL_DIR: replaces tensor.clh in assembled programs
};

/// The programs of one context on one device. Threads: any; calls of Kernels take turns.
class ProgramCache {
 public:
  ProgramCache(const DeviceEntry& device, const cl::Context& context,
               const ProgramCacheOptions& options);
  /// Finishes what AfterFirstRun has queued.
  ~ProgramCache();
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;

  /// One kernel per variant, in order. Built-in variants that the process lacks are built together,
  /// as one program; each user variant is a program of its own. `dump_dir` receives every program's
  /// text ("" = off).
  Status Kernels(const std::vector<Variant>& variants, const std::string& dump_dir,
                 std::vector<BuiltKernel>* kernels, BuildStats* stats);

  /// To be called when launches of these kernels have ended for the first time. A program whose
  /// kernels have all run is written to disk by a thread of the cache: before that its binary may
  /// hold no machine code, and asking for it takes long.
  void AfterFirstRun(const std::vector<BuiltKernel>& kernels);
  /// To be called when work is handed to the device: drivers block launches of a program while its
  /// binary is asked for (seconds for a large kernel), so the thread waits for a quiet moment.
  void NoteActivity() { last_activity_ns_.store(NowNs(), std::memory_order_relaxed); }
  /// Writes what is queued now, and blocks until nothing is left.
  void Flush();

 private:
  struct Text {
    std::string source, options, origin;
    std::vector<std::string> kernels;
    bool images = false;
  };
  Result<std::shared_ptr<BuiltProgram>> MakeProgram(const Text& text, const std::string& dump_dir,
                                                    BuildStats* stats);
  std::shared_ptr<BuiltProgram> Load(const Text& text, const std::string& key);
  Status Build(const Text& text, const std::string& dump_dir, BuiltProgram* built);
  Status ReadParameters(const Text& text, BuiltProgram* built);
  std::string PathOf(const std::string& key) const;
  void Store(const BuiltProgram& program);
  void Work();
  /// Writes what is queued and ends the thread; nothing is queued from then on.
  void Stop();
  struct LiveCaches;
  static int64_t NowNs();
  /// Nothing was handed to the device for a while, or programs have waited for long enough.
  bool Quiet() const;

  const cl::Device device_;
  const cl::Context context_;
  const ProgramCacheOptions options_;
  std::string device_key_, standard_options_;

  std::mutex build_mutex_;  // two builds at a time are no faster than one after the other
  std::unordered_map<std::string, BuiltKernel> kernels_;  // by everything that tells variants apart

  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<std::shared_ptr<BuiltProgram>> queue_;
  std::once_flag listed_once_;
  bool listed_ = false;  // among the caches that end at exit()
  bool writing_ = false, stop_ = false, hurry_ = false;
  int64_t queued_ns_ = 0;  // when the oldest entry of the queue was added
  std::atomic<int64_t> last_activity_ns_ = 0;
  std::thread writer_;  // started with the first entry
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_PROGRAM_CACHE_H_
