// Storage: the memory behind a tensor. Either allocated here (64-byte aligned, with a header of 128
// bytes in front for the image emulation of custom kernels) or the user's own.
#ifndef TIMCL_BASE_STORAGE_H_
#define TIMCL_BASE_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tim/vx/backend.h"

namespace tim::vx::base {

class Storage : public kernel::Memory {
 public:
  /// Memory of the library, zeros; null when out of memory.
  static std::shared_ptr<Storage> Allocate(size_t bytes);
  /// The caller's memory, which outlives the storage.
  static std::shared_ptr<Storage> Wrap(void* data, size_t bytes);
  ~Storage() override;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const override { return data_; }
  size_t bytes() const override { return bytes_; }
  /// User memory may be written at any time, so each question gets a new answer.
  uint64_t host_version() const override { return volatile_ ? ++version_ : version_; }
  bool has_header() const override {
    return owned_ != nullptr && data_ == static_cast<std::byte*>(owned_) + kHeaderBytes;
  }

  void MarkWritten() { ++version_; }
  /// After map(): the host may write through the pointer at any time until unmap().
  void SetMapped(bool mapped) {
    volatile_ = mapped || !has_header();
    if (mapped) ++version_;
  }

  /// Uses the user's memory from now on; returns the previous address. Our own block, if any, is
  /// kept and freed with the storage.
  void* SwapPointer(void* data);
  /// Exchanges everything with another storage of the same size.
  void SwapWith(Storage& other);

 private:
  Storage() = default;
  void* data_ = nullptr;
  void* block_ = nullptr;  // what the allocator returned
  size_t mapped_ = 0;      // bytes of a block that was mapped, 0 for one of malloc
  void* owned_ = nullptr;  // start of our block (header included) while data_ points into it
  size_t bytes_ = 0;
  mutable uint64_t version_ = 1;
  bool volatile_ = false;
};

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_STORAGE_H_
