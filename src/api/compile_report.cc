// CompileReport as text: one aligned table, then what needs attention, then the figures.
#include "tim/vx/compile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tim::vx {
namespace {

constexpr size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

// Columns in terminals are characters, not bytes: UTF-8 continuation bytes take no room.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::string Count(uint64_t count, const char* singular) {
  return std::to_string(count) + " " + singular + (count == 1 ? "" : "s");
}

}  // namespace

std::string CompileReport::ToText() const {
  std::string text;
  if (!ops.empty()) {
    std::vector<Row> rows{{"op", "kind", "backend", "kernel", "reason"}};
    for (const OpPlacement& op : ops) {
      rows.push_back({op.op, op.kind, op.backend, op.kernel, op.reason});
    }
    std::array<size_t, kColumns> widths{};
    for (const Row& row : rows) {
      for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], Width(row[i]));
    }
    for (size_t r = 0; r < rows.size(); ++r) {
      std::string line;
      for (size_t i = 0; i < kColumns; ++i) {
        if (i != 0) line += " | ";
        line += rows[r][i] + std::string(widths[i] - Width(rows[r][i]), ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
      if (r == 0) continue;
      for (const std::string& refusal : ops[r - 1].refusals)
        text += "    refused: " + refusal + "\n";
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
