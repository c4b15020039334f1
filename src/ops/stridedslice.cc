// StridedSlice: takes a range of each dimension.  Source: tf.strided_slice.
#include "tim/vx/ops/stridedslice.h"

#include <algorithm>
#include <string>

#include "tim/vx/strided_view.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct StridedSliceAttrs {
  // The outermost dimensions if there are fewer than dimensions; bit i of a mask: dimension i, 0 =
  // fastest. Dimensions are counted with the inserted ones.
  std::vector<int32_t> begin_dims;
  std::vector<int32_t> end_dims;
  std::vector<int32_t> stride_dims;
  int32_t begin_mask = 0;
  int32_t end_mask = 0;
  int32_t shrink_axis_mask = 0;
  int32_t new_axis_mask = 0;
  TIMCL_FIELDS(begin_dims, end_dims, stride_dims, begin_mask, end_mask, shrink_axis_mask,
               new_axis_mask)
};

bool Has(int32_t mask, size_t bit) {
  return bit < 32 && (static_cast<uint32_t>(mask) >> bit & 1) != 0;
}

/// One dimension of the input, or an inserted one.
struct Dimension {
  bool is_new = false;
  size_t of_input = 0;
};
std::vector<Dimension> DimensionsOf(const OpView& op) {
  std::vector<Dimension> dims;
  const size_t rank = op.in(0).shape().rank();
  for (size_t d = 0; d < rank || Has(op.attrs<StridedSliceAttrs>().new_axis_mask, dims.size());) {
    const bool is_new = Has(op.attrs<StridedSliceAttrs>().new_axis_mask, dims.size());
    dims.push_back({is_new, d});
    if (!is_new) ++d;
  }
  return dims;
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<StridedSliceAttrs>();
  const size_t entries = a.begin_dims.size(), dims = DimensionsOf(op).size();
  if (a.end_dims.size() != entries || a.stride_dims.size() != entries || entries > dims) {
    return op.Error(Code::kInvalidArgument,
                    "attributes begin_dims, end_dims and stride_dims have " + to_string(entries) +
                        ", " + to_string(a.end_dims.size()) + " and " +
                        to_string(a.stride_dims.size()) + " entries for " + op.in_label(0) +
                        ", of " + to_string(dims) + " dimensions with the new ones");
  }
  for (size_t j = 0; j < entries; ++j) {
    if (a.stride_dims[j] == 0) {
      return op.Error(
          Code::kInvalidArgument,
          "entry " + to_string(j) + " of attribute stride_dims is 0 for " + op.in_label(0));
    }
  }
  return Status();
}

/// What is taken, and how many elements of each dimension if the output's shape is open; below 1
/// where there are none.
struct Ranges {
  std::vector<Cut> cuts;
  Shape extents;
  int64_t start = 0;  // offset of the dimensions that are dropped
};
Ranges RangesOf(const OpView& op) {
  const auto& a = op.attrs<StridedSliceAttrs>();
  const Shape& x = op.in(0).shape();
  const std::vector<int64_t> strides = strided_view::StridesOf(x);
  const std::vector<Dimension> dims = DimensionsOf(op);
  const size_t missing = dims.size() - a.begin_dims.size();
  Ranges r;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t d = dims[i].of_input;
    if (dims[i].is_new) {
      r.cuts.push_back({});
      r.extents.push_back(1);
    } else if (i < missing) {
      r.cuts.push_back({d, 0, 1});
      r.extents.push_back(x[d]);
    } else {
      const int64_t extent = x[d], step = a.stride_dims[i - missing];
      int64_t begin = a.begin_dims[i - missing], end = a.end_dims[i - missing];
      if (begin < 0) begin += extent;
      begin = std::clamp<int64_t>(begin, 0, extent - 1);
      if (Has(a.shrink_axis_mask, i)) {
        r.start += begin * strides[d];
        continue;
      }
      if (end < 0) end += extent;
      end =
          step > 0 ? std::clamp<int64_t>(end, 0, extent) : std::clamp<int64_t>(end, -1, extent - 1);
      if (Has(a.begin_mask, i)) begin = step > 0 ? 0 : extent - 1;
      if (Has(a.end_mask, i)) end = step > 0 ? extent : -1;
      r.cuts.push_back({d, begin, step});
      r.extents.push_back(step > 0 ? DivideUp(end - begin, step) : DivideUp(begin - end, -step));
    }
  }
  if (r.cuts.empty()) {
    r.cuts.push_back({});
    r.extents.push_back(1);
  }
  return r;
}

Result<Shapes> Infer(const OpView& op) {
  // Where the output's shape is declared it says how much is taken.
  const Ranges r = RangesOf(op);
  if (op.out(0).shape().empty()) TIMCL_TRY(strided_view::CheckSlice(op, r.cuts, r.extents));
  return Shapes{r.extents};
}

Result<StridedView> ViewOf(const OpView& op) {
  const Ranges r = RangesOf(op);
  return strided_view::Slice(op, r.cuts, r.start);
}
using Op = ViewOp<ViewOf>;

