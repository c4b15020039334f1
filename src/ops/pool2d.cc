// Pool2d: pooling over windows of the first two dimensions.  Source: ONNX MaxPool-12,
// AveragePool-11, LpPool-11; NNAPI AVERAGE_POOL_2D (AVG_ANDROID).
#include "tim/vx/ops/pool2d.h"

#include <limits>

#include "tim/vx/pooling.h"
#include "tim/vx/weighted_sum_bytes.h"
#include "tim/vx/window_folds.h"

namespace tim::vx::ops {
namespace {

struct Pool2dAttrs {
  PoolType type = PoolType::MAX;
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 2> ksize = {1, 1};
  std::array<uint32_t, 2> stride = {1, 1};
  std::array<uint32_t, 4> pad = {0, 0, 0, 0};  // left, right, top, bottom; used by AUTO and NONE
  RoundType round_type = RoundType::FLOOR;
  DataLayout layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(type, padding, ksize, stride, pad, round_type, layout)
};

/// An input of rank 3 has no height.
pooling::Pool PoolOf(const OpView& op) {
  const auto& a = op.attrs<Pool2dAttrs>();
  const Shape& x = op.in(0).shape();
  pooling::Pool p = {{}, a.type, a.round_type};
  for (size_t d = 0; d + 2 < x.rank(); ++d) {
    p.axes[d] =
        MakeWindow(x[d], a.ksize[d], a.stride[d], 1, a.padding, a.pad[2 * d], a.pad[2 * d + 1]);
  }
  return p;
}
using Op = pooling::PoolOp<PoolOf>;

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckRank(0, 3, 4));
  return pooling::CheckWindows(op, op.attrs<Pool2dAttrs>());
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const pooling::Pool pool = PoolOf(op);
  const Window &wx = pool.axes[0], &wy = pool.axes[1];
  const int64_t ow = wx.out(pool.round), oh = wy.out(pool.round);
  const int64_t count = op.out(0).shape().count();
  const int64_t lanes = request.caps.is_cpu && ow >= 4 ? 8 : 1;
  const int64_t items = DivideUp(ow, lanes) * (count / ow);
  const bool vectors = op.in(0).dtype() == DataType::FLOAT32 && wx.stride <= 2;
  return Launches{{.source = "pool2d.cl",
                   .entry = "pool2d",
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"IW", wx.in},
                             {"IH", wy.in},
                             {"KW", wx.size},
                             {"KH", wy.size},
                             {"OW", ow},
                             {"OH", oh},
                             {"STRIDE_X", wx.stride},
                             {"STRIDE_Y", wy.stride},
                             {"LEFT", wx.front},
                             {"TOP", wy.front},
                             {"ITEMS", items}},
                   .defines = {{"TYPE", static_cast<int>(pool.type)},
                               {"LANES", lanes},
                               {"STEP", vectors ? wx.stride : 0}},
                   .global = Grid(items),
                   .local = {64, 1, 1},
                   .float_math = true,
                   .flops = static_cast<double>(count) * static_cast<double>(wx.size * wy.size)}};
}

