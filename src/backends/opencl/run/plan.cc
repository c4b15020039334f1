// What a plan says of its launches: see plan.h.
#include "backends/opencl/run/plan.h"

#include <algorithm>

namespace tim::vx::opencl {

uint64_t BytesOf(const Launch& launch, const PartitionPlan& plan) {
  uint64_t bytes = 0;
  for (const Arg& arg : launch.args) {
    uint64_t once = arg.bytes;
    if (arg.kind == Arg::Kind::kScalar || arg.kind == Arg::Kind::kLocal) continue;
    if (arg.type.dtype != DataType::UNKNOWN) {
      once = arg.type.bytes();
    } else if (arg.kind == Arg::Kind::kConstant) {
      once = plan.constants[arg.index].bytes();
    }
    const bool changes = arg.kind != Arg::Kind::kConstant && arg.writes;
    bytes += (arg.reads ? once : 0) + (changes ? once : 0);
  }
  return bytes;
}

bool ReadsBytes(const Launch& launch) {
  return std::any_of(launch.args.begin(), launch.args.end(), [](const Arg& arg) {
    return arg.reads && (arg.type.dtype == DataType::INT8 || arg.type.dtype == DataType::UINT8);
  });
}

}  // namespace tim::vx::opencl
