// Max pooling that tells where the maxima are (MaxpoolWithArgmax, MaxpoolWithArgmax2), and what
// needs to know it (MaxUnpool2d, MaxpoolGrad).  Source: ONNX MaxPool-12 (Indices); SegNet.
#include "tim/vx/ops/maxpoolwithargmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tim/vx/lines.h"
#include "tim/vx/op_kit.h"
#include "tim/vx/ops/maxpoolgrad.h"
#include "tim/vx/ops/maxpoolwithargmax2.h"
#include "tim/vx/ops/maxunpool2d.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

// ---- windows and their maxima

struct ArgmaxAttrs {
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 2> ksize = {2, 2};
  std::array<uint32_t, 2> stride = {2, 2};
  RoundType round_type = RoundType::FLOOR;
  DataLayout layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(padding, ksize, stride, round_type, layout)
};

struct Windows {
  Window x, y;
};
Windows AsGiven(const OpView& op) {
  const auto& a = op.attrs<ArgmaxAttrs>();
  auto window = [&](size_t d) {
    return MakeWindow(op.in(0).shape()[d], a.ksize[d], a.stride[d], 1, a.padding, 0, 0);
  };
  return {window(0), window(1)};
}
/// MaxpoolWithArgmax: the attributes only feed the shape.
Windows TwoByTwo(const OpView& op) {
  const Shape& x = op.in(0).shape();
  return {Window{x[0], 2, 2}, Window{x[1], 2, 2}};
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<ArgmaxAttrs>();
  TIMCL_TRY(op.CheckRank(0, 3, 4));
  for (size_t d = 0; d < 2; ++d) {
    const std::string where = " of axis " + to_string(d) + " is 0";
    if (a.ksize[d] == 0) return op.Error(Code::kInvalidArgument, "ksize" + where);
    if (a.stride[d] == 0) return op.Error(Code::kInvalidArgument, "stride" + where);
  }
  return Status();
}

Shape PooledShape(const OpView& op) {
  const RoundType round = op.attrs<ArgmaxAttrs>().round_type;
  const Windows w = AsGiven(op);
  Shape y = op.in(0).shape();
  y[0] = w.x.out(round), y[1] = w.y.out(round);
  return y;
}

/// A declared output shape may have other extents, but not other channels or images.
Status CheckPlanes(const OpView& op) {
  const Shape &x = op.in(0).shape(), &y = op.out(0).shape();
  for (size_t d = 2; d < x.rank(); ++d) {
    if (x[d] == y[d]) continue;
    return op.OutputError(0, Code::kInvalidShape,
                          "its dimension " + to_string(d) + " must be " + to_string(x[d]) +
                              ", as of " + op.in_label(0));
  }
  return Status();
}
Status CheckArgmaxOutputs(const OpView& op) {
  TIMCL_TRY(CheckPlanes(op));
  if (op.out(1).shape() == op.out(0).shape()) return Status();
  return op.OutputError(1, Code::kInvalidShape, "must have the shape of " + op.out_label(0));
}

/// Where the maximum of a window is: the cell of the input, and the window's own count. Cell -1
/// where the window has none. Integers are compared as they are stored.
struct Place {
  int64_t cell = -1, local = 0;
};
Place FindMaximum(const ref::Input& x, const Windows& w, int64_t plane, int64_t oy, int64_t ox) {
  const int64_t left = ox * w.x.stride - w.x.front, top = oy * w.y.stride - w.y.front;
  Place best;
  double most = 0;
  for (int64_t k = 0; k < w.x.size * w.y.size; ++k) {
    const int64_t ix = left + k % w.x.size, iy = top + k / w.x.size;
    if (ix < 0 || ix >= w.x.in || iy < 0 || iy >= w.y.in) continue;
    const int64_t cell = (plane * w.y.in + iy) * w.x.in + ix;
    const double v = IsInteger(x.type().dtype) ? static_cast<double>(x.Raw(cell)) : x.At(cell);
    if (best.cell >= 0 && !(v > most) && (!std::isnan(v) || std::isnan(most))) continue;
    best = {cell, k}, most = v;
  }
  return best;
}

