// Matmul: products of matrices, with transposes and broadcasting over batches.  Source: ONNX
// MatMul-13; tf.linalg.matmul.
#include "tim/vx/ops/matmul.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "tim/vx/fold_rule.h"
#include "tim/vx/matrix_product.h"
#include "tim/vx/op_kit.h"

namespace tim::vx::ops {
namespace {

using std::to_string;

struct MatmulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
  bool adjoint_a = false;
  bool adjoint_b = false;
  TIMCL_FIELDS(transpose_a, transpose_b, adjoint_a, adjoint_b)
};

/// A[m][k] lies at m * a_m + k * a_k, B[k][n] at n * b_n + k * b_k.
struct Matrices {
  int64_t m, n, k, a_m, a_k, b_n, b_k;
  bool a_is_vector, b_is_vector;
  int64_t k_of_b;
};
Matrices MatricesOf(const OpView& op) {
  const auto& t = op.attrs<MatmulAttrs>();
  const Shape &a = op.in(0).shape(), &b = op.in(1).shape();
  Matrices s = {};
  s.a_is_vector = a.rank() < 2, s.b_is_vector = b.rank() < 2;
  const bool turn_a = (t.transpose_a || t.adjoint_a) && !s.a_is_vector;
  const bool turn_b = (t.transpose_b || t.adjoint_b) && !s.b_is_vector;
  const int64_t a0 = a.dim(0), a1 = a.dim(1), b0 = b.dim(0), b1 = b.dim(1);
  s.k = turn_a ? a1 : a0, s.m = turn_a ? a0 : a1;
  s.a_m = turn_a ? 1 : a0, s.a_k = turn_a ? a0 : 1;
  if (s.b_is_vector) {
    s.n = 1, s.k_of_b = b0, s.b_n = 1, s.b_k = 1;
  } else {
    s.n = turn_b ? b1 : b0, s.k_of_b = turn_b ? b0 : b1;
    s.b_n = turn_b ? b0 : 1, s.b_k = turn_b ? 1 : b0;
  }
  return s;
}

/// For each batch of the result, the first elements of its two matrices.
struct Offsets {
  Shape batch;
  std::vector<int64_t> a, b;
};
Offsets OffsetsOf(const OpView& op) {
  const Shape &a = op.in(0).shape(), &b = op.in(1).shape();
  Offsets o;
  for (size_t d = 2; d < std::max(a.rank(), b.rank()); ++d)
    o.batch.push_back(std::max(a.dim(d), b.dim(d)));
  o.a = MatrixStarts(a, o.batch), o.b = MatrixStarts(b, o.batch);
  return o;
}

Status Verify(const OpView& op) {
  TIMCL_TRY(op.CheckRank(0, 1, 64));
  TIMCL_TRY(op.CheckRank(1, 1, 64));
  const Matrices s = MatricesOf(op);
  const std::string both = op.in_label(0) + " and " + op.in_label(1);
  if (s.k != s.k_of_b) {
    return op.Error(Code::kInvalidShape, both + " (" + op.any_attrs().Map().ToText() +
                                             ") do not multiply: rows of " + to_string(s.k) +
                                             " against columns of " + to_string(s.k_of_b));
  }
  const Shape &a = op.in(0).shape(), &b = op.in(1).shape();
  for (size_t d = 2; d < std::max(a.rank(), b.rank()); ++d) {
    if (a.dim(d) == b.dim(d) || a.dim(d) == 1 || b.dim(d) == 1) continue;
    return op.Error(Code::kInvalidShape, both + " do not broadcast: dimension " + to_string(d) +
                                             " (counted from the fastest) is " +
                                             to_string(a.dim(d)) + " against " +
                                             to_string(b.dim(d)));
  }
  return Status();
}

Result<Shapes> Infer(const OpView& op) {
  const Matrices s = MatricesOf(op);
  const Shape &a = op.in(0).shape(), &b = op.in(1).shape();
  Shape y;
  if (!s.b_is_vector) y.push_back(s.n);
  if (!s.a_is_vector) y.push_back(s.m);
  for (size_t d = 2; d < std::max(a.rank(), b.rank()); ++d)
    y.push_back(std::max(a.dim(d), b.dim(d)));
  if (y.empty()) y.push_back(1);
  return Shapes{y};
}

bool SumsIntegers(const OpView& op) {
  return IsInteger(op.in(0).dtype()) && IsInteger(op.in(1).dtype());
}
/// What one unit of an integer sum stands for in the result.
float ScaleOf(const OpView& op) {
  double scale = static_cast<double>(op.in(0).type().scale()) * op.in(1).type().scale();
  if (IsInteger(op.out(0).dtype())) scale /= op.out(0).type().scale();
  return static_cast<float>(scale);
}

Status Reference(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs) {
  const Matrices s = MatricesOf(op);
  const Offsets offsets = OffsetsOf(op);
  int64_t at = 0;
  auto each = [&](auto result) {
    for (size_t batch = 0; batch < offsets.a.size(); ++batch) {
      for (int64_t m = 0; m < s.m; ++m) {
        for (int64_t n = 0; n < s.n; ++n)
          result(offsets.a[batch] + m * s.a_m, offsets.b[batch] + n * s.b_n);
      }
    }
  };
  if (SumsIntegers(op)) {
    const int64_t zero_a = op.in(0).type().zero_point(), zero_b = op.in(1).type().zero_point();
    const bool exact = ref::ArithmeticOf(op) == ref::Arithmetic::kInteger;
    const float scale = ScaleOf(op);
    each([&](int64_t a, int64_t b) {
      uint64_t sum = 0;  // modulo 2^64, as kernels add
      for (int64_t k = 0; k < s.k; ++k) {
        sum += static_cast<uint64_t>((ins[0].Raw(a + k * s.a_k) - zero_a) *
                                     (ins[1].Raw(b + k * s.b_k) - zero_b));
      }
      const auto total = static_cast<int64_t>(sum);
      exact ? outs[0].SetRaw(at, total) : outs[0].SetScaled(at, total, scale);
      ++at;
    });
    return Status();
  }
  return ref::Compute(op, [&](auto zero) {
    using T = decltype(zero);
    each([&](int64_t a, int64_t b) {
      T sum = 0;
      for (int64_t k = 0; k < s.k; ++k)
        sum += ins[0].As<T>(a + k * s.a_k) * ins[1].As<T>(b + k * s.b_k);
      outs[0].Put(at++, sum);
    });
  });
}

/// Largest magnitude of stored value minus zero point.
int64_t Reach(const TensorType& t) {
  return std::max(HighestOf(t.dtype) - t.zero_point(), t.zero_point() - LowestOf(t.dtype));
}

Result<Launches> General(const OpView& op, const KernelRequest& request) {
  const Matrices s = MatricesOf(op);
  const Offsets offsets = OffsetsOf(op);
  const bool integers = SumsIntegers(op);
  std::string acc = "float";
  if (integers) {
    const int64_t a = Reach(op.in(0).type()), b = Reach(op.in(1).type());
    acc = a * b <= std::numeric_limits<int32_t>::max() / s.k ? "int" : "long";
  }
  // Where the columns of B do not lie side by side, those of the transposed product may.
  const bool dot = s.a_k == 1 && s.b_k == 1 && s.b_n != 1;
  const bool swapped = !dot && s.b_n != 1;
  const bool cpu = request.caps.is_cpu;
  // A rounded result shows the order of float additions, which is then the reference's.
  const int64_t lanes = integers || !IsInteger(op.out(0).dtype()) ? 8 : 1;
  const int64_t p = swapped ? s.n : s.m, q = swapped ? s.m : s.n;
  const int64_t run = !cpu ? 1 : dot ? 4 : q >= 4 ? 16 : 1, rows = !cpu || dot ? 1 : 4;
  const size_t row = swapped ? 1 : 0, column = swapped ? 0 : 1;
  std::vector<int32_t> table;
  for (size_t i = 0; i < offsets.a.size(); ++i) {
    const int64_t a = offsets.a[i], b = offsets.b[i];
    table.push_back(static_cast<int32_t>(swapped ? b : a));
    table.push_back(static_cast<int32_t>(swapped ? a : b));
  }
  KernelSpec spec;
  spec.source = "matmul.cl";
  spec.entry = "matmul";
  spec.operands = {In(row, "R"), In(column, "C"), Out(0, "Y"), Data(table, "T", "int")};
  spec.sizes = {{"P", p},
                {"Q", q},
                {"K", s.k},
                {"RP", swapped ? s.b_n : s.a_m},
                {"RK", swapped ? s.b_k : s.a_k},
                {"CQ", swapped ? s.a_m : s.b_n},
                {"CK", swapped ? s.a_k : s.b_k},
                {"YP", swapped ? 1 : s.n},
                {"YQ", swapped ? s.n : 1}};
  spec.reals = {{"SCALE", ScaleOf(op)}};
  spec.defines = {{"ROWS", rows},
                  {"RUN", run},
                  {"DOT", dot},
                  {"LANES", lanes},
                  {"INTEGERS", integers},
                  {"ACC", acc},
                  {"R_WIDE", op.in(row).dtype() == DataType::FLOAT32},
                  {"C_WIDE", op.in(column).dtype() == DataType::FLOAT32}};
  spec.dims = 3;
  spec.global = Grid(DivideUp(q, run), DivideUp(p, rows), static_cast<int64_t>(offsets.a.size()));
  spec.flops = 2.0 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k) *
               static_cast<double>(offsets.a.size());
  return Launches{spec};
}

