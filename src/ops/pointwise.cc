// What all point-wise operators share: types, broadcasting, the reference and the general kernel.
#include "tim/vx/pointwise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "tim/vx/exact_division.h"

namespace tim::vx::pointwise {
namespace {

using std::to_string;

constexpr const char* kNames[] = {"X", "Y", "Z"};

const Pointwise& RuleOf(const OpView& op) {
  return static_cast<const Pointwise&>(*op.def().pointwise);
}

Shape AlignedShape(const OpView& op, size_t input) {
  const Pointwise& rule = RuleOf(op);
  return rule.align != nullptr ? rule.align(op, input) : op.in(input).shape();
}

/// The dimensions of the result, fastest first, and by how much each input moves along them; 0
/// where it is repeated.
struct Walk {
  std::vector<int64_t> extent;
  std::array<std::vector<int64_t>, 3> stride;
  size_t rank() const { return extent.size(); }
};

/// Leaves out dimensions of extent 1 and joins neighbours that every input walks in one go.
Walk MakeWalk(const OpView& op) {
  const Shape& out = op.out(0).shape();
  const size_t inputs = op.num_inputs();
  std::vector<Shape> shapes;
  for (size_t k = 0; k < inputs; ++k) shapes.push_back(AlignedShape(op, k));
  Walk walk;
  std::array<int64_t, 3> step = {1, 1, 1};
  for (size_t d = 0; d < out.rank(); ++d) {
    if (out[d] == 1) continue;
    std::array<int64_t, 3> stride = {};
    for (size_t k = 0; k < inputs; ++k) {
      if (shapes[k].dim(d) == 1) continue;
      stride[k] = step[k];
      step[k] *= out[d];
    }
    bool joins = walk.rank() > 0;
    for (size_t k = 0; k < inputs && joins; ++k) {
      joins = stride[k] == walk.stride[k].back() * walk.extent.back();
    }
    if (joins) {
      walk.extent.back() *= out[d];
      continue;
    }
    walk.extent.push_back(out[d]);
    for (size_t k = 0; k < inputs; ++k) walk.stride[k].push_back(stride[k]);
  }
  return walk;
}

bool IsPlainInteger(const TensorView& t) { return IsInteger(t.dtype()) && !t.type().quantized(); }

/// Whether the op is computed over whole numbers, exactly.
bool ComputesIntegers(const OpView& op) {
  bool all = RuleOf(op).int_expression != nullptr && IsPlainInteger(op.out(0));
  for (size_t k = 0; k < op.num_inputs(); ++k) all = all && IsPlainInteger(op.in(k));
  return all;
}

int CountParams(const char* expression) {
  int n = 0;
  for (int j = 0; j < 4; ++j) {
    if (std::strstr(expression, ("p" + to_string(j)).c_str()) != nullptr) n = j + 1;
  }
  return n;
}

}  // namespace

Status Verify(const OpView& op) {
  const Pointwise& rule = RuleOf(op);
  return rule.check != nullptr ? rule.check(op) : Status();
}

Result<Shapes> Infer(const OpView& op) {
  Shape out = AlignedShape(op, 0);
  std::vector<size_t> from(out.rank(), 0);  // which input gave the extent
  for (size_t k = 1; k < op.num_inputs(); ++k) {
    const Shape in = AlignedShape(op, k);
    for (size_t d = 0; d < in.rank(); ++d) {
      if (d >= out.rank()) {
        out.push_back(in[d]);
        from.push_back(k);
      } else if (out[d] == 1) {
        out[d] = in[d];
        from[d] = k;
      } else if (in[d] != 1 && in[d] != out[d]) {
        return op.Error(Code::kInvalidShape, op.in_label(from[d]) + " and " + op.in_label(k) +
                                                 " do not broadcast: dimension " + to_string(d) +
                                                 " (counted from the fastest) is " +
                                                 to_string(out[d]) + " against " +
                                                 to_string(in[d]));
      }
    }
  }
  return Shapes{out};
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Pointwise& rule = RuleOf(op);
  float p[4] = {};
  if (rule.params != nullptr) rule.params(op, p);
  const Walk walk = MakeWalk(op);
  const bool integers = ComputesIntegers(op), to_bool = op.out(0).dtype() == DataType::BOOL8;
  const bool float_steps = IsInteger(op.out(0).dtype());
  const size_t inputs = op.num_inputs();
  std::vector<int64_t> at(walk.rank(), 0);
  std::array<int64_t, 3> index = {};
  const int64_t count = op.out(0).shape().count();
  for (int64_t i = 0; i < count; ++i) {
    if (integers) {
      int64_t v[3] = {};
      for (size_t k = 0; k < inputs; ++k) v[k] = ins[k].Raw(index[k]);
      const int64_t r = rule.in_integer(v[0], v[1], v[2], p);
      outs[0].SetRaw(i, to_bool ? r != 0 : r);
    } else {
      // Kernels read every operand as float32, large integers too.
      float v[3] = {};
      for (size_t k = 0; k < inputs; ++k) v[k] = ins[k].Float(index[k]);
      const double r = float_steps ? static_cast<double>(rule.in_float(v[0], v[1], v[2], p))
                                   : rule.in_double(v[0], v[1], v[2], p);
      if (to_bool) {
        outs[0].SetRaw(i, r != 0);
      } else {
        outs[0].Set(i, r);
      }
    }
    for (size_t d = 0; d < walk.rank(); ++d) {
      for (size_t k = 0; k < inputs; ++k) index[k] += walk.stride[k][d];
      if (++at[d] < walk.extent[d]) break;
      for (size_t k = 0; k < inputs; ++k) index[k] -= walk.stride[k][d] * at[d];
      at[d] = 0;
    }
  }
  return Status();
}

namespace {

/// What both kernels have in common.
KernelSpec BaseSpec(const OpView& op, const char* entry, const char* expression) {
  const Pointwise& rule = RuleOf(op);
  const int64_t count = op.out(0).shape().count();
  KernelSpec spec;
  spec.source = std::string(entry) + ".cl";
  spec.entry = entry;
  for (size_t k = 0; k < op.num_inputs(); ++k) spec.operands.push_back(In(k, kNames[k]));
  spec.operands.push_back(Out(0, "R"));
  spec.sizes.emplace_back("N", count);
  const int params = CountParams(expression);
  float p[4] = {};
  if (rule.params != nullptr) rule.params(op, p);
  for (int j = 0; j < params; ++j) spec.reals.emplace_back("p" + to_string(j), p[j]);
  spec.defines = {{"INPUTS", op.num_inputs()},
                  {"PARAMS", params},
                  {"EXPR", "(" + std::string(expression) + ")"}};
  spec.flops = static_cast<double>(count);
  return spec;
}

bool SameShapes(const OpView& op, const Walk& walk) {
  bool same = walk.rank() <= 1;
  for (size_t k = 0; k < op.num_inputs() && walk.rank() == 1; ++k) {
    same = same && walk.stride[k][0] == 1;
  }
  return same;
}

}  // namespace

Result<KernelOffer> AcceptsVectors(const OpView& op, const KernelRequest& request) {
  auto refuse = [](const char* why) { return Status::Error(Code::kUnsupported, why); };
  if (!request.caps.is_cpu) return refuse("not a CPU");
  if (RuleOf(op).scalar_only) return refuse("the expression is for scalars only");
  if (ComputesIntegers(op) || op.out(0).dtype() == DataType::BOOL8) return refuse("whole numbers");
  if (!SameShapes(op, MakeWalk(op))) return refuse("broadcasting");
  return KernelOffer{op.out(0).dtype() == DataType::FLOAT32 ? KernelSpec::Epilogue::kVector
                                                            : KernelSpec::Epilogue::kScalar};
}

Result<Launches> Vectors(const OpView& op, const KernelRequest&) {
  KernelSpec spec = BaseSpec(op, "pointwise16", RuleOf(op).expression);
  auto wide = [](const TensorView& t) { return t.dtype() == DataType::FLOAT32; };
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    spec.defines.emplace_back(std::string(kNames[k]) + "_WIDE", wide(op.in(k)));
  }
  spec.defines.emplace_back("R_WIDE", wide(op.out(0)));
  spec.global = Grid(DivideUp(op.out(0).shape().count(), 16));
  spec.local = {64, 1, 1};
  spec.float_math = true;
  return Launches{spec};
}

