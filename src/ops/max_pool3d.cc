// MaxPool3d: the maximum over windows of three dimensions, composed of Pool2d.  Source: ONNX
// MaxPool-12.
#include "tim/vx/ops/max_pool3d.h"

#include <limits>

#include "tim/vx/pooling.h"

namespace tim::vx::ops {
namespace {

struct MaxPool3dAttrs {
  RoundType round_type = RoundType::FLOOR;
  std::array<uint32_t, 3> ksize = {1, 1, 1};
  std::array<uint32_t, 3> stride = {1, 1, 1};
  // left, right, top, bottom, front, rear; used by AUTO and NONE
  std::array<uint32_t, 6> pad = {0, 0, 0, 0, 0, 0};
  PadType pad_type = PadType::AUTO;
  DataLayout layout = DataLayout::WHDCN;  // read by layout inference alone
  TIMCL_FIELDS(round_type, ksize, stride, pad, pad_type, layout)
};

pooling::Pool PoolOf(const OpView& op) {
  const auto& a = op.attrs<MaxPool3dAttrs>();
  const Shape& x = op.in(0).shape();
  pooling::Pool p = {{}, PoolType::MAX, a.round_type};
  for (size_t d = 0; d < 3; ++d) {
    p.axes[d] =
        MakeWindow(x[d], a.ksize[d], a.stride[d], 1, a.pad_type, a.pad[2 * d], a.pad[2 * d + 1]);
  }
  return p;
}
using Op = pooling::PoolOp<PoolOf>;

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckRank(0, 5, 5));
  return pooling::CheckWindows(op, op.attrs<MaxPool3dAttrs>());
}

// Over W and H with D among the channels, then over D with W and H as one dimension.
Status Expand(ExpandBuilder& b) {
  const OpView& op = b.op();
  const auto& a = op.attrs<MaxPool3dAttrs>();
  const Shape &x = op.in(0).shape(), &y = op.out(0).shape();
  // What lies between holds every value of the input; a window of padding alone is minus infinity
  // until it meets the output's type.
  const TensorType &in = op.in(0).type(), &out = op.out(0).type();
  TensorType between = in;
  if (IsInteger(in.dtype) && (in.dtype != out.dtype || in.quant != out.quant)) {
    between = {DataType::FLOAT32, {}, Quantization()};
  }
  using Numbers = std::vector<int64_t>;
  auto reshape = [&](ExpandBuilder::Value v, const TensorType& type, const Numbers& shape) {
    return b.Add("Reshape", {{"target_shape", shape}}, {v}, type);
  };
  auto pool = [&](Numbers ksize, Numbers stride, Numbers pad) {
    return AttrMap{{"type", static_cast<int64_t>(PoolType::MAX)},
                   {"padding", static_cast<int64_t>(a.pad_type)},
                   {"ksize", std::move(ksize)},
                   {"stride", std::move(stride)},
                   {"pad", std::move(pad)},
                   {"round_type", static_cast<int64_t>(a.round_type)}};
  };
  const auto planes = reshape(b.in(0), in, {x[0], x[1], x[2] * x[3], x[4]});
  const auto maxima = b.Add("Pool2d",
                            pool({a.ksize[0], a.ksize[1]}, {a.stride[0], a.stride[1]},
                                 {a.pad[0], a.pad[1], a.pad[2], a.pad[3]}),
                            {planes}, between);
  const auto lines = reshape(maxima, between, {y[0] * y[1], x[2], x[3], x[4]});
  const auto result = b.Add(
      "Pool2d", pool({1, a.ksize[2]}, {1, a.stride[2]}, {0, 0, a.pad[4], a.pad[5]}), {lines}, out);
  b.AddTo(0, "Reshape", {{"target_shape", y.dims()}}, {result});
  return Status();
}

void Cases(CaseMaker& make) {
  using namespace cases;
  for (PadType padding : {PadType::AUTO, PadType::NONE, PadType::VALID, PadType::SAME}) {
    for (RoundType round : {RoundType::FLOOR, RoundType::CEILING}) {
      make.Of(MaxPool3dAttrs{round, {3, 2, 2}, {2, 1, 3}, {1, 2, 1, 0, 0, 1}, padding})
          .In(F32({9, 5, 6, 3, 2}))
          .Note("pads and rounding");
    }
  }
  make.Of(MaxPool3dAttrs{}).In(F32({1, 1, 1, 1, 1})).Note("one element");
  make.Of(MaxPool3dAttrs{RoundType::FLOOR, {4, 3, 2}, {0, 0, 0}})
      .In(F32({4, 3, 2, 2, 1}))
      .Note("stride 0");
  make.Of(MaxPool3dAttrs{RoundType::FLOOR, {2, 2, 2}, {1, 1, 1}, {2, 2, 2, 2, 2, 2}})
      .In(F32({2, 1, 3, 2, 1}))
      .Note("windows of padding alone")
      .EachType();
  const double inf = std::numeric_limits<double>::infinity();
  make.Of(MaxPool3dAttrs{RoundType::FLOOR, {2, 2, 2}, {1, 1, 1}})
      .In(F32({5, 4, 3, 1, 1}))
      .Values({1, -2, std::numeric_limits<double>::quiet_NaN(), 3, -inf, -1, 0.5, 2, inf, -3, 4})
      .Note("infinities, NaN");
  make.Of(MaxPool3dAttrs{RoundType::FLOOR, {3, 3, 3}, {2, 2, 2}, {}, PadType::SAME})
      .In(F32({56, 56, 8, 16, 1}))
      .Note("3x3x3, 16 channels")
      .Bench();
}

constexpr OpDef kMaxPool3d = {.name = "MaxPool3d",
                              .types = "real -> real",
                              .schema = &kAttrSchema<MaxPool3dAttrs>,
                              .verify = Verify,
                              .infer = Op::Infer,
                              .reference = Op::Reference,
                              .expand = Expand,
                              .layout = LayoutRule::Fixed("layout"),
                              .declared = Declared::kOverwritten,
                              .tolerance = Tolerance::Exact(),
                              .cases = TIMCL_CASES(Cases)};

}  // namespace

TIMCL_OP_CLASS_WITH(MaxPool3d, MaxPool3dAttrs,
                    (RoundType round_type, const std::array<uint32_t, 3>& ksize,
                     const std::array<uint32_t, 3>& stride, const std::array<uint32_t, 6>& pad,
                     PadType pad_type, DataLayout layout),
                    (round_type, ksize, stride, pad, pad_type, layout), round_type_(round_type),
                    ksize_(ksize), stride_(stride), pad_(pad), pad_type_(pad_type));

TIMCL_OPS(max_pool3d) { Add(kMaxPool3d); }

}  // namespace tim::vx::ops
