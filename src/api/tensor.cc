// TensorImpl: see tensor.h; the habits of callers that must keep working are in the API facts,
// core.md 2.
#include "api/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/float_env.h"
#include "base/log.h"
#include "ir/packed.h"
#include "tim/vx/op_def.h"

namespace tim::vx {

namespace {

/// Writes real 0 everywhere: the zero point of a quantized type. `data` holds zero bytes.
void FillWithRealZero(void* data, const TensorType& type) {
  if (!type.quantized() || !IsInteger(type.dtype)) return;
  if (type.per_channel()) {
    ref::Output out(data, type);
    for (int64_t i = 0, n = type.count(); i < n; ++i) out.Set(i, 0.0);
    return;
  }
  // One pattern for all elements. Zero bytes are there already, and pages never touched cost
  // nothing.
  const TensorType one = {type.dtype, {1}, type.quant};
  alignas(8) unsigned char pattern[8] = {};
  ref::Output(pattern, one).Set(0, 0.0);
  const size_t width = one.bytes();
  if (std::all_of(pattern, pattern + width, [](unsigned char b) { return b == 0; })) return;
  auto* bytes = static_cast<unsigned char*>(data);
  for (size_t at = 0, end = type.bytes(); at < end; at += width) {
    std::memcpy(bytes + at, pattern, width);
  }
}

Status NoMemory(size_t bytes, const TensorType& type) {
  return Status::Error(Code::kOutOfMemory, fmt::format("the host has no {} bytes of memory for {}",
                                                       bytes, type.ToString()));
}

}  // namespace

TensorImpl::TensorImpl(std::shared_ptr<const void> graph, uint32_t id, const TensorSpec& spec)
    : graph_(std::move(graph)), id_(id), spec_(spec) {
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

Status TensorImpl::set_storage(std::shared_ptr<base::Storage> storage) {
  fill_pending_ = fill_pending_ || storage != storage_;
  storage_ = std::move(storage);
  if (!IsPacked(spec_.datatype_) || !is_io()) return Status();
  const size_t bytes = HostBytes(type());
  if (packed_ != nullptr && packed_->bytes() == bytes) return Status();
  packed_ = base::Storage::Allocate(bytes);
  return packed_ != nullptr ? Status() : NoMemory(bytes, type());
}

Status TensorImpl::ShareMemory(void* memory) {
  const TensorType t = type();
  auto shared = base::Storage::Wrap(memory, HostBytes(t));
  if (!IsPacked(t.dtype)) {
    storage_ = std::move(shared);
    return Status();
  }
  packed_ = std::move(shared);
  storage_ = base::Storage::Allocate(t.bytes());
  return storage_ != nullptr ? Status() : NoMemory(t.bytes(), t);
}

Result<TensorImpl::Reshaped> TensorImpl::Reshape(const Shape& shape) const {
  const TensorType t = {spec_.datatype_, shape, spec_.quantization_};
  TIMCL_ASSIGN(const size_t bytes, t.CheckedBytes());
  const bool own = packed_ != nullptr || storage_ == nullptr || storage_->has_header();
  std::shared_ptr<base::Storage> storage = own ? base::Storage::Allocate(bytes) : storage_;
  if (storage == nullptr) return NoMemory(bytes, t);
  return Reshape(shape, std::move(storage));
}

Result<TensorImpl::Reshaped> TensorImpl::Reshape(const Shape& shape,
                                                 std::shared_ptr<base::Storage> storage) const {
  const TensorType t = {spec_.datatype_, shape, spec_.quantization_};
  const size_t bytes = HostBytes(t);
  const bool told = has(TensorAttribute::INPUT) || !spec_.shape_.empty();
  Reshaped reshaped = {shape, told ? shape.ToShapeType() : ShapeType(), std::move(storage),
                       packed_};
  if (packed_ != nullptr && packed_->has_header()) {
    reshaped.packed = base::Storage::Allocate(bytes);
    if (reshaped.packed == nullptr) return NoMemory(bytes, t);
  }
  const base::Storage& handle = reshaped.packed ? *reshaped.packed : *reshaped.storage;
  if (handle.bytes() >= bytes) return reshaped;
  return Status::Error(Code::kInvalidShape,
                       fmt::format("{} takes {} bytes, but the memory given by the caller has {} "
                                   "bytes",
                                   t.ToString(), bytes, handle.bytes()));
}

void TensorImpl::Apply(Reshaped reshaped) {
  spec_.shape_ = std::move(reshaped.told);
  set_inferred(std::move(reshaped.shape));
  fill_pending_ = storage_ != reshaped.storage;
  storage_ = std::move(reshaped.storage);
  packed_ = std::move(reshaped.packed);
  fetched_ = 0;
}

void TensorImpl::Fetch() {
  if (packed_ == nullptr || packed_->data() == nullptr) return;
  EnsureFilled();
  const uint64_t version = packed_->host_version();
  if (version == fetched_) return;
  fetched_ = version;
  Unpack(type(), packed_->data(), storage_->data());
  storage_->MarkWritten();
}

void TensorImpl::Deliver() {
  if (packed_ == nullptr || packed_->data() == nullptr) return;
  Pack(type(), storage_->data(), packed_->data());
  fetched_ = packed_->host_version();
}

Status TensorImpl::AllocateStorage(const TensorType& type, uint64_t limit) {
  TIMCL_ASSIGN(const size_t bytes, type.CheckedBytes());
  storage_ = base::Storage::Allocate(bytes);
  if (storage_ != nullptr) TIMCL_TRY(set_storage(storage_));
  if (storage_ == nullptr) {
    const Status why = NoMemory(bytes, type);
    if (limit == 0 || bytes <= limit) return why;
    return Status::Error(why.code(), fmt::format("{}; the device's largest allocation is {} bytes",
                                                 why.detail(), limit));
  }
  // Constants are read while compiling; other tensors of that size make Compile() fail first.
  fill_pending_ = true;
  if (limit == 0 || bytes <= limit || IsConstTensor()) EnsureFilled();
  return Status();
}

void TensorImpl::EnsureFilled() {
  if (!fill_pending_) return;
  fill_pending_ = false;
  if (storage_ == nullptr || storage_->data() == nullptr) return;
  FillWithRealZero(storage_->data(), type());
  Deliver();
}

size_t TensorImpl::CallersBytes(size_t (*bytes_of)(const TensorType&)) const {
  return std::min(bytes_of(ToldType()), bytes_of(type()));
}

TensorType TensorImpl::ToldType() const {
  if (open_shape()) return type();
  TensorType told = {spec_.datatype_, Shape(spec_.shape_), spec_.quantization_};
  return told.CheckedBytes().ok() ? told : type();
}

bool TensorImpl::CopyDataToTensor(const void* data, uint32_t) {
  if (spec_.attr_ == TensorAttribute::TRANSIENT) return false;
  if (data == nullptr || id_ == static_cast<uint32_t>(-1)) return true;
  if (handle() == nullptr || handle()->data() == nullptr) return false;
  fill_pending_ = false;
  has_data_ = true;
  // The size argument means nothing: callers pass element counts and worse.
  if (IsPacked(spec_.datatype_) && packed_ == nullptr) {
    const auto bytes_of = [](const TensorType& t) { return t.bytes(); };
    ExtendNibbles(spec_.datatype_, data, CallersBytes(bytes_of), storage_->data());
  } else {
    std::memcpy(handle()->data(), data, CallersBytes(HostBytes));
  }
  handle()->MarkWritten();
  return true;
}

bool TensorImpl::CopyDataFromTensor(void* data) {
  if (spec_.attr_ == TensorAttribute::TRANSIENT) return false;
  if (data == nullptr) return true;
  if (handle() == nullptr || handle()->data() == nullptr) return false;
  EnsureFilled();
  const size_t bytes = CallersBytes(HostBytes);
  if (IsPacked(spec_.datatype_) && packed_ == nullptr) {
    std::vector<std::byte> packed(HostBytes(type()));
    Pack(type(), storage_->data(), packed.data());
    std::memcpy(data, packed.data(), bytes);
  } else {
    std::memcpy(data, handle()->data(), bytes);
  }
  return true;
}

bool TensorImpl::SwapHandle(void* new_ptr, bool, void** old_ptr) {
  if (id_ == static_cast<uint32_t>(-1)) return true;
  if (!is_io() || handle() == nullptr) return false;
  if (new_ptr != nullptr && reinterpret_cast<uintptr_t>(new_ptr) % 64 != 0) {
    base::Log("api", base::LogLevel::kWarn,
              "SwapHandle of tensor '{}': the new memory at {} is not aligned to 64 bytes", name_,
              new_ptr);
    return false;
  }
  if (new_ptr == nullptr && old_ptr == nullptr) return false;
  EnsureFilled();
  void* previous = handle()->SwapPointer(new_ptr);
  if (old_ptr != nullptr) *old_ptr = previous;
  return true;
}

bool TensorImpl::SwapHandle(std::shared_ptr<Tensor> tensor) {
  if (id_ == static_cast<uint32_t>(-1)) return true;
  auto* other = dynamic_cast<TensorImpl*>(tensor.get());
  if (other == nullptr || !is_io() || !other->is_io() || other->graph_ != graph_ ||
      handle() == nullptr || other->handle() == nullptr ||
      handle()->bytes() != other->handle()->bytes()) {
    return false;
  }
  EnsureFilled();
  other->EnsureFilled();
  handle()->SwapWith(*other->handle());
  return true;
}

bool TensorImpl::FlushCacheForHandle() {
  if (!has(TensorAttribute::INPUT) || handle() == nullptr) return false;
  handle()->MarkWritten();
  return true;
}

bool TensorImpl::InvalidateCacheForHandle() {
  return has(TensorAttribute::OUTPUT) && storage_ != nullptr;
}

void* TensorImpl::map(bool) {
  if (!is_io() || handle() == nullptr) return nullptr;
  EnsureFilled();
  handle()->SetMapped(true);
  return handle()->data();
}

void TensorImpl::unmap() {
  if (!is_io() || handle() == nullptr) return;
  handle()->MarkWritten();
  handle()->SetMapped(false);
}

bool TensorImpl::SaveTensorToTextByFp32(std::string filename) {
  std::FILE* file = std::fopen(filename.c_str(), "w");
  if (file == nullptr) {
    base::Log("api", base::LogLevel::kWarn, "SaveTensorToTextByFp32: cannot open '{}'", filename);
    return true;
  }
  if (float* values = ConvertTensorToFloat32Data()) {
    // The format of printf's "%.16f", but with a decimal point whatever the locale.
    for (int64_t i = 0, n = type().count(); i < n; ++i) {
      char line[80];
      const char* end =
          fmt::format_to_n(line, sizeof line, "{:.16f}\n", static_cast<double>(values[i])).out;
      std::fwrite(line, 1, static_cast<size_t>(end - line), file);
    }
    std::free(values);
  }
  std::fclose(file);
  return true;
}

void* TensorImpl::ConvertTensorToData(uint8_t*) {
  if (handle() == nullptr || handle()->data() == nullptr) return nullptr;
  // Callers walk over as many elements as the spec says, also where the op made fewer.
  const size_t bytes = std::max(HostBytes(type()), HostBytes(ToldType()));
  void* copy = std::calloc(1, bytes ? bytes : 1);
  if (copy != nullptr) CopyDataFromTensor(copy);
  return copy;
}

float* TensorImpl::ConvertTensorToFloat32Data() {
  if (handle() == nullptr || handle()->data() == nullptr) return nullptr;
  const base::FloatEnv usual;
  EnsureFilled();
  Fetch();
  const TensorType t = type();
  const int64_t n = t.count();
  const int64_t room = std::max(n, ToldType().count());  // as in ConvertTensorToData
  auto* out = static_cast<float*>(
      std::calloc(static_cast<size_t>(std::max<int64_t>(room, 1)), sizeof(float)));
  if (out == nullptr) return nullptr;
  const ref::Input in(storage_->data(), t);
  for (int64_t i = 0; i < n; ++i) out[i] = in.Float(i);
  return out;
}

}  // namespace tim::vx
