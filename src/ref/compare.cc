#include "ref/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tim::vx::ref {

double UlpOf(DataType dtype, double x) {
  const int mantissa = dtype == DataType::FLOAT16 ? 10 : 23;
  const int least = dtype == DataType::FLOAT16 ? -14 : -126;
  if (x == 0 || !std::isfinite(x)) return std::ldexp(1.0, least - mantissa);
  return std::ldexp(1.0, std::max(std::ilogb(std::fabs(x)), least) - mantissa);
}

std::string PositionOf(const Shape& shape, int64_t i) {
  std::string text = "[";
  for (size_t d = 0; d < shape.rank(); ++d) {
    text += fmt::format("{}{}", d ? "," : "", i % shape[d]);
    i /= shape[d];
  }
  return text + "]";
}

}  // namespace tim::vx::ref
