// DeviceMirror: what a device has of one kernel::Memory. On a device that shares the host's memory
// the very bytes, else a copy of them.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_DEVICE_MIRROR_H_
#define TIMCL_BACKENDS_OPENCL_RUN_DEVICE_MIRROR_H_

#include <CL/opencl.hpp>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "backends/opencl/run/device.h"
#include "backends/opencl/run/images.h"
#include "tim/vx/backend.h"
#include "tim/vx/result.h"

namespace tim::vx::opencl {

class DeviceMirror {
 public:
  DeviceMirror(const Device* device, kernel::Memory* memory) : device_(device), memory_(memory) {}
  DeviceMirror(const DeviceMirror&) = delete;
  DeviceMirror& operator=(const DeviceMirror&) = delete;

  kernel::Memory* memory() const { return memory_; }
  /// Looks where the memory lies now. Buffers of the last few addresses are kept, so a user who
  /// swaps handles back and forth allocates nothing. The number that comes back changes when
  /// buffers of earlier calls of Piece no longer belong to the memory.
  uint64_t Follow();

  /// `bytes` from `offset` of the memory, as of the last Follow(). The same object for the same
  /// question.
  Result<cl_mem> Piece(size_t offset, size_t bytes, const std::string& where);
  /// The same with the header of an emulated image in front, which is written too. A null handle
  /// when there is no room for one, or another view of the same memory has written another there.
  /// `room`: the 128 bytes before `offset` belong to this value.
  Result<cl_mem> Image(size_t offset, size_t bytes, bool room, const ImageHeader& header,
                       const std::string& where);

  /// For devices with memory of their own: when the piece at `offset` was last exchanged.
  struct Exchange {
    uint64_t version = 0;      // host_version() when it was written to the device
    uint64_t made_in_run = 0;  // count of Session::Finish when a launch wrote it
  };
  Exchange& ExchangeOf(size_t offset) { return exchanges_[offset]; }
  /// After a failure nobody knows what has arrived.
  void ForgetExchanges() { exchanges_.clear(); }

 private:
  using Range = std::pair<size_t, size_t>;
  struct Place {
    void* address = nullptr;
    size_t bytes = 0;
    bool has_header = false;
    uint64_t generation = 0;
    cl::Buffer root;   // of everything, header included; null when pieces stand alone
    size_t front = 0;  // bytes of the root before data()
    bool tried_root = false;
    std::map<Range, cl::Buffer> pieces;
  };
  Result<cl_mem> Get(size_t front, size_t offset, size_t bytes, const std::string& where);
  Status MakeRoot(const std::string& where);

  const Device* device_;
  kernel::Memory* memory_;
  std::list<Place> places_;  // the current one first
  uint64_t next_generation_ = 1;
  std::map<size_t, ImageHeader> headers_;  // by offset
  std::map<size_t, Exchange> exchanges_;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_DEVICE_MIRROR_H_