template <Windows (*kWindows)(const OpView&), bool kLocal>
Status ArgmaxReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Shape& y = op.out(0).shape();
  for (int64_t at = 0; at < y.count(); ++at) {
    const Place place =
        FindMaximum(ins[0], kWindows(op), at / (y[0] * y[1]), at / y[0] % y[1], at % y[0]);
    if (place.cell >= 0) {
      ref::Copy(outs[0], at, ins[0], place.cell);
    } else {
      outs[0].Set(at, 0);
    }
    outs[1].SetRaw(at, kLocal ? place.local : std::max<int64_t>(place.cell, 0));
  }
  return Status();
}

std::vector<std::pair<std::string, int64_t>> SizesOf(const Windows& w, int64_t ow, int64_t oh,
                                                     int64_t items) {
  return {
      {"IW", w.x.in},      {"IH", w.y.in},     {"KW", w.x.size},         {"KH", w.y.size},
      {"OW", ow},          {"OH", oh},         {"STRIDE_X", w.x.stride}, {"STRIDE_Y", w.y.stride},
      {"LEFT", w.x.front}, {"TOP", w.y.front}, {"ITEMS", items}};
}

template <Windows (*kWindows)(const OpView&), bool kLocal>
Result<Launches> ArgmaxGeneral(const OpView& op, const KernelRequest&) {
  const Shape& y = op.out(0).shape();
  return Launches{
      {.source = "maxpool_argmax.cl",
       .entry = "maxpool_argmax",
       .operands = {In(0, "X"), Out(0, "Y"), Out(1, "I")},
       .sizes = SizesOf(kWindows(op), y[0], y[1], y.count()),
       .defines = {{"VALUES", 1}, {"LOCAL", kLocal}, {"WHOLE", IsInteger(op.in(0).dtype())}},
       .global = Grid(y.count()),
       .local = {64, 1, 1}}};
}

/// Whole vectors of results.
template <Windows (*kWindows)(const OpView&)>
Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  if (!IsWide(op.in(0)) || !IsWide(op.out(0))) return refuse("not of types for vectors");
  const Windows w = kWindows(op);
  if (w.x.stride > 16) return refuse("a stride beyond 16");
  const Shape& y = op.out(0).shape();
  if (!w.x.Meets(y[0]) || !w.y.Meets(y[1])) return refuse("a window lies outside of the input");
  return KernelOffer{KernelSpec::Epilogue::kLanes};
}
template <Windows (*kWindows)(const OpView&), bool kLocal>
Result<Launches> Vectors(const OpView& op, const KernelRequest& request) {
  const Windows w = kWindows(op);
  const Shape& y = op.out(0).shape();
  const int64_t lines = y.count() / y[0], run = lines::RunOf(request, lines, w.x.in * w.y.stride);
  KernelSpec spec;
  spec.source = "maxpool_argmax16.cl";
  spec.entry = "maxpool_argmax16";
  spec.operands = {In(0, "X"), Out(0, "Y"), Out(1, "I")};
  spec.sizes = SizesOf(w, y[0], y[1], lines);
  spec.sizes.emplace_back("RUN", run);
  const int64_t step = w.x.stride <= 2 ? w.x.stride : 0;
  spec.sizes.emplace_back("STARTS", std::max(op.in(0).shape().count() - 16 * step + 1, int64_t{0}));
  spec.defines = {{"LOCAL", kLocal}, {"WHOLE", IsInteger(op.in(0).dtype())}, {"STEP", step}};
  spec.global = Grid(DivideUp(lines, run));
  return Launches{spec};
}

/// Both outputs of an argmax pool have the same shape.
Result<Shapes> InferArgmax(const OpView& op) { return Shapes{PooledShape(op), PooledShape(op)}; }

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

