// Permutations of dimensions, as the third argument of tim::transform::LayoutInference takes them.
// In the original this header is private, but callers include it by this name.
#ifndef TIMCL_COMPAT_PERMUTE_VECTOR_H_
#define TIMCL_COMPAT_PERMUTE_VECTOR_H_

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace tim {
namespace transform {

class IPermuteVector;
using IPermuteVectorPtr = std::shared_ptr<IPermuteVector>;

/// A permutation: dimension i of the permuted tensor is dimension At(i) of the original one. No
/// synchronisation: distinct objects may be used by several threads.
class IPermuteVector {
 public:
  virtual ~IPermuteVector() {}

  virtual uint32_t Rank() const = 0;
  virtual const uint32_t& At(const uint32_t idx) const = 0;
  virtual uint32_t& At(const uint32_t idx) = 0;
  /// The inverse: r[p[i]] = i.
  virtual IPermuteVectorPtr Reverse() = 0;
  /// "{1, 2, 0, 3}"
  virtual std::string AsText() const = 0;
  /// This one first, then `other`: result[i] = this[other[i]]. Null if the ranks differ.
  virtual IPermuteVectorPtr Add(const IPermuteVectorPtr& other) const = 0;
  /// Makes it the identity.
  virtual void ReInitialize() = 0;
  /// Whether it is the identity.
  virtual bool IsAligned() const = 0;
  virtual std::vector<uint32_t> AsStdVec() const = 0;
};

template <uint32_t R>
class PermuteVector : public IPermuteVector {
 public:
  static_assert(R > 0, "a permutation has at least one dimension");
  static constexpr uint32_t kMaxRank = 10;

  /// The identity.
  PermuteVector() { ReInitialize(); }

  /// Exactly R entries.
  PermuteVector(std::initializer_list<uint32_t> init_list) {
    ReInitialize();
    assert(init_list.size() == R);
    uint32_t i = 0;
    for (const uint32_t dim : init_list) {
      if (i < R) param_[i++] = dim;
    }
  }

  /// A smaller permutation, continued by the identity.
  template <uint32_t S>
  explicit PermuteVector(const PermuteVector<S>& smaller) {
    static_assert(S < R, "only a permutation of smaller rank can be continued");
    ReInitialize();
    for (uint32_t i = 0; i < S; ++i) param_[i] = smaller.At(i);
  }

  PermuteVector(const PermuteVector& other) = default;
  PermuteVector(PermuteVector&& other) noexcept = default;
  PermuteVector& operator=(const PermuteVector& other) = default;
  PermuteVector& operator=(PermuteVector&& other) noexcept = default;

  uint32_t Rank() const override { return R; }
  const uint32_t& At(const uint32_t idx) const override { return param_[idx]; }
  uint32_t& At(const uint32_t idx) override { return param_[idx]; }

  IPermuteVectorPtr Reverse() override {
    std::shared_ptr<PermuteVector> result = std::make_shared<PermuteVector>();
    for (uint32_t i = 0; i < R; ++i) {
      if (param_[i] < R) result->param_[param_[i]] = i;
    }
    return result;
  }

  std::string AsText() const override {
    std::string text = "{";
    for (uint32_t i = 0; i < R; ++i) text += (i ? ", " : "") + std::to_string(param_[i]);
    return text + "}";
  }

  IPermuteVectorPtr Add(const IPermuteVectorPtr& other) const override {
    if (other == nullptr || other->Rank() != R) return nullptr;
    std::shared_ptr<PermuteVector> result = std::make_shared<PermuteVector>();
    for (uint32_t i = 0; i < R; ++i) {
      const uint32_t from = other->At(i);
      if (from < R) result->param_[i] = param_[from];
    }
    return result;
  }

  void ReInitialize() override {
    for (uint32_t i = 0; i < R; ++i) param_[i] = i;
  }

  bool IsAligned() const override {
    for (uint32_t i = 0; i < R; ++i) {
      if (param_[i] != i) return false;
    }
    return true;
  }

  std::vector<uint32_t> AsStdVec() const override {
    return std::vector<uint32_t>(param_.begin(), param_.end());
  }

 private:
  std::array<uint32_t, R> param_;
};

template <uint32_t R>
constexpr uint32_t PermuteVector<R>::kMaxRank;

/// The identity of a rank from 1 to 10; 0 counts as 1. Null beyond.
inline IPermuteVectorPtr MakeShared(uint32_t rank_val) {
  switch (rank_val) {
    case 0:
    case 1:
      return std::make_shared<PermuteVector<1>>();
    case 2:
      return std::make_shared<PermuteVector<2>>();
    case 3:
      return std::make_shared<PermuteVector<3>>();
    case 4:
      return std::make_shared<PermuteVector<4>>();
    case 5:
      return std::make_shared<PermuteVector<5>>();
    case 6:
      return std::make_shared<PermuteVector<6>>();
    case 7:
      return std::make_shared<PermuteVector<7>>();
    case 8:
      return std::make_shared<PermuteVector<8>>();
    case 9:
      return std::make_shared<PermuteVector<9>>();
    case 10:
      return std::make_shared<PermuteVector<10>>();
    default:
      return nullptr;
  }
}

}  // namespace transform
}  // namespace tim

#endif  // TIMCL_COMPAT_PERMUTE_VECTOR_H_
