// What CheckOp and CheckCases have in common: contexts, guarded memory, and Oclgrind.
#ifndef TIMCL_API_CHECKING_H_
#define TIMCL_API_CHECKING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tim/vx/context.h"
#include "tim/vx/tensor.h"
#include "tim/vx/tensor_type.h"

namespace tim::vx::testing {

using Bytes = std::vector<std::byte>;

/// Memory of one output between guard bytes.
class Guarded {
 public:
  static constexpr size_t kGuard = 256, kAlign = 4096;  // bytes
  Guarded(size_t bytes, std::byte fill)
      : bytes_(bytes), block_(kAlign * 2 + bytes + kGuard, std::byte{0xA5}) {
    const auto address = reinterpret_cast<uintptr_t>(block_.data()) + kGuard;
    begin_ = block_.data() + kGuard + (kAlign - address % kAlign) % kAlign;
    std::fill_n(begin_, bytes, fill);
  }
  Guarded(Guarded&&) = default;
  std::byte* data() const { return begin_; }
  bool Intact() const {
    const auto untouched = [](std::byte b) { return b == std::byte{0xA5}; };
    return std::all_of(begin_ - kGuard, begin_, untouched) &&
           std::all_of(begin_ + bytes_, begin_ + bytes_ + kGuard, untouched);
  }

 private:
  size_t bytes_;
  Bytes block_;  // its elements do not move with it
  std::byte* begin_;
};

/// Where kernels run, and where the reference does.
struct Sides {
  std::shared_ptr<Context> device, host;
  /// `given`: whose device; null: that of a new context. "", or why there is nothing to compare.
  std::string Open(std::shared_ptr<Context> given);
};

TensorSpec SpecOf(const TensorType& type, TensorAttribute attribute);
/// The type of a compiled graph's output: GetShape() stays open, what was inferred is known inside.
/// Nothing for a tensor of another library.
std::optional<TensorType> InferredType(const Tensor& tensor);

/// Starts the program again under Oclgrind where the environment asks for it; why that failed.
std::string StartUnderOclgrind();

/// What Oclgrind finds while this program runs under it.
class OclgrindFindings {
 public:
  /// Since the last call; "" for nothing.
  std::string Take();

 private:
  size_t read_ = 0;
};

}  // namespace tim::vx::testing
#endif  // TIMCL_API_CHECKING_H_
