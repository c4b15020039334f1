// Types, multipliers and accumulators of the operators that sum products of input and weight.
#include "tim/vx/weighted_sum.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tim/vx/float16.h"
#include "tim/vx/matrix_product.h"

namespace tim::vx::weighted_sum {
namespace {

using std::to_string;

Status Refuse(const std::string& why) { return Status::Error(Code::kUnsupported, why); }

bool HasBias(const OpView& op) { return op.in(2).present(); }
bool HasRealBias(const OpView& op) { return HasBias(op) && !IsInteger(op.in(2).dtype()); }

/// Largest magnitude of stored value minus zero point.
int64_t Reach(const TensorType& t) {
  const int64_t zero = t.zero_point();
  return std::max(std::abs(LowestOf(t.dtype) - zero), std::abs(HighestOf(t.dtype) - zero));
}

/// Largest magnitude of an integer bias; its type's where the values are not known yet.
int64_t BiasReach(const TensorView& b) {
  if (b.dtype() == DataType::INT64) return std::numeric_limits<int64_t>::max();
  if (b.data() == nullptr) return HighestOf(b.dtype()) + 1;
  int64_t most = 0;
  for (int64_t i = 0; i < b.type().count(); ++i) {
    most = std::max(most, std::abs(int64_t{b.data_as<int32_t>()[i]}));
  }
  return most;
}

}  // namespace

Status CheckChannels(const OpView& op, size_t channel_dim) {
  const TensorType& w = op.in(1).type();
  if (!w.per_channel() || w.quant.ChannelDim() == static_cast<int32_t>(channel_dim))
    return Status();
  return op.InputError(1, Code::kInvalidArgument,
                       "its output channels are along dimension " + to_string(channel_dim) +
                           ", its channel_dim is " + to_string(w.quant.ChannelDim()));
}

void AdviseWeights(const OpView& op, std::vector<std::string>* warnings, size_t input,
                   size_t weight) {
  if (!op.in(input).type().quantized() || IsInteger(op.in(weight).dtype())) return;
  warnings->push_back(op.label() + ": " + op.in_label(weight) + " is float while " +
                      op.in_label(input) + " is quantized; it is computed in float, which is slow");
}

Status CheckBias(const OpView& op, int64_t channels) {
  const TensorView b = op.in(2);
  if (!b.present() || b.shape().count() == channels) return Status();
  return op.InputError(
      2, Code::kInvalidShape,
      to_string(b.shape().count()) + " elements for " + to_string(channels) + " output channels");
}

bool SumsIntegers(const OpView& op) {
  return IsInteger(op.in(0).dtype()) && IsInteger(op.in(1).dtype());
}

std::vector<float> Multipliers(const OpView& op, int64_t channels) {
  const TensorType &x = op.in(0).type(), &w = op.in(1).type(), &y = op.out(0).type();
  const double s_y = IsInteger(y.dtype) && !HasRealBias(op) ? y.scale() : 1.0;
  std::vector<float> m;
  for (int64_t c = 0; c < channels; ++c) {
    const float s_w = w.scale(w.per_channel() ? static_cast<size_t>(c) : 0);
    m.push_back(static_cast<float>(static_cast<double>(x.scale()) * s_w / s_y));
  }
  return m;
}

std::vector<Define> SumDefines(const OpView& op, int64_t terms) {
  const bool integers = SumsIntegers(op);
  std::string acc = "float", total = "float";
  if (integers) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const int64_t product = Reach(op.in(0).type()) * Reach(op.in(1).type());
    const bool fits = product <= kMost / terms;
    acc = total = fits ? "int" : "long";
    if (HasBias(op) && !HasRealBias(op) && fits) {
      total = product * terms <= kMost - std::min(kMost, BiasReach(op.in(2))) ? "int" : "long";
    }
  }
  return {{"INTEGERS", integers},
          {"HAS_BIAS", HasBias(op)},
          {"REAL_BIAS", HasRealBias(op)},
          {"ACC", acc},
          {"TOTAL", total}};
}

