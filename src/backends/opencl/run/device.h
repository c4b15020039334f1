// OpenCL devices: which there are, what they can do, which one is chosen and why.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_DEVICE_H_
#define TIMCL_BACKENDS_OPENCL_RUN_DEVICE_H_

#include <CL/opencl.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tim/vx/kernel_spec.h"
#include "tim/vx/result.h"

namespace tim::vx::opencl {

enum class DeviceType { kGpu, kAccelerator, kCpu, kOther };
const char* NameOf(DeviceType type);

struct DeviceEntry {
  cl::Platform platform;
  cl::Device device;
  DeviceCaps caps;
  DeviceType type = DeviceType::kOther;
  bool pocl = false;
  /// The driver keeps what it compiled from one process to the next, so that we need not.
  bool caches_programs = false;
  /// The driver compiles a kernel when it first runs, not when its program is built.
  bool compiles_when_run = false;
  /// A CPU behind the face of a graphics driver (llvmpipe and its kin): right, but very slow.
  bool software_rasterizer = false;
  /// Its kernels run in the thread that enqueues them; known only after somebody asked for such a
  /// device.
  bool runs_inline = false;
  /// It is there because we asked for it (ListDevices, `inline_too`): behind all others, and chosen
  /// only where it is named.
  bool beside = false;
  bool usable = false;
  std::string why_not;  // what of the minimum it lacks
  std::string verdict;  // after a choice: one line, chosen or not and why
};

/// Every device of every platform, in the loader's order; the index of the list is the index that
/// TIMCL_DEVICE and ContextOptions::device mean. `failures` receives what the loader and the
/// drivers that are there answered instead of devices, with their own codes. `inline_too`: also
/// PoCL's device that runs kernels in the caller's thread, if nobody in the process asked PoCL for
/// its devices before.
std::vector<DeviceEntry> ListDevices(std::vector<std::string>* failures = nullptr,
                                     bool inline_too = false);

/// The choice as a pure function of the entries: `request` (an index or part of a device's or
/// platform's name, whatever the case), else the first GPU or accelerator that is usable, else
/// PoCL's CPU device, else any other; software rasterizers last. Fills in every verdict. kDevice
/// when nothing fits.
Result<size_t> ChooseAmong(std::vector<DeviceEntry>* entries, const std::string& request);

/// The device beside the chosen one that runs kernels in the caller's thread; none: `why_not`.
struct InlineChoice {
  std::optional<size_t> index;
  std::string why_not;
};
InlineChoice ChooseInline(const std::vector<DeviceEntry>& entries, size_t chosen);

struct DeviceChoice {
  std::vector<DeviceEntry> entries;
  size_t index = 0;
  InlineChoice beside;  // only where it was asked for
  const DeviceEntry& chosen() const { return entries[index]; }
};
/// ListDevices and ChooseAmong. Without any device the text of the error has the answers of the
/// loader and the drivers, the driver files that the loader looked at, and what helps: another
/// thing where a driver is there and fails than where there is none. `icd_vendors`: the value of
/// OCL_ICD_VENDORS.
Result<DeviceChoice> ChooseDevice(const std::string& request, const std::string& icd_vendors,
                                  bool inline_too = false);

struct Peaks;

/// An opened device: what the sessions of one Context share. Threads: any.
class Device {
 public:
  static Result<std::shared_ptr<Device>> Open(const DeviceEntry& entry);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceCaps& caps() const { return entry_.caps; }
  const DeviceEntry& entry() const { return entry_; }
  const cl::Context& context() const { return context_; }
  /// Measured when first asked for, while the caller waits.
  const Peaks& peaks() const;

 private:
  Device();
  DeviceEntry entry_;
  cl::Context context_;
  mutable std::once_flag measured_;
  mutable std::unique_ptr<const Peaks> peaks_;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_DEVICE_H_
