// What comparisons of results share: numbers to draw, the distance between floats, positions.
#ifndef TIMCL_REF_COMPARE_H_
#define TIMCL_REF_COMPARE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tim/vx/tensor_type.h"
#include "tim/vx/testing.h"

namespace tim::vx::ref {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers with every standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double Uniform(double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(Next() >> 11) * 0x1p-53;
  }
  bool OneIn(uint64_t n) { return Next() % n == 0; }

 private:
  uint64_t state_;
};

/// Distance from |x| to the next larger float of the type.
double UlpOf(DataType dtype, double x);
/// What Tolerance::ulp counts for a result, or a sum of magnitudes, of size x >= 0: an ulp; for
/// sums the type's epsilon times x, because the error of a sum is bounded by a multiple of that
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2), where an ulp halves
/// at powers of two.
double UnitOf(const Tolerance& tolerance, DataType dtype, double x);
/// Coordinates of element i, fastest first: "[3,0,1]".
std::string PositionOf(const Shape& shape, int64_t i);

/// Values of operand `t`, the same for the same seed: uniform in its range, with zeros of both
/// signs, ends of the range, and values half way between two steps of `result` in between.
/// Subnormal numbers are left out, because devices may flush them; infinities and NaN come only
/// from cases that list them.
void FillInput(const CaseTensor& t, const TensorType& result, uint64_t seed, void* data);

/// What a candidate may differ by: of its own, shared_ulp and bf16 count.
inline Tolerance ToleranceOf(const KernelCandidate& candidate, Tolerance tolerance,
                             std::vector<double>* magnitudes) {
  // bfloat16 has 8 significant bits, so two roundings by up to 2^-8 make (1 + 2^-8)^2 of a product,
  // here in units of 2^-23.
  if (candidate.bf16) tolerance.ulp += 0x1p16 + 0x1p7;
  if (candidate.shared_ulp == 0) return tolerance;
  tolerance.ulp = candidate.shared_ulp;
  double largest = 0;
  for (double m : *magnitudes) largest = std::max(largest, m);
  for (double& m : *magnitudes) m = largest;
  return tolerance;
}
/// Compares results with expected ones. nullopt: all within the tolerance. `magnitudes`: for
/// Tolerance::sum, the sums of magnitudes; null: the larger of each expected value and the largest
/// of all.
std::optional<std::string> Compare(const TensorType& type, const void* expected, const void* got,
                                   const Tolerance& tolerance,
                                   const std::vector<double>* magnitudes = nullptr);

/// Unwritten or unsteady elements: `first` was run over 0xFF bytes, `second` over zeros.
std::optional<std::string> CheckWritten(const TensorType& type, const void* first,
                                        const void* second);

}  // namespace tim::vx::ref
#endif  // TIMCL_REF_COMPARE_H_
