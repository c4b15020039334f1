// Texts that people read about a graph: an aligned table, with the parts of composed operations
// under them.
#ifndef TIMCL_API_TABLE_H_
#define TIMCL_API_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tim::vx {

class Table {
 public:
  /// Columns whose index is in `numbers` stand at the right.
  explicit Table(std::vector<std::string> head, std::vector<size_t> numbers = {});
  /// As many cells as the head has. `below`: lines between this row and the next.
  void Add(std::vector<std::string> cells, std::vector<std::string> below = {});
  std::string ToText() const;

 private:
  struct Row {
    std::vector<std::string> cells, below;
  };
  std::vector<Row> rows_;
  std::vector<bool> right_;
};

/// "1 step", "2 steps".
std::string Count(uint64_t count, const char* singular);

/// Walks through rows that have a `part_of`: the parts of a composed op stand together, where the
/// first of them runs. `parent(part_of)`, then `row(part, "  ")` for each; `row(op, "")` for the
/// others.
template <class Op, class Parent, class Each>
void WalkParts(const std::vector<Op>& ops, Parent parent, Each row) {
  std::map<std::string, std::vector<const Op*>> parts;
  for (const Op& op : ops) parts[op.part_of].push_back(&op);
  for (const Op& op : ops) {
    if (op.part_of.empty()) {
      row(op, "");
    } else if (const auto& own = parts[op.part_of]; own.front() == &op) {
      parent(op.part_of);
      for (const Op* part : own) row(*part, "  ");
    }
  }
}

}  // namespace tim::vx
#endif  // TIMCL_API_TABLE_H_
