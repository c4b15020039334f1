// What Compile() tells of itself, stage by stage: CompileReport, and the drawing of the graph.
#ifndef TIMCL_COMPILER_REPORT_H_
#define TIMCL_COMPILER_REPORT_H_

#include <chrono>
#include <string>
#include <vector>

#include "compiler/pipeline.h"

namespace tim::vx::compiler {

/// Adds the time until its end to a stage of the report, which begins where it is not there yet,
/// and tells those who watch.
class Stage {
 public:
  Stage(CompileReport* report, std::string name, const Watch& watch);
  Stage(const Stage&) = delete;
  ~Stage() { End(); }
  void End();
  /// Of a stage that runs again, the last counts.
  void set_bytes(uint64_t bytes) { report_->stages[at_].bytes = bytes; }

 private:
  CompileReport* report_;
  const Watch& watch_;
  size_t at_;
  bool ended_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Who is asked, and who is passed over.
void ReportBackends(const std::vector<RankedBackend>& backends, CompileReport* report);

/// Who is to run each op, why, and what crosses the borders. Kernels are not known yet.
void ReportDivision(const ir::Graph& graph, const std::vector<RankedBackend>& backends,
                    const Division& division, const std::vector<GraphView>& views,
                    CompileReport* report);

/// One cluster per partition, one colour per backend, drawn by ir::ToDot or ir::ToSvg.
std::string Draw(const ir::Graph& graph, const std::vector<RankedBackend>& backends,
                 const Division& division, decltype(ir::ToDot)* draw = ir::ToDot);

}  // namespace tim::vx::compiler
#endif  // TIMCL_COMPILER_REPORT_H_
