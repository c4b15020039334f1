// Reductions over any set of dimensions.  Source: ONNX ReduceMin-13, ReduceMax-13, ReduceSum-13,
// ReduceMean-13, ReduceProd-13; tf.math.reduce_any, reduce_all.
#include "tim/vx/ops/reduce.h"

#include <cmath>
#include <limits>

#include "tim/vx/fold_rule.h"
#include "tim/vx/op_kit.h"
#include "tim/vx/reduction.h"
#include "tim/vx/weighted_sum_bytes.h"

namespace tim::vx::ops {
namespace {

struct ReduceAttrs {
  std::vector<int32_t> axis;  // each in [-rank, rank), 0 = fastest
  bool keep_dims = false;
  TIMCL_FIELDS(axis, keep_dims)
};

enum Kind { kMin, kMax, kSum, kMean, kProd, kAny, kAll };

Status Verify(const OpView& op) {
  for (int32_t a : op.attrs<ReduceAttrs>().axis) TIMCL_TRY(op.CheckAxis(a));
  return Status();
}

Reduction ReductionOf(const OpView& op) { return {op, op.attrs<ReduceAttrs>().axis}; }

Result<Shapes> Infer(const OpView& op) {
  return Shapes{ReductionOf(op).Result(op.attrs<ReduceAttrs>().keep_dims)};
}

/// Stored numbers of an integer input are summed as they are, less the zero point.
bool SumsIntegers(const OpView& op, Kind kind) {
  return (kind == kSum || kind == kMean) && IsInteger(op.in(0).dtype());
}
/// Such a mean with an integer result is one multiplication of the exact sum.
bool MeanIsScaled(const OpView& op, Kind kind) {
  return kind == kMean && SumsIntegers(op, kind) && IsInteger(op.out(0).dtype());
}
/// What one unit of an exact sum stands for in the result.
float ScaleOf(const OpView& op, Kind kind) {
  double scale = op.in(0).type().scale();
  if (IsInteger(op.out(0).dtype())) scale /= op.out(0).type().scale();
  if (MeanIsScaled(op, kind)) scale /= static_cast<double>(ReductionOf(op).terms());
  return static_cast<float>(scale);
}

/// |n| beyond which any further factor but 0 leaves an integer product out of range.
constexpr int64_t kProductLimit = 4294967295;

template <class T>
T Fold(Kind kind, T r, T v) {
  switch (kind) {
    case kMin:
      return v < r || v != v ? v : r;
    case kMax:
      return v > r || v != v ? v : r;
    case kProd:
      if constexpr (std::is_same_v<T, int64_t>)
        return std::clamp(r * v, -kProductLimit, kProductLimit);
      return r * v;
    case kAny:
      return r != 0 || v != 0 ? T(1) : T(0);
    case kAll:
      return r != 0 && v != 0 ? T(1) : T(0);
    default:
      return r + v;
  }
}

/// a / n to the nearest whole number, halves to even.
int64_t DivideToNearest(int64_t a, int64_t n) {
  int64_t q = a / n;
  const int64_t left = 2 * (a < 0 ? q * n - a : a - q * n);
  if (left > n || (left == n && q % 2 != 0)) q += a < 0 ? -1 : 1;
  return q;
}

template <Kind kind>
Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Reduction r = ReductionOf(op);
  const auto results = static_cast<size_t>(r.results());
  auto gather = [&](auto zero, auto value) {
    using T = decltype(zero);
    std::vector<T> acc(results, kind == kProd || kind == kAll ? T(1) : T(0));
    std::vector<bool> seen(results, false);
    for (int64_t i = 0; i < ins[0].count(); ++i) {
      const auto to = static_cast<size_t>(r.ResultOf(i));
      const bool first = (kind == kMin || kind == kMax) && !seen[to];
      acc[to] = first ? value(i) : Fold<T>(kind, acc[to], value(i));
      seen[to] = true;
    }
    return acc;
  };
  const int64_t n = r.terms();
  if (SumsIntegers(op, kind) && ref::ArithmeticOf(op) != ref::Arithmetic::kInteger) {
    const int64_t zero_point = op.in(0).type().zero_point();
    const auto sums = gather(int64_t{0}, [&](int64_t i) { return ins[0].Raw(i) - zero_point; });
    const float scale = ScaleOf(op, kind);
    for (size_t i = 0; i < results; ++i) {
      const auto to = static_cast<int64_t>(i);
      if (kind == kMean && !MeanIsScaled(op, kind)) {
        outs[0].Set(to, static_cast<float>(sums[i]) * scale / static_cast<float>(n));
      } else {
        outs[0].SetScaled(to, sums[i], scale);
      }
    }
    return Status();
  }
  return ref::Compute(op, [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> acc = gather(zero, [&](int64_t i) { return ins[0].As<T>(i); });
    for (size_t i = 0; i < results; ++i) {
      T v = acc[i];
      if constexpr (std::is_same_v<T, int64_t>) {
        if (kind == kMean) v = DivideToNearest(v, n);
      } else {
        if (kind == kMean) v = v / static_cast<T>(n);
      }
      outs[0].Put(static_cast<int64_t>(i), v);
    }
  });
}

template <Kind kind>
Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const Reduction r = ReductionOf(op);
  const TensorType& x = op.in(0).type();
  const bool exact = SumsIntegers(op, kind);
  std::string acc = "acc_t";
  if (exact) {
    const int64_t zero = x.zero_point();
    const int64_t reach = std::max(HighestOf(x.dtype) - zero, zero - LowestOf(x.dtype));
    acc = reach <= std::numeric_limits<int32_t>::max() / r.terms() ? "int" : "long";
  } else if (kind == kAny || kind == kAll) {
    acc = "int";
  }
  // A rounded result shows the order of float additions, which is then the reference's.
  const bool in_order =
      !exact && (kind == kSum || kind == kMean || kind == kProd) && IsInteger(op.out(0).dtype());
  KernelSpec spec;
  spec.source = "reduce.cl";
  spec.entry = "reduce";
  spec.operands = {In(0, "X"), Out(0, "Y")};
  r.Launch(request.caps, in_order ? 1 : 16, &spec);
  spec.sizes.emplace_back("COUNT", r.terms());
  spec.reals = {{"SCALE", ScaleOf(op, kind)}};
  for (const Define& d : {Define("KIND", static_cast<int>(kind)), Define("ACC", acc),
                          Define("EXACT", exact), Define("MEAN_SCALED", MeanIsScaled(op, kind))})
    spec.defines.push_back(d);
  return Launches{spec};
}
template <Kind kind>
constexpr KernelCandidate kKernels[] = {{"general", nullptr, General<kind>}};