void ArgmaxCases(CaseMaker& make, const TensorType& index) {
  using namespace cases;
  auto index_of = [&](const Shape& shape) {
    TensorType t = index;
    t.shape = shape;
    return t;
  };
  auto add = [&](const ArgmaxAttrs& a, const Shape& x, const char* note,
                 const Shape& declared = {}) {
    make.Of(a).In(F32(x)).Out(F32(declared)).Out(index_of(declared)).Note(note);
  };
  add({}, {1, 1, 1, 1}, "one element, declared", {1, 1, 1, 1});
  add({}, {70, 6, 3, 2}, "beyond a work-group");
  add({PadType::SAME}, {9, 7, 3}, "rank 3, same");
  add({PadType::VALID}, {9, 7, 3, 2}, "valid");
  add({PadType::NONE, {2, 2}, {2, 2}, RoundType::CEILING}, {9, 7, 2, 1}, "rounded up");
  add({PadType::SAME, {3, 4}, {2, 3}}, {13, 9, 2, 2}, "windows that overlap, same");
  add({PadType::AUTO, {3, 2}, {1, 1}}, {9, 5, 2, 1}, "windows that overlap");
  add({}, {7, 5, 2, 1}, "positions beyond the input", {6, 4, 2, 1});
  add({}, {7, 5, 2, 1}, "fewer positions", {2, 1, 2, 1});
  for (int64_t width : {1, 2, 15, 16, 17, 30, 31, 32, 33, 34, 63, 66}) {
    for (uint32_t stride : {1, 2, 3}) {
      make.Of(ArgmaxAttrs{PadType::SAME, {3, 2}, {stride, 2}})
          .In(U8({width, 12, 4}), 0, 0.2)
          .Out(U8())
          .Out(index)
          .Note("around vectors, ties");
    }
  }
  add({}, {37, 22, 17}, "many lines");
  add({PadType::VALID, {5, 3}, {1, 1}}, {35, 12, 10}, "many lines, windows that overlap");
  add({PadType::SAME, {2, 2}, {16, 2}}, {250, 4, 9}, "the longest stride of vectors");
  add({PadType::VALID, {2, 2}, {17, 2}}, {250, 4, 9}, "a longer stride");
  const std::vector<double> values[] = {
      {2, 2, -1, kNaN, kNaN, 3, -kInf, -kInf, kInf, 1, kInf}, {0, -0.0, -0.0, -1}, {-kInf}};
  for (const std::vector<double>& v : values) {
    for (const Shape& shape : {Shape{9, 7, 2, 1}, Shape{45, 11, 3, 1}}) {
      make.Of(ArgmaxAttrs{PadType::SAME, {3, 3}, {2, 2}})
          .In(F32(shape))
          .Values(v)
          .Out(F32())
          .Out(index)
          .Note("equal cells, infinities, NaN");
    }
  }
  make.Of(ArgmaxAttrs{}).In(I32({8, 6, 2})).Out(I32()).Out(index).Note("integers");
  make.Of(ArgmaxAttrs{PadType::SAME})
      .In(F32({7, 5, 2, 2}))
      .Out(F32())
      .Out(index)
      .Note("types")
      .EachType();
  make.Of(ArgmaxAttrs{PadType::SAME, {3, 3}, {1, 2}})
      .In(F32({37, 5, 2, 2}))
      .Out(F32())
      .Out(index)
      .Note("types of vectors")
      .EachType();
  make.Of(ArgmaxAttrs{}).In(F32({112, 112, 64, 1})).Out(F32()).Out(index).Note("2x2").Bench();
  make.Of(ArgmaxAttrs{}).In(U8({112, 112, 64, 1})).Out(U8()).Out(index).Note("bytes").Bench();
}

void LocalCases(CaseMaker& make) { ArgmaxCases(make, cases::Plain(DataType::UINT8)); }
void GlobalCases(CaseMaker& make) { ArgmaxCases(make, cases::I32()); }

constexpr KernelCandidate kLocalKernels[] = {
    {"vectors", AcceptsVectors<TwoByTwo>, Vectors<TwoByTwo, true>},
    {"general", nullptr, ArgmaxGeneral<TwoByTwo, true>}};
constexpr OpDef kMaxpoolWithArgmax = {.name = "MaxpoolWithArgmax",
                                      .outputs = "output index",
                                      .types = "real|i32 -> real|i32, u8|i16",
                                      .schema = &kAttrSchema<ArgmaxAttrs>,
                                      .verify = Verify,
                                      .infer = InferArgmax,
                                      .check_outputs = CheckArgmaxOutputs,
                                      .reference = ArgmaxReference<TwoByTwo, true>,
                                      .kernels = kLocalKernels,
                                      .layout = LayoutRule::Fixed("layout"),
                                      .declared = Declared::kExtentWins,
                                      .tolerance = Tolerance::Exact(),
                                      .cases = TIMCL_CASES(LocalCases)};

