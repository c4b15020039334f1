// The bodies that the abstract Graph and Context have, so that subclasses written for the original
// API, such as mocks, need not define our additions.
#include "tim/vx/backend.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/graph.h"
#include "tim/vx/op_def.h"
#include "tim/vx/operation.h"
#include "tim/vx/profile.h"

namespace tim::vx {
namespace {
// Function-local: the library has no static initializers.
const Status& Success() {
  static const Status success;
  return success;
}
}  // namespace

const std::vector<std::shared_ptr<Tensor>> Graph::GetConstantInputs() const {
  std::vector<std::shared_ptr<Tensor>> constants;
  for (const std::shared_ptr<Operation>& op : op_vector_) {
    const std::vector<std::shared_ptr<Tensor>> inputs = op->ConstantInputsTensor();
    constants.insert(constants.end(), inputs.begin(), inputs.end());
  }
  return constants;
}

const Status& Graph::LastStatus() const { return Success(); }

const CompileReport& Graph::Report() const {
  static const CompileReport empty;
  return empty;
}

GraphProfile Graph::Profile(int) { return GraphProfile(); }

std::string Graph::ToText() const { return std::string(); }
bool Graph::Resize(const std::vector<std::vector<uint32_t>>&) { return false; }

std::shared_ptr<Operation> Graph::CreateOperation(const std::string&, const AttrMap&) {
  return nullptr;
}
std::shared_ptr<Operation> Graph::CreateOperation(const std::string& kind) {
  return CreateOperation(kind, AttrMap());
}

const Status& Context::LastStatus() const { return Success(); }

Status Context::AddBackend(std::shared_ptr<Backend>, int) {
  return Status::Error(Code::kUnsupported, "this context takes no further backends");
}

Status Context::SetDelegate(std::shared_ptr<Delegate>) {
  return Status::Error(Code::kUnsupported, "this context takes no delegates");
}
Status Context::AddDelegate(std::shared_ptr<Delegate>) {
  return Status::Error(Code::kUnsupported, "this context takes no delegates");
}

Status Context::LoadPlugin(const std::string&, std::vector<PluginInfo>*) {
  return Status::Error(Code::kUnsupported, "this context loads no plugins");
}
Status Context::LoadPlugins(const std::vector<std::string>&, PluginScan*) {
  return Status::Error(Code::kUnsupported, "this context loads no plugins");
}

OpRegistry& Context::Ops() {
  static OpRegistry* const nobodys = new OpRegistry;
  return *nobodys;
}

std::vector<BackendInfo> Context::Backends() const { return {}; }

std::string Context::DeviceName() const { return std::string(); }

}  // namespace tim::vx
