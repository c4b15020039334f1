// Gather, GatherNd, EmbeddingLookup: slices of a tensor that indices point at.  Source: ONNX
// Gather-13, GatherND-13; tf.gather; NNAPI EMBEDDING_LOOKUP.
#include "tim/vx/ops/gather.h"

#include <algorithm>
#include <string>

#include "tim/vx/op_kit.h"
#include "tim/vx/ops/embedding_lookup.h"
#include "tim/vx/ops/gathernd.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct GatherAttrs {
  int32_t axis = 0;        // [-rank, rank), 0 = fastest
  int32_t batch_dims = 0;  // outermost dimensions that input and indices share
  TIMCL_FIELDS(axis, batch_dims)
};

/// What is moved: `lines` times `slices` slices of `inner` elements. `shared` lines in turn have
/// the same indices. Lines of the input are x_line apart.
struct Slices {
  int64_t lines = 1, shared = 1, slices = 1, inner = 1, x_line = 0;
  struct Coordinate {
    int64_t extent, stride;
  };
  std::vector<Coordinate> coordinates;
};

/// The element at which slice k of a line begins.
int64_t PlaceOf(const Slices& s, const ref::Input& indices, int64_t line, int64_t k) {
  int64_t from = line * s.x_line;
  const int64_t tuple = line / s.shared * s.slices + k;
  const auto n = static_cast<int64_t>(s.coordinates.size());
  for (int64_t d = 0; d < n; ++d) {
    const auto [extent, stride] = s.coordinates[static_cast<size_t>(d)];
    const double limited = std::clamp(indices.At(tuple * n + d), -2147483648.0, 2147483647.0);
    auto c = static_cast<int64_t>(limited);
    if (c < 0) c += extent;
    from += std::clamp<int64_t>(c, 0, extent - 1) * stride;
  }
  return from;
}

void Move(const Slices& s, const ref::Input& x, const ref::Input& indices, ref::Output& y) {
  int64_t to = 0;
  for (int64_t line = 0; line < s.lines; ++line) {
    for (int64_t k = 0; k < s.slices; ++k) {
      const int64_t from = PlaceOf(s, indices, line, k);
      for (int64_t i = 0; i < s.inner; ++i) ref::Copy(y, to++, x, from + i);
    }
  }
}

Launches LaunchOf(const OpView& op, const KernelRequest& request, const Slices& s, size_t x,
                  size_t indices) {
  const int64_t run = RunLength(request.caps), length = s.slices * s.inner;
  const int64_t per_line = DivideUp(length, run);
  std::vector<int32_t> table;
  for (int64_t d : {per_line, s.shared, s.inner}) AppendDivision(d, &table);
  for (const auto& c : s.coordinates) {
    table.push_back(static_cast<int32_t>(c.extent));
    table.push_back(static_cast<int32_t>(c.stride));
  }
  return {{.source = "gather.cl",
           .entry = "gather",
           .operands = {In(x, "X"), In(indices, "I"), Out(0, "Y"), Data(table, "T", "int")},
           .sizes = {{"LENGTH", length},
                     {"K", s.slices},
                     {"XLINE", s.x_line},
                     {"ITEMS", s.lines * per_line}},
           .defines = {{"RUN", run},
                       {"D", s.coordinates.size()},
                       {"FLOAT_INDEX", !IsInteger(op.in(indices).dtype())}},
           .global = Grid(s.lines * per_line),
           .local = {64, 1, 1}}};
}

// ---- Gather

size_t IndexRank(const OpView& op) { return op.in(1).is_scalar() ? 0 : op.in(1).shape().rank(); }

Status VerifyGather(const OpView& op) {
  const auto& a = op.attrs<GatherAttrs>();
  TIMCL_TRY(op.CheckAxis(a.axis));
  const Shape &x = op.in(0).shape(), &indices = op.in(1).shape();
  const auto batch = static_cast<size_t>(a.batch_dims);
  if (a.batch_dims < 0 || batch > IndexRank(op) || batch >= x.rank()) {
    return op.Error(Code::kInvalidArgument, "batch_dims " + to_string(a.batch_dims) +
                                                " does not fit " + op.in_label(0) + " and " +
                                                op.in_label(1));
  }
  if (op.Axis(a.axis) >= x.rank() - batch) {
    return op.Error(Code::kInvalidArgument, "axis " + to_string(a.axis) + " of " + op.in_label(0) +
                                                " is one of the " + to_string(batch) +
                                                " dimensions of the batch");
  }
  for (size_t d = 1; d <= batch; ++d) {
    const int64_t ours = x[x.rank() - d], theirs = indices[indices.rank() - d];
    if (ours == theirs) continue;
    return op.Error(Code::kInvalidShape, op.in_label(0) + " and " + op.in_label(1) +
                                             " do not share their " + to_string(batch) +
                                             " outermost dimensions: " + to_string(ours) +
                                             " against " + to_string(theirs));
  }
  return Status();
}