std::vector<Operand> SumOperands(const OpView& op, int64_t channels) {
  std::vector<Operand> operands = {In(0, "X"), In(1, "W")};
  if (HasBias(op)) operands.push_back(In(2, "B"));
  if (SumsIntegers(op)) operands.push_back(Data(Multipliers(op, channels), "M", "float"));
  operands.push_back(Out(0, "Y"));
  return operands;
}

namespace {

/// Few shapes, since each is a kernel to compile.
MatrixTile ChooseTile(const Matmul& p, const DeviceCaps& caps) {
  if (caps.few_registers()) {
    if (p.weights_are_rows || p.m > 4) return {6, 1};
    return {p.m == 1 ? 1 : 4, 1};
  }
  if (p.weights_are_rows) {
    if (p.n < 32) return {8, 1};
    if (p.n < 64) return {6, p.n == 32 ? 2 : p.n <= 48 ? 3 : 4};  // one tile across
    return {8, 3};
  }
  // One row has one product per weight that is read: many sums at once hide the memory's latency.
  if (p.m == 1) return {1, 4};
  if (p.m <= 4) return {4, 4};
  return {8, 2};
}

int64_t PackedWidth(const Matmul& p, const DeviceCaps& caps) {
  const MatrixTile tile = ChooseTile(p, caps);
  return p.weights_are_rows ? tile.rows : tile.columns();
}

/// The weights as [ceil(channels / width)][terms][width], padded with zeros.
Operand PackRows(const OpView& op, const Matmul& p, int64_t width) {
  const RealValues values(op.in(1).data(), op.in(1).dtype());
  const auto pack = [=](float* to) {
    for (int64_t c = 0; c < p.channels; ++c) {
      for (int64_t k = 0; k < p.k; ++k)
        to[(c / width * p.k + k) * width + c % width] = values[c * p.stride + k];
    }
  };
  return PackedData<float>(DivideUp(p.channels, width) * p.k * width, "W", "float", pack);
}

}  // namespace

Status CheckConstantFloats(const OpView& op, const KernelRequest& request) {
  if (!request.caps.register_tiles_pay) return Refuse("register tiles do not pay on this device");
  for (const TensorView& t : {op.in(0), op.in(1), op.out(0)}) {
    if (t.dtype() != DataType::FLOAT32 && t.dtype() != DataType::FLOAT16)
      return Refuse("only f32 and f16, not " + t.label());
  }
  if (op.in(1).data() == nullptr) return Refuse("the weights are not constant");
  if (HasBias(op) && op.in(2).data() == nullptr) return Refuse("the bias is not constant");
  return Status();
}

Operand PackedBias(const OpView& op, int64_t channels, int64_t group, int64_t width) {
  const int64_t padded = DivideUp(group, width) * width;
  std::vector<float> packed(static_cast<size_t>(DivideUp(channels, group) * padded));
  if (HasBias(op)) {
    const ref::Input values(op.in(2).data(), op.in(2).type());
    for (int64_t c = 0; c < channels; ++c)
      packed[static_cast<size_t>(c / group * padded + c % group)] = values.Float(c);
  }
  return Data(packed, "bias", "float");
}

Result<KernelOffer> AcceptsTile(const OpView& op, const KernelRequest& request, const Matmul& p) {
  TIMCL_TRY(CheckConstantFloats(op, request));
  if (p.n < 16) return Refuse(to_string(p.n) + " columns are less than one vector");
  if (p.weights_are_rows && p.m < 4) return Refuse(to_string(p.m) + " rows are too few");
  if (p.k * p.channels < 1024) return Refuse("too small to be worth packing");
  if ((p.channels + PackedWidth(p, request.caps)) * p.k > std::numeric_limits<int32_t>::max())
    return Refuse("more than 2^31 - 1 packed weights");
  return KernelOffer{.epilogue = KernelSpec::Epilogue::kVector, .stores_once = true};
}

