// What there is once in a process: the driver's state, which one process opens, and the turns of
// running kernels and of asking for binaries.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_PROCESS_H_
#define TIMCL_BACKENDS_OPENCL_RUN_PROCESS_H_

#include <mutex>

#include "tim/vx/status.h"

namespace tim::vx::opencl {

/// To be asked before every way into the driver, and before any lock of ours is taken. A child made
/// by fork() has the driver's memory but none of its threads, and would wait for them for ever:
/// kDevice. The first process that asks is the one that may.
Status CheckProcess();

/// Loaders and drivers set themselves up at the first question, not all of them safely: listing
/// devices and opening one take turns in the whole process.
std::mutex& DriverMutex();

/// Kernels of one session are under way between the two. Begin waits while binaries are asked for.
void BeginKernels();
void EndKernels();

/// The right to ask the driver for binaries: only where no kernel of the process is under way, and
/// none begins meanwhile. (PoCL 3.1 aborts where the two overlap.) Never waits.
class BinaryTurn {
 public:
  BinaryTurn();
  ~BinaryTurn();
  BinaryTurn(const BinaryTurn&) = delete;
  BinaryTurn& operator=(const BinaryTurn&) = delete;
  bool granted() const { return granted_; }

 private:
  static void Done();
  bool granted_;
};

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_PROCESS_H_
