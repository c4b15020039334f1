// Status: what went wrong, at which operation and tensor, in words for people.
#ifndef TIM_VX_STATUS_H_
#define TIM_VX_STATUS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tim/vx/visibility.h"

namespace tim {
namespace vx {

/// Kinds of failure. The numbers never change: plugins return them through a C interface.
enum class Code : int32_t {
  kOk = 0,
  kInvalidArgument = 1,  ///< an attribute or argument out of its range
  kInvalidShape = 2,
  kInvalidType = 3,
  kInvalidGraph = 4,  ///< cycle, missing operand, two producers, foreign tensor
  kUnsupported = 5,   ///< no backend does it
  kOutOfMemory = 6,
  kKernelBuild = 7,  ///< the OpenCL compiler refused; its log is in the message
  kDevice = 8,
  kBadBinary = 9,
  kVersionMismatch = 10,
  kPlugin = 11,
  kNotFound = 12,
  kAlreadyExists = 13,
  kIo = 14,
  kCancelled = 15,
  kInternal = 16,  ///< a broken invariant of this library
};

/// The enumerator's name, such as "kInvalidShape".
TIMCL_API const char* CodeName(Code code);

/// Success (one null pointer) or a failure with its words. Immutable apart from assignment; copies
/// are cheap, and several threads may read one object.
class TIMCL_API Status {
 public:
  /// Success.
  Status() {}
  /// Implicit, so that `return Code::kUnsupported;` works where a Status is returned.
  Status(Code code);
  /// A failure; kOk gives success and drops the message.
  static Status Error(Code code, std::string message);

  bool ok() const { return rep_ == nullptr; }
  explicit operator bool() const { return ok(); }
  Code code() const;

  /// The whole text: "kInvalidShape: Add#12 'block2/residual': input 0 ...". Empty on success.
  const std::string& message() const;
  /// The words alone, without code and place: for messages that have theirs.
  const std::string& detail() const;
  /// Label of the operation, such as "Add#12 'block2/residual'"; empty if it is not known.
  const std::string& op() const;
  /// Label of the tensor; empty if it is not known.
  const std::string& tensor() const;

  /// The same failure with a place. The first place given stays; success stays success.
  Status AtOp(const std::string& op_label) const;
  Status AtTensor(const std::string& tensor_label) const;

 private:
  struct Rep;
  std::shared_ptr<const Rep> rep_;
};

}  // namespace vx
}  // namespace tim

#endif  // TIM_VX_STATUS_H_
