// Reference and kernel of the operators that only pick elements.
#include "tim/vx/strided_view.h"

#include <string>

namespace tim::vx::strided_view {
namespace {

using std::to_string;

/// Without dimensions of extent 1, and with neighbours joined that are walked in one go.
StridedView Joined(const StridedView& view) {
  StridedView joined;
  joined.start = view.start;
  for (size_t d = 0; d < view.extent.size(); ++d) {
    if (view.extent[d] == 1) continue;
    if (!joined.extent.empty() && view.stride[d] == joined.stride.back() * joined.extent.back()) {
      joined.extent.back() *= view.extent[d];
    } else {
      joined.Append(view.extent[d], view.stride[d]);
    }
  }
  if (joined.extent.empty()) joined.Append(1, 1);
  return joined;
}

Status CheckCuts(const OpView& op, const std::vector<Cut>& cuts, const Shape& y) {
  for (size_t d = 0; d < cuts.size(); ++d) {
    const Cut& cut = cuts[d];
    const bool is_new = cut.dim == Cut::kNew;
    const int64_t extent = is_new ? 1 : op.in(0).shape()[cut.dim];
    const int64_t last = cut.begin + (y[d] - 1) * cut.step;
    if (y[d] >= 1 && last >= 0 && last < extent) continue;
    return op.Error(Code::kInvalidShape,
                    to_string(y[d]) + " elements, from " + to_string(cut.begin) +
                        " on in steps of " + to_string(cut.step) + ", for dimension " +
                        to_string(d) + " of " + op.out_label(0) + " are no part of " +
                        (is_new ? "a new dimension"
                                : "dimension " + to_string(cut.dim) + " of " + op.in_label(0)));
  }
  return Status();
}

}  // namespace

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
  TIMCL_TRY(CheckCuts(op, cuts, y));
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

Status CheckSlice(const OpView& op, const std::vector<Cut>& cuts, const Shape& extents) {
  const Shape& declared = op.out(0).shape();
  const auto count = extents.CheckedCount();
  const bool wins =
      declared.rank() == extents.rank() && (!count.ok() || declared.count() != *count);
  return CheckCuts(op, cuts, wins ? declared : extents);
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
  const StridedView walk = Joined(view);
  const size_t rank = walk.extent.size();
  const int64_t step = walk.stride[0];
  // On CPUs a work-item's own cost shows beside a plain copy: long lines get fewer of them.
  const bool plain = request.caps.is_cpu && step == 1 && walk.extent[0] >= 1024;
  const int64_t run = RunLength(request.caps) * (plain ? 4 : 1);
  const int64_t across = DivideUp(walk.extent[0], run);
  int64_t items = across;
  std::vector<int32_t> table;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t extent = d == 0 ? across : walk.extent[d];
    if (d > 0) items *= extent;
    const ExactDivision by(extent);
    for (int64_t v : {extent, int64_t{by.multiplier}, int64_t{by.shift}, walk.stride[d]}) {
      table.push_back(static_cast<int32_t>(v));
    }
  }
  return {.source = "strided_view.cl",
          .entry = "strided_view",
          .operands = {In(0, "X"), Out(output, "Y"), Data(table, "T", "int")},
          .sizes = {{"LENGTH", walk.extent[0]}, {"START", walk.start}, {"ITEMS", items}},
          .defines = {{"RANK", rank},
                      {"RUN", run},
                      {"STEP", step >= -1 && step <= 1 ? "(" + to_string(step) + ")" : "T[3]"}},
          .global = Grid(items),
          .local = {64, 1, 1}};
}

}  // namespace tim::vx::strided_view