constexpr KernelCandidate kGlobalKernels[] = {
    {"vectors", AcceptsVectors<AsGiven>, Vectors<AsGiven, false>},
    {"general", nullptr, ArgmaxGeneral<AsGiven, false>}};
constexpr OpDef kMaxpoolWithArgmax2 = {.name = "MaxpoolWithArgmax2",
                                       .outputs = "output index",
                                       .types = "real|i32 -> real|i32, i32",
                                       .schema = &kAttrSchema<ArgmaxAttrs>,
                                       .verify = Verify,
                                       .infer = InferArgmax,
                                       .check_outputs = CheckArgmaxOutputs,
                                       .reference = ArgmaxReference<AsGiven, false>,
                                       .kernels = kGlobalKernels,
                                       .layout = LayoutRule::Fixed("layout"),
                                       .declared = Declared::kExtentWins,
                                       .tolerance = Tolerance::Exact(),
                                       .cases = TIMCL_CASES(GlobalCases)};

// ---- the gradient

Result<Shapes> InferGrad(const OpView& op) {
  const Shape pooled = PooledShape(op);
  for (size_t d = 0; d < 2; ++d) {
    if (pooled[d] > 0) continue;
    return op.InputError(0, Code::kInvalidShape,
                         "a window of " + to_string(op.attrs<ArgmaxAttrs>().ksize[d]) +
                             " does not fit into dimension " + to_string(d));
  }
  TIMCL_TRY(op.CheckShape(1, pooled, "the result of pooling " + op.in_label(0)));
  return Shapes{op.in(0).shape()};
}

Status GradReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Windows w = AsGiven(op);
  const Shape& g = op.in(1).shape();
  return ref::Compute(op, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> sums(static_cast<size_t>(outs[0].count()));
    for (int64_t at = 0; at < g.count(); ++at) {
      const Place place = FindMaximum(ins[0], w, at / (g[0] * g[1]), at / g[0] % g[1], at % g[0]);
      if (place.cell >= 0) sums[static_cast<size_t>(place.cell)] += ins[1].As<T>(at);
    }
    for (int64_t i = 0; i < outs[0].count(); ++i) outs[0].Put(i, sums[static_cast<size_t>(i)]);
  });
}

Result<Launches> GradGeneral(const OpView& op, const KernelRequest&) {
  const Windows w = AsGiven(op);
  const Shape &x = op.in(0).shape(), &g = op.in(1).shape();
  const auto places = Scratch(0, static_cast<size_t>(g.count()) * sizeof(int32_t), "I", "int");
  return Launches{{.source = "maxpool_argmax.cl",
                   .entry = "maxpool_argmax",
                   .operands = {In(0, "X"), places},
                   .sizes = SizesOf(w, g[0], g[1], g.count()),
                   .defines = {{"VALUES", 0}, {"LOCAL", 0}, {"WHOLE", IsInteger(op.in(0).dtype())}},
                   .global = Grid(g.count()),
                   .local = {64, 1, 1}},
                  {.source = "maxpool_grad.cl",
                   .entry = "maxpool_grad",
                   .operands = {In(1, "G"), places, Out(0, "Y")},
                   .sizes = SizesOf(w, g[0], g[1], x.count()),
                   .global = Grid(x.count()),
                   .local = {64, 1, 1}}};
}
constexpr KernelCandidate kGradKernels[] = {{"general", nullptr, GradGeneral}};

