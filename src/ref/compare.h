// What comparisons of results share: numbers to draw, the distance between floats, positions.
#ifndef TIMCL_REF_COMPARE_H_
#define TIMCL_REF_COMPARE_H_

#include <cstdint>
#include <string>

#include "tim/vx/tensor_type.h"

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
/// Coordinates of element i, fastest first: "[3,0,1]".
std::string PositionOf(const Shape& shape, int64_t i);

}  // namespace tim::vx::ref
#endif  // TIMCL_REF_COMPARE_H_
