// Pool2d: pooling over windows of the first two dimensions.  Source: ONNX MaxPool-12,
// AveragePool-11, LpPool-11; NNAPI AVERAGE_POOL_2D (AVG_ANDROID).
#include "tim/vx/ops/pool2d.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tim/vx/op_def.h"
#include "tim/vx/testing.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct Pool2dAttrs {
  PoolType type = PoolType::MAX;
  std::array<uint32_t, 2> ksize = {1, 1};
  std::array<uint32_t, 2> stride = {1, 1};
  PadType padding = PadType::AUTO;
  std::array<uint32_t, 4> pad = {0, 0, 0, 0};  // left, right, top, bottom; used by AUTO and NONE
  RoundType round_type = RoundType::FLOOR;
  DataLayout layout = DataLayout::WHCN;  // read by layout inference alone
  TIMCL_FIELDS(type, ksize, stride, padding, pad, round_type, layout)
};

struct Axis {
  int64_t in, window, stride, front, out;
};

/// Axis 0 is the width, axis 1 the height; an input of rank 3 has no height.
Axis AxisOf(const OpView& op, size_t d) {
  const auto& a = op.attrs<Pool2dAttrs>();
  const Shape& x = op.in(0).shape();
  if (d == 1 && x.rank() == 3) return {1, 1, 1, 0, 1};
  Axis axis = {x[d], a.ksize[d], std::max<int64_t>(a.stride[d], 1), a.pad[2 * d], 0};
  int64_t rear = a.pad[2 * d + 1];
  if (a.padding == PadType::VALID) axis.front = rear = 0;
  if (a.padding == PadType::SAME) {
    const int64_t out = (axis.in + axis.stride - 1) / axis.stride;
    const int64_t total = std::max<int64_t>((out - 1) * axis.stride + axis.window - axis.in, 0);
    axis.front = total / 2;
    rear = total - total / 2;
  }
  const int64_t room = axis.in + axis.front + rear - axis.window;
  const int64_t up = a.round_type == RoundType::CEILING ? axis.stride - 1 : 0;
  axis.out = room < 0 ? 0 : (room + up) / axis.stride + 1;
  return axis;
}

