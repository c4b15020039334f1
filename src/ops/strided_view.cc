// Reference and kernel of the operators that only pick elements.
#include "tim/vx/strided_view.h"

#include <string>

#include "tim/vx/strided_move.h"

namespace tim::vx::strided_view {
using std::to_string;

Status CheckSlice(const OpView& op, const std::vector<Cut>& cuts, const Shape& extents) {
  for (size_t d = 0; d < cuts.size(); ++d) {
    const Cut& cut = cuts[d];
    const bool is_new = cut.dim == Cut::kNew;
    const int64_t extent = is_new ? 1 : op.in(0).shape()[cut.dim];
    const int64_t last = cut.begin + (extents[d] - 1) * cut.step;
    if (extents[d] >= 1 && last >= 0 && last < extent) continue;
    return op.Error(Code::kInvalidShape,
                    to_string(extents[d]) + " elements, from " + to_string(cut.begin) +
                        " on in steps of " + to_string(cut.step) + ", for dimension " +
                        to_string(d) + " of " + op.out_label(0) + " are no part of " +
                        (is_new ? "a new dimension"
                                : "dimension " + to_string(cut.dim) + " of " + op.in_label(0)));
  }
  return Status();
}

std::vector<int64_t> StridesOf(const Shape& shape) {
  std::vector<int64_t> strides;
  int64_t step = 1;
  for (int64_t extent : shape.dims()) {
    strides.push_back(step);
    step *= extent;
  }
  return strides;
}

StridedView Whole(const Shape& shape) { return {shape.dims(), StridesOf(shape), 0}; }

Result<StridedView> Slice(const OpView& op, const std::vector<Cut>& cuts, int64_t start) {
  const Shape& y = op.out(0).shape();
  TIMCL_TRY(CheckSlice(op, cuts, y));
  const std::vector<int64_t> strides = StridesOf(op.in(0).shape());
  StridedView view;
  view.start = start;
  for (size_t d = 0; d < cuts.size(); ++d) {
    const int64_t stride = cuts[d].dim == Cut::kNew ? 0 : strides[cuts[d].dim];
    view.Append(y[d], stride * cuts[d].step);
    view.start += cuts[d].begin * stride;
  }
  return view;
}

void Reference(const StridedView& view, const ref::Inputs& ins, ref::Outputs& outs, size_t output) {
  for (int64_t i = 0; i < outs[output].count(); ++i) {
    int64_t rest = i, from = view.start;
    for (size_t d = 0; d < view.extent.size(); ++d) {
      from += rest % view.extent[d] * view.stride[d];
      rest /= view.extent[d];
    }
    ref::Copy(outs[output], i, ins[0], from);
  }
}

KernelSpec Launch(const StridedView& view, const KernelRequest& request, size_t output) {
  StridedMove move;
  for (size_t d = 0; d < view.extent.size(); ++d) {
    move.digits.push_back({view.extent[d], view.stride[d]});
  }
  move.start = view.start;
  move.output = output;
  return StridedMoveLaunch(request, move);
}

}  // namespace tim::vx::strided_view

namespace tim::vx {

Status CopyOp::Reference(const OpView&, const ref::Inputs& ins, ref::Outputs& outs) {
  for (int64_t i = 0; i < ins[0].count(); ++i) ref::Copy(outs[0], i, ins[0], i);
  return Status();
}

Result<Launches> CopyOp::General(const OpView& op, const KernelRequest&) {
  const int64_t count = op.in(0).shape().count();
  return Launches{{.source = "copy.cl",
                   .entry = "copy",
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"N", count}},
                   .global = Grid(count),
                   .local = {256, 1, 1}}};
}

}  // namespace tim::vx
