// Aligned tables: see table.h.
#include "api/table.h"

#include <algorithm>

namespace tim::vx {
namespace {

// Columns in terminals are characters, not bytes: UTF-8 continuation bytes take no room.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

Table::Table(std::vector<std::string> head, std::vector<size_t> numbers) : right_(head.size()) {
  for (const size_t column : numbers) right_[column] = true;
  Add(std::move(head));
}

void Table::Add(std::vector<std::string> cells, std::vector<std::string> below) {
  cells.resize(right_.size());
  rows_.push_back({std::move(cells), std::move(below)});
}

std::string Table::ToText() const {
  std::vector<size_t> widths(right_.size());
  for (const Row& row : rows_) {
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], Width(row.cells[i]));
  }
  std::string text;
  for (const Row& row : rows_) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string room(widths[i] - Width(row.cells[i]), ' ');
      if (i != 0) line += " | ";
      line += right_[i] ? room + row.cells[i] : row.cells[i] + room;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    for (const std::string& more : row.below) text += "    " + more + "\n";
  }
  return text;
}

std::string Count(uint64_t count, const char* singular) {
  return std::to_string(count) + " " + singular + (count == 1 ? "" : "s");
}

}  // namespace tim::vx
