// The launch behind operators that move elements by a rule of digits.
#include "tim/vx/strided_move.h"

#include <string>

namespace tim::vx {
namespace {

/// Without digits of one value; neighbours that follow each other on both sides are joined.
std::vector<StridedMove::Digit> Joined(const std::vector<StridedMove::Digit>& digits) {
  std::vector<StridedMove::Digit> joined;
  for (const StridedMove::Digit& d : digits) {
    if (d.extent == 1) continue;
    if (!joined.empty()) {
      StridedMove::Digit& last = joined.back();
      if (d.stride == last.stride * last.extent && d.step[0] == last.step[0] * last.extent &&
          d.step[1] == last.step[1] * last.extent) {
        last.extent *= d.extent;
        continue;
      }
    }
    joined.push_back(d);
  }
  if (joined.empty()) joined.push_back({1, 1});
  return joined;
}

}  // namespace

KernelSpec StridedMoveLaunch(const KernelRequest& request, const StridedMove& move) {
  const std::vector<StridedMove::Digit> digits = Joined(move.digits);
  const bool bounded = move.bounds[0].extent > 0 || move.bounds[1].extent > 0;
  const int64_t length = digits[0].extent, step = digits[0].stride;
  // On CPUs a work-item's own cost shows beside a plain copy: long lines get fewer of them.
  const bool plain = request.caps.is_cpu && !bounded && step == 1 && length >= 1024;
  const int64_t run = RunLength(request.caps) * (plain ? 4 : 1);
  int64_t items = 1;
  std::vector<int32_t> table;
  for (size_t d = 0; d < digits.size(); ++d) {
    const int64_t extent = d == 0 ? DivideUp(length, run) : digits[d].extent;
    items *= extent;
    AppendDivision(extent, &table);
    table.push_back(static_cast<int32_t>(digits[d].stride));
    if (!bounded) continue;
    for (int64_t cells : digits[d].step) table.push_back(static_cast<int32_t>(cells));
  }
  KernelSpec spec = {
      .source = "strided_move.cl",
      .entry = "strided_move",
      .operands = {In(move.input, "X"), Out(move.output, "Y"), Data(table, "T", "int")},
      .sizes = {{"LENGTH", length}, {"ITEMS", items}, {"START", move.start}},
      .defines = {{"RANK", digits.size()},
                  {"RUN", run},
                  {"STEP", step >= -1 && step <= 1 ? "(" + std::to_string(step) + ")" : "T[3]"},
                  {"BOUNDED", bounded},
                  {"SCATTER", move.scatter}},
      .global = Grid(items),
      .local = {64, 1, 1}};
  if (bounded) {
    for (size_t axis : {0, 1}) {
      const auto [first, extent] = move.bounds[axis];
      spec.sizes.emplace_back("FIRST" + std::to_string(axis), first);
      spec.sizes.emplace_back("EXTENT" + std::to_string(axis), extent > 0 ? extent : INT32_MAX);
    }
  }
  return spec;
}

Status join::CheckInputCount(const OpView& op, int32_t input_cnt) {
  if (input_cnt == 0 || static_cast<size_t>(input_cnt) == op.num_inputs()) return Status();
  return op.Error(Code::kInvalidGraph, std::to_string(op.num_inputs()) +
                                           " inputs are bound, attribute input_cnt says " +
                                           std::to_string(input_cnt));
}

void join::Reference(const Part& part, const ref::Input& in, ref::Output& out) {
  for (int64_t i = 0; i < in.count(); ++i) {
    ref::Copy(out, i / part.length * part.stride + part.start + i % part.length, in, i);
  }
}

KernelSpec join::Launch(const KernelRequest& request, int64_t count, size_t k, const Part& part) {
  StridedMove move;
  move.digits = {{part.length, 1}, {count / part.length, part.stride}};
  move.start = part.start;
  move.scatter = true;
  move.input = k;
  return StridedMoveLaunch(request, move);
}

}  // namespace tim::vx