/// The product itself; its batches are still to be set.
MatrixProduct ProductOf(const OpView& op, bool bf16) {
  const Matrices s = MatricesOf(op);
  MatrixProduct p;
  p.bf16 = bf16;
  p.scale = ScaleOf(op);
  p.m = s.m, p.n = s.n, p.k = s.k;
  p.a_m = s.a_m, p.a_k = s.a_k, p.b_k = s.b_k, p.b_n = s.b_n;
  return p;
}
/// All that is asked of them before the launches: how many batches there are.
MatrixProduct CountedProductOf(const OpView& op, bool bf16) {
  MatrixProduct p = ProductOf(op, bf16);
  p.a.resize(static_cast<size_t>(op.out(0).shape().count() / (p.m * p.n)));
  return p;
}
MatrixProduct WholeProductOf(const OpView& op, bool bf16) {
  MatrixProduct p = ProductOf(op, bf16);
  Offsets offsets = OffsetsOf(op);
  p.a = std::move(offsets.a), p.b = std::move(offsets.b);
  return p;
}
template <bool kBf16>
Result<KernelOffer> AcceptsTile(const OpView& op, const KernelRequest& request) {
  return CountedProductOf(op, kBf16).Accepts(op, request);
}
template <bool kBf16>
Result<Launches> RegisterTile(const OpView& op, const KernelRequest& request) {
  return WholeProductOf(op, kBf16).Launch(op, request);
}
Result<KernelOffer> AcceptsDots(const OpView& op, const KernelRequest& request) {
  return CountedProductOf(op, false).AcceptsDots(op, request);
}
Result<Launches> Dots(const OpView& op, const KernelRequest& request) {
  return WholeProductOf(op, false).LaunchDots(op, request);
}
template <bool kDot>
Result<KernelOffer> AcceptsBytes(const OpView& op, const KernelRequest& request) {
  return CountedProductOf(op, false).AcceptsBytes(op, request, kDot);
}
template <bool kDot>
Result<Launches> ByteTiles(const OpView& op, const KernelRequest& request) {
  return WholeProductOf(op, false).LaunchBytes(op, request, kDot);
}
Result<KernelOffer> AcceptsShorts(const OpView& op, const KernelRequest& request) {
  return CountedProductOf(op, false).AcceptsShorts(op, request);
}
Result<Launches> ShortTiles(const OpView& op, const KernelRequest& request) {
  return WholeProductOf(op, false).LaunchShorts(op, request);
}

