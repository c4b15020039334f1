// Pad: adds cells around a tensor.  Source: ONNX Pad-13; tf.pad.
#include "tim/vx/ops/pad.h"

#include <algorithm>
#include <string>

#include "tim/vx/exact_division.h"
#include "tim/vx/op_def.h"
#include "tim/vx/testing.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct PadAttrs {
  std::vector<uint32_t> front_size;  // one entry per dimension, 0 = fastest
  std::vector<uint32_t> back_size;
  int32_t const_val = 0;  // a real number, quantized like the output
  Pad::pad_mode_type pad_mode = Pad::PAD_MODE_CONSTANT;
  TIMCL_FIELDS(front_size, back_size, const_val, pad_mode)
};

Status Verify(const OpView& op) {
  const auto& a = op.attrs<PadAttrs>();
  const Shape& x = op.in(0).shape();
  if (a.front_size.size() != x.rank() || a.back_size.size() != x.rank()) {
    return op.Error(Code::kInvalidArgument, "attributes front_size and back_size have " +
                                                to_string(a.front_size.size()) + " and " +
                                                to_string(a.back_size.size()) +
                                                " entries for input 0 'input' " + op.in(0).label());
  }
  if (a.pad_mode < Pad::PAD_MODE_CONSTANT || a.pad_mode > Pad::PAD_MODE_REFLECT) {
    return op.Error(Code::kInvalidArgument, "unknown pad_mode " + to_string(a.pad_mode));
  }
  for (size_t d = 0; d < x.rank() && a.pad_mode >= Pad::PAD_MODE_SYMMETRIC; ++d) {
    const int64_t most = a.pad_mode == Pad::PAD_MODE_REFLECT ? x[d] - 1 : x[d];
    if (std::max(a.front_size[d], a.back_size[d]) > most) {
      return op.Error(Code::kInvalidArgument,
                      "dimension " + to_string(d) + " of input 0 'input' " + op.in(0).label() +
                          " is too small to be mirrored over " +
                          to_string(std::max(a.front_size[d], a.back_size[d])) + " cells");
    }
  }
  for (const TensorView& t : {op.in(0), op.out(0)}) {
    if (BitsOf(t.dtype()) == 4 || t.type().per_channel()) {
      return op
          .Error(Code::kInvalidType,
                 "operand " + t.label() + ": 4-bit and per-channel tensors are not padded")
          .AtTensor(t.name());
    }
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const auto& a = op.attrs<PadAttrs>();
  Shape y = op.in(0).shape();
  for (size_t d = 0; d < y.rank(); ++d) y[d] += int64_t{a.front_size[d]} + a.back_size[d];
  return Shapes{y};
}

/// The cell of the input behind position c of a dimension, -1 where the constant stands.
int64_t Source(int64_t c, int64_t extent, Pad::pad_mode_type mode) {
  if (c >= 0 && c < extent) return c;
  switch (mode) {
    case Pad::PAD_MODE_EDGE:
      return c < 0 ? 0 : extent - 1;
    case Pad::PAD_MODE_SYMMETRIC:
      return c < 0 ? -1 - c : 2 * extent - 1 - c;
    case Pad::PAD_MODE_REFLECT:
      return c < 0 ? -c : 2 * extent - 2 - c;
    default:
      return -1;
  }
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const auto& a = op.attrs<PadAttrs>();
  const TensorType &tx = op.in(0).type(), &ty = op.out(0).type();
  const Shape &x = tx.shape, &y = ty.shape;
  const bool raw =
      IsInteger(tx.dtype) &&
      (SameEncoding(tx, ty) || (IsInteger(ty.dtype) && !tx.quantized() && !ty.quantized()));
  for (int64_t i = 0; i < ty.count(); ++i) {
    int64_t rest = i, from = 0, stride = 1;
    bool inside = true;
    for (size_t d = 0; d < y.rank(); ++d) {
      const int64_t c = Source(rest % y[d] - a.front_size[d], x[d], a.pad_mode);
      inside = inside && c >= 0;
      from += c * stride;
      stride *= x[d];
      rest /= y[d];
    }
    if (!inside) {
      outs[0].Set(i, a.const_val);
    } else if (raw) {
      outs[0].SetRaw(i, ins[0].Raw(from));
    } else {
      outs[0].Set(i, ins[0].At(from));
    }
  }
  return Status();
}

Result<Launches> General(const OpView& op, const DeviceCaps& caps) {
  const auto& a = op.attrs<PadAttrs>();
  const Shape& x = op.in(0).shape();
  const int64_t count = op.out(0).type().count();
  if (count > INT32_MAX) {
    return Status::Error(Code::kUnsupported, "more than 2^31 - 1 elements");
  }
  if (a.pad_mode == Pad::PAD_MODE_CONSTANT && a.const_val != 0 &&
      static_cast<int64_t>(static_cast<float>(a.const_val)) != a.const_val) {
    return Status::Error(Code::kUnsupported,
                         "the constant " + to_string(a.const_val) + " is no float");
  }
  struct Dimension {
    int64_t out, in, front;
  };
  std::vector<Dimension> dims;
  bool joins = false;  // the last one has no padding
  for (size_t d = 0; d < x.rank(); ++d) {
    const bool bare = a.front_size[d] == 0 && a.back_size[d] == 0;
    if (bare && x[d] == 1) continue;
    if (bare && joins) {
      dims.back().out *= x[d], dims.back().in *= x[d];
    } else {
      dims.push_back({x[d] + a.front_size[d] + a.back_size[d], x[d], a.front_size[d]});
    }
    joins = bare;
  }
  if (dims.empty()) dims.push_back({1, 1, 0});
  // Neighbours in one work-item where that saves work, a work-item each where they share memory
  // accesses.
  const int64_t run = caps.is_cpu ? 16 : 1;
  const int64_t across = (dims[0].out + run - 1) / run, items = count / dims[0].out * across;
  std::vector<int32_t> table;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t extent = d == 0 ? across : dims[d].out;
    const ExactDivision by(extent);
    for (int64_t v :
         {extent, int64_t{by.multiplier}, int64_t{by.shift}, dims[d].in, dims[d].front}) {
      table.push_back(static_cast<int32_t>(v));
    }
  }
  KernelSpec spec;
  spec.source = "pad.cl";
  spec.entry = "pad";
  spec.operands = {In(0, "X"), Out(0, "Y"), Data(table, "T", "int")};
  spec.sizes = {{"LENGTH", dims[0].out}, {"ITEMS", items}};
  spec.reals = {{"VALUE", static_cast<float>(a.const_val)}};
  spec.defines = {{"MODE", to_string(static_cast<int>(a.pad_mode))},
                  {"RANK", to_string(dims.size())},
                  {"RUN", to_string(run)}};
  spec.global = {static_cast<size_t>(items), 1, 1};
  spec.local = {64, 1, 1};
  return Launches{spec};
}

