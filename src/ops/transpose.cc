// Transpose: reorders dimensions.  Source: ONNX Transpose-13.
#include "tim/vx/ops/transpose.h"

#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

struct TransposeAttrs {
  std::vector<uint32_t> perm;  // extent i of the result is extent perm[i] of the input
  TIMCL_FIELDS(perm)
};

Status Verify(const OpView& op) {
  const auto& perm = op.attrs<TransposeAttrs>().perm;
  const size_t rank = op.in(0).shape().rank();
  std::vector<bool> seen(rank, false);
  bool valid = perm.size() == rank;
  for (uint32_t p : perm) {
    valid = valid && p < rank && !seen[p];
    if (valid) seen[p] = true;
  }
  if (!valid) {
    return op.Error(Code::kInvalidArgument, "attribute " + op.any_attrs().Map().ToText() +
                                                " does not name each dimension of " +
                                                op.in_label(0) + " once");
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  Shape y;
  for (uint32_t p : op.attrs<TransposeAttrs>().perm) y.push_back(op.in(0).shape()[p]);
  return Shapes{y};
}

/// Extents of the result, fastest first, and the stride of each in the input; without those of
/// extent 1, and with neighbours joined that are neighbours in the input too.
struct Walk {
  std::vector<int64_t> extent, stride;
};
Walk WalkOf(const OpView& op) {
  const Shape& x = op.in(0).shape();
  std::vector<int64_t> strides;
  int64_t step = 1;
  for (size_t d = 0; d < x.rank(); ++d) {
    strides.push_back(step);
    step *= x[d];
  }
  Walk walk;
  for (uint32_t p : op.attrs<TransposeAttrs>().perm) {
    if (x[p] == 1) continue;
    if (!walk.extent.empty() && strides[p] == walk.stride.back() * walk.extent.back()) {
      walk.extent.back() *= x[p];
    } else {
      walk.extent.push_back(x[p]);
      walk.stride.push_back(strides[p]);
    }
  }
  if (walk.extent.empty()) walk.extent = walk.stride = {1};
  return walk;
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Walk walk = WalkOf(op);
  for (int64_t i = 0; i < ins[0].count(); ++i) {
    int64_t rest = i, from = 0;
    for (size_t d = 0; d < walk.extent.size(); ++d) {
      from += rest % walk.extent[d] * walk.stride[d];
      rest /= walk.extent[d];
    }
    ref::Copy(outs[0], i, ins[0], from);
  }
  return Status();
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const Walk walk = WalkOf(op);
  const int64_t run = RunLength(request.caps);
  const int64_t across = DivideUp(walk.extent[0], run);
  const int64_t items = op.out(0).shape().count() / walk.extent[0] * across;
  std::vector<int32_t> table;
  for (size_t d = 0; d < walk.extent.size(); ++d) {
    const int64_t extent = d == 0 ? across : walk.extent[d];
    const ExactDivision by(extent);
    for (int64_t v : {extent, int64_t{by.multiplier}, int64_t{by.shift}, walk.stride[d]}) {
      table.push_back(static_cast<int32_t>(v));
    }
  }
  return Launches{{.source = "transpose.cl",
                   .entry = "transpose",
                   .operands = {In(0, "X"), Out(0, "Y"), Data(table, "T", "int")},
                   .sizes = {{"LENGTH", walk.extent[0]}, {"ITEMS", items}},
                   .defines = {{"RANK", walk.extent.size()}, {"RUN", run}},
                   .global = Grid(items),
                   .local = {64, 1, 1}}};
}

constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

void Cases(CaseMaker& make) {
  using Q = Quantization;
  auto add = [&](std::vector<uint32_t> perm, TensorType x, TensorType y, const Shape& shape,
                 const char* note) {
    Case c;
    c.attrs = MakeAttrs(TransposeAttrs{std::move(perm)});
    x.shape = shape;
    c.inputs = {{x, false, -4, 4}};
    c.outputs = {y};
    c.outputs[0].shape = {};
    c.note = note;
    make.Add(c);
  };
  const auto types = StandardTypes({});
  const TensorType& f32 = types[0];
  add({0}, f32, f32, {1}, "one element");
  add({1, 0}, f32, f32, {33, 31}, "a matrix");
  add({0, 1, 2}, f32, f32, {7, 5, 3}, "identity");
  add({2, 0, 1, 3}, f32, f32, {13, 7, 3, 2}, "WHCN to CWHN");
  add({1, 2, 0, 3}, f32, f32, {3, 13, 7, 2}, "CWHN to WHCN");
  add({3, 1, 2, 0}, f32, f32, {5, 4, 3, 2}, "outer with inner");
  add({5, 0, 4, 1, 3, 2}, f32, f32, {2, 3, 4, 5, 3, 2}, "rank 6");
  add({6, 0, 5, 1, 4, 2, 3}, f32, f32, {2, 3, 2, 2, 3, 2, 2}, "rank 7");
  add({2, 0, 1}, f32, f32, {6, 1, 4}, "an extent of 1");
  add({1, 0}, f32, f32, {1, 9}, "moves nothing");
  for (const TensorType& t : types) {
    add({2, 0, 1}, t, t, {7, 5, 3}, "types");
    add({2, 1, 0}, t, f32, {7, 5, 3}, "to f32");
    add({1, 0, 2}, types[3], t, {7, 5, 3}, "from i8");
  }
  for (DataType d :
       {DataType::INT32, DataType::UINT32, DataType::INT64, DataType::BOOL8, DataType::INT16}) {
    const TensorType plain = {d, {}, Q()};
    add({1, 0}, plain, plain, {20, 30}, "plain integers");
  }
  Case c;
  c.attrs = MakeAttrs(TransposeAttrs{{2, 0, 1, 3}});
  c.inputs = {{{DataType::FLOAT32, {112, 112, 64, 1}, Q()}, false, -4, 4}};
  c.outputs = {{DataType::FLOAT32, {}, Q()}};
  c.note = "WHCN to CWHN";
  c.bench = true;
  make.Add(c);
}

constexpr OpDef kTranspose = {.name = "Transpose",
                              .types = "copyable -> copyable",
                              .schema = &kAttrSchema<TransposeAttrs>,
                              .verify = Verify,
                              .infer = Infer,
                              .reference = Reference,
                              .kernels = kKernels,
                              .tolerance = Tolerance::Exact(),
                              .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Transpose, TransposeAttrs, (const std::vector<uint32_t>& perm), (perm),
                    perm_(perm));

TIMCL_OPS(transpose) { Add(kTranspose); }

}  // namespace tim::vx::ops
