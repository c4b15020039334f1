// Checked arithmetic for sizes.
#ifndef TIMCL_BASE_CHECKED_H_
#define TIMCL_BASE_CHECKED_H_

namespace tim::vx::base {

/// False when the exact result does not fit; then *out is unspecified.
template <class T>
[[nodiscard]] bool Multiply(T a, T b, T* out) {
  return !__builtin_mul_overflow(a, b, out);
}
template <class T>
[[nodiscard]] bool Add(T a, T b, T* out) {
  return !__builtin_add_overflow(a, b, out);
}
/// Smallest multiple of `alignment` (a power of two) that is at least n.
template <class T>
T AlignUp(T n, T alignment) {
  return (n + alignment - 1) & ~(alignment - 1);
}

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_CHECKED_H_
