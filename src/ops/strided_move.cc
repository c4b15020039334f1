// The launch behind operators that move elements by a rule of digits.
#include "tim/vx/strided_move.h"

namespace tim::vx {

Launches StridedMoveLaunches(const KernelRequest& request, const StridedMove& move) {
  // Without digits of one value; neighbours that follow each other on both sides are joined.
  std::vector<StridedMove::Digit> digits;
  for (const StridedMove::Digit& d : move.digits) {
    if (d.extent == 1) continue;
    if (!digits.empty()) {
      StridedMove::Digit& last = digits.back();
      if (d.stride == last.stride * last.extent && d.step[0] == last.step[0] * last.extent &&
          d.step[1] == last.step[1] * last.extent) {
        last.extent *= d.extent;
        continue;
      }
    }
    digits.push_back(d);
  }
  if (digits.empty()) digits.push_back({1, 1});
  const int64_t run = RunLength(request.caps);
  const int64_t across = DivideUp(digits[0].extent, run);
  int64_t items = across;
  std::vector<int32_t> table;
  for (size_t d = 0; d < digits.size(); ++d) {
    const int64_t extent = d == 0 ? across : digits[d].extent;
    if (d > 0) items *= extent;
    const ExactDivision by(extent);
    for (int64_t v : {extent, int64_t{by.multiplier}, int64_t{by.shift}, digits[d].stride,
                      digits[d].step[0], digits[d].step[1]}) {
      table.push_back(static_cast<int32_t>(v));
    }
  }
  const bool bounded = move.bounds[0].extent > 0 || move.bounds[1].extent > 0;
  auto extent = [&](size_t axis) {
    return move.bounds[axis].extent > 0 ? move.bounds[axis].extent : INT32_MAX;
  };
  return Launches{{.source = "strided_move.cl",
                   .entry = "strided_move",
                   .operands = {In(0, "X"), Out(0, "Y"), Data(table, "T", "int")},
                   .sizes = {{"LENGTH", digits[0].extent},
                             {"ITEMS", items},
                             {"START", move.start},
                             {"FIRST0", move.bounds[0].first},
                             {"EXTENT0", extent(0)},
                             {"FIRST1", move.bounds[1].first},
                             {"EXTENT1", extent(1)}},
                   .defines = {{"RANK", digits.size()},
                               {"RUN", run},
                               {"BOUNDED", bounded},
                               {"SCATTER", move.scatter}},
                   .global = Grid(items),
                   .local = {64, 1, 1}}};
}

}  // namespace tim::vx
