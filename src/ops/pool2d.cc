// Pool2d: pooling over windows of the first two dimensions.  Source: ONNX MaxPool-12,
// AveragePool-11, LpPool-11; NNAPI AVERAGE_POOL_2D (AVG_ANDROID).
#include "tim/vx/ops/pool2d.h"

#include <algorithm>
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

/// Whole vectors of results of a plain tensor. What pool_rows.cl has room for in private memory:
constexpr int64_t kCells = 8192, kResults = 1024;
/// Of other strides than 1 and 2 all positions are computed, so large ones would cost more than
/// they save.
constexpr int64_t kMaxStride = 16;
struct RowsPlan {
  int64_t step, parts, part, run, block, pitch;
};
/// No parts: a window is too large.
RowsPlan PlanRows(const OpView& op, const KernelRequest& request) {
  const pooling::Pool pool = PoolOf(op);
  const Window &wx = pool.axes[0], &wy = pool.axes[1];
  const bool most = pool.type == PoolType::MAX;
  const int64_t ow = wx.out(pool.round), lines = op.out(0).shape().count() / ow;
  RowsPlan p = {};
  p.step = wx.stride <= 2 ? wx.stride : 0;
  const int64_t spread = std::max<int64_t>(p.step, 1), apart = p.step > 0 ? 1 : wx.stride;
  const int64_t rows = most ? 1 : wy.size;
  // Positions that a row has room for, in whole vectors, besides what the last taps read.
  const int64_t room = (kCells / rows / 16 * 16 - wx.size) / (16 * spread) * 16;
  if (room < 16) return p;
  p.part = std::min({ow, kResults, (room - 1) / apart + 1});
  p.parts = DivideUp(ow, p.part);
  const int64_t positions = (p.part - 1) * apart + 1;
  p.pitch = DivideUp(DivideUp(positions, 16) * 16 * spread + wx.size, 16) * 16;
  const int64_t fair = DivideUp(lines, 4 * static_cast<int64_t>(request.caps.compute_units));
  p.run = p.parts > 1 ? 1 : std::max<int64_t>(std::min(kResults / ow, fair), 1);
  // Half of the room stays in the first-level cache with the input and the results.
  const int64_t fit = std::max(kCells / 2 / p.pitch, rows);
  p.block = most ? fit : wy.stride > wy.size ? 1 : (fit - wy.size) / wy.stride + 1;
  return p;
}
Result<KernelOffer> AcceptsRows(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  if (!IsWide(op.in(0)) || !IsWide(op.out(0))) return refuse("not of types for vectors");
  const pooling::Pool pool = PoolOf(op);
  if (pool.axes[0].stride > kMaxStride) return refuse("a stride beyond 16");
  if (PlanRows(op, request).parts == 0) return refuse("a window too large for private memory");
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kLanes, .stores_once = true};
}
Result<Launches> Rows(const OpView& op, const KernelRequest& request) {
  const pooling::Pool pool = PoolOf(op);
  const Window &wx = pool.axes[0], &wy = pool.axes[1];
  const RowsPlan p = PlanRows(op, request);
  const int64_t count = op.out(0).shape().count(), ow = wx.out(pool.round), lines = count / ow;
  return Launches{{.source = "pool_rows.cl",
                   .entry = "pool_rows",
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"IW", wx.in},
                             {"IH", wy.in},
                             {"KW", wx.size},
                             {"KH", wy.size},
                             {"OW", ow},
                             {"OH", wy.out(pool.round)},
                             {"STRIDE_X", wx.stride},
                             {"STRIDE_Y", wy.stride},
                             {"LEFT", wx.front},
                             {"TOP", wy.front},
                             {"PARTS", p.parts},
                             {"PART", p.part},
                             {"LINES", lines},
                             {"RUN", p.run},
                             {"BLOCK", p.block},
                             {"PITCH", p.pitch},
                             {"SAFE", op.in(0).shape().count() - 16}},
                   .defines = {{"TYPE", static_cast<int>(pool.type)}, {"STEP", p.step}},
                   .dims = 2,
                   .global = Grid(p.parts, DivideUp(lines, p.run)),
                   .flops = static_cast<double>(count) * static_cast<double>(wx.size * wy.size)}};
}

