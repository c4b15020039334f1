// Pool1d: pooling over windows of the first dimension; Pool2d does it.  Source: ONNX MaxPool-12,
// AveragePool-11, LpPool-11.
#include "tim/vx/ops/pool1d.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct Pool1dAttrs {
  PoolType type = PoolType::MAX;
  PadType padding = PadType::AUTO;
  uint32_t ksize = 1;
  uint32_t stride = 1;
  std::array<uint32_t, 2> pad = {0, 0};  // front, rear; used by AUTO and NONE
  RoundType round_type = RoundType::FLOOR;
  DataLayout layout = DataLayout::WCN;  // read by layout inference alone
  TIMCL_FIELDS(type, padding, ksize, stride, pad, round_type, layout)
};

Window WindowOf(const OpView& op) {
  const auto& a = op.attrs<Pool1dAttrs>();
  return MakeWindow(op.in(0).shape()[0], a.ksize, a.stride, 1, a.padding, a.pad[0], a.pad[1]);
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<Pool1dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 3, 3));
  if (a.ksize == 0) return op.Error(Code::kInvalidArgument, "attribute ksize is 0");
  if (a.stride == 0 && a.ksize != op.in(0).shape()[0]) {
    return op.Error(Code::kInvalidArgument,
                    "attribute stride is 0, which needs a window as large as the input");
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const Window w = WindowOf(op);
  Shape y = op.in(0).shape();
  y[0] = w.out(op.attrs<Pool1dAttrs>().round_type);
  if (y[0] > 0) return Shapes{y};
  return op.InputError(
      0, Code::kInvalidShape,
      "a window of " + to_string(w.size) + " does not fit into the padded dimension 0");
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const PoolType type = op.attrs<Pool1dAttrs>().type;
  const Window w = WindowOf(op);
  const int64_t extent = w.out(op.attrs<Pool1dAttrs>().round_type);
  for (int64_t at = 0; at < outs[0].count(); ++at) {
    const int64_t left = at % extent * w.stride - w.front, line = at / extent * w.in;
    const int64_t first = std::max<int64_t>(left, 0), last = std::min(left + w.size, w.in);
    float r = type == PoolType::MAX ? -std::numeric_limits<float>::infinity() : 0.0f;
    for (int64_t i = first; i < last; ++i) {
      const float v = ins[0].Float(line + i);
      if (type == PoolType::MAX) {
        r = std::isnan(r) || v <= r ? r : v;  // a NaN wins and stays
      } else {
        r += type == PoolType::L2 ? v * v : v;
      }
    }
    if (type == PoolType::AVG) r = r / static_cast<float>(w.size);
    if (type == PoolType::L2) r = std::sqrt(r / static_cast<float>(w.size));
    if (type == PoolType::AVG_ANDROID)
      r = r / static_cast<float>(std::max<int64_t>(last - first, 1));
    outs[0].Set(at, r);
  }
  return Status();
}

// Pool2d pools an input of rank 3 along its first dimension.
Status Expand(ExpandBuilder& b) {
  const auto& a = b.op().attrs<Pool1dAttrs>();
  b.AddTo(0, "Pool2d",
          {{"type", static_cast<int64_t>(a.type)},
           {"padding", static_cast<int64_t>(a.padding)},
           {"ksize", std::vector<int64_t>{a.ksize, 1}},
           {"stride", std::vector<int64_t>{a.stride, 1}},
           {"pad", std::vector<int64_t>{a.pad[0], a.pad[1], 0, 0}},
           {"round_type", static_cast<int64_t>(a.round_type)}},
          {b.in(0)});
  return Status();
}