void GradCases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](const ArgmaxAttrs& a, const Shape& x, const Shape& g, const char* note) {
    make.Of(a).In(F32(x)).In(F32(g)).Note(note);
  };
  add({PadType::AUTO, {1, 1}, {1, 1}}, {1, 1, 1, 1}, {1, 1, 1, 1}, "one element");
  add({}, {70, 6, 3, 2}, {35, 3, 3, 2}, "beyond a work-group");
  add({PadType::SAME, {3, 4}, {2, 3}}, {13, 9, 3}, {7, 3, 3}, "rank 3, windows that overlap, same");
  add({PadType::VALID, {3, 2}, {1, 1}}, {9, 5, 2, 2}, {7, 4, 2, 2}, "windows that overlap much");
  add({PadType::NONE, {2, 2}, {3, 3}, RoundType::CEILING}, {9, 7, 2, 1}, {4, 3, 2, 1},
      "windows apart, rounded up");
  make.Of(ArgmaxAttrs{PadType::VALID, {3, 3}, {1, 1}})
      .In(F32({6, 5, 2}))
      .Values({2, 2, 2, -1, kNaN, 3, -kInf, 1, kInf, 1, 1})
      .In(F32({4, 3, 2}))
      .Note("equal cells, infinities, NaN");
  make.Of(ArgmaxAttrs{PadType::SAME, {3, 3}, {2, 2}})
      .In(F32({7, 5, 2, 1}))
      .In(F32({4, 3, 2, 1}))
      .Note("types")
      .EachType();
  make.Of(ArgmaxAttrs{PadType::SAME, {3, 3}, {2, 2}})
      .In(F32({56, 56, 64, 1}))
      .In(F32({28, 28, 64, 1}))
      .Note("3x3, stride 2")
      .Bench();
}

constexpr OpDef kMaxpoolGrad = {.name = "MaxpoolGrad",
                                .inputs = "input gradient",
                                .types = "real, real -> real",
                                .schema = &kAttrSchema<ArgmaxAttrs>,
                                .verify = Verify,
                                .infer = InferGrad,
                                .reference = GradReference,
                                .kernels = kGradKernels,
                                .layout = LayoutRule::Fixed("layout", 2),
                                .tolerance = Tolerance::Sum(),
                                .cases = TIMCL_CASES(GradCases)};

// ---- putting values back

struct MaxUnpool2dAttrs {
  std::array<uint32_t, 2> ksize = {0, 0};  // the size of the output where it is not 0
  std::array<uint32_t, 2> stride = {2, 2};
  DataLayout layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(ksize, stride, layout)
};

Status VerifyUnpool(const OpView& op) {
  const auto& a = op.attrs<MaxUnpool2dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 3, 4));
  for (size_t d = 0; d < 2; ++d) {
    if (a.ksize[d] != 0 || a.stride[d] != 0) continue;
    return op.Error(Code::kInvalidArgument,
                    "ksize and stride of axis " + to_string(d) + " are both 0");
  }
  return op.CheckShape(1, op.in(0).shape(), "as " + op.in_label(0));
}

Result<Shapes> InferUnpool(const OpView& op) {
  const auto& a = op.attrs<MaxUnpool2dAttrs>();
  Shape y = op.in(0).shape();
  for (size_t d = 0; d < 2; ++d) y[d] = a.ksize[d] != 0 ? a.ksize[d] : y[d] * a.stride[d];
  return Shapes{y};
}

Status UnpoolReference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Shape &x = op.in(0).shape(), &y = op.out(0).shape();
  for (int64_t to = 0; to < y.count(); ++to) outs[0].Set(to, 0);
  for (int64_t from = 0; from < x.count(); ++from) {
    const int64_t index = ins[1].Raw(from);
    if (index < 0 || index > 3) continue;
    const int64_t ox = from % x[0] * 2 + index % 2, oy = from / x[0] % x[1] * 2 + index / 2;
    if (ox >= y[0] || oy >= y[1]) continue;
    ref::Copy(outs[0], (from / (x[0] * x[1]) * y[1] + oy) * y[0] + ox, ins[0], from);
  }
  return Status();
}

Result<Launches> UnpoolGeneral(const OpView& op, const KernelRequest& request) {
  const Shape &x = op.in(0).shape(), &y = op.out(0).shape();
  const int64_t run = RunLength(request.caps);
  const int64_t items = DivideUp(y[0], run) * (y.count() / y[0]);
  return Launches{
      {.source = "max_unpool2d.cl",
       .entry = "max_unpool2d",
       .operands = {In(0, "X"), In(1, "I"), Out(0, "Y")},
       .sizes = {{"IW", x[0]}, {"IH", x[1]}, {"OW", y[0]}, {"OH", y[1]}, {"ITEMS", items}},
       .defines = {{"RUN", run}},
       .global = Grid(items),
       .local = {64, 1, 1}}};
}
constexpr KernelCandidate kUnpoolKernels[] = {
    {"general", nullptr, UnpoolGeneral, {KernelSpec::Epilogue::kScalar}}};