/// Windows that cover planes.
Result<KernelOffer> AcceptsPlanes(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.register_tiles_pay) return refuse("register tiles do not pay on this device");
  if (!IsWide(op.in(0)) || !IsWide(op.out(0))) return refuse("not of types for vectors");
  const pooling::Pool pool = PoolOf(op);
  for (const Window& w : pool.axes) {
    if (w.front != 0 || w.size != w.in || w.out(pool.round) != 1)
      return refuse("windows that do not cover the planes");
  }
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kLanes, .stores_once = true};
}
Result<Launches> Planes(const OpView& op, const KernelRequest& request) {
  constexpr int64_t kCellsOfItem = 16384;  // reads that are worth the start of a work-item
  const int64_t planes = op.out(0).shape().count(), count = op.in(0).shape().count();
  const int64_t cells = count / planes, groups = DivideUp(planes, 16);
  const int64_t fair = DivideUp(groups, 4 * static_cast<int64_t>(request.caps.compute_units));
  const int64_t run = std::max<int64_t>(std::min(kCellsOfItem / (16 * cells), fair), 1);
  return Launches{
      {.source = "pool_planes.cl",
       .entry = "pool_planes",
       .operands = {In(0, "X"), Out(0, "Y")},
       .sizes = {{"CELLS", cells}, {"PLANES", planes}, {"RUN", run}, {"SAFE", count - 16}},
       .defines = {{"TYPE", static_cast<int>(PoolOf(op).type)}},
       .global = Grid(DivideUp(groups, run)),
       .flops = static_cast<double>(count)}};
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
  if (!pool.axes[0].Meets(y[0]) || !pool.axes[1].Meets(y[1]))
    return refuse("a window lies outside of the input");
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
    {"planes", AcceptsPlanes, Planes},
    {"rows", AcceptsRows, Rows},
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
    for (uint32_t step : {1u, 2u, 3u}) {
      for (int64_t width : {14, 15, 16, 17, 18, 31, 33, 35, 67}) {
        make.Of(of({3, 2}, {step, 1}, PadType::AUTO, {1, 1, 1, 0}))
            .In(F32({width, 4, 9, 1}))
            .Note("lines around vectors");
      }
      make.Of(of({4, 12}, {step, 12}, PadType::AUTO, {3, 2, 1, 1}))
          .In(F32({600, 46, 5, 1}))
          .Note("fewer lines at a time than a work-item has");
      make.Of(of({5, 1}, {step, 1}, PadType::AUTO, {2, 2, 0, 0}))
          .In(F32({1200 * step, 2, 1, 1}))
          .Note("parts of lines");
      make.Of(of({9, 40}, {step, 1}, PadType::AUTO, {4, 4, 20, 0}))
          .In(F32({450, 35, 1, 1}))
          .Note("parts of lines, high windows");
      // Of a stride of 2 below.
      if (step == 2 || type == PoolType::L2 || type == PoolType::AVG_ANDROID) continue;
      make.Of(of({3, 3}, {step, 1}, PadType::SAME))
          .In(F32({37, 3, 3, 1}))
          .Note("types of lines")
          .EachType();
    }
    make.Of(of({2, 2}, {1, 5})).In(F32({19, 23, 4, 1})).Note("rows that no window has");
    make.Of(of({1, 1}, {16, 2})).In(F32({259, 3, 2, 1})).Note("the longest stride of lines");
    make.Of(of({3, 2}, {17, 2})).In(F32({259, 3, 2, 1})).Note("a longer stride");
    make.Of(of({30, 400}, {1, 1}, PadType::AUTO, {9, 0, 8, 0}))
        .In(F32({33, 397, 1, 1}))
        .Note("windows too large for lines");
    for (int64_t width : {1, 2, 3, 5, 8, 11}) {
      for (int64_t planes : {1, 15, 16, 35}) {
        const std::array<uint32_t, 2> size = {static_cast<uint32_t>(width), 3};
        make.Of(of(size, size)).In(F32({width, 3, planes, 1})).Note("planes around vectors");
      }
    }
    make.Of(of({5, 4}, {0, 0})).In(F32({5, 4, 19, 2})).Note("planes");
    if (type == PoolType::MAX || type == PoolType::AVG)
      make.Of(of({5, 4}, {0, 0})).In(F32({5, 4, 19, 2})).Note("types of planes").EachType();
    make.Of(of({3, 3}, {3, 3}, PadType::AUTO, {0, 3, 0, 0}))
        .In(F32({3, 3, 5, 1}))
        .Note("windows as large as planes, one of them outside");
    make.Of(of({5, 3}, {0, 0})).In(F32({5, 3, 4, 1})).Note("stride 0");
    make.Of(of({3, 3}, {2, 2}, PadType::AUTO, {2, 2, 2, 2}))
        .In(F32({2, 1, 3, 1}))
        .Note("pads as large as the input");
    make.Of(of({3, 3}, {2, 2}, PadType::SAME)).In(F32({37, 9, 3, 1})).Note("types").EachType();
  }
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> limits = {
      1, -2, std::numeric_limits<double>::quiet_NaN(), 3, -inf, -1, 0.5, 2, inf, -3, 4};
  for (uint32_t step : {1, 2, 3}) {
    for (const Shape& shape : {Shape{21, 5, 2}, Shape{21, 5, 2, 1}}) {
      make.Of(Pool2dAttrs{PoolType::MAX, PadType::AUTO, {2, 2}, {step, step}})
          .In(F32(shape))
          .Values(limits)
          .Note("infinities, NaN");
    }
  }
  make.Of(Pool2dAttrs{PoolType::MAX, PadType::AUTO, {5, 4}, {1, 1}})
      .In(F32({5, 4, 37, 1}))
      .Values(limits)
      .Note("planes of infinities, NaN");
  make.Of(Pool2dAttrs{PoolType::MAX, PadType::SAME, {3, 3}, {2, 2}})
      .In(F32({112, 112, 64, 1}))
      .Note("max 3x3, 64 channels")
      .Bench();
  make.Of(Pool2dAttrs{PoolType::AVG_ANDROID, PadType::SAME, {3, 3}, {1, 1}})
      .In(F32({28, 28, 192, 1}))
      .Note("average 3x3, 192 channels")
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