void Cases(CaseMaker& make) {
  using Q = Quantization;
  auto add = [&](const PadAttrs& a, TensorType x, TensorType y, const Shape& shape,
                 const char* note) {
    Case c;
    c.attrs = MakeAttrs(a);
    x.shape = shape;
    c.inputs = {{x, false, -4, 4}};
    c.outputs = {y};
    c.outputs[0].shape = {};
    c.note = note;
    make.Add(c);
  };
  const auto types = StandardTypes({});
  const TensorType& f32 = types[0];
  for (Pad::pad_mode_type mode : {Pad::PAD_MODE_CONSTANT, Pad::PAD_MODE_EDGE,
                                  Pad::PAD_MODE_SYMMETRIC, Pad::PAD_MODE_REFLECT}) {
    add({{0}, {0}, 3, mode}, f32, f32, {1}, "nothing");
    add({{3}, {2}, 3, mode}, f32, f32, {5}, "a vector");
    add({{1, 2, 0, 0}, {2, 0, 0, 0}, -2, mode}, f32, f32, {9, 7, 3, 2}, "width and height");
    add({{0, 0, 1, 0}, {0, 0, 2, 1}, 3, mode}, f32, f32, {5, 3, 4, 2}, "channels and images");
    add({{0, 1, 0, 0}, {0, 1, 0, 0}, 1, mode}, f32, f32, {1, 3, 1, 5}, "extents of 1");
    add({{1, 0, 1, 1, 0, 1}, {0, 1, 1, 0, 1, 1}, 1, mode}, f32, f32, {2, 3, 2, 2, 3, 2}, "rank 6");
    add({{1, 2}, {2, 1}, 1, mode}, f32, f32, {40, 30}, "beyond a work-group");
    // How values are stored does not depend on where they come from.
    if (mode == Pad::PAD_MODE_EDGE || mode == Pad::PAD_MODE_REFLECT) continue;
    for (const TensorType& t : types) {
      add({{1, 0, 2}, {0, 2, 1}, 2, mode}, t, t, {7, 5, 3}, "types");
    }
    add({{1, 0, 2}, {0, 2, 1}, 2, mode}, types[2], f32, {7, 5, 3}, "u8 to f32");
    add({{1, 0, 2}, {0, 2, 1}, 2, mode}, types[3], types[2], {7, 5, 3}, "i8 to u8");
    add({{1, 0}, {0, 2}, 2, mode}, types[2],
        {DataType::UINT8, {}, Q(QuantType::ASYMMETRIC, 0.05f, 77)}, {7, 5}, "u8 to other u8");
  }
  for (int32_t value : {0, -5, 1000}) {
    add({{1, 1}, {1, 1}, value}, types[2], types[2], {6, 4}, "constants");
    add({{1, 1}, {1, 1}, value}, types[1], types[1], {6, 4}, "constants");
  }
  for (DataType d : {DataType::INT32, DataType::UINT32, DataType::BOOL8, DataType::INT16}) {
    const TensorType plain = {d, {}, Q()};
    add({{1, 1}, {2, 0}, 1}, plain, plain, {20, 30}, "plain integers");
  }
  Case c;
  c.attrs = MakeAttrs(PadAttrs{{1, 1, 0, 0}, {1, 1, 0, 0}});
  c.inputs = {{{DataType::FLOAT32, {56, 56, 64, 1}, Q()}, false, -4, 4}};
  c.outputs = {f32};
  c.note = "one cell around 64 channels";
  c.bench = true;
  make.Add(c);
}

