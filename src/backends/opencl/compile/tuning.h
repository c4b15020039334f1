// Tuning: which kernels of an operation were measured to be fast on one device. `timcl tune` writes
// it, the choice of kernels reads it; without it the order in which an operation lists them counts.
#ifndef TIMCL_BACKENDS_OPENCL_COMPILE_TUNING_H_
#define TIMCL_BACKENDS_OPENCL_COMPILE_TUNING_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tim/vx/backend.h"

namespace tim::vx::opencl {

struct Tuning {
  /// What the times hold for, and nothing else.
  std::string library, device, driver;
  /// By SignatureOf: milliseconds by kernel.
  std::map<std::string, std::map<std::string, double>> kernels;

  /// Candidates of the op: those that were measured first, the fastest ahead, then the rest as it
  /// was. A preference, no command: each is still asked whether it accepts.
  std::vector<const KernelCandidate*> InOrder(const OpView& op) const;

  std::string ToJson() const;
  /// kInvalidArgument names what is wrong; nothing of such a text is used.
  static Result<Tuning> Parse(std::string_view json);
  /// Parse of a file that is for this library and this device: kIo, kInvalidArgument,
  /// kVersionMismatch.
  static Result<Tuning> Read(const std::string& file, const std::string& device,
                             const std::string& driver);
  /// Where the tuning of a device is, unless TIMCL_TUNING says so: a file of the cache folder. ""
  /// without one.
  static std::string FileFor(const std::string& cache_dir, const std::string& device,
                             const std::string& driver);
};

/// "Conv2d(f32[56,56,64,1], const f32[3,3,64,64]) -> f32[56,56,64,1] (stride=...)": ops with the
/// same one take the same time.
std::string SignatureOf(const OpView& op);

}  // namespace tim::vx::opencl
#endif  // TIMCL_BACKENDS_OPENCL_COMPILE_TUNING_H_
