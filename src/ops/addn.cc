// AddN: the sum of any number of operands, composed of Add.  Source: tf.math.add_n; ONNX Sum-13.
#include "tim/vx/ops/addn.h"

#include <string>
#include <vector>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct AddNAttrs {
  uint32_t num_inputs = 0;  // 0: as many as are bound
  TIMCL_FIELDS(num_inputs)
};

Status Verify(const OpView& op) {
  const auto& a = op.attrs<AddNAttrs>();
  if ((a.num_inputs != 0 && a.num_inputs != op.num_inputs()) || op.num_inputs() < 2) {
    return op.Error(Code::kInvalidGraph, to_string(op.num_inputs()) +
                                             " inputs are bound, at least 2 are expected, and "
                                             "attribute num_inputs says " +
                                             to_string(a.num_inputs));
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  Shape y = op.in(0).shape();
  for (size_t k = 1; k < op.num_inputs(); ++k) {
    const Shape& x = op.in(k).shape();
    for (size_t d = 0; d < x.rank(); ++d) {
      if (d >= y.rank()) y.push_back(1);
      if (y[d] == 1) y[d] = x[d];
      if (x[d] != 1 && x[d] != y[d]) {
        return op.Error(Code::kInvalidShape,
                        op.in_label(k) + " and the inputs before it do not broadcast: dimension " +
                            to_string(d) + " (counted from the fastest) is " + to_string(x[d]) +
                            " against " + to_string(y[d]));
      }
    }
  }
  return Shapes{y};
}

bool IsPlainInteger(const TensorType& t) { return IsInteger(t.dtype) && !t.quantized(); }

/// The type of a sum in between.
TensorType Between(const OpView& op) {
  const TensorType& y = op.out(0).type();
  const bool whole = y.dtype == DataType::INT32 && !y.quantized();
  return {whole ? DataType::INT32 : DataType::FLOAT32, {}, Quantization()};
}

Status Expand(ExpandBuilder& b) {
  const size_t last = b.op().num_inputs() - 1;
  ExpandBuilder::Value sum = b.in(0);
  for (size_t k = 1; k < last; ++k) sum = b.Add("Add", {}, {sum, b.in(k)}, Between(b.op()));
  b.AddTo(0, "Add", {}, {sum, b.in(last)});
  return Status();
}

/// One addition: exact over plain integers, else in float32.
void AddInto(const ref::Input& x, int64_t i, const ref::Input& y, int64_t k, ref::Output& sum,
             int64_t to) {
  if (IsPlainInteger(x.type()) && IsPlainInteger(y.type()) && IsPlainInteger(sum.type())) {
    sum.SetRaw(to, x.Raw(i) + y.Raw(k));
  } else {
    sum.Set(to, static_cast<double>(x.Float(i) + y.Float(k)));
  }
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  // Sums in between pass through their type.
  TensorType between = Between(op);
  between.shape = {1};
  int32_t cell = 0;
  ref::Output to_cell(&cell, between);
  const ref::Input from_cell(&cell, between);
  const Shape& y = op.out(0).shape();
  const size_t last = op.num_inputs() - 1;
  std::vector<int64_t> at(op.num_inputs());
  for (int64_t i = 0; i < y.count(); ++i) {
    for (size_t k = 0; k <= last; ++k) {
      const Shape& x = op.in(k).shape();
      int64_t rest = i, stride = 1;
      at[k] = 0;
      for (size_t d = 0; d < y.rank(); ++d) {
        at[k] += x.dim(d) == 1 ? 0 : rest % y[d] * stride;
        stride *= x.dim(d);
        rest /= y[d];
      }
    }
    for (size_t k = 1; k <= last; ++k) {
      const ref::Input& sum = k == 1 ? ins[0] : from_cell;
      AddInto(sum, k == 1 ? at[0] : 0, ins[k], at[k], k == last ? outs[0] : to_cell,
              k == last ? i : 0);
    }
  }
  return Status();
}

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(AddNAttrs{2}).In(F32({1})).In(F32({1})).Note("one element");
  make.Of(AddNAttrs{}).In(F32({33, 31})).In(F32({33, 31})).In(F32({33, 31})).Note("three");
  make.Of(AddNAttrs{4})
      .In(F32({7, 1}))
      .In(F32({1, 5, 3}))
      .In(F32({1}))
      .In(F32({7, 5, 3, 2}))
      .Note("broadcasting");
  make.Of(AddNAttrs{3}).In(F32({7, 5})).In(F32({7, 5})).In(F32({7})).Note("types").EachType();
  const double top = 2147483647.0;
  make.Of(AddNAttrs{3})
      .In(I32({4}), -top, top)
      .In(I32({4}), -top, top)
      .In(I32({4}), -top, top)
      .Values({-top, 5, 16777217, top})
      .Note("each sum saturates");
  make.Of(AddNAttrs{3})
      .In(I32({4}))
      .In(F32({4}))
      .In(F32({4}))
      .Note("float summands of an i32 are rounded one by one");
  make.Of(AddNAttrs{4})
      .In(F32({256, 256}))
      .In(F32({256, 256}))
      .In(F32({256, 256}))
      .In(F32({256, 256}))
      .Note("four")
      .Bench();
}

constexpr OpDef kAddN = {.name = "AddN",
                         .inputs = "input*",
                         .types = "number* -> number",
                         .schema = &kAttrSchema<AddNAttrs>,
                         .verify = Verify,
                         .infer = Infer,
                         .reference = Reference,
                         .expand = Expand,
                         .layout = LayoutRule::SameForAll(),
                         .tolerance = Tolerance::Exact(),
                         .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(AddN, AddNAttrs, (uint32_t num_inputs), (num_inputs), num_inputs_(num_inputs));

TIMCL_OPS(addn) { Add(kAddN); }

}  // namespace tim::vx::ops