/// The mean of whole planes, read in blocks of channels, as pooling with a window over the input.
Status CheckPlanes(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  const Shape& x = op.in(0).shape();
  if (x.rank() != 4) return refuse("only rank 4");
  std::vector<bool> reduced(4, false);
  for (int32_t a : op.attrs<ReduceAttrs>().axis)
    reduced[static_cast<size_t>(a < 0 ? a + 4 : a)] = true;
  if (reduced != std::vector<bool>{true, true, false, false})
    return refuse("only over the first two dimensions");
  return Status();
}
KernelSpec PlanesSpec(const OpView& op, const char* entry, int type) {
  const Shape& x = op.in(0).shape();
  KernelSpec spec;
  spec.source = std::string(entry) + ".cl";
  spec.entry = entry;
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"IW", x[0]},    {"IH", x[1]},    {"KW", x[0]}, {"KH", x[1]}, {"OW", 1},  {"OH", 1},
                {"STRIDE_X", 1}, {"STRIDE_Y", 1}, {"LEFT", 0},  {"TOP", 0},   {"C", x[2]}};
  spec.defines = {{"TYPE", type}, {"PLAIN", 1}};
  spec.dims = 3;
  spec.global = Grid(1, DivideUp(x[2], kChannelBlock), x[3]);
  return spec;
}
Result<KernelOffer> AcceptsFloatPlanes(const OpView& op, const KernelRequest& request) {
  TIMCL_TRY(CheckPlanes(op, request));
  for (const TensorView& t : {op.in(0), op.out(0)}) {
    if (t.dtype() != DataType::FLOAT32 && t.dtype() != DataType::FLOAT16)
      return Status::Error(Code::kUnsupported, "only f32 and f16");
  }
  return KernelOffer{KernelSpec::Epilogue::kVector};
}
Result<Launches> FloatPlanes(const OpView& op, const KernelRequest&) {
  return Launches{PlanesSpec(op, "pool_block", 1)};
}
Result<KernelOffer> AcceptsBytePlanes(const OpView& op, const KernelRequest& request) {
  TIMCL_TRY(CheckPlanes(op, request));
  if (!weighted_sum::IsByte(op.in(0).type()) || !weighted_sum::IsByte(op.out(0).type()))
    return Status::Error(Code::kUnsupported, "only i8 and u8 with one scale");
  const Shape& x = op.in(0).shape();
  if (x[0] * x[1] > std::numeric_limits<int32_t>::max() / 512)
    return Status::Error(Code::kUnsupported, "sums may leave 32 bits");
  return KernelOffer{KernelSpec::Epilogue::kLanes};
}
Result<Launches> BytePlanes(const OpView& op, const KernelRequest&) {
  KernelSpec spec = PlanesSpec(op, "pool_block8", 4);
  spec.reals = {{"SCALE", ScaleOf(op, kMean)}};
  spec.defines.emplace_back("DOT", 0);
  return Launches{spec};
}
constexpr TensorForm kPlain = TensorForm::kPlain, kBlocked = TensorForm::kBlocked;
template <>
constexpr KernelCandidate kKernels<kMean>[] = {
    {"general", nullptr, General<kMean>},
    {"blocks to plain", AcceptsFloatPlanes, FloatPlanes, {}, false, kBlocked, kPlain},
    {"bytes to plain", AcceptsBytePlanes, BytePlanes, {}, false, kBlocked, kPlain}};