Result<Shapes> InferGather(const OpView& op) {
  const auto& a = op.attrs<GatherAttrs>();
  const Shape& x = op.in(0).shape();
  const size_t axis = op.Axis(a.axis);
  Shape y;
  for (size_t d = 0; d < axis; ++d) y.push_back(x[d]);
  for (size_t d = 0; d + static_cast<size_t>(a.batch_dims) < IndexRank(op); ++d)
    y.push_back(op.in(1).shape()[d]);
  for (size_t d = axis + 1; d < x.rank(); ++d) y.push_back(x[d]);
  if (y.empty()) y.push_back(1);
  return Shapes{y};
}

Slices OfGather(const OpView& op) {
  const auto& a = op.attrs<GatherAttrs>();
  const Shape& x = op.in(0).shape();
  const auto [outer, n, inner] = x.SplitAt(op.Axis(a.axis));
  int64_t batch = 1;
  for (size_t d = x.rank() - static_cast<size_t>(a.batch_dims); d < x.rank(); ++d) batch *= x[d];
  return {outer, outer / batch, op.in(1).shape().count() / batch, inner, n * inner, {{n, inner}}};
}

Status ReferenceGather(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  return Move(OfGather(op), ins[0], ins[1], outs[0]), Status();
}
Result<Launches> LaunchGather(const OpView& op, const KernelRequest& request) {
  return LaunchOf(op, request, OfGather(op), 0, 1);
}
constexpr KernelCandidate kGatherKernels[] = {
    {"general", nullptr, LaunchGather, {KernelSpec::Epilogue::kScalar}}};

void CasesGather(CaseMaker& make) {
  using namespace cases;
  make.Of(GatherAttrs{0}).In(F32({1})).In(I32({1}), 0, 0).Note("one element");
  for (int32_t axis : {0, 1, 2, 3, -1})
    make.Of(GatherAttrs{axis}).In(F32({5, 7, 3, 4})).In(I32({6}), -3, 2).Note("axes");
  make.Of(GatherAttrs{1}).In(F32({5, 7, 2})).In(I32({3, 2, 2}), 0, 6).Note("indices of rank 3");
  make.Of(GatherAttrs{1}).In(F32({37, 9})).In(I32({11}), -9, 8).Note("beyond a run");
  make.Of(GatherAttrs{0})
      .In(F32({9, 3}))
      .In(I32({5}))
      .Values({-1, -9, -10, 9, 2147483647})
      .Note("beyond the ends");
  make.Of(GatherAttrs{0, 1}).In(F32({6, 3})).In(I32({4, 3}), 0, 5).Note("a batch");
  make.Of(GatherAttrs{1, 1}).In(F32({3, 6, 4, 2})).In(I32({5, 2}), -6, 5).Note("a batch beyond");
  make.Of(GatherAttrs{0, 2}).In(F32({6, 3, 2})).In(I32({4, 3, 2}), 0, 5).Note("two of the batch");
  make.Of(GatherAttrs{1}).In(F32({7, 5})).In(I32({4}), 0, 4).Note("types").EachType();
  make.Of(GatherAttrs{1}).In(F32({256, 4096})).In(I32({1024}), 0, 4095).Note("rows").Bench();
}

constexpr OpDef kGather = {.name = "Gather",
                           .inputs = "input indices",
                           .types = "copyable, i32 -> copyable",
                           .schema = &kAttrSchema<GatherAttrs>,
                           .verify = VerifyGather,
                           .infer = InferGather,
                           .reference = ReferenceGather,
                           .kernels = kGatherKernels,
                           .tolerance = Tolerance::Exact(),
                           .cases = TIMCL_CASES(CasesGather)};

// ---- GatherNd

/// How many numbers make one tuple.
size_t TupleOf(const Shape& indices) {
  return indices.rank() < 2 ? 1 : static_cast<size_t>(indices[0]);
}

Status VerifyGatherNd(const OpView& op) {
  TIMCL_TRY(op.CheckRank(0, 1, 64));
  TIMCL_TRY(op.CheckRank(1, 1, 64));
  const size_t rank = op.in(0).shape().rank();
  if (TupleOf(op.in(1).shape()) <= rank) return Status();
  return op.InputError(1, Code::kInvalidShape,
                       "its dimension 0 holds coordinates of at most " + to_string(rank) +
                           " numbers, the rank of " + op.in_label(0));
}

Result<Shapes> InferGatherNd(const OpView& op) {
  const Shape &x = op.in(0).shape(), &indices = op.in(1).shape();
  Shape y;
  for (size_t d = 0; d + TupleOf(indices) < x.rank(); ++d) y.push_back(x[d]);
  for (size_t d = indices.rank() < 2 ? 0 : 1; d < indices.rank(); ++d) y.push_back(indices[d]);
  if (y.empty()) y.push_back(1);
  return Shapes{y};
}

Slices OfGatherNd(const OpView& op) {
  const Shape& x = op.in(0).shape();
  const size_t tuple = TupleOf(op.in(1).shape());
  Slices s;
  for (size_t d = 0; d + tuple < x.rank(); ++d) s.inner *= x[d];
  int64_t stride = s.inner;
  for (size_t d = x.rank() - tuple; d < x.rank(); ++d) {
    s.coordinates.insert(s.coordinates.begin(), {x[d], stride});
    stride *= x[d];
  }
  s.slices = op.in(1).shape().count() / static_cast<int64_t>(tuple);
  return s;
}