Result<Launches> TileLaunch(const OpView& op, const KernelRequest& request, const Matmul& p) {
  const MatrixTile tile = ChooseTile(p, request.caps);
  const int64_t width = PackedWidth(p, request.caps);
  const bool narrow = p.weights_are_rows && p.n < tile.columns();
  KernelSpec spec;
  spec.source = "matmul_tile.cl";
  spec.entry = "matmul_tile";
  spec.operands = {In(0, "X"), PackRows(op, p, width),
                   PackedBias(op, p.channels, p.channels, width), Out(0, "Y")};
  spec.sizes = {{"M", p.m}, {"N", p.n}, {"K", p.k}};
  spec.defines = {{"A_PACKED", p.weights_are_rows},
                  {"NARROW", narrow},
                  {"MR", tile.rows},
                  {"NV", tile.vectors}};
  spec.dims = 3;
  spec.global = Grid(DivideUp(p.m, tile.rows), DivideUp(p.n, tile.columns()), p.images);
  spec.flops = 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k * p.images);
  return Launches{spec};
}

Finish::Finish(const OpView& op, const ref::Inputs& ins, ref::Outputs& outs, int64_t channels)
    : ins_(ins),
      outs_(outs),
      integers_(SumsIntegers(op)),
      float_steps_(IsInteger(op.out(0).dtype())),
      has_bias_(HasBias(op)),
      real_bias_(HasRealBias(op)),
      zero_x_(op.in(0).type().zero_point()),
      zero_w_(op.in(1).type().per_channel() ? 0 : op.in(1).type().zero_point()) {
  if (integers_) multipliers_ = Multipliers(op, channels);
}

void Finish::StoreInteger(int64_t at, int64_t c, int64_t sum) {
  const float m = multipliers_[static_cast<size_t>(c)];
  if (real_bias_) {
    const float product = static_cast<float>(sum) * m;
    outs_[0].Set(at, product + ins_[2].Float(c));
  } else {
    outs_[0].SetScaled(at, has_bias_ ? sum + ins_[2].Raw(c) : sum, m);
  }
}

void Finish::StoreReal(int64_t at, int64_t c, float sum) {
  outs_[0].Set(at, has_bias_ ? sum + ins_[2].Float(c) : sum);
}

namespace {

using namespace cases;

TensorType With(TensorType t, const Shape& shape) {
  t.shape = shape;
  return t;
}

/// One case: weight and bias constant or not, a bias of UNKNOWN left out.
void AddCase(CaseMaker& make, const CaseForm& f, const TensorType& x, const TensorType& w,
             const TensorType& y, bool constant, DataType bias, const std::string& note) {
  const double reach = IsInteger(bias) ? 3000 : 2;
  CaseBuilder c = make.Of(f.attrs);
  c.In(With(x, f.x), -3, 3).Input({With(w, f.w), constant, -1, 1});
  if (bias != DataType::UNKNOWN) c.Input({Plain(bias, {f.channels}), constant, -reach, reach});
  c.Out(With(y, f.declared)).Note(note);
}

// Encodings by which sums of a few dozen products neither vanish nor all saturate.
TensorType X8() { return Affine(DataType::UINT8, {}, 0.026f, 121); }
TensorType W8() { return Affine(DataType::UINT8, {}, 0.009f, 112); }
TensorType Y8() { return Affine(DataType::UINT8, {}, 0.081f, 133); }
TensorType XI8() { return Affine(DataType::INT8, {}, 0.027f, -9); }
TensorType WI8() { return Affine(DataType::INT8, {}, 0.008f, 0); }
TensorType YI8() { return Affine(DataType::INT8, {}, 0.083f, 5); }
TensorType XI16() { return Affine(DataType::INT16, {}, 0.0002f, 0); }
TensorType YI16() { return Affine(DataType::INT16, {}, 0.0007f, 0); }
TensorType ByChannel(DataType dtype, const CaseForm& f) {
  return PerChannel(dtype, f.w, f.channel_dim);
}

}  // namespace

