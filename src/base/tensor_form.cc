// The types of tensors in private forms.
#include "tim/vx/tensor_form.h"

namespace tim::vx {

bool CanTake(const TensorType& type, TensorForm form) {
  if (form == TensorForm::kPlain) return true;
  if (type.shape.rank() != 4 || type.per_channel()) return false;
  return type.dtype == DataType::FLOAT32 || type.dtype == DataType::INT8 ||
         type.dtype == DataType::UINT8;
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
