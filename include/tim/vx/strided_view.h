// Operators that only pick elements: each result is a walk over input 0 with a fixed stride along
// every dimension (slices, splits, reversals, repetitions, other orders of the dimensions). They
// say the walk; reference and kernel are the same for all of them.
#ifndef TIM_VX_STRIDED_VIEW_H_
#define TIM_VX_STRIDED_VIEW_H_

#include <cstdint>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx {

/// Result element (c0, c1, ...), fastest first, is input element start + c0 * stride[0] +
/// c1 * stride[1] + ... A stride may be negative, or 0 where elements repeat.
struct StridedView {
  std::vector<int64_t> extent, stride;
  int64_t start = 0;
  void Append(int64_t n, int64_t step) {
    extent.push_back(n);
    stride.push_back(step);
  }
};

/// One dimension of a slice: elements begin, begin + step, ... of input dimension `dim`, or a new
/// dimension of one element (kNew).
struct Cut {
  static constexpr size_t kNew = static_cast<size_t>(-1);
  size_t dim = kNew;
  int64_t begin = 0, step = 1;
};

namespace strided_view {

/// How far apart neighbours along each dimension of a dense tensor are.
TIMCL_API std::vector<int64_t> StridesOf(const Shape& shape);
/// A walk over all of a tensor, to be changed.
TIMCL_API StridedView Whole(const Shape& shape);
/// The view behind output 0 of a slice: cut d makes dimension d of the output, whose extent says
/// how many elements are taken. `start` is the offset of what was cut off whole. kInvalidShape
/// where this leaves the input.
TIMCL_API Result<StridedView> Slice(const OpView& op, const std::vector<Cut>& cuts,
                                    int64_t start = 0);
/// kInvalidShape unless taking `extents` elements stays within input 0. For infer functions whose
/// output has no declared shape.
TIMCL_API Status CheckSlice(const OpView& op, const std::vector<Cut>& cuts, const Shape& extents);
/// Writes output `output`, which is the view of input 0.
TIMCL_API void Reference(const StridedView& view, const ref::Inputs& ins, ref::Outputs& outs,
                         size_t output = 0);
/// The launch that writes output `output`.
TIMCL_API KernelSpec Launch(const StridedView& view, const KernelRequest& request,
                            size_t output = 0);

}  // namespace strided_view

/// Reference and kernel of an op whose output has the elements of input 0 in the same order.
struct TIMCL_API CopyOp {
  static Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs);
  static Result<Launches> General(const OpView& op, const KernelRequest& request);
  static constexpr KernelCandidate kKernels[] = {
      {"copy", nullptr, General, {KernelSpec::Epilogue::kScalar}}};
};

/// Reference and kernel of an op whose outputs are the views that kViewsOf lists, one for each.
template <Result<std::vector<StridedView>> (*kViewsOf)(const OpView&)>
struct ViewsOp {
  static Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
    TIMCL_ASSIGN(const std::vector<StridedView> views, kViewsOf(op));
    for (size_t k = 0; k < views.size(); ++k) strided_view::Reference(views[k], ins, outs, k);
    return Status();
  }
  static Result<Launches> General(const OpView& op, const KernelRequest& request) {
    TIMCL_ASSIGN(const std::vector<StridedView> views, kViewsOf(op));
    Launches launches;
    for (size_t k = 0; k < views.size(); ++k)
      launches.push_back(strided_view::Launch(views[k], request, k));
    return launches;
  }
  static constexpr KernelCandidate kKernels[] = {{"general", nullptr, General}};
};

/// The same with one output.
template <Result<StridedView> (*kViewOf)(const OpView&)>
struct ViewOp {
  /// For views whose extents a declared shape decides (strided_view::Slice).
  static Status CheckOutputs(const OpView& op) { return kViewOf(op).status(); }
  static Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
    TIMCL_ASSIGN(const StridedView view, kViewOf(op));
    strided_view::Reference(view, ins, outs);
    return Status();
  }
  static Result<Launches> General(const OpView& op, const KernelRequest& request) {
    TIMCL_ASSIGN(const StridedView view, kViewOf(op));
    return Launches{strided_view::Launch(view, request)};
  }
  static constexpr KernelCandidate kKernels[] = {
      {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};
};

}  // namespace tim::vx
#endif  // TIM_VX_STRIDED_VIEW_H_
