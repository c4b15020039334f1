// Session: the in-order queue of one compiled graph, and the device memory that its partitions
// share.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_SESSION_H_
#define TIMCL_BACKENDS_OPENCL_RUN_SESSION_H_

#include <CL/opencl.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/run/device.h"
#include "backends/opencl/run/device_mirror.h"
#include "backends/opencl/run/plan.h"

namespace tim::vx::opencl {

/// Threads: one at a time, as the graph that it belongs to.
class Session {
 public:
  static Result<std::shared_ptr<Session>> Create(std::shared_ptr<Device> device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Device& device() { return *device_; }
  const cl::CommandQueue& queue() const { return queue_; }

  /// One mirror per memory, for as long as the session lives.
  DeviceMirror* MirrorOf(kernel::Memory* memory);
  /// Read-only bytes on the device, uploaded once.
  Result<cl_mem> ConstantOf(const Constant& constant, const std::string& where);
  /// The same as an emulated image: a copy with a header in front.
  Result<cl_mem> ConstantImage(const Constant& constant, const ImageHeader& header,
                               const std::string& where);

  /// Commands from here on are timed, or no longer. Waits for those before.
  Status SetProfiling(bool on);

  /// Commands are about to be enqueued; the next Finish has something to wait for.
  void NoteWork();
  /// How often Finish has waited, plus one.
  uint64_t run() const { return run_; }
  /// One clFinish if anything was enqueued since the last.
  Status Finish();

 private:
  Session() = default;
  struct Held {
    Constant constant;  // keeps the bytes, so that their address means them
    cl::Buffer buffer;
  };
  std::shared_ptr<Device> device_;
  cl::CommandQueue queue_;
  std::map<kernel::Memory*, std::unique_ptr<DeviceMirror>> mirrors_;
  std::map<const void*, Held> constants_;
  std::vector<std::pair<ImageHeader, Held>> constant_images_;
  bool working_ = false;
  uint64_t run_ = 1;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_SESSION_H_
