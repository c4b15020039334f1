// TensorImpl: a tensor of a graph, with its memory. PlaceHolder: stands for an operand that is left
// out.
#ifndef TIMCL_API_TENSOR_H_
#define TIMCL_API_TENSOR_H_

#include <memory>
#include <string>

#include "base/storage.h"
#include "tim/vx/tensor.h"
#include "tim/vx/tensor_type.h"

namespace tim::vx {

class TensorImpl : public Tensor {
 public:
  /// `id` is (uint32_t)-1 for a tensor whose creation failed: every access then answers as the API
  /// says. `graph`: see Belongs.
  TensorImpl(std::shared_ptr<const void> graph, uint32_t id, const TensorSpec& spec);

  const ShapeType& GetShape() override { return spec_.shape_; }
  DataType GetDataType() override { return spec_.datatype_; }
  const Quantization& GetQuantization() override { return spec_.quantization_; }
  TensorSpec& GetSpec() override { return spec_; }
  uint32_t GetId() override { return id_; }
  bool CopyDataToTensor(const void* data, uint32_t size_in_bytes = 0) override;
  bool CopyDataFromTensor(void* data) override;
  bool SwapHandle(void* new_ptr, bool is_new_ptr_malloc_by_ovxlib, void** old_ptr) override;
  bool SwapHandle(std::shared_ptr<Tensor> tensor) override;
  bool SwapHandleWithCache(std::shared_ptr<Tensor> tensor) override {
    return SwapHandle(std::move(tensor));
  }
  bool FlushCacheForHandle() override;
  bool InvalidateCacheForHandle() override;
  void* map(bool invalidate_cpu_cache = false) override;
  void unmap() override;
  bool IsPlaceHolder() override { return false; }
  bool IsConstTensor() override { return spec_.attr_ == TensorAttribute::CONSTANT; }
  bool IsScalar() override { return is_scalar_; }
  bool SaveTensorToTextByFp32(std::string filename) override;
  void SetScalar(int8_t is_scalar) override { is_scalar_ = is_scalar != 0; }
  void* ConvertTensorToData(uint8_t* tensorData) override;
  float* ConvertTensorToFloat32Data() override;
  void SetName(const std::string& name) override { name_ = name; }
  const std::string& Name() const override { return name_; }

  /// Whether this is a tensor of the graph with that token. A token outlives its graph, so the
  /// answer stays right when a later graph gets the same address.
  bool BelongsTo(const std::shared_ptr<const void>& graph) const { return graph_ == graph; }
  /// Why the tensor could not be made; success if it was.
  const Status& creation() const { return creation_; }
  void set_creation(Status why) { creation_ = std::move(why); }
  bool has(TensorAttribute flag) const { return (spec_.attr_ & flag) != 0; }
  /// INPUT or OUTPUT: memory that the host may map and swap.
  bool is_io() const { return has(TensorAttribute::INPUT) || has(TensorAttribute::OUTPUT); }
  /// The shape is left to inference: TRANSIENT, or no extents, or a zero among them.
  bool open_shape() const;
  /// The type with the shape that is in force: declared, or inferred at Compile.
  TensorType type() const;

