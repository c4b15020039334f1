// Shape, TensorType and the facts about data types.
#include "tim/vx/tensor_type.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/checked.h"

namespace tim::vx {

int64_t Shape::count() const {
  int64_t n = 1;
  for (int64_t d : dims_) n *= d;
  return n;
}

Result<int64_t> Shape::CheckedCount() const {
  int64_t n = 1;
  for (int64_t d : dims_) {
    if (d <= 0) {
      return Status::Error(Code::kInvalidShape,
                           fmt::format("shape {} has an extent that is not positive", ToString()));
    }
    if (!base::Multiply(n, d, &n)) {
      return Status::Error(
          Code::kInvalidShape,
          fmt::format("shape {} has more elements than 64 bits can count", ToString()));
    }
  }
  return n;
}

Shape::Lines Shape::SplitAt(size_t axis) const {
  Lines s{1, dim(axis), 1};
  for (size_t i = 0; i < rank(); ++i) {
    if (i < axis) s.inner *= dims_[i];
    if (i > axis) s.outer *= dims_[i];
  }
  return s;
}

std::string Shape::ToString() const { return fmt::format("[{}]", fmt::join(dims_, ",")); }

int BitsOf(DataType dtype) {
  switch (dtype) {
    case DataType::INT4:
    case DataType::UINT4:
      return 4;
    case DataType::INT8:
    case DataType::UINT8:
    case DataType::BOOL8:
      return 8;
    case DataType::INT16:
    case DataType::UINT16:
    case DataType::FLOAT16:
      return 16;
    case DataType::INT32:
    case DataType::UINT32:
    case DataType::FLOAT32:
      return 32;
    case DataType::INT64:
      return 64;
    case DataType::UNKNOWN:
      break;
  }
  return 0;
}

const char* NameOf(DataType dtype) {
  switch (dtype) {
    case DataType::INT8:
      return "i8";
    case DataType::UINT8:
      return "u8";
    case DataType::INT16:
      return "i16";
    case DataType::UINT16:
      return "u16";
    case DataType::INT32:
      return "i32";
    case DataType::UINT32:
      return "u32";
    case DataType::INT64:
      return "i64";
    case DataType::FLOAT16:
      return "f16";
    case DataType::FLOAT32:
      return "f32";
    case DataType::BOOL8:
      return "bool";
    case DataType::INT4:
      return "i4";
    case DataType::UINT4:
      return "u4";
    case DataType::UNKNOWN:
      break;
  }
  return "unknown";
}

bool IsInteger(DataType dtype) {
  return dtype != DataType::FLOAT16 && dtype != DataType::FLOAT32 && BitsOf(dtype) != 0;
}

int64_t LowestOf(DataType dtype) {
  switch (dtype) {
    case DataType::INT4:
      return -8;
    case DataType::INT8:
      return -128;
    case DataType::INT16:
      return -32768;
    case DataType::INT32:
      return std::numeric_limits<int32_t>::min();
    case DataType::INT64:
      return std::numeric_limits<int64_t>::min();
    case DataType::BOOL8:
      return -128;  // stored like INT8; 0 and 1 are what ops write
    default:
      return 0;
  }
}

int64_t HighestOf(DataType dtype) {
  switch (dtype) {
    case DataType::INT4:
      return 7;
    case DataType::UINT4:
      return 15;
    case DataType::INT8:
      return 127;
    case DataType::BOOL8:
      return 127;
    case DataType::UINT8:
      return 255;
    case DataType::INT16:
      return 32767;
    case DataType::UINT16:
      return 65535;
    case DataType::INT32:
      return std::numeric_limits<int32_t>::max();
    case DataType::UINT32:
      return std::numeric_limits<uint32_t>::max();
    case DataType::INT64:
      return std::numeric_limits<int64_t>::max();
    default:
      return 0;
  }
}

float TensorType::scale(size_t c) const {
  switch (quant.Type()) {
    case QuantType::NONE:
      return 1.0f;
    case QuantType::DYNAMIC_FIXED_POINT:
      return std::ldexp(1.0f, -quant.Fl());
    case QuantType::ASYMMETRIC:
      return quant.Scales().empty() ? 0.0f : quant.Scales()[0];
    default:
      return c < quant.Scales().size() ? quant.Scales()[c] : 0.0f;
  }
}

int32_t TensorType::zero_point(size_t c) const {
  const auto& zp = quant.ZeroPoints();
  switch (quant.Type()) {
    case QuantType::ASYMMETRIC:
      return zp.empty() ? 0 : zp[0];
    // Callers give one zero point for N scales.
    case QuantType::ASYMMETRIC_PER_CHANNEL:
      return zp.empty() ? 0 : zp[c < zp.size() ? c : 0];
    default:
      return 0;
  }
}

size_t TensorType::bytes() const {
  return static_cast<size_t>(count()) * static_cast<size_t>((BitsOf(dtype) + 7) / 8);
}

Result<size_t> TensorType::CheckedBytes() const {
  TIMCL_ASSIGN(const int64_t n, shape.CheckedCount());
  int64_t bits = 0;
  if (!base::Multiply(n, static_cast<int64_t>(BitsOf(dtype)), &bits)) {
    return Status::Error(Code::kInvalidShape,
                         fmt::format("{} needs more bytes than 64 bits can count", ToString()));
  }
  return bytes();
}

std::string TensorType::ToString() const {
  std::string q;
  switch (quant.Type()) {
    case QuantType::NONE:
      break;
    case QuantType::ASYMMETRIC:
      q = fmt::format("({:.9g},{})", scale(), zero_point());
      break;
    case QuantType::DYNAMIC_FIXED_POINT:
      q = fmt::format("(fl={})", static_cast<int>(quant.Fl()));
      break;
    case QuantType::SYMMETRIC_PER_CHANNEL:
      q = fmt::format("(dim={},[{:.9g}])", quant.ChannelDim(), fmt::join(quant.Scales(), ","));
      break;
    case QuantType::ASYMMETRIC_PER_CHANNEL:
      q = fmt::format("(dim={},[{:.9g}],[{}])", quant.ChannelDim(), fmt::join(quant.Scales(), ","),
                      fmt::join(quant.ZeroPoints(), ","));
      break;
  }
  return NameOf(dtype) + q + shape.ToString();
}

bool SameEncoding(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype) return false;
  if (a.per_channel() || b.per_channel()) return a.quant == b.quant;
  return a.scale() == b.scale() && a.zero_point() == b.zero_point();
}

}  // namespace tim::vx
