// CompileReport as text: one aligned table, then what needs attention, then the figures; and as
// JSON.
#include "tim/vx/compile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/table.h"

namespace tim::vx {
namespace {

/// Also whose it is, where the library did not bring it: an application's, a plugin's.
std::string KindOf(const OpPlacement& op) {
  const bool ours = op.origin.empty() || op.origin == "built-in";
  return op.kind + (ours ? "" : " (" + op.origin + ")");
}

using Json = nlohmann::ordered_json;

Json JsonOf(const OpPlacement& op) {
  return {{"op", op.op},           {"kind", op.kind},
          {"backend", op.backend}, {"kernel", op.kernel},
          {"reason", op.reason},   {"refusals", op.refusals},
          {"part_of", op.part_of}, {"origin", op.origin},
          {"id", op.id},           {"partition", op.partition}};
}
Json JsonOf(const PartitionReport& part) {
  return {{"backend", part.backend},
          {"ops", part.ops},
          {"inputs", part.inputs},
          {"outputs", part.outputs},
          {"input_bytes", part.input_bytes},
          {"output_bytes", part.output_bytes},
          {"note", part.note}};
}
Json JsonOf(const BackendReport& b) {
  return {{"name", b.name},
          {"vendor", b.vendor},
          {"version", b.version},
          {"sdk_version", b.sdk_version},
          {"device", b.device},
          {"ops", b.ops},
          {"partitions", b.partitions},
          {"passed_over", b.passed_over}};
}
Json JsonOf(const StageReport& s) { return {{"stage", s.stage}, {"ms", s.ms}, {"bytes", s.bytes}}; }
template <class T>
Json ListOf(const std::vector<T>& all) {
  Json list = Json::array();
  for (const T& one : all) list.push_back(JsonOf(one));
  return list;
}

/// "backends: npu (3 ops, 2 partitions), reference (0 ops, 0 partitions); not asked: 'x', why".
std::string BackendsLine(const std::vector<BackendReport>& backends) {
  std::string asked, passed_over;
  for (const BackendReport& b : backends) {
    if (b.passed_over.empty()) {
      asked += (asked.empty() ? "" : ", ") + b.name + " (" + Count(b.ops, "op") + ", " +
               Count(b.partitions, "partition") + ")";
    } else {
      passed_over += "; not asked: " + b.name + ", " + b.passed_over;
    }
  }
  return "backends: " + (asked.empty() ? "none" : asked) + passed_over + "\n";
}

/// "partition 0: npu, 3 ops (Relu#1 to Neg#3); in: 'x' f32[4], 16 bytes; out: %4 f32[4], 16 bytes".
std::string PartitionLine(size_t index, const PartitionReport& part,
                          const std::vector<OpPlacement>& ops) {
  std::string range;
  if (!part.ops.empty() && std::max(part.ops.front(), part.ops.back()) < ops.size()) {
    range = " (" + ops[part.ops.front()].op;
    if (part.ops.size() > 1) range += " to " + ops[part.ops.back()].op;
    range += ")";
  }
  const auto side = [](const char* name, const std::vector<std::string>& tensors, uint64_t bytes) {
    return tensors.empty()
               ? ""
               : fmt::format("; {}: {}, {}", name, fmt::join(tensors, ", "), Count(bytes, "byte"));
  };
  return fmt::format("partition {}: {}, {}{}", index, part.backend, Count(part.ops.size(), "op"),
                     range) +
         side("in", part.inputs, part.input_bytes) + side("out", part.outputs, part.output_bytes) +
         (part.note.empty() ? "" : "; " + part.note) + "\n";
}

}  // namespace

std::string CompileReport::ToJson() const {
  const Json json = {{"ops", ListOf(ops)},
                     {"warnings", warnings},
                     {"device", device},
                     {"steps", steps},
                     {"syncs", syncs},
                     {"partitions", partitions},
                     {"launches", launches},
                     {"arena_bytes", arena_bytes},
                     {"live_bytes_bound", live_bytes_bound},
                     {"constant_bytes", constant_bytes},
                     {"compile_ms", compile_ms},
                     {"programs_built", programs_built},
                     {"programs_from_cache", programs_from_cache},
                     {"parts", ListOf(parts)},
                     {"backends", ListOf(backends)},
                     {"stages", ListOf(stages)},
                     {"fallbacks", fallbacks}};
  // Names come from callers, and JSON is UTF-8: what is not is replaced.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

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
  const std::set<std::string> said(warnings.begin(), warnings.end());
  for (const std::string& fallback : fallbacks) {
    if (said.count(fallback) == 0) text += "fallback: " + fallback + "\n";
  }
  if (!backends.empty()) text += BackendsLine(backends);
  for (size_t i = 0; parts.size() > 1 && i < parts.size(); ++i)
    text += PartitionLine(i, parts[i], ops);
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
