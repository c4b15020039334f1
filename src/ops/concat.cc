// Concat: joins tensors along one axis.  Source: ONNX Concat-13.
#include "tim/vx/ops/concat.h"

#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct ConcatAttrs {
  uint32_t axis = 0;      // 0 = fastest
  int32_t input_cnt = 0;  // 0: as many as are bound
  TIMCL_FIELDS(axis, input_cnt)
};

Status Verify(const OpView& op) {
  const auto& a = op.attrs<ConcatAttrs>();
  if (a.input_cnt != 0 && static_cast<size_t>(a.input_cnt) != op.num_inputs()) {
    return op.Error(Code::kInvalidGraph, to_string(op.num_inputs()) +
                                             " inputs are bound, attribute input_cnt says " +
                                             to_string(a.input_cnt));
  }
  return op.CheckAxis(a.axis);
}

Result<Shapes> Infer(const OpView& op) {
  const size_t axis = op.attrs<ConcatAttrs>().axis;
  Shape y = op.in(0).shape();
  for (size_t k = 1; k < op.num_inputs(); ++k) {
    const Shape& x = op.in(k).shape();
    const std::string both = op.in_label(0) + " and " + op.in_label(k);
    if (x.rank() != y.rank()) return op.Error(Code::kInvalidShape, both + " differ in rank");
    for (size_t d = 0; d < y.rank(); ++d) {
      if (d == axis) {
        y[d] += x[d];
      } else if (x[d] != y[d]) {
        return op.Error(Code::kInvalidShape, both + " do not join along dimension " +
                                                 to_string(axis) + ": dimension " + to_string(d) +
                                                 " (counted from the fastest) is " +
                                                 to_string(y[d]) + " against " + to_string(x[d]));
      }
    }
  }
  return Shapes{y};
}

/// The part of each output line that input k fills.
struct Part {
  int64_t length, start, stride;
};
Part PartOf(const OpView& op, size_t k) {
  const size_t axis = op.attrs<ConcatAttrs>().axis;
  const auto lines = op.out(0).shape().SplitAt(axis);
  Part part = {op.in(k).shape()[axis] * lines.inner, 0, lines.n * lines.inner};
  for (size_t j = 0; j < k; ++j) part.start += op.in(j).shape()[axis] * lines.inner;
  return part;
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    const Part part = PartOf(op, k);
    for (int64_t i = 0; i < ins[k].count(); ++i) {
      const int64_t to = i / part.length * part.stride + part.start + i % part.length;
      ref::Copy(outs[0], to, ins[k], i);
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const int64_t run = RunLength(request.caps);
  Launches launches;
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    const Part part = PartOf(op, k);
    const int64_t lines = op.in(k).shape().count() / part.length;
    const int64_t items = DivideUp(part.length, run) * lines;
    launches.push_back({.source = "concat.cl",
                        .entry = "concat",
                        .operands = {In(k, "X"), Out(0, "Y")},
                        .sizes = {{"LENGTH", part.length},
                                  {"STRIDE", part.stride},
                                  {"START", part.start},
                                  {"ITEMS", items}},
                        .defines = {{"RUN", run}},
                        .global = Grid(items),
                        .local = {64, 1, 1}});
  }
  return launches;
}
constexpr KernelCandidate kKernels[] = {{"general", nullptr, General}};

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(ConcatAttrs{0, 2}).In(F32({1})).In(F32({1})).Note("single elements");
  make.Of(ConcatAttrs{0, 1}).In(F32({7})).Note("one input");
  for (uint32_t axis : {0u, 1u, 2u, 3u}) {
    auto shape = [&](int64_t n) {
      Shape s = {5, 3, 2, 7};
      s[axis] = n;
      return F32(s);
    };
    make.Of(ConcatAttrs{axis, 3}).In(shape(3)).In(shape(1)).In(shape(4)).Note("axes");
  }
  make.Of(ConcatAttrs{1}).In(F32({300, 2})).In(F32({300, 5})).Note("beyond a work-group");
  make.Of(ConcatAttrs{0}).In(F32({17, 5})).In(F32({33, 5})).Note("one more than whole runs");
  make.Of(ConcatAttrs{0}).In(F32({5, 3})).In(F32({16, 3})).Note("a whole run at the end");
  make.Of(ConcatAttrs{4}).In(F32({2, 1, 3, 1, 2, 2})).In(F32({2, 1, 3, 1, 1, 2})).Note("rank 6");
  make.Of(ConcatAttrs{1}).In(F32({7, 5, 3})).In(F32({7, 2, 3})).Note("types").EachType();
  make.Of(ConcatAttrs{0})
      .In(Plain(DataType::INT32, {4, 6}))
      .In(Plain(DataType::INT8, {2, 6}))
      .Out(Plain(DataType::INT16))
      .Note("plain integers of several types");
  make.Of(ConcatAttrs{2, 2})
      .In(F32({56, 56, 64, 1}))
      .In(F32({56, 56, 64, 1}))
      .Note("channels")
      .Bench();
}

constexpr OpDef kConcat = {.name = "Concat",
                           .inputs = "input*",
                           .types = "copyable* -> copyable",
                           .schema = &kAttrSchema<ConcatAttrs>,
                           .verify = Verify,
                           .infer = Infer,
                           .reference = Reference,
                           .kernels = kKernels,
                           .layout = LayoutRule::FollowsAxis("axis"),
                           .declared = Declared::kMustMatch,
                           .tolerance = Tolerance::Exact(),
                           .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Concat, ConcatAttrs, (uint32_t axis, int input_cnt), (axis, input_cnt),
                    axis_(axis), input_cnt_(input_cnt));

TIMCL_OPS(concat) { Add(kConcat); }

}  // namespace tim::vx::ops