void UnpoolCases(CaseMaker& make) {
  using namespace cases;
  auto add = [&](const MaxUnpool2dAttrs& a, const Shape& x, const char* note,
                 const Shape& declared = {}) {
    make.Of(a).In(F32(x)).In(Plain(DataType::UINT8, x), 0, 3).Out(F32(declared)).Note(note);
  };
  add({}, {1, 1, 1, 1}, "one element");
  add({}, {35, 3, 3, 2}, "twice the size");
  add({{9, 7}}, {5, 4, 3}, "ksize is the output's size, rank 3");
  add({{0, 5}, {3, 2}}, {5, 3, 2, 1}, "a stride that only feeds the shape");
  add({}, {5, 4, 2, 1}, "a smaller output", {7, 5, 2, 1});
  add({{8, 2}, {0, 1}}, {5, 4, 16, 1}, "a larger output", {13, 9, 16, 1});
  make.Of(MaxUnpool2dAttrs{})
      .In(F32({5, 3, 2}))
      .In(Plain(DataType::INT16, {5, 3, 2}))
      .Values({0, 1, 2, 3, 4, -1, 32767, -32768, 1, 3, 2})
      .Out(F32())
      .Note("indices out of range");
  make.Of(MaxUnpool2dAttrs{})
      .In(F32({5, 3, 2, 1}))
      .In(Plain(DataType::UINT8, {5, 3, 2, 1}), 0, 3)
      .Note("types")
      .EachType();
  make.Of(MaxUnpool2dAttrs{})
      .In(F32({56, 56, 64, 1}))
      .In(Plain(DataType::UINT8, {56, 56, 64, 1}), 0, 3)
      .Note("64 channels")
      .Bench();
}

constexpr OpDef kMaxUnpool2d = {.name = "MaxUnpool2d",
                                .inputs = "input index",
                                .types = "real|i32, u8|i16 -> real|i32",
                                .schema = &kAttrSchema<MaxUnpool2dAttrs>,
                                .verify = VerifyUnpool,
                                .infer = InferUnpool,
                                .check_outputs = CheckPlanes,
                                .reference = UnpoolReference,
                                .kernels = kUnpoolKernels,
                                .layout = LayoutRule::Fixed("layout", 2),
                                .declared = Declared::kExtentWins,
                                .tolerance = Tolerance::Exact(),
                                .cases = TIMCL_CASES(UnpoolCases)};

}  // namespace

#define TIMCL_ARGMAX_CLASS(Class)                                                       \
  TIMCL_OP_CLASS_WITH(                                                                  \
      Class, ArgmaxAttrs,                                                               \
      (PadType padding, const std::array<uint32_t, 2>& ksize,                           \
       const std::array<uint32_t, 2>& stride, RoundType round_type, DataLayout layout), \
      (padding, ksize, stride, round_type, layout), padding_(padding), ksize_(ksize),   \
      stride_(stride), round_type_(round_type))
TIMCL_ARGMAX_CLASS(MaxpoolWithArgmax);
TIMCL_ARGMAX_CLASS(MaxpoolWithArgmax2);
TIMCL_ARGMAX_CLASS(MaxpoolGrad);
TIMCL_OP_CLASS_WITH(MaxUnpool2d, MaxUnpool2dAttrs,
                    (const std::array<uint32_t, 2>& ksize, const std::array<uint32_t, 2>& stride,
                     DataLayout layout),
                    (ksize, stride, layout), ksize_(ksize), stride_(stride));

TIMCL_OPS(maxpoolwithargmax) {
  Add(kMaxpoolWithArgmax);
  Add(kMaxpoolWithArgmax2);
  Add(kMaxpoolGrad);
  Add(kMaxUnpool2d);
}

}  // namespace tim::vx::ops
