// The types of tensors in private forms.
#include "tim/vx/tensor_form.h"

namespace tim::vx {

bool CanTake(const TensorType& type, TensorForm form) {
  if (form == TensorForm::kPlain) return true;
  if (type.shape.rank() != 4 || type.per_channel()) return false;
  switch (type.dtype) {
    case DataType::FLOAT32:
    case DataType::FLOAT16:
    case DataType::INT8:
    case DataType::UINT8:
    case DataType::INT16:
      return true;
    default:
      return false;
  }
}

TensorType InForm(const TensorType& type, TensorForm form) {
  if (form == TensorForm::kPlain) return type;
  TensorType t = type;
  const int64_t blocks = (type.shape[2] + kChannelBlock - 1) / kChannelBlock;
  t.shape = Shape{kChannelBlock, type.shape[0], type.shape[1], blocks, type.shape[3]};
  if (type.dtype == DataType::INT8) {
    t.dtype = DataType::UINT8;
    t.quant = Quantization(QuantType::ASYMMETRIC, type.scale(), type.zero_point() + 128);
  }
  return t;
}

}  // namespace tim::vx
