// What kernels tell of the scratch memory that they were given.
#ifndef TIMCL_RUNTIME_LIVE_BYTES_H_
#define TIMCL_RUNTIME_LIVE_BYTES_H_

#include <cstddef>

namespace tim::vx::runtime {

/// A kernel (tim/vx/backend.h) that packs values of its own into its scratch memory.
class HasLiveBytes {
 public:
  virtual ~HasLiveBytes() = default;
  /// The most bytes of them that live at one moment.
  virtual size_t live_bytes() const = 0;
};

}  // namespace tim::vx::runtime
#endif  // TIMCL_RUNTIME_LIVE_BYTES_H_