Status Verify(const OpView& op) {
  const auto& a = op.attrs<Pool2dAttrs>();
  TIMCL_TRY(op.CheckRank(0, 3, 4));
  const TensorView operands[] = {op.in(0), op.out(0)};
  for (const TensorView& t : operands) {
    const DataType d = t.dtype();
    const bool known = d == DataType::FLOAT32 || d == DataType::FLOAT16 || d == DataType::INT8 ||
                       d == DataType::UINT8 || d == DataType::INT16 || d == DataType::UINT16;
    if (!known || t.type().per_channel()) {
      return op
          .Error(Code::kInvalidType, (&t == operands ? "input 0 'input' " : "output 0 ") +
                                         t.label() +
                                         ": one of f32 f16 i8 u8 i16 u16, quantized per tensor or "
                                         "not at all, is expected")
          .AtTensor(t.name());
    }
  }
  for (size_t d = 0; d < op.in(0).shape().rank() - 2; ++d) {
    const std::string where = " of axis " + to_string(d) + " ";
    if (a.ksize[d] == 0) return op.Error(Code::kInvalidArgument, "ksize" + where + "is 0");
    if (a.stride[d] == 0 && a.ksize[d] != op.in(0).shape()[d]) {
      return op.Error(Code::kInvalidArgument,
                      "stride" + where + "is 0, which needs a window as large as the input");
    }
  }
  if (a.type < PoolType::MAX || a.type > PoolType::AVG_ANDROID) {
    return op.Error(Code::kInvalidArgument, "unknown pool type");
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  Shape y = op.in(0).shape();
  for (size_t d = 0; d + 2 < y.rank(); ++d) {
    const Axis axis = AxisOf(op, d);
    if (axis.out <= 0) {
      return op.Error(Code::kInvalidShape, "input 0 'input' " + op.in(0).label() +
                                               ": a window of " + to_string(axis.window) +
                                               " does not fit into the padded dimension " +
                                               to_string(d));
    }
    y[d] = axis.out;
  }
  return Shapes{y};
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const PoolType type = op.attrs<Pool2dAttrs>().type;
  const Axis ax = AxisOf(op, 0), ay = AxisOf(op, 1);
  const int64_t planes = op.in(0).shape().count() / (ax.in * ay.in);
  int64_t at = 0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t oy = 0; oy < ay.out; ++oy) {
      for (int64_t ox = 0; ox < ax.out; ++ox) {
        float r = type == PoolType::MAX ? -std::numeric_limits<float>::infinity() : 0.0f;
        int64_t cells = 0;
        for (int64_t j = 0; j < ay.window; ++j) {
          for (int64_t i = 0; i < ax.window; ++i) {
            const int64_t iy = oy * ay.stride + j - ay.front, ix = ox * ax.stride + i - ax.front;
            if (iy < 0 || iy >= ay.in || ix < 0 || ix >= ax.in) continue;
            const float v = ins[0].Float((plane * ay.in + iy) * ax.in + ix);
            ++cells;
            if (type == PoolType::MAX) {
              if (v > r || std::isnan(v)) r = v;  // a NaN stays
            } else if (type == PoolType::L2) {
              r += v * v;
            } else {
              r += v;
            }
          }
        }
        const float window = static_cast<float>(ax.window * ay.window);
        if (type == PoolType::AVG) r = r / window;
        if (type == PoolType::L2) r = std::sqrt(r / window);
        if (type == PoolType::AVG_ANDROID) {
          r = r / static_cast<float>(std::max<int64_t>(cells, 1));
        }
        outs[0].Set(at++, r);
      }
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const DeviceCaps& caps) {
  const Axis ax = AxisOf(op, 0), ay = AxisOf(op, 1);
  const int64_t count = op.out(0).type().count();
  if (count > INT32_MAX || op.in(0).type().count() > INT32_MAX) {
    return Status::Error(Code::kUnsupported, "more than 2^31 - 1 elements");
  }
  const int64_t lanes = caps.is_cpu && ax.out >= 4 ? 8 : 1;
  const int64_t items = (ax.out + lanes - 1) / lanes * (count / ax.out);
  const bool vectors = op.in(0).dtype() == DataType::FLOAT32 && ax.stride <= 2;
  KernelSpec spec;
  spec.source = "pool2d.cl";
  spec.entry = "pool2d";
  spec.operands = {In(0, "X"), Out(0, "Y")};
  spec.sizes = {{"IW", ax.in},           {"IH", ay.in},           {"KW", ax.window},
                {"KH", ay.window},       {"OW", ax.out},          {"OH", ay.out},
                {"STRIDE_X", ax.stride}, {"STRIDE_Y", ay.stride}, {"LEFT", ax.front},
                {"TOP", ay.front},       {"ITEMS", items}};
  spec.defines = {{"TYPE", to_string(static_cast<int>(op.attrs<Pool2dAttrs>().type))},
                  {"LANES", to_string(lanes)},
                  {"STEP", to_string(vectors ? ax.stride : 0)}};
  spec.global = {static_cast<size_t>(items), 1, 1};
  spec.local = {64, 1, 1};
  spec.float_math = true;
  spec.epilogue = KernelSpec::Epilogue::kScalar;
  spec.flops = static_cast<double>(count) * static_cast<double>(ax.window * ay.window);
  return Launches{spec};
}

void Cases(CaseMaker& make) {
  using Q = Quantization;
  auto add = [&](const Pool2dAttrs& a, TensorType x, const TensorType& y, const Shape& shape,
                 const char* note) {
    Case c;
    c.attrs = MakeAttrs(a);
    x.shape = shape;
    c.inputs = {{x, false, -3, 3}};
    c.outputs = {y};
    c.note = note;
    make.Add(c);
  };
  const TensorType f32 = {DataType::FLOAT32, {}, Q()}, f16 = {DataType::FLOAT16, {}, Q()};
  const TensorType y_u8 = {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 0.031f, 133)};
  const TensorType y_i8 = {DataType::INT8, {}, Q(QuantType::ASYMMETRIC, 0.033f, 5)};
  const TensorType y_i16 = {DataType::INT16, {}, Q(QuantType::ASYMMETRIC, 0.0007f, 0)};
  const auto types = StandardTypes({});
  for (PoolType type : {PoolType::MAX, PoolType::AVG, PoolType::L2, PoolType::AVG_ANDROID}) {
    for (PadType padding : {PadType::AUTO, PadType::NONE, PadType::VALID, PadType::SAME}) {
      for (RoundType round : {RoundType::FLOOR, RoundType::CEILING}) {
        Pool2dAttrs a = {type, {3, 2}, {2, 3}, padding, {1, 2, 1, 0}, round};
        add(a, f32, f32, {16, 11, 3, 2}, "pads and rounding");
        a.stride = {1, 1};
        add(a, types[2], y_u8, {9, 6, 2, 1}, "pads and rounding");
      }
    }
    Pool2dAttrs a = {type, {1, 1}, {1, 1}};
    add(a, f32, f32, {1, 1, 1, 1}, "one element");
    a = {type, {2, 2}, {2, 2}};
    add(a, f32, f32, {33, 4, 70, 1}, "beyond a work-group");
    add(a, f32, f32, {17, 3, 2}, "rank 3");
    a = {type, {5, 3}, {0, 0}};
    add(a, f32, f32, {5, 3, 4, 1}, "stride 0");
    a = {type, {3, 3}, {2, 2}, PadType::AUTO, {2, 2, 2, 2}};
    add(a, f32, f32, {2, 1, 3, 1}, "pads as large as the input");
    a = {type, {3, 3}, {2, 2}, PadType::SAME};
    for (const TensorType& t : types) {
      TensorType same = t;
      add(a, t, same, {13, 9, 3, 1}, "types");
    }
    add(a, types[2], f32, {13, 9, 3, 1}, "u8 to f32");
    add(a, types[2], f16, {13, 9, 3, 1}, "u8 to f16");
    add(a, types[3], y_i8, {13, 9, 3, 1}, "i8 to other i8");
    add(a, f32, y_u8, {13, 9, 3, 1}, "f32 to u8");
    add(a, types[5], y_i16, {13, 9, 3, 1}, "i16 to other i16");
    add(a, types[6], y_i8, {13, 9, 3, 1}, "i16 to i8");
    add(a, {DataType::INT8, {}, Q()}, {DataType::INT8, {}, Q()}, {13, 9, 3, 1}, "plain i8");
  }
  Case c;
  const double inf = std::numeric_limits<double>::infinity();
  c.inputs = {{{DataType::FLOAT32, {21, 5, 2}, Q()},
               false,
               0,
               1,
               {1, -2, std::numeric_limits<double>::quiet_NaN(), 3, -inf, -1, 0.5, 2, inf, -3, 4}}};
  c.outputs = {f32};
  for (uint32_t step : {1, 2}) {
    c.attrs = MakeAttrs(Pool2dAttrs{PoolType::MAX, {2, 2}, {step, step}});
    c.note = "infinities, NaN";
    make.Add(c);
  }
  c.inputs = {{{DataType::FLOAT32, {112, 112, 64, 1}, Q()}, false, -3, 3}};
  c.outputs = {f32};
  c.bench = true;
  c.attrs = MakeAttrs(Pool2dAttrs{PoolType::MAX, {3, 3}, {2, 2}, PadType::SAME});
  c.note = "max 3x3, 64 channels";
  make.Add(c);
  c.inputs[0].type.shape = {7, 7, 1024, 1};
  c.attrs = MakeAttrs(Pool2dAttrs{PoolType::AVG, {7, 7}, {7, 7}});
  c.note = "global average, 1024 channels";
  make.Add(c);
}

