// Division by an extent that is known when a kernel is chosen, as a product and a shift.
#ifndef TIM_VX_EXACT_DIVISION_H_
#define TIM_VX_EXACT_DIVISION_H_

#include <cstdint>
#include <vector>

namespace tim::vx {

/// i / d == mul_hi(i, multiplier) >> shift for 0 <= i < 2^31 and d > 1: with s = ceil(log2 d),
/// floor(2^(31+s) / d) + 1 exceeds 2^(31+s) / d by less than 2^s / d (Granlund and Montgomery,
/// "Division by invariant integers using multiplication", theorem 4.2).
struct ExactDivision {
  explicit ExactDivision(int64_t d) {
    int s = 1;
    while ((int64_t{1} << s) < d) ++s;
    multiplier = static_cast<int32_t>(
        static_cast<uint32_t>((uint64_t{1} << (31 + s)) / static_cast<uint64_t>(d) + 1));
    shift = s - 1;
  }
  int32_t multiplier;  // the bits of a uint
  int32_t shift;
};

/// Appends what a kernel divides by with BY (divide.clh): extent, multiplier, shift.
inline void AppendDivision(int64_t extent, std::vector<int32_t>* table) {
  const ExactDivision by(extent);
  for (const int32_t word : {static_cast<int32_t>(extent), by.multiplier, by.shift})
    table->push_back(word);
}

}  // namespace tim::vx
#endif  // TIM_VX_EXACT_DIVISION_H_
