// GraphProfile: where the time of a compiled graph goes, operation by operation.
#ifndef TIM_VX_PROFILE_H_
#define TIM_VX_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

/// The work of one operation.
struct OpTime {
  std::string op;       ///< label; those that were fused into it follow it: "Conv2d#1 + Relu#2"
  std::string kind;     ///< name of its OpDef; "" for what belongs to no single operation
  std::string backend;  ///< who runs it
  std::string kernel;   ///< kernel function, or what else was done: "copy to the device"
  std::string part_of = {};  ///< as in OpPlacement
  size_t launches = 0;       ///< pieces of work that were timed
  double median_ms = 0;      ///< of all its launches together, over the runs
  double min_ms = 0;
  double flops = 0;       ///< arithmetic of one run; 0 = unknown
  uint64_t bytes = 0;     ///< of the operands that its kernels read and write; 0 = unknown
  std::string tile = {};  ///< what its kernels were made for ("MX=6 NV=2"); "" = nothing special
  /// The time that the device needs at least for the arithmetic or for moving the bytes, whichever
  /// takes longer (the roofline of Williams, Waterman and Patterson, CACM 52(4), 2009); 0 =
  /// unknown.
  double least_ms = 0;
};

/// What Graph::Profile() measured. A plain value.
class TIMCL_API GraphProfile {
 public:
  std::vector<OpTime>
      ops;  ///< in the order in which they run; empty: Graph::LastStatus() tells why
  int runs = 0;
  double run_ms = 0;  ///< median of as many whole runs that were not taken apart, made just before
  std::vector<std::string>
      limits;  ///< of each backend's device, measured, as OpTime::least_ms uses
  /// Launches that were made and timed on their own, in each run; and those of a whole run, which
  /// are fewer where many are one kernel. 0: of no device that tells.
  size_t timed_launches = 0, run_launches = 0;

  /// The sum of the operations' median_ms: of all, or of the parts of one ("A#1", "A#1 / B#1").
  double TotalMs(const std::string& part_of = "") const;
  /// A table for people: op, kernel, tile, backend, time, share of the time, GFLOP/s, GB/s, and
  /// the roofline's time as share of the time; parts stand under the operation that they are parts
  /// of. Then one summary line, one where a whole run is launched otherwise, and the limits.
  std::string ToText() const;
  /// Everything, for machines: the names of the members here are the keys.
  std::string ToJson() const;
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_PROFILE_H_