Status ReferenceGatherNd(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  return Move(OfGatherNd(op), ins[0], ins[1], outs[0]), Status();
}
Result<Launches> LaunchGatherNd(const OpView& op, const KernelRequest& request) {
  return LaunchOf(op, request, OfGatherNd(op), 0, 1);
}
constexpr KernelCandidate kGatherNdKernels[] = {
    {"general", nullptr, LaunchGatherNd, {KernelSpec::Epilogue::kScalar}}};

void CasesGatherNd(CaseMaker& make) {
  using namespace cases;
  const NoAttrs none;
  make.Of(none).In(F32({1})).In(I32({1}), 0, 0).Note("one element");
  make.Of(none).In(F32({5, 4, 3})).In(I32({7}), -3, 2).Note("indices of rank 1");
  for (int64_t d : {1, 2, 3})
    make.Of(none).In(F32({5, 4, 3})).In(I32({d, 6, 2}), -3, 2).Note("tuples");
  make.Of(none).In(F32({37, 4, 3})).In(I32({2, 5}), -9, 9).Note("beyond the ends");
  make.Of(none).In(F32({7, 3})).In(I32({1, 5}), 0, 2).Note("types").EachType();
  make.Of(none).In(F32({64, 64, 64})).In(I32({2, 4096}), 0, 63).Note("rows of 64").Bench();
}

constexpr OpDef kGatherNd = {.name = "GatherNd",
                             .inputs = "input indices",
                             .types = "copyable, i32 -> copyable",
                             .schema = &kAttrSchema<NoAttrs>,
                             .verify = VerifyGatherNd,
                             .infer = InferGatherNd,
                             .reference = ReferenceGatherNd,
                             .kernels = kGatherNdKernels,
                             .tolerance = Tolerance::Exact(),
                             .cases = TIMCL_CASES(CasesGatherNd)};

// ---- EmbeddingLookup

Status VerifyLookup(const OpView& op) { return op.CheckRank(1, 1, 64); }

Result<Shapes> InferLookup(const OpView& op) {
  Shape y = op.in(1).shape();
  y[y.rank() - 1] = op.in(0).shape().count();
  return Shapes{y};
}

Slices OfLookup(const OpView& op) {
  const Shape& table = op.in(1).shape();
  const int64_t rows = table[table.rank() - 1], row = table.count() / rows;
  return {1, 1, op.in(0).shape().count(), row, 0, {{rows, row}}};
}

Status ReferenceLookup(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  return Move(OfLookup(op), ins[1], ins[0], outs[0]), Status();
}
Result<Launches> LaunchLookup(const OpView& op, const KernelRequest& request) {
  return LaunchOf(op, request, OfLookup(op), 1, 0);
}
constexpr KernelCandidate kLookupKernels[] = {
    {"general", nullptr, LaunchLookup, {KernelSpec::Epilogue::kScalar}}};

void CasesLookup(CaseMaker& make) {
  using namespace cases;
  const NoAttrs none;
  auto out = [](const TensorType& t) { return TensorType{t.dtype, {}, t.quant}; };
  make.Of(none).In(I32({1}), 0, 0).In(F32({1})).Out(F32()).Note("one element");
  make.Of(none).In(I32({5}), -4, 5).In(F32({7, 3, 4})).Out(F32()).Note("beyond the ends");
  make.Of(none).In(I32({9}), 0, 10).In(U8({35, 11})).Out(out(U8())).Note("beyond a run");
  make.Of(none).In(F16({9}), -2, 12).In(F32({5, 11})).Out(F32()).Note("f16 ids");
  make.Of(none).In(I32({4}), 0, 4).In(F32({7, 5})).Note("types").EachType();
  make.Of(none).In(I32({512}), 0, 9999).In(F32({256, 10000})).Out(F32()).Note("rows").Bench();
}

constexpr OpDef kEmbeddingLookup = {.name = "EmbeddingLookup",
                                    .inputs = "input_ids input_table",
                                    .types = "i32|f16, number -> number",
                                    .schema = &kAttrSchema<NoAttrs>,
                                    .verify = VerifyLookup,
                                    .infer = InferLookup,
                                    .reference = ReferenceLookup,
                                    .kernels = kLookupKernels,
                                    .tolerance = Tolerance::Exact(),
                                    .cases = TIMCL_CASES(CasesLookup)};

}  // namespace

TIMCL_OP_CLASS_WITH(Gather, GatherAttrs, (int axis, int batch_dims), (axis, batch_dims),
                    axis_(axis), batch_dims_(batch_dims));
TIMCL_PLAIN_OP_CLASS(GatherNd);
TIMCL_PLAIN_OP_CLASS(EmbeddingLookup);

TIMCL_OPS(gather) {
  Add(kGather);
  Add(kGatherNd);
  Add(kEmbeddingLookup);
}

}  // namespace tim::vx::ops
