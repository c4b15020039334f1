// A delegate that runs ops with oneDNN, Intel's library of CPU primitives. A library of its own,
// timcl_onednn (CMake: timcl::onednn), built where oneDNN 2 is found; docs/onednn.md says what it
// takes. TIMCL_DELEGATE=onednn in the environment gives it to programs that do not ask for it.
#ifndef TIM_VX_DELEGATES_ONEDNN_H_
#define TIM_VX_DELEGATES_ONEDNN_H_

#include <memory>
#include <set>
#include <string>

#include "tim/vx/delegate.h"

namespace tim::vx {

struct OneDnnOptions {
  /// Threads of each run; 0: as OpenMP says (OMP_NUM_THREADS, else one per core).
  int threads = 0;
  /// The kinds of ops that it may take, "Conv2d" and the like; empty: all that it knows.
  std::set<std::string> kinds = {};
};

/// Never null. Its kernels take float32 and 8-bit tensors, and compute what the op is defined as,
/// within the op's tolerance; the report says of every other op why it was not taken. A NaN is not
/// kept by limits (Relu, Clip, Minimum, Maximum, max pooling).
TIMCL_API std::shared_ptr<Delegate> CreateOneDnnDelegate(const OneDnnOptions& options = {});

}  // namespace tim::vx
#endif  // TIM_VX_DELEGATES_ONEDNN_H_
