// How reference functions read and write tensors: NUMERICS rules through base/quant.h. Built with
// -ffp-contract=off.
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "base/quant.h"
#include "tim/vx/op_def.h"

namespace tim::vx::ref {
namespace {

template <class T>
T Load(const void* data, int64_t i) {
  T v;
  std::memcpy(&v, static_cast<const std::byte*>(data) + static_cast<size_t>(i) * sizeof(T),
              sizeof(T));
  return v;
}

template <class T>
void Store(void* data, int64_t i, T v) {
  std::memcpy(static_cast<std::byte*>(data) + static_cast<size_t>(i) * sizeof(T), &v, sizeof(T));
}

/// Channel of element i for a per-channel type.
size_t ChannelOf(const TensorType& t, int64_t i) {
  if (!t.per_channel()) return 0;
  const auto lines = t.shape.SplitAt(static_cast<size_t>(t.quant.ChannelDim()));
  return static_cast<size_t>(i / lines.inner % lines.n);
}

void StoreRaw(void* data, DataType dtype, int64_t i, int64_t q) {
  switch (dtype) {
    case DataType::INT4:
    case DataType::INT8:
    case DataType::BOOL8:
      return Store(data, i, static_cast<int8_t>(q));
    case DataType::UINT4:
    case DataType::UINT8:
      return Store(data, i, static_cast<uint8_t>(q));
    case DataType::INT16:
      return Store(data, i, static_cast<int16_t>(q));
    case DataType::UINT16:
      return Store(data, i, static_cast<uint16_t>(q));
    case DataType::INT32:
      return Store(data, i, static_cast<int32_t>(q));
    case DataType::UINT32:
      return Store(data, i, static_cast<uint32_t>(q));
    case DataType::INT64:
      return Store(data, i, q);
    default:
      return;
  }
}

}  // namespace

Input::Input(const void* data, const TensorType& type) : data_(data), type_(&type) {}

int64_t Input::Raw(int64_t i) const {
  switch (type_->dtype) {
    case DataType::INT4:
    case DataType::INT8:
    case DataType::BOOL8:
      return Load<int8_t>(data_, i);
    case DataType::UINT4:
    case DataType::UINT8:
      return Load<uint8_t>(data_, i);
    case DataType::INT16:
      return Load<int16_t>(data_, i);
    case DataType::UINT16:
      return Load<uint16_t>(data_, i);
    case DataType::INT32:
      return Load<int32_t>(data_, i);
    case DataType::UINT32:
      return Load<uint32_t>(data_, i);
    case DataType::INT64:
      return Load<int64_t>(data_, i);
    default:
      return 0;
  }
}

double Input::At(int64_t i) const {
  switch (type_->dtype) {
    case DataType::FLOAT32:
      return Load<float>(data_, i);
    case DataType::FLOAT16:
      return base::HalfToFloat(Load<uint16_t>(data_, i));
    default:
      break;
  }
  if (!type_->quantized()) return static_cast<double>(Raw(i));
  const size_t c = ChannelOf(*type_, i);
  return base::Dequantize(Raw(i), type_->zero_point(c), type_->scale(c));
}

Output::Output(void* data, const TensorType& type) : data_(data), type_(&type) {}

void Output::Set(int64_t i, double real) {
  switch (type_->dtype) {
    case DataType::FLOAT32:
      return Store(data_, i, static_cast<float>(real));
    case DataType::FLOAT16:
      return Store(data_, i, base::FloatToHalf(static_cast<float>(real)));
    default:
      break;
  }
  if (!type_->quantized() && BitsOf(type_->dtype) >= 32) {
    // float32 would lose what a double holds of a wide integer.
    const double lo = static_cast<double>(LowestOf(type_->dtype));
    const double hi = static_cast<double>(HighestOf(type_->dtype));
    const double r = std::rint(real);
    return StoreRaw(data_, type_->dtype, i,
                    std::isnan(r) ? 0
                    : r <= lo     ? LowestOf(type_->dtype)
                    : r >= hi     ? HighestOf(type_->dtype)
                                  : static_cast<int64_t>(r));
  }
  const size_t c = ChannelOf(*type_, i);
  StoreRaw(data_, type_->dtype, i,
           base::Quantize(static_cast<float>(real), base::InverseScale(type_->scale(c)),
                          type_->zero_point(c), LowestOf(type_->dtype), HighestOf(type_->dtype)));
}

void Output::SetRaw(int64_t i, int64_t stored) {
  switch (type_->dtype) {
    case DataType::FLOAT32:
      return Store(data_, i, static_cast<float>(stored));
    case DataType::FLOAT16:
      return Store(data_, i, base::FloatToHalf(static_cast<float>(stored)));
    default:
      break;
  }
  const int64_t lo = LowestOf(type_->dtype), hi = HighestOf(type_->dtype);
  StoreRaw(data_, type_->dtype, i, stored < lo ? lo : stored > hi ? hi : stored);
}

void Output::SetScaled(int64_t i, int64_t acc, float m) {
  if (!IsInteger(type_->dtype)) return Set(i, static_cast<float>(acc) * m);
  StoreRaw(data_, type_->dtype, i,
           base::QuantizeSum(acc, m, type_->zero_point(), LowestOf(type_->dtype),
                             HighestOf(type_->dtype)));
}

namespace {
bool IsPlainInteger(const TensorType& t) { return IsInteger(t.dtype) && !t.quantized(); }
}  // namespace

Arithmetic ArithmeticOf(const OpView& op) {
  bool whole = true, integer_result = false;
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    if (op.in(i).present()) whole = whole && IsPlainInteger(op.in(i).type());
  }
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    whole = whole && IsPlainInteger(op.out(i).type());
    integer_result = integer_result || IsInteger(op.out(i).dtype());
  }
  return whole ? Arithmetic::kInteger : integer_result ? Arithmetic::kFloat : Arithmetic::kDouble;
}

void Copy(Output& out, int64_t to, const Input& in, int64_t from) {
  const TensorType &x = in.type(), &y = out.type();
  const bool stored =
      IsInteger(x.dtype) && (SameEncoding(x, y) || (IsPlainInteger(x) && IsPlainInteger(y)));
  if (stored) {
    out.SetRaw(to, in.Raw(from));
  } else {
    out.Set(to, in.At(from));
  }
}

}  // namespace tim::vx::ref
