// SelectKernel: candidates in order, the first that accepts wins; refusals carry a reason.
#include <fmt/format.h>

#include "backends/opencl/compile/compile.h"
#include "base/log.h"

namespace tim::vx::opencl {

bool MovesNothing(const OpView& op) {
  return op.def().moves_nothing && op.num_inputs() == 1 && op.num_outputs() == 1 &&
         SameEncoding(op.in(0).type(), op.out(0).type());
}

Result<Selected> SelectKernel(const OpView& op, const DeviceCaps& caps) {
  Selected selected;
  for (const KernelCandidate& candidate : op.def().kernels) {
    if (candidate.make == nullptr) break;
    auto launches = candidate.make(op, caps);
    if (launches.ok()) {
      selected.kernel = candidate.name;
      selected.launches = std::move(*launches);
      base::Log("select", base::LogLevel::kDebug, "{}: kernel '{}'", op.label(), candidate.name);
      return selected;
    }
    const Status status = launches.status();
    if (status.code() != Code::kUnsupported) return status.AtOp(op.label());
    selected.refusals.push_back(fmt::format("{}: {}", candidate.name, status.detail()));
    base::Log("select", base::LogLevel::kDebug, "{}: {}", op.label(), selected.refusals.back());
  }
  if (selected.refusals.empty())
    return Status::Error(Code::kUnsupported, "the op has no OpenCL kernel");
  return Status::Error(Code::kUnsupported,
                       fmt::format("every kernel refused: {}", fmt::join(selected.refusals, "; ")));
}

}  // namespace tim::vx::opencl
