// Storage: see storage.h.
#include "base/storage.h"

#include <sys/mman.h>

#include <cstdlib>
#include <limits>
#include <utility>

#include "base/checked.h"

namespace tim::vx::base {
namespace {
constexpr size_t kAlignment = 128;
constexpr size_t kHugePage = size_t{2} << 20, kLarge = size_t{1} << 20;
}  // namespace

std::shared_ptr<Storage> Storage::Allocate(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() / 2) return nullptr;
  std::shared_ptr<Storage> storage(new Storage());  // first: it may throw, and then owns the block
  void* block = nullptr;
  size_t mapped = 0, alignment = kAlignment;
  if (bytes >= kLarge) {
    // Huge pages: kernels walk tensors in strides of many pages, and would spend their time on
    // address translation. Fresh pages are zeros, and cost nothing until they are touched.
    alignment = kHugePage;
    mapped = AlignUp(bytes + kHeaderBytes, kHugePage) + kHugePage;
    block = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return nullptr;
    madvise(block, mapped, MADV_HUGEPAGE);  // a wish: without it everything still works
  } else {
    block = std::calloc(1, AlignUp(bytes, kAlignment) + kHeaderBytes + kAlignment);
    if (block == nullptr) return nullptr;
  }
  storage->block_ = block;
  storage->mapped_ = mapped;
  storage->owned_ =
      reinterpret_cast<void*>(AlignUp(reinterpret_cast<uintptr_t>(block), uintptr_t{alignment}));
  storage->data_ = static_cast<std::byte*>(storage->owned_) + kHeaderBytes;
  storage->bytes_ = bytes;
  return storage;
}

std::shared_ptr<Storage> Storage::Wrap(void* data, size_t bytes) {
  std::shared_ptr<Storage> storage(new Storage());
  storage->data_ = data;
  storage->bytes_ = bytes;
  storage->volatile_ = true;
  return storage;
}

Storage::~Storage() {
  if (mapped_ != 0) {
    munmap(block_, mapped_);
  } else {
    std::free(block_);
  }
}

void* Storage::SwapPointer(void* data) {
  void* previous = std::exchange(data_, data);
  volatile_ = true;
  ++version_;
  return previous;
}

void Storage::SwapWith(Storage& other) {
  std::swap(data_, other.data_);
  std::swap(owned_, other.owned_);
  std::swap(block_, other.block_);
  std::swap(mapped_, other.mapped_);
  std::swap(volatile_, other.volatile_);
  // Both contents changed: versions only ever grow, so nobody takes the new data for the old.
  const uint64_t next = (version_ > other.version_ ? version_ : other.version_) + 1;
  version_ = other.version_ = next;
}

}  // namespace tim::vx::base
