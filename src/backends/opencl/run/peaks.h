// Peaks: what a device does at most, measured once by kernels that do nothing else. The limits of
// the roofline in profiles.
#ifndef TIMCL_BACKENDS_OPENCL_RUN_PEAKS_H_
#define TIMCL_BACKENDS_OPENCL_RUN_PEAKS_H_

#include <cstdint>
#include <string>

#include "backends/opencl/run/device.h"

namespace tim::vx::opencl {

/// What is multiplied.
enum class Factors { kFloats, kBytes, kBf16 };

struct Peaks {
  double flops = 0;          ///< fp32 multiply-adds, two operations each, per second
  double byte_flops = 0;     ///< the same of bytes by the dot-product instruction; 0: it has none
  double bf16_flops = 0;     ///< the same of pairs of bfloat16 (relaxed mode); 0: it has none
  double cached_bytes = 0;   ///< per second, copied within the caches
  double memory_bytes = 0;   ///< per second, copied beyond them
  uint64_t cache_bytes = 0;  ///< how much the caches hold
  bool known() const { return flops > 0 && memory_bytes > 0; }
  /// Seconds that so much arithmetic and traffic take at least. Traffic that fits into the caches
  /// goes at their speed.
  double Least(double work, Factors factors, uint64_t bytes) const;
  /// "236 GFLOP/s, 946 GOP/s on bytes, ..."; "" where they are not known.
  std::string ToText() const;
};

/// Takes about half a second; all zeros, with a line in the log, where the device fails.
Peaks MeasurePeaks(const Device& device);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_RUN_PEAKS_H_
