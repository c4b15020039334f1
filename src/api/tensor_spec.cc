// TensorSpec, and the parts of Tensor that have a body.
#include <limits>

#include "tim/vx/tensor.h"

namespace tim::vx {

TensorSpec::TensorSpec(const TensorSpec& other) = default;
TensorSpec& TensorSpec::operator=(const TensorSpec& other) = default;

bool TensorSpec::operator==(const TensorSpec& other_spec) const {
  return datatype_ == other_spec.datatype_ && shape_ == other_spec.shape_ &&
         attr_ == other_spec.attr_ && quantization_ == other_spec.quantization_;
}

TensorSpec TensorSpec::AsTransientSpec() const {
  return TensorSpec(datatype_, ShapeType{}, TensorAttribute::TRANSIENT, quantization_);
}

int64_t TensorSpec::GetElementNum() const {
  int64_t count = 1;
  bool overflow = false;
  for (const uint32_t extent : shape_) {
    if (extent == 0) return 0;  // also where the other extents alone would not fit
    overflow = overflow || __builtin_mul_overflow(count, int64_t{extent}, &count);
  }
  return overflow ? std::numeric_limits<int64_t>::max() : count;
}

int64_t TensorSpec::GetElementByteSize() const {
  switch (datatype_) {
    case DataType::INT8:
    case DataType::UINT8:
    case DataType::BOOL8:
    case DataType::INT4:
    case DataType::UINT4:
    case DataType::UNKNOWN:
      return 1;
    case DataType::INT16:
    case DataType::UINT16:
    case DataType::FLOAT16:
      return 2;
    case DataType::INT32:
    case DataType::UINT32:
    case DataType::FLOAT32:
      return 4;
    case DataType::INT64:
      return 8;
  }
  return 1;  // a number that is no enumerator counts as UNKNOWN
}

int64_t TensorSpec::GetByteSize() const {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(GetElementNum(), GetElementByteSize(), &bytes)) {
    return std::numeric_limits<int64_t>::max();
  }
  return bytes;
}

void Tensor::SetName(const std::string&) {}

const std::string& Tensor::Name() const {
  static const std::string empty;
  return empty;
}

}  // namespace tim::vx
