// Squeeze: removes dimensions of extent 1.  Source: ONNX Squeeze-13.
#include "tim/vx/ops/squeeze.h"

#include <string>

#include "tim/vx/strided_view.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct SqueezeAttrs {
  std::vector<int32_t> axis;  // [-rank, rank), 0 = fastest; empty: all dimensions of extent 1
  TIMCL_FIELDS(axis)
};

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckAxes(op.attrs<SqueezeAttrs>().axis));
  const Shape& x = op.in(0).shape();
  for (int32_t axis : op.attrs<SqueezeAttrs>().axis) {
    const size_t d = op.Axis(axis);
    if (x[d] != 1) {
      return op.InputError(0, Code::kInvalidShape,
                           "dimension " + to_string(d) + " has " + to_string(x[d]) +
                               " elements, only dimensions of 1 can be removed");
    }
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<SqueezeAttrs>();
  const Shape& x = op.in(0).shape();
  std::vector<bool> removed(x.rank(), false);
  for (size_t d = 0; d < x.rank() && a.axis.empty(); ++d) removed[d] = x[d] == 1;
  for (int32_t axis : a.axis) removed[op.Axis(axis)] = true;
  Shape y;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (!removed[d]) y.push_back(x[d]);
  }
  if (y.empty()) y = {1};
  return Shapes{y};
}

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(SqueezeAttrs{}).In(F32({1, 1})).Note("one element");
  make.Of(SqueezeAttrs{}).In(F32({1, 7, 1, 5})).Note("all dimensions of 1");
  make.Of(SqueezeAttrs{{1, -1}}).In(F32({7, 1, 1, 1})).Note("two of three");
  make.Of(SqueezeAttrs{{0}}).In(F32({1, 33, 31})).Note("the fastest");
  make.Of(SqueezeAttrs{{1}}).In(F32({7, 1, 5})).Note("types").EachType();
  make.Of(SqueezeAttrs{{2}}).In(U8({33, 31, 1})).Out(F32()).Note("converts").Bench();
}

constexpr OpDef kSqueeze = {.name = "Squeeze",
                            .types = "copyable -> copyable|u32:q",
                            .schema = &kAttrSchema<SqueezeAttrs>,
                            .verify = Verify,
                            .infer = Infer,
                            .reference = CopyOp::Reference,
                            .kernels = CopyOp::kKernels,
                            .layout = LayoutRule::FollowsAxis("axis").Drops(),
                            .moves_nothing = true,
                            .tolerance = Tolerance::Exact(),
                            .cases = TIMCL_CASES(Cases)};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Squeeze::Squeeze(Graph* graph, std::vector<uint32_t> axis)
    : BuiltinOp(graph, kSqueeze, MakeAttrs(SqueezeAttrs{{axis.begin(), axis.end()}})),
      axis_(axis) {}
std::shared_ptr<Operation> Squeeze::Clone(std::shared_ptr<Graph>& graph) const {
  return graph->CreateOperation<Squeeze>(axis_);
}
#endif

TIMCL_OPS(squeeze) { Add(kSqueeze); }

}  // namespace tim::vx::ops
