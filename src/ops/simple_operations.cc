// Unary functions without attributes, conversions and rounding: one row each, but for Cast, which
// reads stored numbers instead of real ones.
#include "tim/vx/ops/simple_operations.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tim/vx/pointwise.h"

namespace tim::vx::ops {
namespace {

using pointwise::UnaryCases;
using P = const float*;
using Int = int64_t;

AnyAttrs None() { return MakeAttrs(NoAttrs{}); }
void Cases(CaseMaker& make) { UnaryCases(make, {None()}); }
void PositiveCases(CaseMaker& make) { UnaryCases(make, {None()}, {0.05, 9}); }
void InsideOneCases(CaseMaker& make) { UnaryCases(make, {None()}, {-0.97, 0.97}); }
void AboveOneCases(CaseMaker& make) { UnaryCases(make, {None()}, {1.02, 9}); }

TIMCL_POINTWISE(Neg, NoAttrs, "input", Tolerance::Exact(),
                Pointwise("-x", []<class T>(T x, T, T, P) {
                  return -x;
                }).Integer("-x", [](Int x, Int, Int, P) {
                    return -x;
                  }).Cases(Cases));

TIMCL_POINTWISE(Abs, NoAttrs, "input", Tolerance::Exact(),
                Pointwise("fabs(x)", []<class T>(T x, T, T, P) {
                  return std::fabs(x);
                }).Integer("max(x, -x)", [](Int x, Int, Int, P) {
                    return std::max(x, -x);
                  }).Cases(Cases));

TIMCL_POINTWISE(Sin, NoAttrs, "input", Tolerance::Ulp(4, 1),
                Pointwise("sin(x)", []<class T>(T x, T, T, P) {
                  return std::sin(x);
                }).Cases(Cases));

TIMCL_POINTWISE(Cos, NoAttrs, "input", Tolerance::Ulp(4, 1),
                Pointwise("cos(x)", []<class T>(T x, T, T, P) {
                  return std::cos(x);
                }).Cases(Cases));

TIMCL_POINTWISE(Tan, NoAttrs, "input", Tolerance::Ulp(5, 1),
                Pointwise("tan(x)", []<class T>(T x, T, T, P) {
                  return std::tan(x);
                }).Cases([](CaseMaker& make) {
                  UnaryCases(make, {None()}, {-1.4, 1.4});
                }));

TIMCL_POINTWISE(ATan, NoAttrs, "input", Tolerance::Ulp(5, 1),
                Pointwise("atan(x)", []<class T>(T x, T, T, P) {
                  return std::atan(x);
                }).Cases(Cases));

TIMCL_POINTWISE(ATanh, NoAttrs, "input", Tolerance::Ulp(5, 1),
                Pointwise("atanh(x)", []<class T>(T x, T, T, P) {
                  return std::atanh(x);
                }).Cases(InsideOneCases));

TIMCL_POINTWISE(ACosh, NoAttrs, "input", Tolerance::Ulp(4, 1),
                Pointwise("acosh(x)", []<class T>(T x, T, T, P) {
                  return std::acosh(x);
                }).Cases(AboveOneCases));

TIMCL_POINTWISE(Exp, NoAttrs, "input", Tolerance::Ulp(3, 1),
                Pointwise("EXP(x)", []<class T>(T x, T, T, P) {
                  return std::exp(x);
                }).Cases(Cases));

TIMCL_POINTWISE(Log, NoAttrs, "input", Tolerance::Ulp(3, 1),
                Pointwise("log(x)", []<class T>(T x, T, T, P) {
                  return std::log(x);
                }).Cases(PositiveCases));

TIMCL_POINTWISE(Sqrt, NoAttrs, "input", Tolerance::Ulp(3, 1),
                Pointwise("sqrt(x)", []<class T>(T x, T, T, P) {
                  return std::sqrt(x);
                }).Cases(PositiveCases));

TIMCL_POINTWISE(Rsqrt, NoAttrs, "input", Tolerance::Ulp(3, 1),
                Pointwise("rsqrt(x)", []<class T>(T x, T, T, P) {
                  return T(1) / std::sqrt(x);
                }).Cases(PositiveCases));

TIMCL_POINTWISE(Square, NoAttrs, "input", Tolerance::Exact(),
                Pointwise("x * x", []<class T>(T x, T, T, P) {
                  return x * x;
                }).Integer("x * x", [](Int x, Int, Int, P) {
                    return x * x;
                  }).Cases(Cases));

TIMCL_POINTWISE(Rcp, NoAttrs, "input", Tolerance::Ulp(3, 1),
                Pointwise("1.0f / x", []<class T>(T x, T, T, P) {
                  return T(1) / x;
                }).Cases([](CaseMaker& make) {
                  UnaryCases(make, {None()}, {0.3, 4});
                  UnaryCases(make, {None()}, {-1, 1});  // zeros among integers
                }));

void LogicalCases(CaseMaker& make) {
  using namespace cases;
  const TensorType boolean = Plain(DataType::BOOL8), i8 = Plain(DataType::INT8);
  for (const Shape& shape : {Shape{1}, Shape{7, 5, 3}, Shape{300, 2}}) {
    for (const TensorType& to : {boolean, i8}) {
      make.Of(NoAttrs{}).In(Plain(DataType::BOOL8, shape)).Values({1, 0, 0, 1, 1}).Out(to);
      make.Of(NoAttrs{}).In(Plain(DataType::INT8, shape)).Values({-7, 0, 3, 127, -128}).Out(to);
    }
  }
  make.Of(NoAttrs{}).In(Plain(DataType::BOOL8, {19, 17})).Note("types").EachType();
}

TIMCL_POINTWISE(LogicalNot, NoAttrs, "input", Tolerance::Exact(),
                Pointwise("(x == 0.0f) ? 1.0f : 0.0f",
                          []<class T>(T x, T, T, P) { return x == T(0) ? T(1) : T(0); })
                    .Integer("(long)(x == 0)",
                             [](Int x, Int, Int, P) { return x == 0 ? Int{1} : Int{0}; })
                    .ScalarOnly()
                    .On("logical* -> logical")
                    .Cases(LogicalCases));

TIMCL_POINTWISE(Floor, NoAttrs, "input", Tolerance::Exact(),
                Pointwise("floor(x)", []<class T>(T x, T, T, P) {
                  return std::floor(x);
                }).Integer("x", [](Int x, Int, Int, P) {
                    return x;
                  }).Cases(Cases));

TIMCL_POINTWISE(Ceil, NoAttrs, "input", Tolerance::Exact(),
                Pointwise("ceil(x)", []<class T>(T x, T, T, P) {
                  return std::ceil(x);
                }).Integer("x", [](Int x, Int, Int, P) {
                    return x;
                  }).Cases(Cases));

// rint in the mode that every OpenCL kernel and, unless changed, every C++ program runs in: halves
// to even.
TIMCL_POINTWISE(Round, NoAttrs, "input", Tolerance::Exact(),
                Pointwise("rint(x)", []<class T>(T x, T, T, P) {
                  return std::rint(x);
                }).Integer("x", [](Int x, Int, Int, P) {
                    return x;
                  }).Cases([](CaseMaker& make) {
                  Cases(make);
                  make.Of(NoAttrs{})
                      .In(cases::F32({7}))
                      .Values({0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997})
                      .Note("halves");
                }));

/// Every encoding that a kernel can read or write, as the raw number or as a real one.
std::vector<TensorType> Encodings(const CaseMaker& make, const Shape& shape = {}) {
  std::vector<TensorType> types = cases::DeclaredTypes(make.def(), 0, shape);
  types.push_back(cases::Plain(DataType::UINT16, shape));
  types.push_back(cases::Affine(DataType::INT32, shape, 0.0013f, -4));
  return types;
}

void ConversionCases(CaseMaker& make) {
  using namespace cases;
  make.Of(NoAttrs{}).In(F32({1})).Out(U8()).Note("one element");
  make.Of(NoAttrs{}).In(F32({19, 17})).Note("types").EachType();
  for (const TensorType& t : Encodings(make, {19, 17})) {
    make.Of(NoAttrs{}).In(t).Out(F32()).Note("to f32");
    make.Of(NoAttrs{}).In(t).Out(I8()).Note("to i8");
  }
  for (const TensorType& t : Encodings(make)) {
    make.Of(NoAttrs{}).In(F32({333}), -4, 4).Out(t).Note("from f32");
    make.Of(NoAttrs{}).In(F32({333}), -3e9, 3e9).Out(t).Note("beyond the range");
    make.Of(NoAttrs{}).In(I32({333}), -2e9, 2e9).Out(t).Note("beyond the range");
  }
  make.Of(NoAttrs{}).In(F32({256, 256, 16})).Out(U8()).Note("one million elements").Bench();
}

TIMCL_POINTWISE(DataConvert, NoAttrs, "input", Tolerance::Exact(),
                Pointwise("x", []<class T>(T x, T, T, P) { return x; })
                    .Integer("x", [](Int x, Int, Int, P) { return x; })
                    .On("copyable* -> copyable|u32:q")
                    .Cases(ConversionCases));

Status ReferenceCast(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const bool from_integer = IsInteger(op.in(0).dtype()), to_integer = IsInteger(op.out(0).dtype());
  const bool to_bool = op.out(0).dtype() == DataType::BOOL8;
  for (int64_t i = 0; i < ins[0].count(); ++i) {
    if (from_integer) {
      const Int raw = ins[0].Raw(i);
      outs[0].SetRaw(i, to_bool ? raw != 0 : raw);
    } else {
      const double real = ins[0].At(i);
      if (to_bool) {
        outs[0].SetRaw(i, real != 0);
      } else if (to_integer) {
        outs[0].SetRaw(i, Saturated(real));
      } else {
        outs[0].Set(i, real);
      }
    }
  }
  return Status();
}

/// From float to the type or to int where that is wider, and the type's limits as literals of that.
/// (Mesa 22.3 crashes on convert_char_sat(float).)
struct Conversion {
  const char *function, *lowest, *highest;
};
Conversion ConversionTo(DataType to) {
  switch (to) {
    case DataType::INT4:
      return {"convert_int_sat", "-8", "7"};
    case DataType::UINT4:
      return {"convert_int_sat", "0", "15"};
    case DataType::INT8:
      return {"convert_int_sat", "-128", "127"};
    case DataType::UINT8:
      return {"convert_int_sat", "0", "255"};
    case DataType::INT16:
      return {"convert_int_sat", "-32768", "32767"};
    case DataType::UINT16:
      return {"convert_int_sat", "0", "65535"};
    case DataType::INT32:
      return {"convert_int_sat", "INT_MIN", "INT_MAX"};
    case DataType::UINT32:
      return {"convert_uint_sat", "0u", "UINT_MAX"};
    case DataType::INT64:
      return {"convert_long_sat", "LONG_MIN", "LONG_MAX"};
    default:
      return {"", "", ""};
  }
}

Result<Launches> LaunchCast(const OpView& op, const KernelRequest&) {
  const DataType from = op.in(0).dtype(), to = op.out(0).dtype();
  const int64_t count = op.out(0).shape().count();
  const Conversion conversion = ConversionTo(to);
  return Launches{{.source = "cast.cl",
                   .entry = "cast",
                   .operands = {In(0, "X"), Out(0, "Y")},
                   .sizes = {{"N", count}},
                   .defines = {{"FROM_HALF", from == DataType::FLOAT16},
                               {"FROM_FLOAT", !IsInteger(from)},
                               {"TO_HALF", to == DataType::FLOAT16},
                               {"TO_FLOAT", to == DataType::FLOAT32},
                               {"TO_BOOL", to == DataType::BOOL8},
                               {"CONVERT", conversion.function},
                               {"LOWEST", conversion.lowest},
                               {"HIGHEST", conversion.highest}},
                   .global = Grid(count),
                   .local = {256, 1, 1}}};
}
constexpr KernelCandidate kCastKernels[] = {{"cast", nullptr, LaunchCast}};

constexpr OpDef kCast = {.name = "Cast",
                         .types = "copyable -> copyable",
                         .schema = &kAttrSchema<NoAttrs>,
                         .infer = ShapeOfInput,
                         .reference = ReferenceCast,
                         .kernels = kCastKernels,
                         .layout = LayoutRule::SameForAll(),
                         .tolerance = Tolerance::Exact(),
                         .cases = TIMCL_CASES(ConversionCases)};

}  // namespace

TIMCL_PLAIN_OP_CLASS(DataConvert);
TIMCL_PLAIN_OP_CLASS(Neg);
TIMCL_PLAIN_OP_CLASS(Abs);
TIMCL_PLAIN_OP_CLASS(Sin);
TIMCL_PLAIN_OP_CLASS(Exp);
TIMCL_PLAIN_OP_CLASS(Log);
TIMCL_PLAIN_OP_CLASS(Sqrt);
TIMCL_PLAIN_OP_CLASS(Rsqrt);
TIMCL_PLAIN_OP_CLASS(Square);
TIMCL_PLAIN_OP_CLASS(LogicalNot);
TIMCL_PLAIN_OP_CLASS(Floor);
TIMCL_PLAIN_OP_CLASS(Ceil);
TIMCL_PLAIN_OP_CLASS(Round);
TIMCL_PLAIN_OP_CLASS(Cast);
TIMCL_PLAIN_OP_CLASS(Rcp);
TIMCL_PLAIN_OP_CLASS(Cos);
TIMCL_PLAIN_OP_CLASS(Tan);
TIMCL_PLAIN_OP_CLASS(ATan);
TIMCL_PLAIN_OP_CLASS(ATanh);
TIMCL_PLAIN_OP_CLASS(ACosh);

TIMCL_OPS(simple_operations) {
  for (const OpDef* def : {&kDataConvert, &kNeg,    &kAbs,        &kSin,   &kExp,   &kLog,   &kSqrt,
                           &kRsqrt,       &kSquare, &kLogicalNot, &kFloor, &kCeil,  &kRound, &kCast,
                           &kRcp,         &kCos,    &kTan,        &kATan,  &kATanh, &kACosh}) {
    OpDef added = *def;
    added.moves_nothing = def == &kDataConvert;
    Add(added);
  }
}

}  // namespace tim::vx::ops
