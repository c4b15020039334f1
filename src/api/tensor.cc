// TensorImpl: see tensor.h; the habits of callers that must keep working are in the API facts,
// core.md 2.
#include "api/tensor.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/graph.h"
#include "base/log.h"
#include "tim/vx/op_def.h"

namespace tim::vx {

TensorImpl::TensorImpl(GraphImpl* graph, uint32_t id, const TensorSpec& spec)
    : graph_(graph), id_(id), spec_(spec) {
  if (spec_.quantization_.Type() == QuantType::SYMMETRIC_PER_CHANNEL)
    spec_.quantization_.SetZeroPoints({});
}

bool TensorImpl::open_shape() const {
  if (spec_.attr_ == TensorAttribute::TRANSIENT || spec_.shape_.empty()) return true;
  for (uint32_t d : spec_.shape_) {
    if (d == 0) return true;
  }
  return false;
}

TensorType TensorImpl::type() const {
  return {spec_.datatype_, has_inferred_ || open_shape() ? inferred_ : Shape(spec_.shape_),
          spec_.quantization_};
}

Status TensorImpl::AllocateStorage(const TensorType& type) {
  TIMCL_ASSIGN(const size_t bytes, type.CheckedBytes());
  auto storage = base::Storage::Allocate(bytes);
  if (storage == nullptr) {
    return Status::Error(Code::kOutOfMemory,
                         std::to_string(bytes) + " bytes of host memory for " + type.ToString())
        .AtTensor(name_);
  }
  // A new tensor reads as real 0, which is the zero point of a quantized type.
  if (type.quantized() && IsInteger(type.dtype) && BitsOf(type.dtype) >= 8) {
    ref::Output out(storage->data(), type);
    for (int64_t i = 0, n = type.count(); i < n; ++i) out.Set(i, 0.0);
  }
  storage_ = std::move(storage);
  return Status();
}

bool TensorImpl::CopyDataToTensor(const void* data, uint32_t) {
  if (spec_.attr_ == TensorAttribute::TRANSIENT) return false;
  if (data == nullptr || id_ == static_cast<uint32_t>(-1)) return true;
  if (storage_ == nullptr || storage_->data() == nullptr) return false;
  // The size argument means nothing: callers pass element counts and worse.
  std::memcpy(storage_->data(), data, storage_->bytes());
  storage_->MarkWritten();
  return true;
}

bool TensorImpl::CopyDataFromTensor(void* data) {
  if (spec_.attr_ == TensorAttribute::TRANSIENT) return false;
  if (data == nullptr) return true;
  if (storage_ == nullptr || storage_->data() == nullptr) return false;
  std::memcpy(data, storage_->data(), storage_->bytes());
  return true;
}

bool TensorImpl::SwapHandle(void* new_ptr, bool, void** old_ptr) {
  if (id_ == static_cast<uint32_t>(-1)) return true;
  if (!is_io() || storage_ == nullptr) return false;
  if (new_ptr != nullptr && reinterpret_cast<uintptr_t>(new_ptr) % 64 != 0) {
    graph_->Mistake(Status::Error(Code::kInvalidArgument,
                                  "SwapHandle: the new memory is not aligned to 64 bytes")
                        .AtTensor(graph_->LabelOf(*this)));
    return false;
  }
  if (new_ptr == nullptr && old_ptr == nullptr) return false;
  void* previous = storage_->SwapPointer(new_ptr);
  if (old_ptr != nullptr) *old_ptr = previous;
  return true;
}

bool TensorImpl::SwapHandle(std::shared_ptr<Tensor> tensor) {
  if (id_ == static_cast<uint32_t>(-1)) return true;
  auto* other = dynamic_cast<TensorImpl*>(tensor.get());
  if (other == nullptr || !is_io() || !other->is_io() || other->graph_ != graph_ ||
      storage_ == nullptr || other->storage_ == nullptr ||
      storage_->bytes() != other->storage_->bytes()) {
    return false;
  }
  storage_->SwapWith(*other->storage_);
  return true;
}

bool TensorImpl::FlushCacheForHandle() {
  if (!has(TensorAttribute::INPUT) || storage_ == nullptr) return false;
  storage_->MarkWritten();
  return true;
}

bool TensorImpl::InvalidateCacheForHandle() {
  return has(TensorAttribute::OUTPUT) && storage_ != nullptr;
}

void* TensorImpl::map(bool) {
  if (!is_io() || storage_ == nullptr) return nullptr;
  storage_->SetMapped(true);
  return storage_->data();
}

void TensorImpl::unmap() {
  if (!is_io() || storage_ == nullptr) return;
  storage_->MarkWritten();
  storage_->SetMapped(false);
}

bool TensorImpl::SaveTensorToTextByFp32(std::string filename) {
  std::FILE* file = std::fopen(filename.c_str(), "w");
  if (file == nullptr) {
    base::Log("api", base::LogLevel::kWarn, "SaveTensorToTextByFp32: cannot open '{}'", filename);
    return true;
  }
  if (float* values = ConvertTensorToFloat32Data()) {
    for (int64_t i = 0, n = type().count(); i < n; ++i) std::fprintf(file, "%.16f\n", values[i]);
    std::free(values);
  }
  std::fclose(file);
  return true;
}

void* TensorImpl::ConvertTensorToData(uint8_t*) {
  if (storage_ == nullptr || storage_->data() == nullptr) return nullptr;
  void* copy = std::malloc(storage_->bytes() ? storage_->bytes() : 1);
  if (copy != nullptr) std::memcpy(copy, storage_->data(), storage_->bytes());
  return copy;
}

float* TensorImpl::ConvertTensorToFloat32Data() {
  if (storage_ == nullptr || storage_->data() == nullptr || BitsOf(spec_.datatype_) < 8)
    return nullptr;
  const TensorType t = type();
  const int64_t n = t.count();
  auto* out = static_cast<float*>(std::malloc(sizeof(float) * static_cast<size_t>(n ? n : 1)));
  if (out == nullptr) return nullptr;
  const ref::Input in(storage_->data(), t);
  for (int64_t i = 0; i < n; ++i) out[i] = in.Float(i);
  return out;
}

}  // namespace tim::vx
