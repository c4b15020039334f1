// CompileReport as text: one aligned table, then what needs attention, then the figures.
#include "tim/vx/compile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace tim::vx {
namespace {

constexpr size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

// Columns in terminals are characters, not bytes: UTF-8 continuation bytes take no room.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

/// Also whose it is, where the library did not bring it: an application's, a plugin's.
std::string KindOf(const OpPlacement& op) {
  const bool ours = op.origin.empty() || op.origin == "built-in";
  return op.kind + (ours ? "" : " (" + op.origin + ")");
}

std::string Count(uint64_t count, const char* singular) {
  return std::to_string(count) + " " + singular + (count == 1 ? "" : "s");
}

}  // namespace

std::string CompileReport::ToText() const {
  std::string text;
  if (!ops.empty()) {
    struct Line {
      Row row;
      const OpPlacement* op;
    };
    std::vector<Line> lines{{{"op", "kind", "backend", "kernel", "reason"}, nullptr}};
    const auto add = [&](const OpPlacement& op, const char* indent) {
      lines.push_back({{indent + op.op, KindOf(op), op.backend, op.kernel, op.reason}, &op});
    };
    // The parts of a composed op stand together, where the first of them runs.
    std::map<std::string, std::vector<const OpPlacement*>> parts;
    for (const OpPlacement& op : ops) parts[op.part_of].push_back(&op);
    for (const OpPlacement& op : ops) {
      if (op.part_of.empty()) {
        add(op, "");
      } else if (const auto& own = parts[op.part_of]; own.front() == &op) {
        lines.push_back({{op.part_of, "", "", "expanded", ""}, nullptr});
        for (const OpPlacement* part : own) add(*part, "  ");
      }
    }
    std::array<size_t, kColumns> widths{};
    for (const Line& line : lines) {
      for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], Width(line.row[i]));
    }
    for (const Line& line : lines) {
      std::string out;
      for (size_t i = 0; i < kColumns; ++i) {
        if (i != 0) out += " | ";
        out += line.row[i] + std::string(widths[i] - Width(line.row[i]), ' ');
      }
      out.erase(out.find_last_not_of(' ') + 1);
      text += out + "\n";
      if (line.op == nullptr) continue;
      for (const std::string& refusal : line.op->refusals) text += "    refused: " + refusal + "\n";
    }
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
