// The OpenCL backend: built-in kernels and users' kernels on one device.
#ifndef TIMCL_BACKENDS_OPENCL_BACKEND_H_
#define TIMCL_BACKENDS_OPENCL_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tim/vx/backend.h"
#include "tim/vx/context.h"

namespace tim::vx::opencl {

struct BackendOptions {
  std::string device;       // index or part of a name; "" = choose
  std::string cache_dir;    // of program binaries; "" = none
  std::string kernel_dir;   // replaces built-in kernel sources by file name; "" = none
  std::string icd_vendors;  // value of OCL_ICD_VENDORS, for the message when there is no device
  std::string tuning_file;  // "": the device's own in cache_dir, if there is one; see tuning.h
  /// Whether graphs may run in the caller's thread, on a device beside the main one.
  InlineDevice inline_device = InlineDevice::kOff;
  /// Kernels and copies as for a GPU with memory of its own, whatever the device is. For tests:
  /// these paths are then run where there is only a CPU.
  bool as_discrete_gpu = false;
  /// Kernels as for a CPU, whatever the device says that it is. For tests: simulators call
  /// themselves GPUs.
  bool as_cpu = false;
  /// Register tiles as for a CPU with AVX2, and no instructions beyond it. For tests.
  bool as_avx2 = false;
  /// Not 0: as on a device whose largest allocation has so many bytes. For tests.
  uint64_t max_allocation = 0;
  /// Uses `cache_dir` also where the driver keeps compiled programs itself, as PoCL does. For
  /// tests.
  bool cache_even_if_driver_does = false;
};

/// kDevice when there is no OpenCL device that can be used; the text says where was looked and what
/// to install.
Result<std::shared_ptr<Backend>> CreateBackend(const BackendOptions& options);
/// Bytes of its device's largest allocation.
uint64_t MaxAllocationOf(const Backend& backend);
/// Why its device was chosen, and what became of an inline device that was asked for.
std::string ReasonOf(const Backend& backend);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_BACKEND_H_