template <Kind kind>
void Cases(CaseMaker& make) {
  using namespace cases;
  const bool logical = kind == kAny || kind == kAll;
  // Products stay in the range of the types.
  const double lo = kind == kProd ? 0.5 : -4, hi = kind == kProd ? 1.5 : 4;
  auto type = [&](const Shape& s) { return logical ? Plain(DataType::BOOL8, s) : F32(s); };
  auto add = [&](std::vector<int32_t> axis, bool keep, const Shape& s, const char* note) {
    make.Of(ReduceAttrs{std::move(axis), keep}).In(type(s), lo, hi).Note(note);
  };
  add({0}, false, {1}, "one element");
  add({0}, false, {7}, "to a scalar");
  add({0}, true, {53}, "to one element");
  for (int32_t axis : {0, 1, 2, 3, -1, -4}) add({axis}, axis % 2 == 0, {19, 5, 3, 2}, "axes");
  add({0, 1}, false, {7, 5, 3, 2}, "the first two");
  add({-3, 0}, true, {5, 7, 35, 2}, "planes of many channels");
  if (!logical) {
    make.Of(ReduceAttrs{{0, 1}, false})
        .In(Affine(DataType::INT8, {7, 7, 35, 2}, 0.027f, -9), lo, hi)
        .Out(Affine(DataType::INT8, {}, 0.005f, 3))
        .Note("planes of bytes");
  }
  add({1, 2}, true, {7, 5, 3, 2}, "the middle");
  add({2, 0}, false, {5, 7, 3, 2}, "every other");
  add({1, 3}, true, {21, 3, 5, 2}, "every other");
  add({0, 2, 4}, false, {3, 2, 3, 2, 2, 3}, "rank 6");
  add({1, 1, -2}, false, {7, 5, 3}, "repeated");
  add({0, 1, 2}, false, {7, 5, 1}, "all");
  add({}, true, {7, 3}, "none");
  add({0}, false, {37, 5}, "beyond the lanes");
  add({1}, false, {35, 9}, "beyond a run");
  add({1}, true, {6, 9, 2}, "a short run");
  make.Of(ReduceAttrs{{0}, false}).In(type({21, 5}), lo, hi).Note("types").EachType();
  if (kind == kSum || kind == kMax)
    make.Of(ReduceAttrs{{1}, true}).In(type({21, 5}), lo, hi).Note("types, across").EachType();
  if (logical) {
    make.Of(ReduceAttrs{{0}, false})
        .In(type({4, 3}))
        .Values({0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0})
        .Note("none, every, some");
  } else {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    make.Of(ReduceAttrs{{0}, false})
        .In(F32({20, 3}))
        .Values({1, -2, nan, 3, -inf, -1, 0.5, 2, 7, -3, 4})
        .Note("infinities, NaN");
    make.Of(ReduceAttrs{{1}, false})
        .In(I32({5, 3}))
        .Values({2147483647, -2147483648.0, 65537, -1, 0, -5, 2147483646, 3, 7, 2})
        .Note("saturating");
    make.Of(ReduceAttrs{{0}, false})
        .In(U8({6, 11}), 0, 9)
        .Out(Affine(DataType::UINT8, {}, 0.037f, 118))
        .Note("ties");
    make.Of(ReduceAttrs{{0}, false}).In(I32({2, 40}), -9, 9).Note("halves");
    if (kind != kProd)
      make.Of(ReduceAttrs{{0}, false}).In(I32({300, 3}), -1e9, 1e9).Out(F32()).Note("wide sums");
  }
  if (kind == kAny || kind == kMin || kind == kProd) return;
  make.Of(ReduceAttrs{{0, 1}, true}).In(type({56, 56, 256, 1})).Note("a plane").Bench();
  make.Of(ReduceAttrs{{2}, false}).In(type({56, 56, 64, 4})).Note("channels").Bench();
}

