// CompileReport: where each operation of a compiled graph runs, and why.
#ifndef TIM_VX_COMPILE_REPORT_H_
#define TIM_VX_COMPILE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

/// One operation of the graph.
struct OpPlacement {
  std::string op;           ///< label, such as "Add#12 'block2/residual'"
  std::string kind;         ///< name of its OpDef
  std::string backend;      ///< who runs it
  std::string kernel;       ///< the chosen candidate, or what it was fused into
  std::string reason = {};  ///< why there
  /// Candidates and backends that refused, each with its reason.
  std::vector<std::string> refusals = {};
  /// The composed operation that it is a part of, the outermost first ("A#1 / B#1"); "" for one
  /// that the user made.
  std::string part_of = {};
  std::string origin = {};  ///< who brought the OpDef: "built-in", "app", the file of a plugin
  int id = -1;              ///< number of its node in the compiled graph, as in dumps
  /// Index into CompileReport::parts; -1 for an operation that was merged into others before
  /// backends were asked: `kernel` and `reason` say what became of it.
  int partition = -1;
};

/// A subgraph that was handed to a backend.
struct PartitionReport {
  std::string backend;
  std::vector<size_t> ops;                     ///< indices into CompileReport::ops
  std::vector<std::string> inputs, outputs;    ///< the tensors at its border, name and type
  uint64_t input_bytes = 0, output_bytes = 0;  ///< of those
  std::string note = {};                       ///< what its backend says of it
};

/// A stage of Compile(), in the order in which they first ran.
struct StageReport {
  std::string stage;  ///< "infer types", "partition", "compile: OpenCL", ...
  double ms = 0;
  uint64_t bytes =
      0;  ///< what it brought forth (constants, modules, arena); 0: nothing to speak of
};

/// A backend that was asked, and what became of that.
struct BackendReport {
  std::string name, vendor, version, sdk_version, device;
  size_t ops = 0, partitions = 0;
  std::string passed_over = {};  ///< why it was not asked at all; "": it was
};

/// The result of Compile() in figures. A plain value.
class TIMCL_API CompileReport {
 public:
  std::vector<OpPlacement> ops;
  std::vector<std::string> warnings;
  std::string device;        ///< which device, and why it was chosen
  size_t steps = 0;          ///< entries of the plan that Run() walks
  size_t syncs = 0;          ///< host-device synchronisations per Run()
  size_t partitions = 0;     ///< subgraphs handed to backends
  size_t launches = 0;       ///< kernel launches per Run()
  uint64_t arena_bytes = 0;  ///< intermediate values, packed by lifetime
  /// The most bytes of intermediate values that live at one moment: no arena can be smaller.
  uint64_t live_bytes_bound = 0;
  uint64_t constant_bytes = 0;
  double compile_ms = 0;
  size_t programs_built = 0;            ///< compiled from source
  size_t programs_from_cache = 0;       ///< loaded from the disk cache
  std::vector<PartitionReport> parts;   ///< in the order in which Run() walks them
  std::vector<BackendReport> backends;  ///< in the order in which they were asked
  std::vector<StageReport> stages;
  /// Operations that their backend took and could not compile after all: which, why, and who runs
  /// them now.
  std::vector<std::string> fallbacks;

  /// Everything, for machines: the names of the members here are the keys.
  std::string ToJson() const;
  /// A table for people: op, kind, backend, kernel, reason; then backends and partitions where
  /// there are several, fallbacks, warnings, and one summary line.
  std::string ToText() const;
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_COMPILE_REPORT_H_
