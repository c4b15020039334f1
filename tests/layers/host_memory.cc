// operator new that can fail: see host_memory.h.
#include "layers/host_memory.h"

#include <cstddef>
#include <cstdlib>
#include <new>

// The program's own code lies between these, which the linker sets; shared libraries lie elsewhere.
extern "C" const char __executable_start, etext;

namespace {

constinit thread_local int left = -1, hits = 0;
constinit thread_local bool for_good = false;

void* Allocate(std::size_t bytes, std::size_t alignment, const void* caller) {
  const char* const from = static_cast<const char*>(caller);
  if (left >= 0 && from >= &__executable_start && from < &etext && left-- == 0) {
    ++hits;
    if (for_good) left = 0;
    return nullptr;
  }
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes == 0 ? 1 : bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* OrThrow(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

namespace timcl_host_memory {

void Arm(int n) {
  left = n;
  hits = 0;
  for_good = false;
}
void ArmForGood(int n) {
  Arm(n);
  for_good = true;
}
int Hits() { return hits; }

}  // namespace timcl_host_memory

void* operator new(std::size_t n) { return OrThrow(Allocate(n, 1, __builtin_return_address(0))); }
void* operator new[](std::size_t n) { return OrThrow(Allocate(n, 1, __builtin_return_address(0))); }
void* operator new(std::size_t n, std::align_val_t a) {
  return OrThrow(Allocate(n, static_cast<std::size_t>(a), __builtin_return_address(0)));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return OrThrow(Allocate(n, static_cast<std::size_t>(a), __builtin_return_address(0)));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return Allocate(n, 1, __builtin_return_address(0));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
