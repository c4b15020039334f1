// CompileReport as text: one aligned table, then what needs attention, then the figures.
#include "tim/vx/compile_report.h"

#include <fmt/format.h>

#include "api/table.h"

namespace tim::vx {
namespace {

/// Also whose it is, where the library did not bring it: an application's, a plugin's.
std::string KindOf(const OpPlacement& op) {
  const bool ours = op.origin.empty() || op.origin == "built-in";
  return op.kind + (ours ? "" : " (" + op.origin + ")");
}

}  // namespace

std::string CompileReport::ToJson() const { return "{}"; }

std::string CompileReport::ToText() const {
  std::string text;
  if (!ops.empty()) {
    Table table({"op", "kind", "backend", "kernel", "reason"});
    WalkParts(
        ops,
        [&](const std::string& parent) {
          table.Add({parent, "", "", "expanded", ""});
        },
        [&](const OpPlacement& op, const char* indent) {
          std::vector<std::string> refusals;
          for (const std::string& refusal : op.refusals) refusals.push_back("refused: " + refusal);
          table.Add({indent + op.op, KindOf(op), op.backend, op.kernel, op.reason}, refusals);
        });
    text = table.ToText();
  }
  for (const std::string& warning : warnings) text += "warning: " + warning + "\n";
  text += Count(ops.size(), "op") + ", " + Count(partitions, "partition") + ", " +
          Count(steps, "step") + ", " + std::to_string(launches) +
          (launches == 1 ? " launch, " : " launches, ") + Count(syncs, "sync") + "; arena " +
          Count(arena_bytes, "byte") + ", constants " + Count(constant_bytes, "byte") + "; " +
          Count(programs_built, "program") + " built, " + std::to_string(programs_from_cache) +
          " from cache; compiled in " + fmt::format("{:.1f} ms", compile_ms);
  if (!device.empty()) text += " on " + device;
  return text + "\n";
}

}  // namespace tim::vx
