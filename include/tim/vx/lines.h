// What operators share that make a line of results of each line along an axis: softmax,
// normalisations.
#ifndef TIM_VX_LINES_H_
#define TIM_VX_LINES_H_

#include <algorithm>
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

/// Lines that a kernel with lines16.clh takes: of what lies in 16 elements at once, wide enough for
/// vectors, and short enough to be kept by a work-item.
inline Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request,
                                          const Shape::Lines& lines) {
  constexpr int64_t kRoom = 16384;
  auto refuse = [](const std::string& why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.is_cpu) return refuse("not a CPU");
  for (const TensorView& t : {op.in(0), op.out(0)}) {
    if (!IsWide(t)) return refuse("not of a type for vectors: " + t.label());
  }
  const bool across = lines.inner > 1;
  if ((across ? lines.inner : lines.n) < 16) return refuse("too narrow for vectors");
  if (lines.n * (across ? 16 : 1) > kRoom) return refuse("the lines are too long");
  return KernelOffer{KernelSpec::Epilogue::kLanes};
}

/// How many of `items` pieces of work of `numbers` numbers each one work-item does: a few
/// work-items for each core, but none of less than some 4096 numbers.
inline int64_t RunOf(const KernelRequest& request, int64_t items, int64_t numbers) {
  const int64_t share = DivideUp(items, 8 * static_cast<int64_t>(request.caps.compute_units));
  return std::clamp<int64_t>(4096 / numbers, 1, share);
}

/// The launch of such a kernel, `entry` of <entry>.cl, which does `at_once` pieces of work side by
/// side.
inline KernelSpec VectorLaunch(const KernelRequest& request, const std::string& entry,
                               const Shape::Lines& lines, int64_t at_once = 1) {
  const bool across = lines.inner > 1;
  const int64_t items = lines.outer * (across ? DivideUp(lines.inner, 16) : 1);
  const int64_t numbers = at_once * lines.n * (across ? 16 : 1);
  const int64_t run = at_once * RunOf(request, DivideUp(items, at_once), numbers);
  KernelSpec spec;
  spec.source = entry + ".cl";
  spec.entry = entry;
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"LENGTH", lines.n}, {"INNER", lines.inner}, {"ITEMS", items}, {"RUN", run}};
  spec.defines = {{"ACROSS", across}};
  spec.global = Grid(DivideUp(items, run));
  spec.float_math = true;
  return spec;
}

/// Softmax, or its logarithm, by vectors.
template <class Attrs>
Launches SoftmaxLaunch(const OpView& op, const KernelRequest& request, bool log) {
  KernelSpec spec = VectorLaunch(request, "softmax16", LinesOf<Attrs>(op));
  const float beta = op.attrs<Attrs>().beta;
  spec.reals = {{"BETA", beta}};
  spec.defines.emplace_back("UNIT", beta == 1.0f);
  spec.defines.emplace_back("LOG", log);
  return {spec};
}

}  // namespace tim::vx::lines
#endif  // TIM_VX_LINES_H_
