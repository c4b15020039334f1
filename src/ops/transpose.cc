// Transpose: reorders dimensions.  Source: ONNX Transpose-13.
#include "tim/vx/ops/transpose.h"

#include <algorithm>
#include <string>

#include "tim/vx/exact_division.h"
#include "tim/vx/fold_rule.h"
#include "tim/vx/lines.h"
#include "tim/vx/strided_view.h"

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
  const TensorType &x = op.in(0).type(), &y = op.out(0).type();
  if (!x.per_channel()) return Status();
  Quantization moved = x.quant;
  for (size_t d = 0; d < rank; ++d) {
    if (static_cast<int32_t>(perm[d]) == x.quant.ChannelDim())
      moved.SetChannelDim(static_cast<int32_t>(d));
  }
  if (y.quant == moved) return Status();
  return op.OutputError(0, Code::kInvalidArgument,
                        "its scales must be those of " + op.in_label(0) + ", along dimension " +
                            std::to_string(moved.ChannelDim()));
}

Result<Shapes> Infer(const OpView& op) {
  Shape y;
  for (uint32_t p : op.attrs<TransposeAttrs>().perm) y.push_back(op.in(0).shape()[p]);
  return Shapes{y};
}

Result<StridedView> ViewOf(const OpView& op) {
  const StridedView whole = strided_view::Whole(op.in(0).shape());
  StridedView view;
  for (uint32_t p : op.attrs<TransposeAttrs>().perm) view.Append(whole.extent[p], whole.stride[p]);
  return view;
}
using Op = ViewOp<ViewOf>;

/// A dimension of the result: how many elements, and how far apart they lie in the input and in the
/// result.
struct Digit {
  int64_t extent, from, to;
};
/// The dimensions of the result without those of one element; neighbours that stay together are
/// one.
std::vector<Digit> DigitsOf(const OpView& op) {
  const StridedView whole = strided_view::Whole(op.in(0).shape());
  std::vector<Digit> digits;
  int64_t to = 1;
  for (uint32_t p : op.attrs<TransposeAttrs>().perm) {
    const int64_t extent = whole.extent[p], from = whole.stride[p];
    if (extent == 1) continue;
    if (!digits.empty() && from == digits.back().from * digits.back().extent) {
      digits.back().extent *= extent;
    } else {
      digits.push_back({extent, from, to});
    }
    to *= extent;
  }
  return digits;
}
/// The digit along which the input's elements are neighbours.
size_t TurnOf(const std::vector<Digit>& digits) {
  size_t turn = 0;
  while (turn < digits.size() && digits[turn].from != 1) ++turn;
  return turn;
}

Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.is_cpu) return refuse("not a CPU");
  if (!IsWide(op.in(0)) || !IsWide(op.out(0))) return refuse("not of types for vectors");
  const std::vector<Digit> digits = DigitsOf(op);
  const size_t turn = TurnOf(digits);
  if (turn == digits.size()) return refuse("it moves nothing");
  if (digits[0].extent < 16 || digits[turn].extent < 16) return refuse("too narrow for vectors");
  return KernelOffer{KernelSpec::Epilogue::kLanes};
}

Result<Launches> Vectors(const OpView& op, const KernelRequest& request) {
  const std::vector<Digit> digits = DigitsOf(op);
  const size_t turn = TurnOf(digits);
  int64_t count = 1;
  std::vector<int32_t> table;
  for (size_t d = 1; d < digits.size(); ++d) {
    const int64_t extent = d == turn ? 1 : digits[d].extent;
    count *= extent;
    AppendDivision(extent, &table);
    table.push_back(static_cast<int32_t>(digits[d].from));
    table.push_back(static_cast<int32_t>(digits[d].to));
  }
  if (table.empty()) table.push_back(0);
  KernelSpec spec;
  spec.source = "transpose16.cl";
  spec.entry = "transpose16";
  spec.operands = {In(0, "X"), Out(0, "Y"), Data(table, "T", "int")};
  spec.sizes = {{"LENGTH", digits[0].extent}};
  spec.defines = {{"RANK", digits.size()}, {"TURNED", turn != 0}};
  spec.float_math = true;
  if (turn != 0) {
    spec.sizes.emplace_back("X_STEP", digits[0].from);
    spec.sizes.emplace_back("TURN_LENGTH", digits[turn].extent);
    spec.sizes.emplace_back("Y_STEP", digits[turn].to);
    spec.dims = 2;
    spec.global = Grid(DivideUp(digits[0].extent, 16), count);
  } else {
    const int64_t run = lines::RunOf(request, count, digits[0].extent);
    spec.sizes.emplace_back("ITEMS", count);
    spec.sizes.emplace_back("RUN", run);
    spec.global = Grid(DivideUp(count, run));
  }
  return Launches{spec};
}
constexpr KernelCandidate kKernels[] = {{"vectors", AcceptsVectors, Vectors}, Op::kKernels[0]};