constexpr KernelCandidate kKernels[] = {
    {.name = "tile bf16", .accepts = AcceptsTile<true>, .make = RegisterTile<true>, .bf16 = true},
    {"tile", AcceptsTile<false>, RegisterTile<false>},
    {"dots", AcceptsDots, Dots},
    {"tile dot", AcceptsBytes<true>, ByteTiles<true>},
    {"tile bytes", AcceptsBytes<false>, ByteTiles<false>},
    {"tile shorts", AcceptsShorts, ShortTiles},
    {"general", nullptr, General, {KernelSpec::Epilogue::kScalar}}};

/// Products of 16 bits: sums beyond 32 bits and beyond what float has, elements at their limits.
void ShortCases(CaseMaker& make) {
  using namespace cases;
  auto i16 = [](const Shape& shape, int32_t zero) {
    return Affine(DataType::INT16, shape, 0.0002f, zero);
  };
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      auto a = [&](int64_t k, int64_t m) { return turn_a ? Shape{m, k} : Shape{k, m}; };
      auto b = [&](int64_t n, int64_t k) { return turn_b ? Shape{k, n} : Shape{n, k}; };
      const MatmulAttrs attrs = {turn_a, turn_b};
      make.Of(attrs)
          .In(i16(a(37, 41), 401), -6, 6)
          .In(i16(b(53, 37), -77), -6, 6)
          .Out(Affine(DataType::INT16, {}, 0.003f, -9))
          .Note("i16, ragged tiles");
      make.Of(attrs)
          .In(i16(a(19, 17), 32767), -13, 0)
          .In(I8(b(33, 19)))
          .Out(F32())
          .Note("i16 by i8, a zero point at the limit");
      make.Of(attrs)
          .In(U8(a(300, 5)))
          .In(i16(b(16, 300), -32768), 0, 13)
          .Out(F16())
          .Note("u8 by i16, a zero point at the limit");
      make.Of(attrs)
          .In(i16(a(1050, 15), 0))
          .Values({-6.5536, -6.5534, 6.5534, -6.5536})
          .In(i16(b(31, 1050), 0))
          .Values({-6.5536, 6.5534, -6.5536})
          .Out(Affine(DataType::INT16, {}, 0.9f, 0))
          .Note("i16, numbers at the limits, long sums");
      make.Of(attrs)
          .In(i16(a(1050, 15), 0))
          .Values({6.5534, -6.5534})
          .In(i16(b(31, 1050), 0))
          .Values({6.5534, 6.5532})
          .Out(Affine(DataType::INT16, {}, 0.00005f, 0))
          .Note("i16, long sums that cancel");
    }
  }
  make.Of(MatmulAttrs{})
      .In(i16({25000, 8}, 0))
      .Values({-6.5536})
      .In(Affine(DataType::INT8, {7, 25000}, 0.01f, 0))
      .Values({-1.28, -1.27})
      .Out(F32())
      .Note("i16 by i8, sums far beyond 32 bits");
  for (const int64_t m : {8, 16, 24, 25}) {
    make.Of(MatmulAttrs{false, true})
        .In(i16({32, m, 3, 1}, 5))
        .In(i16({32, m + 7, 1, 2}, 0))
        .Out(Affine(DataType::INT16, {}, 0.003f, 0))
        .Note("i16, broadcast both ways");
  }
  make.Of(MatmulAttrs{})
      .In(i16({512, 512}, 0))
      .In(i16({512, 512}, 0))
      .Out(Affine(DataType::INT16, {}, 0.01f, 0))
      .Note("512, i16")
      .Bench();
  make.Of(MatmulAttrs{false, true})
      .In(i16({64, 128, 12}, 0))
      .In(I8({64, 128, 12}))
      .Out(Affine(DataType::INT16, {}, 0.01f, 0))
      .Note("scores of attention, i16 by i8")
      .Bench();
}