/// Over blocks of 16 channels; windows that cover the input may leave plain results.
Result<KernelOffer> AcceptsBlocks(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.is_cpu) return refuse("not a CPU");
  if (op.in(0).shape().rank() != 4) return refuse("only rank 4");
  for (const TensorView& t : {op.in(0), op.out(0)}) {
    if (t.dtype() != DataType::FLOAT32 && t.dtype() != DataType::FLOAT16)
      return refuse("only f32 and f16");
  }
  const Shape& y = op.out(0).shape();
  if (request.out == TensorForm::kPlain && y[0] * y[1] > 1)
    return refuse("several positions, which a plain result would scatter");
  return KernelOffer{KernelSpec::Epilogue::kVector};
}
Result<Launches> Blocks(const OpView& op, const KernelRequest& request) {
  const pooling::Pool pool = PoolOf(op);
  const Window &wx = pool.axes[0], &wy = pool.axes[1];
  const Shape &x = op.in(0).shape(), &y = op.out(0).shape();
  return Launches{
      {.source = "pool_block.cl",
       .entry = "pool_block",
       .operands = {In(0, "X"), Out(0, "Y")},
       .sizes = {{"IW", wx.in},
                 {"IH", wy.in},
                 {"KW", wx.size},
                 {"KH", wy.size},
                 {"OW", y[0]},
                 {"OH", y[1]},
                 {"STRIDE_X", wx.stride},
                 {"STRIDE_Y", wy.stride},
                 {"LEFT", wx.front},
                 {"TOP", wy.front},
                 {"C", x[2]}},
       .defines = {{"TYPE", static_cast<int>(pool.type)},
                   {"PLAIN", request.out == TensorForm::kPlain}},
       .dims = 3,
       .global = Grid(y[1], DivideUp(x[2], kChannelBlock), x[3]),
       .flops = static_cast<double>(y.count()) * static_cast<double>(wx.size * wy.size)}};
}

/// The same for quantized 8-bit tensors.
Result<KernelOffer> AcceptsBytes(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  if (op.in(0).shape().rank() != 4) return refuse("only rank 4");
  for (const TensorView& t : {op.in(0), op.out(0)}) {
    if (!weighted_sum::IsByte(t.type())) return refuse("only i8 and u8 with one scale");
  }
  const pooling::Pool pool = PoolOf(op);
  if (pool.type == PoolType::L2) return refuse("not the root of the mean square");
  const Shape& y = op.out(0).shape();
  for (size_t d = 0; d < 2; ++d) {
    const Window& w = pool.axes[d];
    if (w.front >= w.size || (y[d] - 1) * w.stride - w.front >= w.in)
      return refuse("a window lies outside of the input");
  }
  if (request.out == TensorForm::kPlain && y[0] * y[1] > 1)
    return refuse("several positions, which a plain result would scatter");
  return KernelOffer{KernelSpec::Epilogue::kLanes};
}
Result<Launches> BytesInBlocks(const OpView& op, const KernelRequest& request) {
  TIMCL_ASSIGN(Launches launches, Blocks(op, request));
  launches[0].source = "pool_block8.cl";
  launches[0].entry = "pool_block8";
  launches[0].defines.emplace_back("DOT", 0);
  // Of small windows the loops cost more than the maximum.
  const pooling::Pool pool = PoolOf(op);
  const int64_t w = pool.axes[0].size, h = pool.axes[1].size;
  const bool fixed = pool.type == PoolType::MAX && w * h <= 9;
  launches[0].defines.emplace_back("FIXED_W", fixed ? w : 0);
  launches[0].defines.emplace_back("FIXED_H", fixed ? h : 0);
  const TensorType &x = op.in(0).type(), &y = op.out(0).type();
  launches[0].defines.emplace_back(
      "SAME", x.dtype == y.dtype && x.scale() == y.scale() && x.zero_point() == y.zero_point());
  return launches;
}
constexpr TensorForm kPlain = TensorForm::kPlain, kBlocked = TensorForm::kBlocked;
constexpr KernelCandidate kKernels[] = {
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}},
    {"blocks to plain", AcceptsBlocks, Blocks, {}, false, kBlocked, kPlain},
    {"blocks", AcceptsBlocks, Blocks, {}, false, kBlocked, kBlocked},
    {"bytes to plain", AcceptsBytes, BytesInBlocks, {}, false, kBlocked, kPlain},
    {"blocks of bytes", AcceptsBytes, BytesInBlocks, {}, false, kBlocked, kBlocked}};

