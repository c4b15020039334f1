// Values for tests and how they are compared.
#include "ref/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tim/vx/op_def.h"

namespace tim::vx::ref {
namespace {

/// Stores a real number in the encoding of the type.
void Encode(Output& to, int64_t i, double real) {
  const TensorType& t = to.type();
  if (t.dtype == DataType::BOOL8) return to.SetRaw(i, real != 0);
  if (!IsInteger(t.dtype) || t.quantized()) return to.Set(i, real);
  const double r = std::rint(real);
  if (std::isnan(r)) return to.SetRaw(i, 0);
  to.SetRaw(i, r <= -0x1p63  ? std::numeric_limits<int64_t>::min()
               : r >= 0x1p63 ? std::numeric_limits<int64_t>::max()
                             : static_cast<int64_t>(r));
}

std::string Number(const Input& in, int64_t i) {
  const TensorType& t = in.type();
  if (!IsInteger(t.dtype)) return fmt::format("{:.9g}", in.At(i));
  if (!t.quantized()) return fmt::format("{}", in.Raw(i));
  return fmt::format("{} ({:.6g})", in.Raw(i), in.At(i));
}

}  // namespace

double UlpOf(DataType dtype, double x) {
  const int mantissa = dtype == DataType::FLOAT16 ? 10 : 23;
  const int least = dtype == DataType::FLOAT16 ? -14 : -126;
  if (x == 0 || !std::isfinite(x)) return std::ldexp(1.0, least - mantissa);
  return std::ldexp(1.0, std::max(std::ilogb(std::fabs(x)), least) - mantissa);
}

double UnitOf(const Tolerance& tolerance, DataType dtype, double x) {
  if (!tolerance.sum) return UlpOf(dtype, x);
  return std::max(std::ldexp(x, dtype == DataType::FLOAT16 ? -10 : -23), UlpOf(dtype, 0));
}

std::string PositionOf(const Shape& shape, int64_t i) {
  std::string text = "[";
  for (size_t d = 0; d < shape.rank(); ++d) {
    text += fmt::format("{}{}", d ? "," : "", i % shape[d]);
    i /= shape[d];
  }
  return text + "]";
}

void FillInput(const CaseTensor& t, const TensorType& result, uint64_t seed, void* data) {
  Random random(seed);
  Output out(data, t.type);
  const int64_t n = t.type.count();
  const bool real = !IsInteger(t.type.dtype);
  for (int64_t i = 0; i < n; ++i) {
    if (!t.values.empty()) {
      Encode(out, i, t.values[static_cast<size_t>(i) % t.values.size()]);
      continue;
    }
    if (t.type.dtype == DataType::BOOL8) {
      out.SetRaw(i, random.OneIn(2));
      continue;
    }
    double v = random.Uniform(t.lo, t.hi);
    const uint64_t special = random.Next() % 64;
    if (special == 0) {
      v = t.lo;
    } else if (special == 1) {
      v = t.hi;
    } else if (special <= 3 && t.lo <= 0 && t.hi >= 0) {
      v = special == 2 ? 0.0 : -0.0;
    } else if (special <= 7 && real) {
      // Half way between two steps of the result, where rounding decides.
      const double step = result.quantized() && !result.per_channel() ? result.scale() : 1.0;
      const double tie = (std::floor(v / step) + 0.5) * step;
      if (tie >= t.lo && tie <= t.hi) v = tie;
    }
    Encode(out, i, v);
  }
}

std::optional<std::string> Compare(const TensorType& type, const void* expected, const void* got,
                                   const Tolerance& tolerance,
                                   const std::vector<double>* magnitudes) {
  const Input want(expected, type), have(got, type);
  const int64_t n = type.count();
  double largest = 0;
  if (tolerance.sum && magnitudes == nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      if (std::isfinite(want.At(i))) largest = std::max(largest, std::fabs(want.At(i)));
    }
  }
  int64_t first = -1, worst = -1, count = 0;
  double worst_by = -1, worst_allowed = 0;
  for (int64_t i = 0; i < n; ++i) {
    double by = 0, allowed = 0;  // difference, in steps for integers
    if (IsInteger(type.dtype)) {
      const int64_t a = want.Raw(i), b = have.Raw(i);
      by = a == b ? 0 : std::fabs(static_cast<double>(a) - static_cast<double>(b));
      allowed = type.dtype == DataType::BOOL8 ? 0 : tolerance.steps;
    } else {
      const double a = want.At(i), b = have.At(i);
      if (std::isnan(a) || std::isnan(b)) {
        by = std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<double>::infinity();
      } else if (a != b) {
        by = std::fabs(a - b);
        double size = std::fabs(a);
        if (tolerance.sum)
          size = std::max(size, magnitudes ? (*magnitudes)[static_cast<size_t>(i)] : largest);
        allowed = std::max(tolerance.ulp * UnitOf(tolerance, DataType::FLOAT32, size),
                           tolerance.absolute);
        // A result stored as half: what differs by little before rounding may round apart.
        if (type.dtype == DataType::FLOAT16 && (tolerance.ulp > 0 || tolerance.absolute > 0))
          allowed += UlpOf(DataType::FLOAT16, a);
      }
    }
    if (by <= allowed) continue;
    ++count;
    if (first < 0) first = i;
    if (by - allowed > worst_by - worst_allowed || worst < 0)
      worst = i, worst_by = by, worst_allowed = allowed;
  }
  if (count == 0) return std::nullopt;
  auto show = [&](int64_t i) {
    return fmt::format("{} expected {}, got {}", PositionOf(type.shape, i), Number(want, i),
                       Number(have, i));
  };
  std::string text = fmt::format("{} of {} elements of {} differ: first {}", count, n,
                                 type.ToString(), show(first));
  if (worst != first) text += ", worst " + show(worst);
  if (std::isfinite(worst_by)) {
    text += IsInteger(type.dtype)
                ? fmt::format("; {:g} steps, {:g} allowed", worst_by, worst_allowed)
                : fmt::format("; {:.3g} apart, {:.3g} allowed", worst_by, worst_allowed);
  }
  return text;
}

std::optional<std::string> CheckWritten(const TensorType& type, const void* first,
                                        const void* second) {
  const auto* a = static_cast<const uint8_t*>(first);
  const auto* b = static_cast<const uint8_t*>(second);
  const size_t bytes = type.bytes();
  if (std::memcmp(a, b, bytes) == 0) return std::nullopt;
  const size_t size = std::max<size_t>(static_cast<size_t>(BitsOf(type.dtype)) / 8, 1);
  int64_t unwritten = 0, unsteady = 0, first_unwritten = -1, first_unsteady = -1;
  for (size_t i = 0; i < bytes / size; ++i) {
    const uint8_t *x = a + i * size, *y = b + i * size;
    if (std::memcmp(x, y, size) == 0) continue;
    const bool kept = std::all_of(x, x + size, [](uint8_t v) { return v == 0xFF; }) &&
                      std::all_of(y, y + size, [](uint8_t v) { return v == 0; });
    int64_t& at = kept ? first_unwritten : first_unsteady;
    if (at < 0) at = static_cast<int64_t>(i);
    ++(kept ? unwritten : unsteady);
  }
  if (unwritten > 0)
    return fmt::format("{} of {} elements are not written, first {}", unwritten, type.count(),
                       PositionOf(type.shape, first_unwritten));
  return fmt::format("{} of {} elements differ from run to run, first {}", unsteady, type.count(),
                     PositionOf(type.shape, first_unsteady));
}

}  // namespace tim::vx::ref