template <Kind kind>
constexpr OpDef Definition(const char* name) {
  OpDef def;
  def.name = name;
  def.types = kind == kAny || kind == kAll ? "logical -> logical" : "number -> number";
  def.schema = &kAttrSchema<ReduceAttrs>;
  def.verify = Verify;
  def.infer = Infer;
  def.reference = Reference<kind>;
  def.kernels = kKernels<kind>;
  def.layout = LayoutRule::FollowsAxis("axis").Drops("keep_dims");
  def.tolerance = kind == kSum || kind == kMean ? Tolerance::Sum()
                  : kind == kProd               ? Tolerance::Ulp(64)
                                                : Tolerance::Exact();
  def.cases = TIMCL_CASES(Cases<kind>);
  return def;
}

constexpr OpDef kReduceMin = Definition<kMin>("ReduceMin");
constexpr OpDef kReduceMax = Definition<kMax>("ReduceMax");
constexpr OpDef kReduceAny = Definition<kAny>("ReduceAny");
constexpr OpDef kReduceAll = Definition<kAll>("ReduceAll");
constexpr OpDef kReduceProd = Definition<kProd>("ReduceProd");
constexpr OpDef kReduceMean = Definition<kMean>("ReduceMean");
constexpr OpDef kReduceSum = Definition<kSum>("ReduceSum");

constexpr FoldRule kFolds = {.loads_once = ",general,"};

}  // namespace

#define TIMCL_REDUCE_CLASS(Class)                                                             \
  TIMCL_OP_CLASS_WITH(Class, ReduceAttrs, (const std::vector<int32_t>& axis, bool keep_dims), \
                      (axis, keep_dims), axis_(axis), keep_dims_(keep_dims))
TIMCL_REDUCE_CLASS(ReduceMin);
TIMCL_REDUCE_CLASS(ReduceMax);
TIMCL_REDUCE_CLASS(ReduceAny);
TIMCL_REDUCE_CLASS(ReduceAll);
TIMCL_REDUCE_CLASS(ReduceProd);
TIMCL_REDUCE_CLASS(ReduceMean);
TIMCL_REDUCE_CLASS(ReduceSum);

TIMCL_OPS(reduce) {
  for (const OpDef* def : {&kReduceMin, &kReduceMax, &kReduceAny, &kReduceAll, &kReduceProd,
                           &kReduceMean, &kReduceSum}) {
    Add(*def);
    AddFoldRule(*def, &kFolds);
  }
}

}  // namespace tim::vx::ops
