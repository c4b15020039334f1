// What Softmax and LogSoftmax share: each line along an axis becomes a line of results.
#ifndef TIM_VX_LINES_H_
#define TIM_VX_LINES_H_

#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::lines {

/// The lines of input 0 along the attribute `axis`.
template <class Attrs>
Shape::Lines LinesOf(const OpView& op) {
  return op.in(0).shape().SplitAt(op.Axis(op.attrs<Attrs>().axis));
}

/// One launch of the kernel `entry` of <entry>.cl, with the attribute `beta`: a line per work-item.
template <class Attrs>
Launches LineLaunch(const OpView& op, const std::string& entry) {
  const auto [outer, n, inner] = LinesOf<Attrs>(op);
  KernelSpec spec;
  spec.source = entry + ".cl";
  spec.entry = entry;
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"LENGTH", n}, {"INNER", inner}, {"LINES", outer * inner}};
  spec.reals = {{"BETA", op.attrs<Attrs>().beta}};
  spec.global = Grid(outer * inner);
  spec.local = {16, 1, 1};
  spec.float_math = true;
  return {spec};
}

}  // namespace tim::vx::lines
#endif  // TIM_VX_LINES_H_