Result<KernelOffer> AcceptsGeneral(const OpView& op, const KernelRequest&) {
  const Walk walk = MakeWalk(op);
  if (walk.rank() > 6) {
    return Status::Error(Code::kUnsupported, "broadcasting over " + to_string(walk.rank()) +
                                                 " separate dimensions, 6 are the most");
  }
  // Ops fused behind it compute in float32, which holds neither large integers nor the 0 or 1 of a
  // bool.
  const bool whole = ComputesIntegers(op) || op.out(0).dtype() == DataType::BOOL8;
  return KernelOffer{whole ? KernelSpec::Epilogue::kNone : KernelSpec::Epilogue::kScalar};
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  const Pointwise& rule = RuleOf(op);
  const Walk walk = MakeWalk(op);
  const size_t rank = SameShapes(op, walk) ? 0 : walk.rank();
  const bool integers = ComputesIntegers(op);
  KernelSpec spec = BaseSpec(op, "pointwise", integers ? rule.int_expression : rule.expression);
  for (size_t d = 0; d + 1 < rank; ++d) {
    const ExactDivision by(walk.extent[d]);
    spec.sizes.emplace_back("D" + to_string(d), walk.extent[d]);
    spec.sizes.emplace_back("M" + to_string(d), by.multiplier);
    spec.sizes.emplace_back("H" + to_string(d), by.shift);
  }
  for (size_t d = 0; d < rank; ++d) {
    for (size_t k = 0; k < op.num_inputs(); ++k) {
      spec.sizes.emplace_back(kNames[k] + to_string(d), walk.stride[k][d]);
    }
  }
  spec.defines.emplace_back("RANK", rank);
  spec.defines.emplace_back("TO_BOOL", op.out(0).dtype() == DataType::BOOL8);
  spec.global = Grid(op.out(0).shape().count());
  // PoCL turns work-items into vector lanes only in groups this large.
  spec.local = {256, 1, 1};
  spec.float_math = !integers;
  return Launches{spec};
}