void Cases(CaseMaker& make) {
  using namespace cases;
  make.Of(MatmulAttrs{}).In(F32({1, 1})).In(F32({1, 1})).Note("one element");
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      auto a = [&](int64_t k, int64_t m) { return turn_a ? Shape{m, k} : Shape{k, m}; };
      auto b = [&](int64_t n, int64_t k) { return turn_b ? Shape{k, n} : Shape{n, k}; };
      const MatmulAttrs attrs = {turn_a, turn_b};
      make.Of(attrs).In(F32(a(7, 5))).In(F32(b(3, 7))).Note("few columns");
      make.Of(attrs).In(F32(a(19, 6))).In(F32(b(37, 19))).Note("beyond a tile");
      make.Of(MatmulAttrs{false, false, turn_a, turn_b})
          .In(U8(a(9, 5)))
          .In(I8(b(21, 9)))
          .Out(Affine(DataType::UINT8, {}, 0.3f, 121))
          .Note("u8 by i8, adjoint");
      make.Of(attrs)
          .In(F32(a(9, 5)))
          .In(F32(b(21, 9)))
          .Out(Affine(DataType::UINT8, {}, 0.3f, 121))
          .Note("f32 to u8");
      make.Of(attrs).In(F32(a(19, 41))).In(F32(b(53, 19))).Note("ragged tiles");
      make.Of(attrs).In(F16(a(19, 41))).In(F16(b(53, 19))).Note("f16, ragged tiles");
      make.Of(attrs)
          .In(U8(a(19, 41)))
          .In(I8(b(53, 19)))
          .Out(Affine(DataType::INT8, {}, 0.3f, -3))
          .Note("u8 by i8, ragged tiles");
      make.Of(attrs)
          .In(I8(a(67, 14)))
          .In(Affine(DataType::INT8, b(35, 67), 0.02f, 0))
          .Note("i8, centred, ragged tiles");
      make.Of(attrs)
          .In(I8(a(1050, 4)))
          .In(U8(b(16, 1050)))
          .Out(F32({16, 4}))
          .Note("i8 by u8, long sums");
      make.Of(attrs).In(F32(a(17, 33))).In(F32(b(18, 17))).Note("one vector across");
      make.Of(attrs).In(F32(a(1050, 131))).In(F32(b(127, 1050))).Note("wide tiles, long sums");
      make.Of(attrs).In(F32(a(517, 32))).In(F32(b(17, 517))).Note("long sums");
      make.Of(attrs).In(I32(a(5, 3)), -9, 9).In(I32(b(18, 5)), -9, 9).Note("whole numbers");
    }
  }
  ShortCases(make);
  make.Of(MatmulAttrs{true, true}).In(F32({7})).In(F32({7, 3})).Out(F32({3})).Note("turned row");
  make.Of(MatmulAttrs{}).In(F32({7})).In(F32({3, 7})).Note("a row");
  make.Of(MatmulAttrs{}).In(F32({7, 3})).In(F32({7})).Note("a column");
  make.Of(MatmulAttrs{true})
      .In(F16({40, 19}))
      .In(F32({53, 19}))
      .Out(F32({53, 40}))
      .Note("f16 by f32");
  make.Of(MatmulAttrs{})
      .In(F32({19, 5, 3, 1}))
      .In(F16({53, 19, 1, 2}))
      .Out(F16({53, 5, 3, 2}))
      .Note("f32 by f16, batches");
  for (int64_t rows : {1, 3, 5}) {
    make.Of(MatmulAttrs{}).In(F16({65, rows})).In(F16({83, 65})).Note("f16, few rows");
    make.Of(MatmulAttrs{}).In(F32({65, rows})).In(F32({83, 65})).Note("few rows");
  }
  make.Of(MatmulAttrs{}).In(F32({70, 128})).In(F32({1024, 70})).Note("rows of 4096 bytes");
  make.Of(MatmulAttrs{true}).In(F32({1024, 65})).In(F32({256, 65})).Note("rows of 4096 bytes");
  make.Of(MatmulAttrs{}).In(F32({7})).In(F32({7})).Note("two vectors");
  make.Of(MatmulAttrs{}).In(F32({7})).In(F32({3, 7, 2})).Note("a row for each");
  make.Of(MatmulAttrs{}).In(F32({5, 3, 4, 2})).In(F32({6, 5, 4, 2})).Note("batches");
  make.Of(MatmulAttrs{}).In(F32({5, 3, 4, 1})).In(F32({6, 5, 1, 2})).Note("broadcast both ways");
  make.Of(MatmulAttrs{}).In(F32({5, 3})).In(F32({6, 5, 4})).Note("one for all");
  make.Of(MatmulAttrs{false, true})
      .In(F32({31, 33, 3, 1}))
      .In(F32({31, 35, 1, 2}))
      .Note("broadcast both ways, in tiles");
  make.Of(MatmulAttrs{false, true})
      .In(U8({31, 13, 3, 1}))
      .In(U8({31, 35, 1, 2}))
      .Out(Affine(DataType::UINT8, {}, 0.3f, 121))
      .Note("u8, broadcast both ways");
  make.Of(MatmulAttrs{false, true})
      .In(F32({520, 32, 3, 1}))
      .In(F32({520, 17, 1, 2}))
      .Note("broadcast both ways, packed");
  make.Of(MatmulAttrs{false, true}).In(F32({5, 3, 1, 2})).In(F32({5, 6, 4})).Note("inner");
  make.Of(MatmulAttrs{})
      .In(I32({2, 3}))
      .In(I32({4, 2}))
      .Values({2147483647, -5, 7})
      .Note("saturating");
  make.Of(MatmulAttrs{}).In(F32({9, 5})).In(F32({21, 9})).Note("types").EachType();
  for (const int64_t rows : {1, 3, 6, 31}) {
    const MatmulAttrs turned = {false, true};
    make.Of(turned).In(F32({67, rows})).In(F32({67, 83})).Note("turned, few rows");
    make.Of(turned).In(F16({67, rows})).In(F16({67, 83})).Note("turned, few rows, f16");
    make.Of(turned).In(F32({64, rows, 3, 1})).In(F32({64, 35, 1, 2})).Note("turned, batches");
  }
  for (const int64_t terms : {15, 16, 31, 32, 33}) {
    make.Of(MatmulAttrs{false, true}).In(F32({terms, 2})).In(F32({terms, 150})).Note("turned");
  }
  make.Of(MatmulAttrs{}).In(F32({70, 80})).In(F32({70})).Note("a column, from 80 rows");
  make.Of(MatmulAttrs{false, true}).In(F32({70, 80})).In(F32({70, 7})).Note("turned, few columns");
  make.Of(MatmulAttrs{}).In(F32({512, 256})).In(F32({512, 512})).Note("512").Bench();
  make.Of(MatmulAttrs{}).In(F16({512, 512})).In(F16({512, 512})).Note("512, f16").Bench();
  make.Of(MatmulAttrs{})
      .In(U8({512, 512}))
      .In(I8({512, 512}))
      .Out(Affine(DataType::UINT8, {}, 0.9f, 121))
      .Note("512, u8 by i8")
      .Bench();
  make.Of(MatmulAttrs{false, true})
      .In(I8({64, 128, 12}))
      .In(I8({64, 128, 12}))
      .Out(I8({128, 128, 12}))
      .Note("scores of attention, i8")
      .Bench();
  for (int64_t n : {512, 1024}) {
    for (bool turn : {false, true}) {
      make.Of(MatmulAttrs{turn, false}).In(F32({n, n})).In(F32({n, n})).Note("square").Bench();
      make.Of(MatmulAttrs{false, turn}).In(F32({n, n})).In(F32({n, n})).Note("square").Bench();
    }
  }
  make.Of(MatmulAttrs{false, true})
      .In(F32({64, 128, 12}))
      .In(F32({64, 128, 12}))
      .Note("scores of attention")
      .Bench();
  make.Of(MatmulAttrs{false, true})
      .In(F32({64, 1, 12}))
      .In(F32({64, 1024, 12}))
      .Note("scores of one row")
      .Bench();
  make.Of(MatmulAttrs{})
      .In(F32({128, 128, 12}))
      .In(F32({64, 128, 12}))
      .Note("values of attention")
      .Bench();
  make.Of(MatmulAttrs{false, true})
      .In(F32({64, 197, 12}))
      .In(F32({64, 197, 12}))
      .Note("attention")
      .Bench();
}

