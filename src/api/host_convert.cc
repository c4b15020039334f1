// utils::Float32ToDtype and DtypeToFloat32: the conversions of the original's host library. Their
// rounding is not the device's (base/quant.h): see the header.
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/float_env.h"
#include "tim/vx/tensor.h"

namespace tim::vx::utils {
namespace {

struct IntegerType {
  int64_t low;
  int64_t high;
  bool is_signed;
};

std::optional<IntegerType> Integer(DataType type) {
  const auto range = [](auto zero) {
    using T = decltype(zero);
    return IntegerType{std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::is_signed};
  };
  switch (type) {
    case DataType::INT4:
      return IntegerType{-8, 7, true};
    case DataType::UINT4:
      return IntegerType{0, 15, false};
    case DataType::INT8:
    case DataType::BOOL8:  // the original's boolean is a signed byte
      return range(int8_t{});
    case DataType::UINT8:
      return range(uint8_t{});
    case DataType::INT16:
      return range(int16_t{});
    case DataType::UINT16:
      return range(uint16_t{});
    case DataType::INT32:
      return range(int32_t{});
    case DataType::UINT32:
      return range(uint32_t{});
    case DataType::INT64:
      return range(int64_t{});
    case DataType::FLOAT16:
    case DataType::FLOAT32:
    case DataType::UNKNOWN:
      break;
  }
  return std::nullopt;
}

// Clamps a whole number, given as double, to the type's range. The comparison with >= matters:
// double(INT64_MAX) is one more than INT64_MAX.
int64_t Saturate(double value, const IntegerType& type) {
  if (value <= static_cast<double>(type.low)) return type.low;
  if (value >= static_cast<double>(type.high)) return type.high;
  return static_cast<int64_t>(value);
}

// Half precision by truncation: what is too large becomes the largest finite number, what is below
// the normal range becomes zero. NaN stays NaN.
uint16_t HalfFromFloat(float value) {
  constexpr uint16_t kLargest = 0x7BFF;
  constexpr uint16_t kNan = 0x7E00;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | kNan;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65504.0f) return sign | kLargest;
  if (magnitude < 0x1p-14f) return sign;
  uint32_t bits = 0;
  std::memcpy(&bits, &magnitude, sizeof(bits));
  // 13 mantissa bits fall away; the exponent's bias goes from 127 to 15.
  return static_cast<uint16_t>(sign | ((bits >> 13) - ((127u - 15u) << 10)));
}

float FloatFromHalf(uint16_t half) {
  const int exponent = (half >> 10) & 0x1F;
  const int mantissa = half & 0x3FF;
  float magnitude = 0;
  if (exponent == 0x1F) {
    magnitude = mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                              : std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa | 0x400), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

// double, so that 2^-fl exists for every fl; results are those of float arithmetic, rounded once.
struct Affine {
  double scale;
  int32_t zero_point;
};

// Scale and zero point of each element of a quantized integer tensor.
class Quantizer {
 public:
  // Nothing for a spec without the scales that its type needs.
  static std::optional<Quantizer> Make(const TensorSpec& spec) {
    const Quantization& quantization = spec.quantization_;
    Quantizer result(quantization);
    switch (quantization.Type()) {
      case QuantType::NONE:
        return std::nullopt;
      case QuantType::DYNAMIC_FIXED_POINT:
        return result;
      case QuantType::ASYMMETRIC:
        if (quantization.Scales().empty()) return std::nullopt;
        return result;
      case QuantType::SYMMETRIC_PER_CHANNEL:
      case QuantType::ASYMMETRIC_PER_CHANNEL: {
        const int64_t axis = quantization.ChannelDim();
        if (axis < 0 || axis >= static_cast<int64_t>(spec.shape_.size())) return std::nullopt;
        result.channels_ = spec.shape_[axis];
        for (int64_t i = 0; i < axis; ++i) result.inner_ *= spec.shape_[i];
        if (result.inner_ == 0 || result.channels_ == 0) return std::nullopt;
        if (quantization.Scales().size() < result.channels_) return std::nullopt;
        return result;
      }
    }
    return std::nullopt;
  }

  Affine At(uint64_t element) const {
    if (quantization_->Type() == QuantType::DYNAMIC_FIXED_POINT) {
      return {std::ldexp(1.0, -quantization_->Fl()), 0};
    }
    const uint64_t channel = (element / inner_) % channels_;
    const std::vector<int32_t>& zero_points = quantization_->ZeroPoints();
    Affine affine{quantization_->Scales()[channel], 0};
    if (quantization_->Type() != QuantType::SYMMETRIC_PER_CHANNEL && !zero_points.empty()) {
      // Callers give one zero point for all channels, too.
      affine.zero_point = zero_points[channel < zero_points.size() ? channel : 0];
    }
    return affine;
  }

 private:
  explicit Quantizer(const Quantization& quantization) : quantization_(&quantization) {}

  const Quantization* quantization_;
  uint64_t inner_ = 1;
  uint64_t channels_ = 1;
};

}  // namespace

bool Float32ToDtype(std::shared_ptr<tim::vx::Tensor> tensor, std::vector<float> fval,
                    uint8_t* tensorData) {
  if (tensor == nullptr || tensorData == nullptr) return false;
  const base::FloatEnv usual;
  const TensorSpec& spec = tensor->GetSpec();
  const int64_t count = spec.GetElementNum();
  if (static_cast<uint64_t>(count) > fval.size()) return false;
  const size_t stride = static_cast<size_t>(spec.GetElementByteSize());

  if (spec.datatype_ == DataType::FLOAT32) {
    if (count != 0) std::memcpy(tensorData, fval.data(), count * stride);
    return true;
  }
  if (spec.datatype_ == DataType::FLOAT16) {
    for (int64_t i = 0; i < count; ++i) {
      const uint16_t half = HalfFromFloat(fval[i]);
      std::memcpy(tensorData + i * stride, &half, sizeof(half));
    }
    return true;
  }

  const std::optional<IntegerType> type = Integer(spec.datatype_);
  if (!type) return false;
  const bool quantized = spec.quantization_.Type() != QuantType::NONE;
  const std::optional<Quantizer> quantizer = Quantizer::Make(spec);
  if (quantized && !quantizer && count != 0) return false;
  for (int64_t i = 0; i < count; ++i) {
    int64_t stored = 0;
    if (quantized) {
      const Affine affine = quantizer->At(i);
      // The quotient is rounded before the zero point is added, both as on the original's host.
      const float quotient = std::nearbyint(static_cast<float>(fval[i] / affine.scale));
      stored = std::isnan(quotient)
                   ? Saturate(affine.zero_point, *type)
                   : Saturate(static_cast<double>(quotient) + affine.zero_point, *type);
    } else if (!std::isnan(fval[i])) {
      // A C cast keeps the low bits of what does not fit; only 64 bits bound it, so that the
      // conversion itself is defined.
      stored = Saturate(std::trunc(static_cast<double>(fval[i])), *Integer(DataType::INT64));
    }
    // The low bytes of a two's complement number, whatever the type's sign; little endian, as all
    // devices are.
    std::memcpy(tensorData + i * stride, &stored, stride);
  }
  return true;
}

bool DtypeToFloat32(std::shared_ptr<tim::vx::Tensor> tensor, uint8_t* tensorData, float* data) {
  if (tensor == nullptr || tensorData == nullptr || data == nullptr) return false;
  const base::FloatEnv usual;
  const TensorSpec& spec = tensor->GetSpec();
  if (spec.datatype_ == DataType::FLOAT32) {
    std::memcpy(data, tensorData, sizeof(*data));
    return true;
  }
  if (spec.datatype_ == DataType::FLOAT16) {
    uint16_t half = 0;
    std::memcpy(&half, tensorData, sizeof(half));
    *data = FloatFromHalf(half);
    return true;
  }

  const std::optional<IntegerType> type = Integer(spec.datatype_);
  if (!type) return false;
  const size_t bytes = static_cast<size_t>(spec.GetElementByteSize());
  int64_t stored = 0;
  std::memcpy(&stored, tensorData, bytes);
  const int unused_bits = 64 - 8 * static_cast<int>(bytes);
  if (type->is_signed) {  // C++20: shifts are those of two's complement
    stored = static_cast<int64_t>(static_cast<uint64_t>(stored) << unused_bits) >> unused_bits;
  }
  if (spec.quantization_.Type() == QuantType::NONE) {
    *data = static_cast<float>(stored);
    return true;
  }
  const std::optional<Quantizer> quantizer = Quantizer::Make(spec);
  if (!quantizer) return false;
  const Affine affine = quantizer->At(0);
  const float steps = static_cast<float>(static_cast<double>(stored) - affine.zero_point);
  *data = static_cast<float>(steps * affine.scale);
  return true;
}

}  // namespace tim::vx::utils