void Cases(CaseMaker& make) {
  using namespace cases;
  for (PoolType type : {PoolType::MAX, PoolType::AVG, PoolType::L2, PoolType::AVG_ANDROID}) {
    for (PadType padding : {PadType::AUTO, PadType::NONE, PadType::VALID, PadType::SAME}) {
      for (RoundType round : {RoundType::FLOOR, RoundType::CEILING}) {
        Pool2dAttrs a = {type, padding, {3, 2}, {2, 3}, {1, 2, 1, 0}, round};
        make.Of(a).In(F32({16, 11, 3, 2})).Note("pads and rounding");
        a.stride = {1, 1};
        make.Of(a)
            .In(U8({9, 6, 2, 1}))
            .Out(Affine(DataType::UINT8, {}, 0.031f, 133))
            .Note("pads and rounding");
      }
    }
    auto of = [&](std::array<uint32_t, 2> ksize, std::array<uint32_t, 2> stride,
                  PadType padding = PadType::AUTO, std::array<uint32_t, 4> pad = {}) {
      return Pool2dAttrs{type, padding, ksize, stride, pad};
    };
    make.Of(of({1, 1}, {1, 1})).In(F32({1, 1, 1, 1})).Note("one element");
    make.Of(of({2, 2}, {2, 2})).In(F32({33, 4, 70, 1})).Note("beyond a work-group");
    make.Of(of({7, 5}, {1, 1})).In(F32({7, 5, 37, 2})).Note("windows that cover the input");
    make.Of(of({3, 3}, {2, 2}, PadType::AUTO, {1, 1, 1, 1}))
        .In(F32({9, 8, 35, 2}))
        .Note("blocks of channels, the last of 3");
    for (DataType dtype : {DataType::UINT8, DataType::INT8}) {
      const TensorType x = Affine(dtype, {9, 8, 35, 2}, 0.021f, dtype == DataType::INT8 ? -9 : 121);
      make.Of(of({3, 3}, {2, 2}, PadType::AUTO, {1, 1, 1, 1}))
          .In(x, -3, 3)
          .Out(Affine(dtype, {}, 0.017f, 3))
          .Note("blocks of bytes, the last of 3");
      TensorType result = x;
      result.shape = {};
      make.Of(of({2, 3}, {2, 1}, PadType::AUTO, {0, 1, 1, 1}))
          .In(x, -3, 3)
          .Out(result)
          .Note("blocks of bytes, the encoding of the input");
      TensorType whole = x;
      whole.shape = {7, 5, 37, 2};
      make.Of(of({7, 5}, {1, 1})).In(whole, -3, 3).Note("windows that cover bytes");
    }
    make.Of(of({2, 2}, {2, 2})).In(F32({17, 3, 2})).Note("rank 3");
    make.Of(of({5, 3}, {0, 0})).In(F32({5, 3, 4, 1})).Note("stride 0");
    make.Of(of({3, 3}, {2, 2}, PadType::AUTO, {2, 2, 2, 2}))
        .In(F32({2, 1, 3, 1}))
        .Note("pads as large as the input");
    make.Of(of({3, 3}, {2, 2}, PadType::SAME)).In(F32({13, 9, 3, 1})).Note("types").EachType();
  }
  const double inf = std::numeric_limits<double>::infinity();
  for (uint32_t step : {1, 2}) {
    make.Of(Pool2dAttrs{PoolType::MAX, PadType::AUTO, {2, 2}, {step, step}})
        .In(F32({21, 5, 2}))
        .Values({1, -2, std::numeric_limits<double>::quiet_NaN(), 3, -inf, -1, 0.5, 2, inf, -3, 4})
        .Note("infinities, NaN");
  }
  make.Of(Pool2dAttrs{PoolType::MAX, PadType::SAME, {3, 3}, {2, 2}})
      .In(F32({112, 112, 64, 1}))
      .Note("max 3x3, 64 channels")
      .Bench();
  make.Of(Pool2dAttrs{PoolType::AVG, PadType::VALID, {7, 7}, {7, 7}})
      .In(F32({7, 7, 2048, 1}))
      .Note("global average, 2048 channels")
      .Bench();
}

