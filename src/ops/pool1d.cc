// Pool1d: pooling over windows of the first dimension; Pool2d does it.  Source: ONNX MaxPool-12,
// AveragePool-11, LpPool-11.
#include "tim/vx/ops/pool1d.h"

#include "tim/vx/pooling.h"
#include "tim/vx/window_folds.h"

namespace tim::vx::ops {
namespace {

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

pooling::Pool PoolOf(const OpView& op) {
  const auto& a = op.attrs<Pool1dAttrs>();
  const Window w =
      MakeWindow(op.in(0).shape()[0], a.ksize, a.stride, 1, a.padding, a.pad[0], a.pad[1]);
  return {{w}, a.type, a.round_type};
}
using Op = pooling::PoolOp<PoolOf>;

Status Verify(const OpView& op) {
  const auto& a = op.attrs<Pool1dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 3, 3));
  return pooling::CheckWindow(op, 0, a.ksize, a.stride, "");
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
    for (uint32_t step : {1u, 2u, 3u}) {
      make.Of(Pool1dAttrs{type, PadType::AUTO, 5, step, {2, 3}})
          .In(F32({1100 * step, 3, 1}))
          .Note("parts of lines");
      make.Of(Pool1dAttrs{type, PadType::AUTO, 4, step, {1, 2}})
          .In(F32({67, 5, 3}))
          .Note("several lines at a time");
    }
    make.Of(Pool1dAttrs{type, PadType::AUTO, 87, 0}).In(F32({87, 19, 2})).Note("whole lines");
    make.Of(Pool1dAttrs{type, PadType::SAME, 3, 2}).In(F32({37, 3, 2})).Note("types").EachType();
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
                           .infer = Op::Infer,
                           .reference = Op::Reference,
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

TIMCL_OPS(pool1d) {
  Add(kPool1d);
  AddFoldRule(kPool1d, &PoolFolds<PoolOf>::kRule);
}

}  // namespace tim::vx::ops