const OpDef kPad = {.name = "Pad",
                    .schema = &kAttrSchema<PadAttrs>,
                    .verify = Verify,
                    .infer = Infer,
                    .reference = Reference,
                    .kernels = {{"general", General}},
                    .declared = Declared::kMustMatch,
                    .tolerance = Tolerance::Exact(),
                    .cases = Cases};

}  // namespace

#ifndef TIMCL_OP_FILE_AS_PLUGIN
Pad::Pad(Graph* graph, const std::vector<uint32_t>& front_size,
         const std::vector<uint32_t>& back_size, int32_t const_val)
    : Pad(graph, front_size, back_size, const_val, PAD_MODE_CONSTANT) {}
Pad::Pad(Graph* graph, const std::vector<uint32_t>& front_size,
         const std::vector<uint32_t>& back_size, int32_t const_val, pad_mode_type pad_mode)
    : BuiltinOp(graph, kPad, MakeAttrs(PadAttrs{front_size, back_size, const_val, pad_mode})),
      front_size_(front_size),
      back_size_(back_size),
      const_val_(const_val),
      pad_mode_(pad_mode) {}
std::shared_ptr<Operation> Pad::Clone(std::shared_ptr<Graph>& graph) const {
  const auto& a = AttrsOf<PadAttrs>(*this);
  return graph->CreateOperation<Pad>(a.front_size, a.back_size, a.const_val, a.pad_mode);
}
#endif  // TIMCL_OP_FILE_AS_PLUGIN

TIMCL_OPS(pad) { Add(kPad); }

}  // namespace tim::vx::ops
