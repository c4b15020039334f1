// Stack: joins tensors along a new axis.  Source: tf.stack.
#include "tim/vx/ops/stack.h"

#include <string>

#include "tim/vx/strided_move.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct StackAttrs {
  uint32_t axis = 0;      // [0, rank], 0 = fastest
  int32_t input_cnt = 0;  // 0: as many as are bound
  TIMCL_FIELDS(axis, input_cnt)
};

Status Verify(const OpView& op) {
  const auto& a = op.attrs<StackAttrs>();
  TIMCL_TRY(join::CheckInputCount(op, a.input_cnt));
  if (a.axis > op.in(0).shape().rank()) {
    return op.Error(Code::kInvalidArgument, "axis " + to_string(a.axis) + " is outside [0, " +
                                                to_string(op.in(0).shape().rank()) + "] of " +
                                                op.in_label(0));
  }
  for (size_t k = 1; k < op.num_inputs(); ++k)
    TIMCL_TRY(op.CheckShape(k, op.in(0).shape(), "as " + op.in_label(0)));
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  std::vector<int64_t> y = op.in(0).shape().dims();
  y.insert(y.begin() + op.attrs<StackAttrs>().axis, static_cast<int64_t>(op.num_inputs()));
  return Shapes{Shape(y)};
}

join::Part PartOf(const OpView& op, size_t k) {
  int64_t inner = 1;  // elements below the new axis: neighbours in both tensors
  for (size_t d = 0; d < op.attrs<StackAttrs>().axis; ++d) inner *= op.in(0).shape()[d];
  return {inner, inner * static_cast<int64_t>(k), inner * static_cast<int64_t>(op.num_inputs())};
}
using Op = JoinOp<PartOf>;

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(StackAttrs{0, 2}).In(F32({1})).In(F32({1})).Note("single elements");
  make.Of(StackAttrs{1, 1}).In(F32({7})).Note("one input");
  for (uint32_t axis : {0u, 1u, 2u, 3u}) {
    const TensorType x = F32({5, 3, 17});
    make.Of(StackAttrs{axis, 3}).In(x).In(x).In(x).Note("axes");
  }
  make.Of(StackAttrs{1}).In(F32({300, 2})).In(F32({300, 2})).Note("beyond a work-group");
  make.Of(StackAttrs{2, 2}).In(F32({7, 5})).In(F32({7, 5})).Note("types").EachType();
  make.Of(StackAttrs{2, 2}).In(U8({7, 5})).In(I16({7, 5})).Out(F16()).Note("two quantizations");
  make.Of(StackAttrs{0})
      .In(Plain(DataType::INT32, {4, 6}))
      .In(Plain(DataType::INT8, {4, 6}))
      .Out(Plain(DataType::INT16))
      .Note("plain integers of several types");
  make.Of(StackAttrs{2, 2}).In(F32({512, 256})).In(F32({512, 256})).Note("planes").Bench();
}

constexpr OpDef kStack = {.name = "Stack",
                          .inputs = "input*",
                          .types = "copyable* -> copyable",
                          .schema = &kAttrSchema<StackAttrs>,
                          .verify = Verify,
                          .infer = Infer,
                          .reference = Op::Reference,
                          .kernels = Op::kKernels,
                          .layout = LayoutRule::FollowsAxis("axis").Gains(),
                          .tolerance = Tolerance::Exact(),
                          .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Stack, StackAttrs, (uint32_t axis, int input_cnt), (axis, input_cnt),
                    axis_(axis), input_cnt_(input_cnt));

TIMCL_OPS(stack) { Add(kStack); }

}  // namespace tim::vx::ops