constexpr OpDef kPool2d = {.name = "Pool2d",
                           .types = "real -> real",
                           .schema = &kAttrSchema<Pool2dAttrs>,
                           .verify = Verify,
                           .infer = Op::Infer,
                           .reference = Op::Reference,
                           .kernels = kKernels,
                           .layout = LayoutRule::Fixed("layout"),
                           .declared = Declared::kOverwritten,
                           .tolerance = Tolerance::Ulp(4),
                           .cases = TIMCL_CASES(Cases)};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
namespace {
/// Windows that cover the input with output_size results. A size of 0 is left to Verify.
Pool2dAttrs Adaptive(PoolType type, const std::array<uint32_t, 2>& input_size,
                     const std::array<uint32_t, 2>& output_size, RoundType round_type,
                     DataLayout layout) {
  Pool2dAttrs a;
  for (size_t d = 0; d < 2; ++d) {
    const uint32_t out = output_size[d];
    a.stride[d] = out == 0 ? 0 : input_size[d] / out;
    a.ksize[d] = out == 0 ? 0 : input_size[d] - (out - 1) * a.stride[d];
  }
  a.type = type, a.round_type = round_type, a.layout = layout;
  return a;
}
}  // namespace

Pool2d::Pool2d(Graph* graph, PoolType type, PadType padding, const std::array<uint32_t, 2>& ksize,
               const std::array<uint32_t, 2>& stride, RoundType round_type, DataLayout layout)
    : BuiltinOp(graph, kPool2d,
                MakeAttrs(Pool2dAttrs{type, padding, ksize, stride, {}, round_type, layout})),
      type_(type),
      padding_(padding),
      ksize_(ksize),
      stride_(stride),
      round_type_(round_type),
      pad_{0, 0, 0, 0} {}
Pool2d::Pool2d(Graph* graph, PoolType type, const std::array<uint32_t, 4>& pad,
               const std::array<uint32_t, 2>& ksize, const std::array<uint32_t, 2>& stride,
               RoundType round_type, DataLayout layout)
    : BuiltinOp(
          graph, kPool2d,
          MakeAttrs(Pool2dAttrs{type, PadType::AUTO, ksize, stride, pad, round_type, layout})),
      type_(type),
      padding_(PadType::AUTO),
      ksize_(ksize),
      stride_(stride),
      round_type_(round_type),
      pad_(pad) {}
Pool2d::Pool2d(Graph* graph, PoolType type, const std::array<uint32_t, 2>& input_size,
               RoundType round_type, DataLayout layout)
    : Pool2d(graph, type, std::array<uint32_t, 4>{}, input_size, input_size, round_type, layout) {}
Pool2d::Pool2d(Graph* graph, PoolType type, const std::array<uint32_t, 2>& input_size,
               const std::array<uint32_t, 2>& output_size, RoundType round_type, DataLayout layout)
    : BuiltinOp(graph, kPool2d,
                MakeAttrs(Adaptive(type, input_size, output_size, round_type, layout))),
      type_(type),
      padding_(PadType::AUTO),
      ksize_(AttrsOf<Pool2dAttrs>(*this).ksize),
      stride_(AttrsOf<Pool2dAttrs>(*this).stride),
      round_type_(round_type),
      pad_{0, 0, 0, 0} {}

std::shared_ptr<Operation> Pool2d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<Pool2dAttrs>(*this);
  if (a.padding == PadType::AUTO) {
    return graph->CreateOperation<Pool2d>(a.type, a.pad, a.ksize, a.stride, a.round_type, a.layout);
  }
  return graph->CreateOperation<Pool2d>(a.type, a.padding, a.ksize, a.stride, a.round_type,
                                        a.layout);
}

void Pool2d::Init() {}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(pool2d) {
  Add(kPool2d);
  AddFoldRule(kPool2d, &PoolFolds<PoolOf>::kRule);
}

}  // namespace tim::vx::ops
