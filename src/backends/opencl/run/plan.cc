// What a plan says of its launches: see plan.h.
#include "backends/opencl/run/plan.h"

namespace tim::vx::opencl {

uint64_t BytesOf(const Launch& launch, const PartitionPlan& plan) {
  uint64_t bytes = 0;
  for (const Arg& arg : launch.args) {
    uint64_t once = arg.bytes;
    if (arg.kind == Arg::Kind::kScalar || arg.kind == Arg::Kind::kLocal) continue;
    if (arg.type.dtype != DataType::UNKNOWN) {
      once = arg.type.bytes();
    } else if (arg.kind == Arg::Kind::kConstant && plan.constants[arg.index].data != nullptr) {
      once = plan.constants[arg.index].data->size();
    }
    const bool changes = arg.kind != Arg::Kind::kConstant && arg.writes;
    bytes += (arg.reads ? once : 0) + (changes ? once : 0);
  }
  return bytes;
}

}  // namespace tim::vx::opencl
