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
  using namespace cases;
  auto add = [&](std::vector<uint32_t> perm, const Shape& x, const char* note) {
    make.Of(TransposeAttrs{perm}).In(F32(x)).Note(note);
  };
  add({0}, {1}, "one element");
  add({1, 0}, {33, 31}, "a matrix");
  add({0, 1, 2}, {7, 5, 3}, "identity");
  add({2, 0, 1, 3}, {13, 7, 3, 2}, "WHCN to CWHN");
  add({1, 2, 0, 3}, {3, 13, 7, 2}, "CWHN to WHCN");
  add({3, 1, 2, 0}, {5, 4, 3, 2}, "outer with inner");
  add({5, 0, 4, 1, 3, 2}, {2, 3, 4, 5, 3, 2}, "rank 6");
  add({6, 0, 5, 1, 4, 2, 3}, {2, 3, 2, 2, 3, 2, 2}, "rank 7");
  add({2, 0, 1}, {6, 1, 4}, "an extent of 1");
  add({1, 0}, {1, 9}, "moves nothing");
  make.Of(TransposeAttrs{{2, 0, 1}}).In(F32({7, 5, 3})).Note("types").EachType();
  for (const TensorType& t : DeclaredTypes(make.def(), 0, {7, 5, 3}))
    make.Of(TransposeAttrs{{2, 1, 0}}).In(t).Out(F32()).Note("to f32");
  make.Of(TransposeAttrs{{2, 0, 1, 3}}).In(F32({112, 112, 64, 1})).Note("WHCN to CWHN").Bench();
}

constexpr OpDef kTranspose = {.name = "Transpose",
                              .types = "copyable -> copyable",
                              .schema = &kAttrSchema<TransposeAttrs>,
                              .verify = Verify,
                              .infer = Infer,
                              .reference = Reference,
                              .kernels = kKernels,
                              .layout = LayoutRule::Permutes("perm"),
                              .tolerance = Tolerance::Exact(),
                              .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Transpose, TransposeAttrs, (const std::vector<uint32_t>& perm), (perm),
                    perm_(perm));

TIMCL_OPS(transpose) { Add(kTranspose); }

}  // namespace tim::vx::ops