namespace {

/// Result encodings that differ from StandardTypes, so that requantization is at work.
TensorType ResultType(DataType dtype) {
  switch (dtype) {
    case DataType::UINT8:
      return {dtype, {}, Quantization(QuantType::ASYMMETRIC, 0.021f, 101)};
    case DataType::INT8:
      return {dtype, {}, Quantization(QuantType::ASYMMETRIC, 0.033f, -11)};
    case DataType::INT16:
      return {dtype, {}, Quantization(QuantType::ASYMMETRIC, 0.0011f, 3)};
    default:
      return {dtype, {}, Quantization()};
  }
}

std::vector<TensorType> CaseTypes(const Shape& shape, bool integers) {
  std::vector<TensorType> types = StandardTypes(shape);
  if (integers) types.push_back({DataType::INT32, shape, Quantization()});
  return types;
}

std::vector<double> Specials() {
  const double inf = std::numeric_limits<double>::infinity();
  return {0.0, -0.0, 1.0, -1.0, inf, -inf, std::numeric_limits<double>::quiet_NaN(), 0.5, -2.5};
}

}  // namespace

void UnaryCases(CaseMaker& make, const std::vector<AnyAttrs>& attrs, const CaseRange& range) {
  auto add = [&](const AnyAttrs& a, const TensorType& in, const TensorType& out, const char* note) {
    Case c;
    c.attrs = a;
    c.inputs = {{in, false, range.lo, range.hi, {}}};
    c.outputs = {out};
    c.note = note;
    make.Add(c);
  };
  const Shape odd = {19, 17};
  for (const Shape& shape : {Shape{1}, Shape{7, 5, 3, 1}, Shape{33, 31}, Shape{2, 1, 3, 1, 2, 5}}) {
    add(attrs[0], {DataType::FLOAT32, shape, Quantization()}, ResultType(DataType::FLOAT32),
        "shapes");
  }
  for (const AnyAttrs& a : attrs) {
    for (const TensorType& t : CaseTypes(odd, range.integers)) {
      add(a, t, ResultType(t.dtype), "types");
    }
  }
  const auto types = StandardTypes(odd);
  add(attrs[0], types[2], ResultType(DataType::FLOAT32), "u8 to f32");
  add(attrs[0], types[0], ResultType(DataType::INT8), "f32 to i8");
  Case c;
  c.attrs = attrs.back();
  c.inputs = {{{DataType::FLOAT32, {9}, Quantization()}, false, 0, 1, Specials()}};
  c.outputs = {ResultType(DataType::FLOAT32)};
  c.note = "zeros, infinities, NaN";
  make.Add(c);
  c.inputs = {{{DataType::FLOAT32, {256, 256, 16}, Quantization()}, false, range.lo, range.hi, {}}};
  c.note = "one million elements";
  c.bench = true;
  make.Add(c);
}