constexpr OpDef kMatmul = {.name = "Matmul",
                           .inputs = "input_a input_b",
                           .types = "number, number -> number",
                           .schema = &kAttrSchema<MatmulAttrs>,
                           .verify = Verify,
                           .infer = Infer,
                           .reference = Reference,
                           .kernels = kKernels,
                           .tolerance = Tolerance::Sum(),
                           .cases = TIMCL_CASES(Cases)};

constexpr FoldRule kFolds = {.product = [](const OpView& op) -> std::optional<TurnedFactors> {
  for (const size_t i : {0, 1}) {
    if (op.in(i).shape().rank() < 2) return std::nullopt;
  }
  const auto& t = op.attrs<MatmulAttrs>();
  return TurnedFactors{t.transpose_a || t.adjoint_a, t.transpose_b || t.adjoint_b};
}};

}  // namespace

TIMCL_OP_CLASS_WITH(Matmul, MatmulAttrs,
                    (bool transpose_a, bool transpose_b, bool adjoint_a, bool adjoint_b),
                    (transpose_a, transpose_b, adjoint_a, adjoint_b), transpose_a_(transpose_a),
                    transpose_b_(transpose_b), adjoint_a_(adjoint_a), adjoint_b_(adjoint_b));

TIMCL_OPS(matmul) {
  Add(kMatmul);
  AddFoldRule(kMatmul, &kFolds);
}

}  // namespace tim::vx::ops
