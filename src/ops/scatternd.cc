// ScatterND, ScatterND_ONNX_V16: slices that go to rows of a tensor.  Source: tf.scatter_nd; ONNX
// ScatterND-18.
#include "tim/vx/ops/scatternd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tim/vx/op_kit.h"
#include "tim/vx/ops/scatternd_onnx_v16.h"

namespace tim::vx::ops {

using Reduction = ScatterND_ONNX_V16::ReductionType;
TIMCL_ENUM(ScatterND_ONNX_V16::ReductionType, {ScatterND_ONNX_V16::REDUCTION_NONE, "NONE"},
           {ScatterND_ONNX_V16::REDUCTION_ADD, "ADD"}, {ScatterND_ONNX_V16::REDUCTION_MUL, "MUL"},
           {ScatterND_ONNX_V16::REDUCTION_MAX, "MAX"}, {ScatterND_ONNX_V16::REDUCTION_MIN, "MIN"});

namespace {

using std::to_string;

struct ScatterAttrs {
  std::vector<uint32_t> shape;  // of the output, fastest first
  TIMCL_FIELDS(shape)
};
struct UpdateAttrs {
  Reduction reduction = ScatterND_ONNX_V16::REDUCTION_NONE;
  TIMCL_FIELDS(reduction)
};

/// ScatterND: indices 0, updates 1. ScatterND_ONNX_V16: data 0, indices 1, updates 2.
struct Operands {
  size_t indices, updates;
  bool has_data;
};
Operands OperandsOf(const OpView& op) {
  return op.num_inputs() == 2 ? Operands{0, 1, false} : Operands{1, 2, true};
}
Shape TargetOf(const OpView& op) {
  return OperandsOf(op).has_data ? op.in(0).shape() : Shape(op.attrs<ScatterAttrs>().shape);
}
Reduction ReductionOf(const OpView& op) {
  return OperandsOf(op).has_data ? op.attrs<UpdateAttrs>().reduction
                                 : ScatterND_ONNX_V16::REDUCTION_ADD;
}
/// How many numbers make one tuple.
size_t TupleOf(const Shape& indices) {
  return indices.rank() < 2 ? 1 : static_cast<size_t>(indices[0]);
}

struct Slices {
  int64_t count, inner = 1, rows = 1;
  struct Coordinate {
    int64_t extent, stride;  // the stride in rows
  };
  std::vector<Coordinate> coordinates;
};
Slices SlicesOf(const OpView& op) {
  const Shape target = TargetOf(op), &indices = op.in(OperandsOf(op).indices).shape();
  const size_t tuple = TupleOf(indices);
  Slices s;
  s.count = indices.count() / static_cast<int64_t>(tuple);
  for (size_t d = 0; d < target.rank(); ++d) {
    if (d + tuple < target.rank()) {
      s.inner *= target[d];
    } else {
      s.coordinates.insert(s.coordinates.begin(), {target[d], s.rows});
      s.rows *= target[d];
    }
  }
  return s;
}

Status Verify(const OpView& op) {
  const auto [indices, updates, has_data] = OperandsOf(op);
  const Shape target = TargetOf(op);
  if (!has_data) {
    if (target.empty()) return op.Error(Code::kInvalidArgument, "attribute shape is empty");
    if (auto n = target.CheckedCount(); !n.ok()) {
      return op.Error(Code::kInvalidArgument,
                      "attribute shape " + target.ToString() + ": " + n.status().detail());
    }
  }
  TIMCL_TRY(op.CheckRank(indices, 1, 64));
  const size_t tuple = TupleOf(op.in(indices).shape());
  if (tuple > target.rank()) {
    return op.InputError(indices, Code::kInvalidShape,
                         "its dimension 0 holds coordinates of at most " +
                             to_string(target.rank()) + " numbers, the rank of the output " +
                             target.ToString());
  }
  const Slices s = SlicesOf(op);
  if (op.in(updates).shape().count() == s.count * s.inner) return Status();
  return op.InputError(updates, Code::kInvalidShape,
                       "must have " + to_string(s.count * s.inner) + " elements: " +
                           to_string(s.count) + " slices of " + to_string(s.inner) + ", as " +
                           op.in_label(indices) + " and the output " + target.ToString() + " say");
}

Result<Shapes> Infer(const OpView& op) { return Shapes{TargetOf(op)}; }

/// The row of slice t, -1 outside.
int64_t RowOf(const Slices& s, const ref::Input& indices, int64_t t) {
  int64_t row = 0;
  const auto n = static_cast<int64_t>(s.coordinates.size());
  for (int64_t d = 0; d < n; ++d) {
    const auto [extent, stride] = s.coordinates[static_cast<size_t>(d)];
    int64_t c = indices.Raw(t * n + d);
    if (c < 0) c += extent;
    if (c < 0 || c >= extent) return -1;
    row += c * stride;
  }
  return row;
}

template <class T>
T Fold(Reduction kind, T r, T v) {
  switch (kind) {
    case ScatterND_ONNX_V16::REDUCTION_ADD:
      return r + v;
    case ScatterND_ONNX_V16::REDUCTION_MUL:
      if constexpr (std::is_same_v<T, int64_t>) {
        int64_t product = 0;
        if (!__builtin_mul_overflow(r, v, &product)) return product;
        return (r < 0) == (v < 0) ? std::numeric_limits<int64_t>::max()
                                  : std::numeric_limits<int64_t>::min();
      }
      return r * v;
    case ScatterND_ONNX_V16::REDUCTION_MAX:
      return v > r || v != v ? v : r;
    case ScatterND_ONNX_V16::REDUCTION_MIN:
      return v < r || v != v ? v : r;
    default:
      return v;
  }
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto [indices, updates, has_data] = OperandsOf(op);
  const Reduction kind = ReductionOf(op);
  const Slices s = SlicesOf(op);
  const int64_t n = s.rows * s.inner;
  auto each = [&, indices = indices](auto put) {
    for (int64_t t = 0; t < s.count; ++t) {
      const int64_t row = RowOf(s, ins[indices], t);
      if (row < 0) continue;
      for (int64_t i = 0; i < s.inner; ++i) put(row * s.inner + i, t * s.inner + i);
    }
  };
  if (kind == ScatterND_ONNX_V16::REDUCTION_NONE) {
    for (int64_t i = 0; i < n; ++i) ref::Copy(outs[0], i, ins[0], i);
    each([&, updates = updates](int64_t to, int64_t from) {
      ref::Copy(outs[0], to, ins[updates], from);
    });
    return Status();
  }
  return ref::Compute(op, [&, updates = updates, has_data = has_data](auto zero) {
    using T = decltype(zero);
    std::vector<T> sums(static_cast<size_t>(n));
    if (has_data)
      for (int64_t i = 0; i < n; ++i) sums[static_cast<size_t>(i)] = ins[0].As<T>(i);
    each([&](int64_t to, int64_t from) {
      T& r = sums[static_cast<size_t>(to)];
      r = Fold<T>(kind, r, ins[updates].As<T>(from));
    });
    for (int64_t i = 0; i < n; ++i) outs[0].Put(i, sums[static_cast<size_t>(i)]);
  });
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const auto [indices, updates, has_data] = OperandsOf(op);
  const Reduction kind = ReductionOf(op);
  const Slices s = SlicesOf(op);
  const int64_t n = s.rows * s.inner;
  const bool direct = kind == ScatterND_ONNX_V16::REDUCTION_NONE;
  const bool whole = ref::ArithmeticOf(op) == ref::Arithmetic::kInteger;
  const Operand sums =
      Scratch(0, static_cast<size_t>(n) * (whole ? sizeof(int64_t) : sizeof(float)), "S",
              whole ? "long" : "float");
  std::vector<int32_t> table;
  for (const auto& c : s.coordinates) {
    table.push_back(static_cast<int32_t>(c.extent));
    table.push_back(static_cast<int32_t>(c.stride));
  }
  // Each slab of rows reads all indices: a few for a CPU, more for a GPU.
  const int64_t slabs = std::min<int64_t>(s.rows, request.caps.is_cpu ? 8 : 128);
  const int64_t per = DivideUp(s.rows, slabs), run = RunLength(request.caps);
  KernelSpec fill, put, store;
  if (direct) {
    fill.source = "copy.cl", fill.entry = "copy";
    fill.operands = {In(0, "X"), Out(0, "Y")};
  } else {
    fill.source = "scatter.cl", fill.entry = "scatter";
    if (has_data) fill.operands.push_back(In(0, "X"));
    fill.operands.push_back(sums);
    fill.defines = {{"STEP", 0}, {"FROM_ZERO", !has_data}, {"RUN", run}};
  }
  fill.sizes = {{"N", n}};
  fill.global = Grid(direct ? n : DivideUp(n, run));
  fill.local = {64, 1, 1};
  put.source = "scatter.cl", put.entry = "scatter";
  put.operands = {In(indices, "I"), In(updates, "U"), Data(table, "C", "int"),
                  direct ? Out(0, "Y") : sums};
  put.sizes = {{"COUNT", s.count}, {"INNER", s.inner}, {"ROWS", s.rows}, {"PER", per}};
  put.defines = {{"STEP", 1},
                 {"KIND", static_cast<int>(kind)},
                 {"DIRECT", direct},
                 {"RUN", run},
                 {"D", s.coordinates.size()}};
  put.dims = 2;
  put.global = Grid(DivideUp(s.inner, run), DivideUp(s.rows, per));
  store.source = "scatter.cl", store.entry = "scatter";
  store.operands = {sums, Out(0, "Y")};
  store.sizes = {{"N", n}};
  store.defines = {{"STEP", 2}, {"RUN", run}};
  store.global = Grid(DivideUp(n, run));
  store.local = {64, 1, 1};
  fill.float_math = put.float_math = store.float_math = !whole;
  if (direct) return Launches{fill, put};
  return Launches{fill, put, store};
}
constexpr KernelCandidate kKernels[] = {{"general", nullptr, General}};

void CasesOfScatter(CaseMaker& make) {
  using namespace cases;
  using A = ScatterAttrs;
  auto out = [](const TensorType& t) { return TensorType{t.dtype, {}, t.quant}; };
  auto add = [&](A a, const Shape& indices, const TensorType& updates, const char* note) {
    make.Of(std::move(a)).In(I32(indices), -3, 2).In(updates).Out(out(updates)).Note(note);
  };
  add({{1}}, {1}, F32({1}), "one element");
  add({{7}}, {1, 5}, F32({5}), "elements, some twice");
  add({{5, 4}}, {6}, F32({5, 6}), "indices of rank 1");
  add({{5, 4, 3}}, {1, 6}, F32({5, 4, 6}), "rows");
  add({{5, 4, 3}}, {2, 3, 2}, F32({5, 3, 2}), "pairs");
  add({{5, 4, 3}}, {3, 9}, F32({9}), "triples");
  add({{37, 9}}, {1, 20}, F32({37, 20}), "beyond a run");
  add({{9, 11}}, {2, 40}, I32({40}), "whole numbers");
  make.Of(A{{3, 4}})
      .In(I32({1, 6}))
      .Values({0, -1, 4, -5, 3, 2147483647})
      .In(F32({3, 6}))
      .Out(F32())
      .Note("beyond the ends");
  make.Of(A{{7, 5}}).In(I32({1, 6}), 0, 4).In(F32({7, 6})).Note("types").EachType();
  make.Of(A{{256, 4096}})
      .In(I32({1, 1024}), 0, 4095)
      .In(F32({256, 1024}))
      .Out(F32())
      .Note("rows")
      .Bench();
}

void CasesOfUpdate(CaseMaker& make) {
  using namespace cases;
  for (int k = 0; k < 5; ++k) {
    const UpdateAttrs a = {static_cast<Reduction>(k)};
    make.Of(a).In(F32({1})).In(I32({1}), 0, 0).In(F32({1})).Note("one element");
    make.Of(a).In(F32({5, 4, 3})).In(I32({2, 9}), -3, 2).In(F32({5, 9})).Note("pairs, some twice");
    make.Of(a).In(F32({37, 9})).In(I32({1, 20}), -9, 9).In(F32({37, 20})).Note("beyond a run");
    make.Of(a)
        .In(I32({3, 4}), -70000, 70000)
        .In(I32({1, 6}))
        .Values({0, -1, 4, -5, 3, 3})
        .In(I32({3, 6}), -70000, 70000)
        .Note("beyond the ends, saturating");
    make.Of(a)
        .In(F32({6}))
        .In(I32({1, 8}), 0, 5)
        .In(F32({8}))
        .Values({1, -2, std::numeric_limits<double>::quiet_NaN(), 3,
                 std::numeric_limits<double>::infinity()})
        .Note("infinity, NaN");
    if (k > 1) continue;
    make.Of(a).In(F32({7, 5})).In(I32({1, 6}), 0, 4).In(F32({7, 6})).Note("types").EachType();
  }
  make.Of(UpdateAttrs{})
      .In(F32({256, 4096}))
      .In(I32({1, 1024}), 0, 4095)
      .In(F32({256, 1024}))
      .Note("rows")
      .Bench();
}

constexpr OpDef kScatterND = {.name = "ScatterND",
                              .inputs = "input_indices input_updates",
                              .types = "i32, number|u32 -> number|u32",
                              .schema = &kAttrSchema<ScatterAttrs>,
                              .verify = Verify,
                              .infer = Infer,
                              .reference = Reference,
                              .kernels = kKernels,
                              .tolerance = Tolerance::Sum(),
                              .cases = TIMCL_CASES(CasesOfScatter)};

constexpr OpDef kScatterND_ONNX_V16 = {.name = "ScatterND_ONNX_V16",
                                       .inputs = "input_data input_indices input_updates",
                                       .types = "number|u32, i32, number|u32 -> number|u32",
                                       .schema = &kAttrSchema<UpdateAttrs>,
                                       .verify = Verify,
                                       .infer = Infer,
                                       .reference = Reference,
                                       .kernels = kKernels,
                                       .tolerance = Tolerance::Sum(),
                                       .cases = TIMCL_CASES(CasesOfUpdate)};

}  // namespace

TIMCL_OP_CLASS_WITH(ScatterND, ScatterAttrs, (const std::vector<uint32_t>& shape), (shape),
                    shape_(shape));
TIMCL_OP_CLASS_WITH(ScatterND_ONNX_V16, UpdateAttrs, (ReductionType reduction), (reduction),
                    reduction_(reduction));

TIMCL_OPS(scatternd) {
  Add(kScatterND);
  Add(kScatterND_ONNX_V16);
}

}  // namespace tim::vx::ops
