// What all point-wise operators share: types, broadcasting, the reference and the general kernel.
#include "tim/vx/pointwise.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tim/vx/exact_division.h"

namespace tim::vx::pointwise {
namespace {

using std::to_string;

constexpr const char* kNames[] = {"X", "Y", "Z"};

Status CheckRule(const OpView& op) {
  if (op.def().pointwise != nullptr) return Status();
  return op.Error(Code::kInvalidArgument,
                  "its definition has the functions of a point-wise operator, but `pointwise` is "
                  "null; they read the operator's rule there (tim/vx/pointwise.h)");
}

/// As for a wrong attribute struct: an author who replaces `verify` alone gets kInternal.
const Pointwise& RuleOf(const OpView& op) {
  if (const Status s = CheckRule(op); !s.ok()) throw std::logic_error(s.message());
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

/// How many of p0..p3 the expression needs: whole words only, so that an `exp2` or `p10` is none.
int CountParams(std::string_view expression) {
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  int n = 0;
  for (size_t i = 0; i < expression.size();) {
    size_t end = i;
    while (end < expression.size() && in_word(expression[end])) ++end;
    const std::string_view word = expression.substr(i, end - i);
    if (word.size() == 2 && word[0] == 'p' && word[1] >= '0' && word[1] <= '3')
      n = std::max(n, word[1] - '0' + 1);
    i = end + (end == i);
  }
  return n;
}

}  // namespace

Status Verify(const OpView& op) {
  TIMCL_TRY(CheckRule(op));
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
KernelSpec BaseSpec(const OpView& op, const char* entry, const char* expression, int64_t count) {
  const Pointwise& rule = RuleOf(op);
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
  for (size_t k = 0; k < op.num_inputs() && request.in != TensorForm::kPlain; ++k) {
    if (op.in(k).is_const()) return refuse("a constant is plain");
  }
  if (RuleOf(op).scalar_only) return refuse("the expression is for scalars only");
  if (ComputesIntegers(op) || op.out(0).dtype() == DataType::BOOL8) return refuse("whole numbers");
  const Walk walk = MakeWalk(op);
  if (request.in != TensorForm::kPlain && !SameShapes(op, walk)) return refuse("broadcasting");
  if (walk.rank() > 1 && walk.extent[0] < 32 && walk.extent[0] % 16 != 0)
    return refuse("lines too short for vectors are broadcast");
  return KernelOffer{
      .epilogue = IsWide(op.out(0)) ? KernelSpec::Epilogue::kLanes : KernelSpec::Epilogue::kScalar,
      .stores_once = true};
}

Result<Launches> Vectors(const OpView& op, const KernelRequest& request) {
  const int64_t count = InForm(op.out(0).type(), request.out).count();
  KernelSpec spec = BaseSpec(op, "pointwise16", RuleOf(op).expression, count);
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    spec.defines.emplace_back(std::string(kNames[k]) + "_WIDE", IsWide(op.in(k)));
  }
  spec.defines.emplace_back("R_WIDE", IsWide(op.out(0)));
  const Walk walk = MakeWalk(op);
  spec.defines.emplace_back("RANK", std::max<size_t>(walk.rank(), 1));
  for (size_t k = 0; k < op.num_inputs(); ++k) {
    const bool moves = walk.rank() > 0 && walk.stride[k][0] != 0;
    spec.defines.emplace_back(std::string(kNames[k]) + "_STEP", moves);
  }
  if (walk.rank() > 1) {
    std::vector<int32_t> table;
    for (size_t d = 0; d < walk.rank(); ++d) {
      AppendDivision(walk.extent[d], &table);
      for (size_t k = 0; d > 0 && k < op.num_inputs(); ++k)
        table.push_back(static_cast<int32_t>(walk.stride[k][d]));
    }
    spec.operands.push_back(Data(table, "T", "int"));
  }
  // A few work-items for each core, long enough that their own cost does not show.
  const int64_t share = DivideUp(count, 4 * static_cast<int64_t>(request.caps.compute_units));
  const int64_t run = DivideUp(std::clamp<int64_t>(share, 256, 4096), 16) * 16;
  spec.sizes.emplace_back("RUN", run);
  spec.global = Grid(DivideUp(count, run));
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
  return KernelOffer{
      .epilogue = whole ? KernelSpec::Epilogue::kNone : KernelSpec::Epilogue::kScalar,
      .stores_once = true};
}

Result<Launches> General(const OpView& op, const KernelRequest&) {
  const Pointwise& rule = RuleOf(op);
  const Walk walk = MakeWalk(op);
  const size_t rank = SameShapes(op, walk) ? 0 : walk.rank();
  const bool integers = ComputesIntegers(op);
  KernelSpec spec = BaseSpec(op, "pointwise", integers ? rule.int_expression : rule.expression,
                             op.out(0).shape().count());
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

std::vector<double> Specials() {
  const double inf = std::numeric_limits<double>::infinity();
  return {0.0, -0.0, 1.0, -1.0, inf, -inf, std::numeric_limits<double>::quiet_NaN(), 0.5, -2.5};
}

}  // namespace

void UnaryCases(CaseMaker& make, const std::vector<AnyAttrs>& attrs, const CaseRange& r) {
  using namespace cases;
  for (const Shape& shape : {Shape{1}, Shape{7, 5, 3, 1}, Shape{33, 31}, Shape{2, 1, 3, 1, 2, 5}})
    make.Of(attrs[0]).In(F32(shape), r.lo, r.hi).Note("shapes");
  const Shape odd = {19, 17};
  for (const AnyAttrs& a : attrs) make.Of(a).In(F32(odd), r.lo, r.hi).Note("types").EachTypeOnce();
  make.Of(attrs[0]).In(U8(odd), r.lo, r.hi).Out(F32()).Note("u8 to f32");
  make.Of(attrs[0]).In(F32(odd), r.lo, r.hi).Out(I8()).Note("f32 to i8");
  make.Of(attrs.back()).In(F32({9})).Values(Specials()).Note("zeros, infinities, NaN");
  make.Of(attrs.back()).In(F32({256, 256, 16}), r.lo, r.hi).Note("one million elements").Bench();
}

void BinaryCases(CaseMaker& make, const std::vector<AnyAttrs>& attrs, const CaseRange& r) {
  using namespace cases;
  const struct {
    Shape x, y;
    const char* note;
  } shapes[] = {
      {{1}, {1}, "one element"},
      {{33, 31}, {33, 31}, "same shape, beyond one work-group"},
      {{19, 17, 3}, {1}, "a scalar"},
      {{1, 1, 1}, {19, 17, 3}, "a scalar first"},
      {{19, 17, 3}, {1, 1, 3}, "by channel"},
      {{19, 17, 3}, {19}, "missing dimensions"},
      {{5, 1, 3}, {1, 7, 1}, "both repeat"},
      {{5, 1, 3, 1, 2, 1}, {1, 4, 1, 3, 1, 2}, "six separate dimensions"},
      {{3, 4, 1, 5, 2}, {3, 4, 6, 5, 2}, "joined dimensions"},
      {{300, 41}, {300}, "one line for all"},
      {{49, 3, 5}, {1, 3}, "lines of one number, repeated"},
      {{37, 4, 3, 2}, {1, 4, 1, 2}, "every other dimension"},
      {{16, 5, 3, 2}, {16, 1, 3}, "lines of one vector"},
  };
  for (const auto& s : shapes)
    make.Of(attrs[0]).In(F32(s.x), r.lo, r.hi).In(F32(s.y), r.lo2, r.hi2).Note(s.note);
  const Shape a = {19, 5, 3}, b = {19, 1, 3};
  for (const AnyAttrs& attr : attrs) {
    make.Of(attr)
        .In(F32(a), r.lo, r.hi)
        .In(F32(b), r.lo2, r.hi2)
        .Note("types, repeated")
        .EachTypeOnce();
  }
  const struct {
    TensorType x, y, result;
    const char* note;
  } mixed[] = {
      {U8(a), I8(b), F32(), "u8 and i8 to f32"},
      {F32(a), F16(b), I8(), "f32 and f16 to i8"},
      {I16(a), U8(a), I16(), "i16 and u8 to i16"},
      {U8(a), U8(a), U8(), "u8"},
  };
  for (const auto& m : mixed)
    make.Of(attrs[0]).In(m.x, r.lo, r.hi).In(m.y, r.lo2, r.hi2).Out(m.result).Note(m.note);
  make.Of(attrs[0])
      .In(F32({9}))
      .Values(Specials())
      .In(F32({1, 9}))
      .Values(Specials())
      .Note("zeros, infinities, NaN");
  const Shape large = {256, 256, 16};
  make.Of(attrs[0])
      .In(F32(large), r.lo, r.hi)
      .In(F32(large), r.lo2, r.hi2)
      .Note("one million elements")
      .Bench();
  make.Of(attrs[0])
      .In(F32(large), r.lo, r.hi)
      .In(F32({1, 1, 16}), r.lo2, r.hi2)
      .Note("one million elements, one value per channel")
      .Bench();
  make.Of(attrs[0])
      .In(F32({3072, 128}), r.lo, r.hi)
      .In(F32({3072}), r.lo2, r.hi2)
      .Note("one value per column")
      .Bench();
}

}  // namespace tim::vx::pointwise