void Cases(CaseMaker& make) {
  using namespace cases;
  for (PoolType type : {PoolType::MAX, PoolType::AVG, PoolType::L2, PoolType::AVG_ANDROID}) {
    for (PadType padding : {PadType::AUTO, PadType::NONE, PadType::VALID, PadType::SAME}) {
      for (RoundType round : {RoundType::FLOOR, RoundType::CEILING}) {
        make.Of(Pool1dAttrs{type, padding, 3, 2, {1, 2}, round})
            .In(F32({16, 5, 3}))
            .Note("pads and rounding");
      }
    }
    make.Of(Pool1dAttrs{type}).In(F32({1, 1, 1})).Note("one element");
    make.Of(Pool1dAttrs{type, PadType::AUTO, 5, 0}).In(F32({5, 3, 2})).Note("stride 0");
    make.Of(Pool1dAttrs{type, PadType::AUTO, 3, 2, {2, 2}})
        .In(F32({2, 3, 1}))
        .Note("pads as large as the input");
    make.Of(Pool1dAttrs{type, PadType::SAME, 3, 2}).In(F32({13, 3, 2})).Note("types").EachType();
  }
  make.Of(Pool1dAttrs{PoolType::MAX, PadType::SAME, 3, 2})
      .In(F32({4000, 64, 1}))
      .Note("max of 3, 64 channels")
      .Bench();
}

constexpr OpDef kPool1d = {.name = "Pool1d",
                           .types = "real -> real",
                           .schema = &kAttrSchema<Pool1dAttrs>,
                           .verify = Verify,
                           .infer = Infer,
                           .reference = Reference,
                           .expand = Expand,
                           .layout = LayoutRule::Fixed("layout"),
                           .declared = Declared::kOverwritten,
                           .tolerance = Tolerance::Ulp(4),
                           .cases = TIMCL_CASES(Cases)};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
namespace {
/// Windows that cover the input with output_size results. A size of 0 is left to Verify.
Pool1dAttrs Adaptive(PoolType type, uint32_t input_size, uint32_t output_size, RoundType round_type,
                     DataLayout layout) {
  Pool1dAttrs a;
  a.stride = output_size == 0 ? 0 : input_size / output_size;
  a.ksize = output_size == 0 ? 0 : input_size - (output_size - 1) * a.stride;
  a.type = type, a.round_type = round_type, a.layout = layout;
  return a;
}
}  // namespace

Pool1d::Pool1d(Graph* graph, PoolType type, PadType padding, uint32_t ksize, uint32_t stride,
               RoundType round_type, DataLayout layout)
    : BuiltinOp(graph, kPool1d,
                MakeAttrs(Pool1dAttrs{type, padding, ksize, stride, {0, 0}, round_type, layout})),
      type_(type),
      padding_(padding),
      ksize_(ksize),
      stride_(stride),
      round_type_(round_type),
      pad_{0, 0} {}
Pool1d::Pool1d(Graph* graph, PoolType type, const std::array<uint32_t, 2>& pad, uint32_t ksize,
               uint32_t stride, RoundType round_type, DataLayout layout)
    : BuiltinOp(
          graph, kPool1d,
          MakeAttrs(Pool1dAttrs{type, PadType::AUTO, ksize, stride, pad, round_type, layout})),
      type_(type),
      padding_(PadType::AUTO),
      ksize_(ksize),
      stride_(stride),
      round_type_(round_type),
      pad_(pad) {}
Pool1d::Pool1d(Graph* graph, PoolType type, uint32_t input_size, RoundType round_type,
               DataLayout layout)
    : Pool1d(graph, type, std::array<uint32_t, 2>{}, input_size, input_size, round_type, layout) {}
Pool1d::Pool1d(Graph* graph, PoolType type, uint32_t input_size, uint32_t output_size,
               RoundType round_type, DataLayout layout)
    : BuiltinOp(graph, kPool1d,
                MakeAttrs(Adaptive(type, input_size, output_size, round_type, layout))),
      type_(type),
      padding_(PadType::AUTO),
      ksize_(AttrsOf<Pool1dAttrs>(*this).ksize),
      stride_(AttrsOf<Pool1dAttrs>(*this).stride),
      round_type_(round_type),
      pad_{0, 0} {}

std::shared_ptr<Operation> Pool1d::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<Pool1dAttrs>(*this);
  if (a.padding == PadType::AUTO) {
    return graph->CreateOperation<Pool1d>(a.type, a.pad, a.ksize, a.stride, a.round_type, a.layout);
  }
  return graph->CreateOperation<Pool1d>(a.type, a.padding, a.ksize, a.stride, a.round_type,
                                        a.layout);
}

void Pool1d::Init() {}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(pool1d) { Add(kPool1d); }

}  // namespace tim::vx::ops
