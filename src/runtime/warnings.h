// What a kernel learns when it is prepared and its user should hear of.
#ifndef TIMCL_RUNTIME_WARNINGS_H_
#define TIMCL_RUNTIME_WARNINGS_H_

#include <string>
#include <vector>

namespace tim::vx::runtime {

/// Implemented by kernels beside kernel::Kernel; the compiler puts it into the report and the log.
class HasWarnings {
 public:
  /// What the last Prepare found, in words that name the operation.
  virtual const std::vector<std::string>& Warnings() const = 0;

 protected:
  ~HasWarnings() = default;
};

}  // namespace tim::vx::runtime
#endif  // TIMCL_RUNTIME_WARNINGS_H_
