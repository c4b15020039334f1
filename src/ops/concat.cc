// Concat: joins tensors along one axis.  Source: ONNX Concat-13.
#include "tim/vx/ops/concat.h"

#include <string>

#include "tim/vx/op_def.h"
#include "tim/vx/testing.h"

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
  TIMCL_TRY(op.CheckAxis(a.axis));
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    const TensorView x = op.in(k);
    const bool odd = BitsOf(x.dtype()) == 4 || x.type().per_channel();
    if (odd || op.out(0).type().per_channel() || BitsOf(op.out(0).dtype()) == 4) {
      return op
          .Error(Code::kInvalidType, "input " + to_string(k) + " 'input' " + x.label() +
                                         " and output 0 " + op.out(0).label() +
                                         ": 4-bit and per-channel tensors are not joined")
          .AtTensor(x.name());
    }
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const size_t axis = op.attrs<ConcatAttrs>().axis;
  Shape y = op.in(0).shape();
  for (size_t k = 1; k < op.num_inputs(); ++k) {
    const Shape& x = op.in(k).shape();
    const std::string both = "input 0 'input' " + op.in(0).label() + " and input " + to_string(k) +
                             " 'input' " + op.in(k).label();
    if (x.rank() != y.rank()) {
      return op.Error(Code::kInvalidShape, both + " differ in rank");
    }
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

bool IsPlainInteger(const TensorType& t) { return IsInteger(t.dtype) && !t.quantized(); }

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    const Part part = PartOf(op, k);
    const TensorType &x = op.in(k).type(), &y = op.out(0).type();
    const bool raw =
        IsInteger(x.dtype) && (SameEncoding(x, y) || (IsPlainInteger(x) && IsPlainInteger(y)));
    for (int64_t i = 0; i < x.count(); ++i) {
      const int64_t to = i / part.length * part.stride + part.start + i % part.length;
      if (raw) {
        outs[0].SetRaw(to, ins[k].Raw(i));
      } else {
        outs[0].Set(to, ins[k].At(i));
      }
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const DeviceCaps& caps) {
  if (op.out(0).type().count() > INT32_MAX) {
    return Status::Error(Code::kUnsupported, "more than 2^31 - 1 elements");
  }
  Launches launches;
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    const Part part = PartOf(op, k);
    // Neighbours in one work-item where that saves work, a work-item each where they share memory
    // accesses.
    const int64_t run = caps.is_cpu ? 16 : 1;
    const int64_t items = (part.length + run - 1) / run * (op.in(k).type().count() / part.length);
    KernelSpec spec;
    spec.source = "concat.cl";
    spec.entry = "concat";
    spec.operands = {In(k, "X"), Out(0, "Y")};
    spec.sizes = {
        {"LENGTH", part.length}, {"STRIDE", part.stride}, {"START", part.start}, {"ITEMS", items}};
    spec.defines = {{"RUN", to_string(run)}};
    spec.global = {static_cast<size_t>(items), 1, 1};
    spec.local = {64, 1, 1};
    launches.push_back(std::move(spec));
  }
  return launches;
}

void Cases(CaseMaker& make) {
  using Q = Quantization;
  auto add = [&](uint32_t axis, const std::vector<TensorType>& xs, TensorType y, const char* note) {
    Case c;
    c.attrs = MakeAttrs(ConcatAttrs{axis, static_cast<int32_t>(xs.size())});
    for (const TensorType& x : xs) c.inputs.push_back({x, false, -4, 4});
    y.shape = {};
    c.outputs = {y};
    c.note = note;
    make.Add(c);
  };
  auto f32 = [](const Shape& s) { return TensorType{DataType::FLOAT32, s, Q()}; };
  add(0, {f32({1}), f32({1})}, f32({}), "single elements");
  add(0, {f32({7})}, f32({}), "one input");
  for (uint32_t axis : {0u, 1u, 2u, 3u}) {
    std::vector<TensorType> xs;
    for (int64_t n : {3, 1, 4}) {
      Shape s = {5, 3, 2, 7};
      s[axis] = n;
      xs.push_back(f32(s));
    }
    add(axis, xs, f32({}), "axes");
  }
  add(1, {f32({300, 2}), f32({300, 5})}, f32({}), "beyond a work-group");
  add(4, {f32({2, 1, 3, 1, 2, 2}), f32({2, 1, 3, 1, 1, 2})}, f32({}), "rank 6");
  const auto a = StandardTypes({7, 5, 3}), b = StandardTypes({7, 2, 3});
  for (size_t t = 0; t < a.size(); ++t) {
    add(1, {a[t], b[t]}, a[t], "types");
    add(1, {a[t], b[(t + 1) % b.size()], a[2]}, a[(t + 2) % a.size()], "mixed types");
  }
  for (DataType d : {DataType::INT32, DataType::UINT32, DataType::INT64, DataType::BOOL8}) {
    const TensorType x = {d, {4, 6}, Q()};
    add(0, {x, x}, x, "plain integers");
  }
  add(0, {{DataType::INT32, {4, 6}, Q()}, {DataType::INT8, {2, 6}, Q()}},
      {DataType::INT16, {}, Q()}, "plain integers of several types");
  Case c;
  c.attrs = MakeAttrs(ConcatAttrs{2, 2});
  c.inputs = {{f32({56, 56, 64, 1}), false, -4, 4}, {f32({56, 56, 64, 1}), false, -4, 4}};
  c.outputs = {f32({})};
  c.note = "channels";
  c.bench = true;
  make.Add(c);
}

const OpDef kConcat = {.name = "Concat",
                       .inputs = "input*",
                       .schema = &kAttrSchema<ConcatAttrs>,
                       .verify = Verify,
                       .infer = Infer,
                       .reference = Reference,
                       .kernels = {{"general", General}},
                       .declared = Declared::kMustMatch,
                       .tolerance = Tolerance::Exact(),
                       .cases = Cases};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Concat::Concat(Graph* graph, uint32_t axis, int input_cnt)
    : BuiltinOp(graph, kConcat, MakeAttrs(ConcatAttrs{axis, input_cnt})),
      axis_(axis),
      input_cnt_(input_cnt) {}
std::shared_ptr<Operation> Concat::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<ConcatAttrs>(*this);
  return graph->CreateOperation<Concat>(a.axis, a.input_cnt);
}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(concat) { Add(kConcat); }

}  // namespace tim::vx::ops
