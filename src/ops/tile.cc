// Tile: repeats a tensor along its dimensions.  Source: ONNX Tile-13.
#include "tim/vx/ops/tile.h"

#include <string>

#include "tim/vx/strided_view.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct TileAttrs {
  std::vector<int32_t> multiples;  // one entry per dimension, 0 = fastest
  TIMCL_FIELDS(multiples)
};

Status Verify(const OpView& op) {
  const auto& multiples = op.attrs<TileAttrs>().multiples;
  if (multiples.size() != op.in(0).shape().rank()) {
    return op.Error(Code::kInvalidArgument, "attribute multiples has " +
                                                to_string(multiples.size()) + " entries for " +
                                                op.in_label(0));
  }
  for (size_t d = 0; d < multiples.size(); ++d) {
    if (multiples[d] < 1) {
      return op.Error(Code::kInvalidArgument, "attribute multiples is " + to_string(multiples[d]) +
                                                  ", not a positive number, for dimension " +
                                                  to_string(d) + " of " + op.in_label(0));
    }
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  Shape y = op.in(0).shape();
  for (size_t d = 0; d < y.rank(); ++d) y[d] *= op.attrs<TileAttrs>().multiples[d];
  return Shapes{y};
}

// Each dimension as two: the input's elements, and the repetitions.
Result<StridedView> ViewOf(const OpView& op) {
  const StridedView whole = strided_view::Whole(op.in(0).shape());
  StridedView view;
  for (size_t d = 0; d < whole.extent.size(); ++d) {
    view.Append(whole.extent[d], whole.stride[d]);
    view.Append(op.attrs<TileAttrs>().multiples[d], 0);
  }
  return view;
}
using Op = ViewOp<ViewOf>;

void Cases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](std::vector<int32_t> multiples, const Shape& shape, const char* note) {
    make.Of(TileAttrs{std::move(multiples)}).In(F32(shape)).Note(note);
  };
  add({1}, {1}, "one element");
  add({5}, {1}, "one element, repeated");
  add({3}, {7}, "a vector");
  add({1, 1, 1}, {7, 5, 3}, "once");
  add({2, 3, 1}, {7, 5, 3}, "the fast dimensions");
  add({1, 1, 4}, {7, 5, 3}, "the slowest dimension");
  add({20, 1, 2}, {1, 5, 3}, "a fastest dimension of 1");
  add({2, 3}, {41, 30}, "beyond a work-group");
  add({2, 1, 2, 1, 3, 2}, {2, 3, 2, 1, 2, 2}, "rank 6");
  make.Of(TileAttrs{{2, 3}}).In(F32({7, 2})).Note("types").EachType();
  make.Of(TileAttrs{{1, 4, 1}}).In(F32({512, 64, 4})).Note("lines").Bench();
}

constexpr OpDef kTile = {.name = "Tile",
                         .types = "copyable -> copyable",
                         .schema = &kAttrSchema<TileAttrs>,
                         .verify = Verify,
                         .infer = Infer,
                         .reference = Op::Reference,
                         .kernels = Op::kKernels,
                         .layout = LayoutRule::FollowsAxis("", "multiples"),
                         .tolerance = Tolerance::Exact(),
                         .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Tile, TileAttrs, (const std::vector<int32_t>& multiples), (multiples),
                    multiples_(multiples));

TIMCL_OPS(tile) { Add(kTile); }

}  // namespace tim::vx::ops
