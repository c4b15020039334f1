// Built OpenCL programs: shared in the process and, where the driver keeps none itself, kept on
// disk between processes.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_PROGRAM_CACHE_H_
#define TIMCL_BACKENDS_OPENCL_RUN_PROGRAM_CACHE_H_

#include <CL/opencl.hpp>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/opencl/run/device.h"
#include "backends/opencl/run/plan.h"
#include "backends/opencl/run/signature.h"
#include "base/disk_cache.h"
#include "tim/vx/status.h"

namespace tim::vx::opencl {

struct BuiltProgram {
  cl::Program program;
  /// Parameters of users' kernels: programs made from binaries cannot tell.
  std::map<std::string, Signature> signatures;
};
using BuiltPrograms = std::vector<std::shared_ptr<const BuiltProgram>>;

struct BuildStats {
  size_t built = 0, from_disk = 0, reused = 0;
};

struct ProgramCacheOptions {
  std::string cache_dir;  // "" = nothing on disk
  /// Also where the driver has a cache of its own. For tests: PoCL is what every machine has.
  bool even_if_driver_caches = false;
  uint64_t disk_limit_bytes = base::DiskCache::kLimitBytes;
  /// In memory; what is in use stays alive beyond it.
  size_t max_programs = 256;
};

/// The programs of one context on one device. Threads: any; calls of Build take turns.
class ProgramCache {
 public:
  ProgramCache(std::shared_ptr<const Device> device, const ProgramCacheOptions& options);
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;

  /// One program per text, in order; those before the one that fails. `dump_dir` receives the texts
  /// ("" = off).
  Status Build(const std::vector<std::shared_ptr<const ProgramText>>& texts,
               const std::string& dump_dir, BuiltPrograms* programs, BuildStats* stats);

 private:
  struct Known {
    std::string key;  // everything that the binary depends on
    std::shared_ptr<const BuiltProgram> program;
  };
  Result<std::shared_ptr<const BuiltProgram>> Make(const ProgramText& text, const std::string& key,
                                                   const std::string& dump_dir, BuildStats* stats);
  std::string OptionsOf(const ProgramText& text) const;
  std::shared_ptr<const BuiltProgram> Load(const ProgramText& text, const std::string& key);
  Status Compile(const ProgramText& text, const std::string& dump_dir, BuiltProgram* built);
  Status ReadSignatures(const ProgramText& text, BuiltProgram* built);
  /// Asks for the binaries of what was built, unless kernels are running: then next time.
  void StoreBinaries();

  const std::shared_ptr<const Device> device_;
  const size_t max_programs_;
  base::DiskCache disk_;
  std::string device_key_, standard_options_;

  std::mutex build_mutex_;  // two builds at a time are no faster than one after the other
  std::list<Known> known_;  // the last used first
  std::vector<Known> not_stored_;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_PROGRAM_CACHE_H_