const OpDef kPool2d = {.name = "Pool2d",
                       .schema = &kAttrSchema<Pool2dAttrs>,
                       .verify = Verify,
                       .infer = Infer,
                       .reference = Reference,
                       .kernels = {{"general", General}},
                       .declared = Declared::kOverwritten,
                       .tolerance = Tolerance::Ulp(4, 0),
                       .cases = Cases};

#ifndef TIMCL_OP_FILE_AS_PLUGIN
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
#endif  // TIMCL_OP_FILE_AS_PLUGIN

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Pool2d::Pool2d(Graph* graph, PoolType type, PadType padding, const std::array<uint32_t, 2>& ksize,
               const std::array<uint32_t, 2>& stride, RoundType round_type, DataLayout layout)
    : BuiltinOp(
          graph, kPool2d,
          MakeAttrs(Pool2dAttrs{type, ksize, stride, padding, {0, 0, 0, 0}, round_type, layout}),
          layout) {}
Pool2d::Pool2d(Graph* graph, PoolType type, const std::array<uint32_t, 4>& pad,
               const std::array<uint32_t, 2>& ksize, const std::array<uint32_t, 2>& stride,
               RoundType round_type, DataLayout layout)
    : BuiltinOp(graph, kPool2d,
                MakeAttrs(Pool2dAttrs{type, ksize, stride, PadType::AUTO, pad, round_type, layout}),
                layout) {}
Pool2d::Pool2d(Graph* graph, PoolType type, const std::array<uint32_t, 2>& input_size,
               RoundType round_type, DataLayout layout)
    : Pool2d(graph, type, std::array<uint32_t, 4>{0, 0, 0, 0}, input_size, input_size, round_type,
             layout) {}
Pool2d::Pool2d(Graph* graph, PoolType type, const std::array<uint32_t, 2>& input_size,
               const std::array<uint32_t, 2>& output_size, RoundType round_type, DataLayout layout)
    : BuiltinOp(graph, kPool2d,
                MakeAttrs(Adaptive(type, input_size, output_size, round_type, layout)), layout) {}

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

TIMCL_OPS(pool2d) { Add(kPool2d); }

}  // namespace tim::vx::ops
