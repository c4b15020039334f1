// What is between the passes and the executable: a graph divided among backends. Compile makes it,
// Resize goes on from it.
#ifndef TIMCL_COMPILER_COMPILED_H_
#define TIMCL_COMPILER_COMPILED_H_

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/pipeline.h"

namespace tim::vx::compiler {

/// The graph divided among the backends, each part compiled and loaded.
struct Compiled : Division {
  std::vector<GraphView> views;                    // by partition
  std::vector<std::pair<size_t, size_t>> unit_of;  // by partition: backend, index among its own
  std::vector<CompiledUnits> units;                // by backend
  std::vector<LoadedUnits> loaded;                 // by backend
  Excluded excluded;                               // what was tried before
};

/// All that a compilation knew, for the next one of the same graph.
struct Kept {
  std::shared_ptr<ir::Graph> graph;
  std::vector<RankedBackend> backends;
  std::vector<CompileEnv> envs;
  Options options;
  Compiled compiled;           // its kernels are the executable's
  std::set<int> changed = {};  // by Retype: ops whose attributes or constants are others now
};

/// Compiles and loads parts of one backend. An op that it refuses after all is noted in `excluded`;
/// the rest then counts for nothing.
Status CompileParts(const RankedBackend& ranked, size_t index, const std::vector<GraphView>& parts,
                    const CompileEnv& env, Excluded* excluded, CompiledUnits* units,
                    LoadedUnits* loaded, const Watch& watch, CompileReport* report);

/// Who runs each op and why, also when compilation stopped half-way.
void ReportOps(const ir::Graph& graph, const std::vector<RankedBackend>& backends,
               const Compiled& c, CompileReport* report);
/// An op on the fallback backend, or on another than the one that took it, is a warning or an
/// error, as the options say. What the caller chose is neither. ReportOps was called.
Status CheckFallbacks(const std::vector<RankedBackend>& backends, const Options& options,
                      const Compiled& c, CompileReport* report);

/// Plans memory for the kernels of `compiled`, which it takes, prepares them, and fills in what the
/// report says of all that.
Result<std::unique_ptr<runtime::Executable>> Assemble(ir::Graph* graph,
                                                      const std::vector<RankedBackend>& backends,
                                                      const Options& options, Compiled* compiled,
                                                      CompileReport* report);

}  // namespace tim::vx::compiler
#endif  // TIMCL_COMPILER_COMPILED_H_