void BinaryCases(CaseMaker& make, const std::vector<AnyAttrs>& attrs, const CaseRange& range) {
  auto add = [&](const AnyAttrs& a, const TensorType& x, const TensorType& y, const TensorType& out,
                 const char* note) {
    Case c;
    c.attrs = a;
    c.inputs = {{x, false, range.lo, range.hi, {}}, {y, false, range.lo2, range.hi2, {}}};
    c.outputs = {out};
    c.note = note;
    make.Add(c);
  };
  auto real = [](const Shape& s) { return TensorType{DataType::FLOAT32, s, Quantization()}; };
  const TensorType f32 = real({});
  struct Pair {
    Shape x, y;
    const char* note;
  };
  const Pair pairs[] = {
      {{1}, {1}, "one element"},
      {{33, 31}, {33, 31}, "same shape, beyond one work-group"},
      {{19, 17, 3}, {1}, "a scalar"},
      {{1, 1, 1}, {19, 17, 3}, "a scalar first"},
      {{19, 17, 3}, {1, 1, 3}, "by channel"},
      {{19, 17, 3}, {19}, "missing dimensions"},
      {{5, 1, 3}, {1, 7, 1}, "both repeat"},
      {{5, 1, 3, 1, 2, 1}, {1, 4, 1, 3, 1, 2}, "six separate dimensions"},
      {{3, 4, 1, 5, 2}, {3, 4, 6, 5, 2}, "joined dimensions"},
  };
  for (const Pair& p : pairs) add(attrs[0], real(p.x), real(p.y), f32, p.note);
  const Shape a = {19, 5, 3}, b = {19, 1, 3};
  for (const AnyAttrs& attr : attrs) {
    for (const TensorType& t : CaseTypes(a, range.integers)) {
      TensorType other = t;
      other.shape = b;
      add(attr, t, other, ResultType(t.dtype), "types");
    }
  }
  const auto x = StandardTypes(a), y = StandardTypes(b);
  add(attrs[0], x[2], y[3], ResultType(DataType::FLOAT32), "u8 and i8 to f32");
  add(attrs[0], x[0], y[1], ResultType(DataType::INT8), "f32 and f16 to i8");
  add(attrs[0], x[5], y[2], ResultType(DataType::INT16), "i16 and u8 to i16");
  add(attrs[0], {DataType::INT16, a, Quantization()}, {DataType::INT16, b, Quantization()},
      {DataType::INT16, {}, Quantization()}, "plain i16");
  Case c;
  c.attrs = attrs[0];
  c.inputs = {{real({9}), false, 0, 1, Specials()}, {real({1, 9}), false, 0, 1, Specials()}};
  c.outputs = {f32};
  c.note = "zeros, infinities, NaN";
  make.Add(c);
  c.inputs = {{real({256, 256, 16}), false, range.lo, range.hi, {}},
              {real({256, 256, 16}), false, range.lo2, range.hi2, {}}};
  c.bench = true;
  c.note = "one million elements";
  make.Add(c);
  c.inputs[1].type.shape = {1, 1, 16};
  c.note = "one million elements, one value per channel";
  make.Add(c);
}

}  // namespace tim::vx::pointwise