  /// The memory that ops see; null for transients and for open shapes before Compile.
  const std::shared_ptr<base::Storage>& storage() const { return storage_; }
  /// The memory that the host maps and swaps: the same, but for 4-bit tensors of INPUT and OUTPUT,
  /// which are packed there.
  const std::shared_ptr<base::Storage>& handle() const { return packed_ ? packed_ : storage_; }
  /// Takes over memory that holds zero bytes. kOutOfMemory.
  Status set_storage(std::shared_ptr<base::Storage> storage);
  /// The host's own memory of an INPUT or OUTPUT tensor, which stays as it is. kOutOfMemory.
  Status ShareMemory(void* memory);
  /// Before a run: what the host wrote into packed memory, to where ops see it.
  void Fetch();
  /// After a run: what an op wrote, into packed memory.
  void Deliver();
  /// Allocates memory of the type's size, which reads as real 0. kOutOfMemory. Memory of more than
  /// `limit` bytes (0: none) is not touched before EnsureFilled().
  Status AllocateStorage(const TensorType& type, uint64_t limit);
  /// Writes the real zeros that AllocateStorage put off.
  void EnsureFilled();
  /// Whether the host ever wrote to it.
  bool has_data() const { return has_data_; }
  /// Bytes that a copy to or from the caller's memory may touch, of tensors as `bytes_of` counts
  /// them: what the spec says, which is what the caller made room for, also where the op overruled
  /// it. An open shape says nothing.
  size_t CallersBytes(size_t (*bytes_of)(const TensorType&)) const;
  /// What the spec told the caller; the tensor's type where it left that open.
  TensorType ToldType() const;
  /// What another shape takes, before anything changes.
  struct Reshaped {
    Shape shape;
    ShapeType told;  // of the spec
    std::shared_ptr<base::Storage> storage, packed;
  };
  /// Own memory is new and will hold real zeros (EnsureFilled); the caller's stays. kInvalidShape:
  /// it is too small.
  Result<Reshaped> Reshape(const Shape& shape) const;
  /// The same for what an op writes, whose memory was found while compiling.
  Result<Reshaped> Reshape(const Shape& shape, std::shared_ptr<base::Storage> storage) const;
  /// Allocates nothing, so that all tensors of a graph change or none.
  void Apply(Reshaped reshaped);

  /// The shape that Compile() found, which overrules a declared one from then on (GetShape keeps
  /// the declared one).
  void set_inferred(Shape shape) { inferred_ = std::move(shape), has_inferred_ = true; }

 private:
  std::shared_ptr<const void> graph_;
  uint32_t id_;
  TensorSpec spec_;
  std::string name_;
  Status creation_;
  bool is_scalar_ = false;
  bool fill_pending_ = false;
  bool has_data_ = false;
  Shape inferred_;
  bool has_inferred_ = false;
  std::shared_ptr<base::Storage> storage_;
  std::shared_ptr<base::Storage> packed_;  // what the host sees of a 4-bit INPUT or OUTPUT
  uint64_t fetched_ = 0;                   // version of packed_ that storage_ holds
};

/// One per graph; every access answers false or null.
class PlaceHolder : public Tensor {
 public:
  const ShapeType& GetShape() override { return spec_.shape_; }
  DataType GetDataType() override { return spec_.datatype_; }
  const Quantization& GetQuantization() override { return spec_.quantization_; }
  TensorSpec& GetSpec() override { return spec_; }
  uint32_t GetId() override { return static_cast<uint32_t>(-1); }
  bool CopyDataToTensor(const void*, uint32_t = 0) override { return false; }
  bool CopyDataFromTensor(void*) override { return false; }
  bool SwapHandle(void*, bool, void**) override { return false; }
  bool SwapHandle(std::shared_ptr<Tensor>) override { return false; }
  bool SwapHandleWithCache(std::shared_ptr<Tensor>) override { return false; }
  bool FlushCacheForHandle() override { return false; }
  bool InvalidateCacheForHandle() override { return false; }
  void* map(bool = false) override { return nullptr; }
  void unmap() override {}
  bool IsPlaceHolder() override { return true; }
  bool IsConstTensor() override { return spec_.attr_ == TensorAttribute::CONSTANT; }
  bool IsScalar() override { return false; }
  bool SaveTensorToTextByFp32(std::string) override { return false; }
  void SetScalar(int8_t) override {}
  void* ConvertTensorToData(uint8_t*) override { return nullptr; }
  float* ConvertTensorToFloat32Data() override { return nullptr; }

 private:
  TensorSpec spec_;
};

}  // namespace tim::vx
#endif  // TIMCL_API_TENSOR_H_