void FloatCase(CaseMaker& make, const CaseForm& f) {
  AddCase(make, f, F32(), F32(), F32(), true, DataType::FLOAT32, f.note);
}

void WindowCases(CaseMaker& make, const CaseForm& f) {
  FloatCase(make, f);
  AddCase(make, f, F16(), F16(), F16(), true, DataType::FLOAT16, f.note);
  AddCase(make, f, X8(), Affine(DataType::UINT8, {}, 0.0045f, 20), Y8(), true, DataType::INT32,
          f.note);
  const auto terms = static_cast<double>(f.w.count() / f.channels);
  const auto scale = static_cast<float>(0.0003 * std::sqrt(terms));
  const TensorType by_channel = ByChannel(DataType::INT8, f);
  const TensorType y16 = Affine(DataType::INT16, {}, scale, 9);
  AddCase(make, f, XI16(), by_channel, y16, true, DataType::INT64, f.note);
  // Minus their zero point, cells have 17 bits.
  AddCase(make, f, Affine(DataType::INT16, {}, 0.00005f, -32768), by_channel, y16, true,
          DataType::INT64, f.note);
}

void FormCases(CaseMaker& make, const CaseForm& f) {
  FloatCase(make, f);
  AddCase(make, f, X8(), W8(), Y8(), true, DataType::INT32, f.note);
  AddCase(make, f, XI8(), ByChannel(DataType::INT8, f), YI8(), true, DataType::INT32, f.note);
}

void StorageCases(CaseMaker& make, const CaseForm& f) {
  AddCase(make, f, F16(), F16(), F16(), true, DataType::FLOAT16, f.note);
  // Results that neither vanish nor all saturate.
  const auto terms = static_cast<double>(f.w.count() / f.channels);
  const TensorType y =
      Affine(DataType::INT16, {}, static_cast<float>(0.0003 * std::sqrt(terms)), -7);
  AddCase(make, f, Affine(DataType::INT16, {}, 0.0001f, 401), ByChannel(DataType::INT8, f), y, true,
          DataType::INT64, f.note);
}

void WideSumCase(CaseMaker& make, const CaseForm& f) {
  const auto terms = static_cast<float>(f.w.count() / f.channels);
  for (const int32_t zero : {0, -32768}) {
    const double most = 0.0001 * (32767 - zero);
    make.Of(f.attrs)
        .In(Affine(DataType::INT16, f.x, 0.0001f, zero), 0.95 * most, most)
        .Const(Affine(DataType::INT8, f.w, 0.0075f, 0), 0.9, 0.95)
        .Const(Plain(DataType::INT64, {f.channels}), -3000, 3000)
        .Out(Affine(DataType::INT16, f.declared, terms * (zero == 0 ? 0.0001f : 0.0002f), 0))
        .Note(f.note);
  }
}

