// Seats: threads of a device that stay taken from Run to Run.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_SEATS_H_
#define TIMCL_BACKENDS_OPENCL_RUN_SEATS_H_

#include <CL/opencl.hpp>
#include <cstddef>
#include <cstdint>

#include "backends/opencl/run/device.h"

namespace tim::vx::opencl {

/// What waits on a device for the next Run has a thread of it for that long. All such owners in the
/// process, of whatever form and context, leave one thread of each device to others. Threads: one
/// at a time; owners do not know of each other.
class Seats {
 public:
  Seats() = default;
  ~Seats() { Leave(); }
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;

  /// Whether so many threads are the owner's now. They are free again after Leave(), and when the
  /// last of its work-groups has written `gone` to `*word`: owners learn that late. So the word
  /// says something else, and lives until Leave().
  bool Take(const Device& device, size_t threads, uint32_t* word, uint32_t gone);
  void Leave();

 private:
  bool Free() const;
  cl_device_id device_ = nullptr;
  size_t threads_ = 0;
  uint32_t* word_ = nullptr;
  uint32_t gone_ = 0;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_SEATS_H_