void Cases(CaseMaker& make) {
  using namespace cases;
  using A = StridedSliceAttrs;
  auto add = [&](const A& a, const Shape& shape, const char* note) {
    make.Of(a).In(F32(shape)).Note(note);
  };
  add({{0}, {1}, {1}}, {1}, "one element");
  add({{1, 0, 1}, {6, 4, 3}, {2, 3, 1}}, {7, 5, 3}, "strides");
  add({{-3, 4, -1}, {-1, -6, -4}, {1, -2, -1}}, {7, 5, 3}, "from the end, backwards");
  add({{2, -9, 1}, {99, 99, 99}, {1, 1, 1}}, {7, 5, 3}, "limited to the input");
  add({{9, 9}, {-99, 8}, {-2, 1}}, {7, 5}, "begin limited to the last element");
  add({{3, 2, 1}, {4, 3, 2}, {1, 1, 1}, 1, 2, 0}, {7, 5, 3}, "masks");
  add({{3, 2, 1}, {4, 3, 0}, {-1, -2, -1}, 3, 6, 0}, {7, 5, 3}, "masks, backwards");
  add({{3, 2, 1}, {4, 3, 2}, {1, 1, 1}, 0, 0, 2}, {7, 5, 3}, "a dimension less");
  add({{3, -2, 1}, {0, 0, 0}, {1, -1, 1}, 7, 7, 7}, {7, 5, 3}, "no dimension left");
  add({{1, 0, 2, 0}, {3, 9, 9, 9}, {1, 1, 1, 1}, 0, 0, 0, 2}, {7, 5, 3}, "a new dimension");
  add({{0, 1, 2, 0, 0}, {9, 3, 4, 9, 9}, {1, 1, 1, 1, 5}, 0, 0, 12, 17}, {7, 5, 3},
      "new ones at both ends, one dropped");
  add({{1}, {3}, {1}}, {7, 5, 3}, "the outermost dimension alone");
  add({{4, 2}, {0, 0}, {-2, 1}, 0, 4, 4}, {7, 5, 3}, "two of three dimensions");
  add({{0, 0, 1, 0, 0, 0}, {2, 3, 4, 3, 2, 2}, {1, 2, 2, 1, 1, 1}}, {2, 3, 4, 3, 2, 2}, "rank 6");
  add({{0, 29}, {41, 3}, {1, -3}}, {41, 30}, "beyond a work-group");
  make.Of(A{{6, 1}, {0, 4}, {-2, 1}}).In(F32({7, 5})).Note("types").EachType();
  make.Of(A{{1, 4}, {0, 0}, {2, -1}}).In(F32({7, 5})).Out(F32({3, 2})).Note("declared extents");
  make.Of(A{{0, 0, 0, 0}, {56, 56, 64, 1}, {2, 2, 1, 1}})
      .In(F32({56, 56, 64, 1}))
      .Note("every second pixel")
      .Bench();
}

constexpr OpDef kStridedSlice = {
    .name = "StridedSlice",
    .types = "copyable -> copyable",
    .schema = &kAttrSchema<StridedSliceAttrs>,
    .verify = Verify,
    .infer = Infer,
    .check_outputs = Op::CheckOutputs,
    .reference = Op::Reference,
    .kernels = Op::kKernels,
    .layout = LayoutRule::FollowsAxis("", "begin_dims end_dims stride_dims")
                  .Masks("begin_mask end_mask", "shrink_axis_mask"),
    .declared = Declared::kExtentWins,
    .tolerance = Tolerance::Exact(),
    .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(StridedSlice, StridedSliceAttrs,
                    (const std::vector<int32_t> begin_dims, const std::vector<int32_t> end_dims,
                     const std::vector<int32_t> stride_dims, int32_t begin_mask, int32_t end_mask,
                     int32_t shrink_axis_mask, int32_t new_axis_mask),
                    (begin_dims, end_dims, stride_dims, begin_mask, end_mask, shrink_axis_mask,
                     new_axis_mask),
                    begin_dims_(begin_dims), end_dims_(end_dims), stride_dims_(stride_dims),
                    begin_mask_(begin_mask), end_mask_(end_mask),
                    shrink_axis_mask_(shrink_axis_mask), new_axis_mask_(new_axis_mask));
#ifndef TIMCL_OP_FILE_AS_PLUGIN
StridedSlice::StridedSlice(Graph* graph, const std::vector<int32_t> begin_dims,
                           const std::vector<int32_t> end_dims,
                           const std::vector<int32_t> stride_dims, int32_t begin_mask,
                           int32_t end_mask, int32_t shrink_axis_mask)
    : StridedSlice(graph, begin_dims, end_dims, stride_dims, begin_mask, end_mask, shrink_axis_mask,
                   0) {}
#endif

TIMCL_OPS(stridedslice) { Add(kStridedSlice); }

}  // namespace tim::vx::ops