void TypeCases(CaseMaker& make, const CaseForm& f, bool brief) {
  constexpr DataType kNone = DataType::UNKNOWN, kInt = DataType::INT32, kReal = DataType::FLOAT32;
  const struct {
    TensorType x, w, y;
    DataType bias;
    const char* note;
    bool constant = true, brief = false;
  } rows[] = {
      {F16(), F16(), F16(), DataType::FLOAT16, "f16", true, true},
      {F32(), F32(), Y8(), kReal, "f32 to u8", true, true},
      {X8(), W8(), F32(), kInt, "u8 to f32", true, true},
      {XI8(), WI8(), YI8(), kInt, "i8", true, true},
      {XI16(), Affine(DataType::INT16, {}, 0.00004f, 0), YI16(), DataType::INT64, "i16, i64 bias",
       true, true},
      {Fixed(DataType::INT8, {}, 5), Fixed(DataType::INT8, {}, 5), Fixed(DataType::INT8, {}, 3),
       kInt, "i8 dynamic fixed point"},
      {Fixed(DataType::INT16, {}, 11), Fixed(DataType::INT16, {}, 11),
       Fixed(DataType::INT16, {}, 9), kInt, "i16 dynamic fixed point"},
      {F32(), F32(), F32(), kReal, "computed weight and bias", false},
      {F32(), F32(), F32(), kNone, "computed weight, no bias", false},
      {F32(), F32(), F32(), kNone, "no bias", true, true},
      {X8(), W8(), Y8(), kNone, "u8, no bias"},
      {X8(), W8(), Y8(), kInt, "u8, computed weight and bias", false},
      {X8(), W8(), Y8(), kNone, "u8, computed weight, no bias", false},
      {F32(), F32(), F32(), DataType::FLOAT16, "f16 bias"},
      {F16(), F16(), F32(), kReal, "f16 to f32"},
      {F16(), F32(), F16(), kReal, "f16 with an f32 weight and bias"},
      {F32(), F16(), F16(), kReal, "f32 with an f16 weight, to f16"},
      {F32(), WI8(), F32(), kReal, "f32 with an i8 weight"},
      {X8(), W8(), Y8(), kReal, "u8 with an f32 bias"},
      {X8(), ByChannel(DataType::UINT8, f), Y8(), kInt, "u8, u8 per channel"},
      {X8(), Affine(DataType::INT4, {}, 0.13f, 0), Y8(), kInt, "u8, i4 weights"},
      {XI8(), PerChannel(DataType::INT4, f.w, f.channel_dim, 0.13f),
       Affine(DataType::INT4, {}, 1.3f, 1), kInt, "i8, i4 per channel"},
      {Affine(DataType::UINT4, {}, 0.41f, 7), Affine(DataType::UINT4, {}, 0.13f, 6),
       Affine(DataType::UINT4, {}, 1.4f, 8), kInt, "u4"},
      {Affine(DataType::INT4, {}, 0.4f, -1), Affine(DataType::INT4, {}, 0.13f, 0), F32(), kReal,
       "i4 to f32"},
      {XI16(), WI8(), YI16(), kInt, "i16 with an i8 weight"},
      {XI16(), PerChannel(DataType::INT16, f.w, f.channel_dim, 0.00004f), YI16(), kNone,
       "i16, i16 per channel"},
  };
  for (const auto& r : rows) {
    if (brief && !r.brief) continue;
    AddCase(make, f, r.x, r.w, r.y, r.constant, r.bias, r.note);
  }
  if (brief) return;
  CaseBuilder c = make.Of(f.attrs);
  c.In(F32(f.x), -3, 3).Const(F32(f.w), -1, 1).Const(F32({f.channels}), -2, 2);
  c.Out(F32(f.declared)).Note("types").EachTypeOnce(f.channel_dim);
}

void BenchCase(CaseMaker& make, const CaseForm& f) {
  make.Of(f.attrs)
      .In(F32(f.x), -3, 3)
      .Const(F32(f.w), -1, 1)
      .Const(F32({f.channels}), -1, 1)
      .Note(f.note)
      .Bench();
}

void StorageBenchCases(CaseMaker& make, const CaseForm& f) {
  make.Of(f.attrs)
      .In(F16(f.x), -3, 3)
      .Const(F16(f.w), -1, 1)
      .Const(F16({f.channels}), -1, 1)
      .Out(F16(f.declared))
      .Note(f.note + ", f16")
      .Bench();
  const auto terms = static_cast<double>(f.w.count() / f.channels);
  make.Of(f.attrs)
      .In(Affine(DataType::INT16, f.x, 0.0001f, 0), -3, 3)
      .Const(Affine(DataType::INT8, f.w, 0.008f, 0), -1, 1)
      .Const(Plain(DataType::INT64, {f.channels}), -3000, 3000)
      .Out(Affine(DataType::INT16, f.declared, static_cast<float>(0.0003 * std::sqrt(terms)), 0))
      .Note(f.note + ", i16 by i8")
      .Bench();
}

}  // namespace tim::vx::weighted_sum
