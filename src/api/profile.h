// Timing compiled graphs piece by piece: what Graph::Profile(), TIMCL_TRACE and `timcl profile`
// share.
#ifndef TIMCL_API_PROFILE_H_
#define TIMCL_API_PROFILE_H_

#include <functional>
#include <vector>

#include "base/trace.h"
#include "runtime/executable.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/profile.h"

namespace tim::vx {

/// By step of the executable.
using Timings = std::vector<std::vector<kernel::Timing>>;
/// One inference; `timings` null: as fast as it can.
using TimedRun = std::function<Status(Timings* timings)>;
/// That of an executable whose inputs stay as they are.
TimedRun RunOf(runtime::Executable* executable);

/// One run to warm up, `runs` whole ones, and as many piece by piece. kInvalidArgument for less
/// than 1 or more than a million.
Status ProfileRuns(runtime::Executable* executable, const CompileReport& report,
                   const TimedRun& run, int runs, GraphProfile* profile);

/// One run, piece by piece, into the timeline.
Status TraceRun(runtime::Executable* executable, const CompileReport& report, base::Trace* trace);

}  // namespace tim::vx
#endif  // TIMCL_API_PROFILE_H_