/// Where dimensions of one cell alone move, the elements stay.
std::optional<OtherOp> Simpler(const OpView& op) {
  const Shape& x = op.in(0).shape();
  uint32_t before = 0;
  for (uint32_t p : op.attrs<TransposeAttrs>().perm) {
    if (x[p] == 1) continue;
    if (p < before) return std::nullopt;
    before = p;
  }
  // One that moves no dimension at all may keep scales by channel.
  if (op.in(0).type().per_channel() && !SameEncoding(op.in(0).type(), op.out(0).type()))
    return std::nullopt;
  const Shapes y = *Infer(op);
  return OtherOp{"Reshape", {{"target_shape", y[0].dims()}}};
}
constexpr FoldRule kFolds = {.simpler = Simpler};

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
  add({0, 2, 1, 3}, {16, 5, 3, 2}, "lines of a vector");
  add({0, 2, 1}, {37, 5, 3}, "lines of some vectors");
  add({0, 3, 2, 1}, {70, 3, 4, 5}, "long lines");
  add({1, 0}, {16, 17}, "a vector each way");
  add({1, 0, 2}, {49, 35, 3}, "matrices of some vectors");
  add({2, 0, 1, 3}, {7, 5, 21, 2}, "WHCN to CWHN, vectors");
  add({1, 2, 0, 3}, {33, 6, 5, 2}, "CWHN to WHCN, vectors");
  add({2, 1, 0}, {19, 5, 18}, "outer with inner, vectors");
  for (const std::vector<uint32_t>& perm : {std::vector<uint32_t>{0, 2, 1}, {2, 0, 1}}) {
    for (const TensorType& t :
         {U8({18, 3, 20}), I8({18, 3, 20}), I16({18, 3, 20}), F16({18, 3, 20})}) {
      make.Of(TransposeAttrs{perm}).In(t).Note("vectors");
      make.Of(TransposeAttrs{perm}).In(t).Out(F32()).Note("vectors, to f32");
    }
  }
  make.Of(TransposeAttrs{{1, 0, 2}})
      .In(F32({7, 5, 3}))
      .Out(F32({5, 7, 3}))
      .Note("types")
      .EachType();
  make.Of(TransposeAttrs{{2, 0, 1}})
      .In(PerChannel(DataType::INT8, {7, 5, 3}, 1))
      .Out(TensorType{DataType::INT8, {}, PerChannel(DataType::INT8, {3, 7, 5}, 2).quant})
      .Note("channels move");
  for (const TensorType& t : DeclaredTypes(make.def(), 0, {7, 5, 3}))
    make.Of(TransposeAttrs{{2, 1, 0}}).In(t).Out(F32()).Note("to f32");
  make.Of(TransposeAttrs{{2, 0, 1, 3}}).In(F32({112, 112, 64, 1})).Note("WHCN to CWHN").Bench();
  make.Of(TransposeAttrs{{2, 0, 1, 3}}).In(F16({112, 112, 64, 1})).Note("WHCN to CWHN").Bench();
  make.Of(TransposeAttrs{{0, 2, 1}}).In(F32({64, 12, 128})).Note("heads of attention").Bench();
  make.Of(TransposeAttrs{{1, 0}}).In(F32({1024, 1024})).Note("a large matrix").Bench();
}

constexpr OpDef kTranspose = {.name = "Transpose",
                              .types =
                                  "copyable -> copyable; "
                                  "i8:pc -> i8:pc; u8:pc -> u8:pc; i16:pc -> i16:pc; "
                                  "i32:pc -> i32:pc; i4:pc -> i4:pc; u4:pc -> u4:pc; "
                                  "i8:apc -> i8:apc; u8:apc -> u8:apc; "
                                  "u32:q|i64:q -> ==0",  // all that an operator may be handed
                              .schema = &kAttrSchema<TransposeAttrs>,
                              .verify = Verify,
                              .infer = Infer,
                              .reference = Op::Reference,
                              .kernels = kKernels,
                              .layout = LayoutRule::Permutes("perm"),
                              .tolerance = Tolerance::Exact(),
                              .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(Transpose, TransposeAttrs, (const std::vector<uint32_t>& perm), (perm),
                    perm_(perm));

TIMCL_OPS(transpose) {
  Add(kTranspose);
  AddFoldRule(kTranspose, &kFolds);
}

}  // namespace tim::vx::ops
