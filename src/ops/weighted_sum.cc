// Types, multipliers and accumulators of the operators that sum products of input and weight.
#include "tim/vx/weighted_sum.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace tim::vx::weighted_sum {
namespace {

using std::to_string;

bool HasBias(const OpView& op) { return op.in(2).present(); }
bool HasRealBias(const OpView& op) { return HasBias(op) && !IsInteger(op.in(2).dtype()); }

bool IsSumType(DataType d) {
  switch (d) {
    case DataType::FLOAT32:
    case DataType::FLOAT16:
    case DataType::INT8:
    case DataType::UINT8:
    case DataType::INT16:
    case DataType::UINT16:
      return true;
    default:
      return false;
  }
}

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

Status CheckTypes(const OpView& op, size_t channel_dim, const char* weight_name) {
  auto refuse = [&](const TensorView& t, const std::string& what, const std::string& expected) {
    return op.Error(Code::kInvalidType, what + " " + t.label() + ": " + expected + " is expected")
        .AtTensor(t.name());
  };
  const TensorView x = op.in(0), w = op.in(1), b = op.in(2), y = op.out(0);
  const std::string types = "one of f32 f16 i8 u8 i16 u16, quantized per tensor or not at all,";
  const std::string weight = "input 1 '" + std::string(weight_name) + "'";
  if (!IsSumType(x.dtype()) || x.type().per_channel()) return refuse(x, "input 0 'input'", types);
  if (!IsSumType(w.dtype())) return refuse(w, weight, "one of f32 f16 i8 u8 i16 u16");
  if (!IsSumType(y.dtype()) || y.type().per_channel()) return refuse(y, "output 0", types);
  if (w.type().per_channel()) {
    if (w.type().quant.Type() != QuantType::SYMMETRIC_PER_CHANNEL || !IsInteger(w.dtype())) {
      return refuse(w, weight, "among per-channel quantizations, SYMMETRIC_PER_CHANNEL");
    }
    if (!IsInteger(x.dtype())) {
      return refuse(x, "input 0 'input'",
                    "an integer type, as the weight is quantized per channel,");
    }
    if (w.type().quant.ChannelDim() != static_cast<int32_t>(channel_dim)) {
      return op
          .Error(Code::kInvalidArgument, weight + " " + w.label() +
                                             ": its output channels are along dimension " +
                                             to_string(channel_dim) + ", its channel_dim is " +
                                             to_string(w.type().quant.ChannelDim()))
          .AtTensor(w.name());
    }
  }
  if (!b.present()) return Status();
  const DataType d = b.dtype();
  const bool real = d == DataType::FLOAT32 || d == DataType::FLOAT16;
  const bool integer = d == DataType::INT32 || d == DataType::INT64;
  if (SumsIntegers(op) ? !real && !integer : !real) {
    return refuse(b, "input 2 'bias'", SumsIntegers(op) ? "one of i32 i64 f32 f16" : "f32 or f16");
  }
  return Status();
}

Status CheckBias(const OpView& op, int64_t channels) {
  const TensorView b = op.in(2);
  if (!b.present() || b.shape().count() == channels) return Status();
  return op
      .Error(Code::kInvalidShape, "input 2 'bias' " + b.label() + " has " +
                                      to_string(b.shape().count()) + " elements for " +
                                      to_string(channels) + " output channels")
      .AtTensor(b.name());
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

Defines SumDefines(const OpView& op, int64_t terms) {
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
  auto flag = [](bool b) { return std::string(b ? "1" : "0"); };
  return {{"INTEGERS", flag(integers)},
          {"HAS_BIAS", flag(HasBias(op))},
          {"REAL_BIAS", flag(HasRealBias(op))},
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

}  // namespace tim::vx::weighted_sum
