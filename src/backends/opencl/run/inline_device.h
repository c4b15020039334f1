// Devices that run kernels in the thread that enqueues them: PoCL's `basic` (`cpu-minimal` from 4.0
// on), which it shows only where POCL_DEVICES names it.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_INLINE_DEVICE_H_
#define TIMCL_BACKENDS_OPENCL_RUN_INLINE_DEVICE_H_

#include <CL/opencl.hpp>
#include <string>
#include <vector>

#include "backends/opencl/run/device.h"

namespace tim::vx::opencl {

/// While it lives POCL_DEVICES names PoCL's inline device too, if `wanted` and the platform is
/// PoCL. PoCL reads the variable once in a process, at the first clGetDeviceIDs. The caller holds
/// DriverMutex().
class NamePoclDevices {
 public:
  NamePoclDevices(const cl::Platform& platform, bool wanted);
  ~NamePoclDevices();
  NamePoclDevices(const NamePoclDevices&) = delete;
  NamePoclDevices& operator=(const NamePoclDevices&) = delete;

 private:
  bool set_ = false, was_set_ = false;
  std::string was_;
};

/// Fills in `runs_inline` and `beside`, and puts what is `beside` behind the others, so that those
/// keep their indices. Devices are tried only if `wanted`: what was found is remembered. The caller
/// holds DriverMutex().
void FindInline(bool wanted, std::vector<DeviceEntry>* entries);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_INLINE_DEVICE_H_
