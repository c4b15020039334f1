// Status: the text is put together once, when a place is added, so that message() only reads.
#include "tim/vx/status.h"

#include <utility>

namespace tim::vx {

struct Status::Rep {
  Code code = Code::kInternal;
  std::string detail;  // what the caller said, without code and place
  std::string op;
  std::string tensor;
  std::string text;

  void Compose() {
    text = CodeName(code);
    for (const std::string* part : {&op, &tensor, &detail}) {
      // Most messages name the tensor themselves, "input 0 'main' f32[4]".
      const bool said = part == &tensor && detail.find("'" + tensor + "'") != std::string::npos;
      if (!part->empty() && !said) text.append(": ").append(*part);
    }
  }
};

namespace {
// Function-local: the library has no static initializers.
const std::string& Empty() {
  static const std::string empty;
  return empty;
}
}  // namespace

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "kOk";
    case Code::kInvalidArgument:
      return "kInvalidArgument";
    case Code::kInvalidShape:
      return "kInvalidShape";
    case Code::kInvalidType:
      return "kInvalidType";
    case Code::kInvalidGraph:
      return "kInvalidGraph";
    case Code::kUnsupported:
      return "kUnsupported";
    case Code::kOutOfMemory:
      return "kOutOfMemory";
    case Code::kKernelBuild:
      return "kKernelBuild";
    case Code::kDevice:
      return "kDevice";
    case Code::kBadBinary:
      return "kBadBinary";
    case Code::kVersionMismatch:
      return "kVersionMismatch";
    case Code::kPlugin:
      return "kPlugin";
    case Code::kNotFound:
      return "kNotFound";
    case Code::kAlreadyExists:
      return "kAlreadyExists";
    case Code::kIo:
      return "kIo";
    case Code::kCancelled:
      return "kCancelled";
    case Code::kInternal:
      return "kInternal";
  }
  return "unknown code";  // a plugin's number from a later version
}

Status::Status(Code code) : Status(Error(code, std::string())) {}

Status Status::Error(Code code, std::string message) {
  Status status;
  if (code == Code::kOk) return status;
  auto rep = std::make_shared<Rep>();
  rep->code = code;
  rep->detail = std::move(message);
  rep->Compose();
  status.rep_ = std::move(rep);
  return status;
}

Code Status::code() const { return rep_ ? rep_->code : Code::kOk; }
const std::string& Status::message() const { return rep_ ? rep_->text : Empty(); }
const std::string& Status::detail() const { return rep_ ? rep_->detail : Empty(); }
const std::string& Status::op() const { return rep_ ? rep_->op : Empty(); }
const std::string& Status::tensor() const { return rep_ ? rep_->tensor : Empty(); }

Status Status::AtOp(const std::string& op_label) const {
  if (!rep_ || !rep_->op.empty()) return *this;
  auto rep = std::make_shared<Rep>(*rep_);
  rep->op = op_label;
  rep->Compose();
  Status status;
  status.rep_ = std::move(rep);
  return status;
}

Status Status::AtTensor(const std::string& tensor_label) const {
  if (!rep_ || !rep_->tensor.empty()) return *this;
  auto rep = std::make_shared<Rep>(*rep_);
  rep->tensor = tensor_label;
  rep->Compose();
  Status status;
  status.rep_ = std::move(rep);
  return status;
}

}  // namespace tim::vx
