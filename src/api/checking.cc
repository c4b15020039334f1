// See checking.h.
#include "api/checking.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>

#include "api/tensor.h"
#include "base/env.h"

namespace tim::vx::testing {

std::string Sides::Open(std::shared_ptr<Context> given) {
  device = given ? std::move(given) : Context::Create();
  if (!device->LastStatus().ok()) return "no device: " + device->LastStatus().message();
  ContextOptions options;
  options.host_only = true;
  host = Context::Create(options);
  return device->DeviceName() != host->DeviceName()
             ? ""
             : "the device is the reference itself (TIMCL_DEVICE): there is nothing to compare";
}

TensorSpec SpecOf(const TensorType& type, TensorAttribute attribute) {
  return TensorSpec(type.dtype, type.shape.ToShapeType(), attribute, type.quant);
}

std::optional<TensorType> InferredType(const Tensor& tensor) {
  const auto* ours = dynamic_cast<const TensorImpl*>(&tensor);
  if (ours == nullptr) return std::nullopt;
  return ours->type();
}

std::string StartUnderOclgrind() {
  const base::Environment& env = base::Environment::Process();
  const std::string& check = env.Get(base::Env::kCheck);
  if (check.empty() || !env.Get(base::Env::kCheckLog).empty()) return "";
  if (check != "oclgrind") return fmt::format("TIMCL_CHECK is '{}'; there is: oclgrind", check);
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  // Without --uninitialized: Oclgrind 21.10 takes the headers of emulated images for that.
  std::vector<std::string> words = {"oclgrind",     "--build-options", "-cl-opt-disable",
                                    "--data-races", "--max-errors",    "20",
                                    "--log"};
  std::string log = "/tmp/timcl_check_XXXXXX";
  const int descriptor = mkstemp(log.data());
  if (descriptor < 0) return "TIMCL_CHECK: no file can be made in /tmp";
  close(descriptor);
  words.push_back(log);
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (words.size() < 9) return "TIMCL_CHECK: /proc/self/cmdline cannot be read";
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string device = env.Get(base::Env::kDevice);
  setenv("TIMCL_CHECK_LOG", log.c_str(), 1);
  setenv("TIMCL_DEVICE", "Oclgrind", 1);
  fflush(nullptr);
  execvp(arguments[0], arguments.data());
  // Still here: as it was.
  unlink(log.c_str());
  unsetenv("TIMCL_CHECK_LOG");
  env.IsSet(base::Env::kDevice) ? setenv("TIMCL_DEVICE", device.c_str(), 1)
                                : unsetenv("TIMCL_DEVICE");
  return "TIMCL_CHECK: oclgrind cannot be started (apt-get install oclgrind)";
}

std::string OclgrindFindings::Take() {
  const std::string& path = base::Environment::Process().Get(base::Env::kCheckLog);
  if (path.empty()) return "";
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t from = std::min(read_, text.size());
  read_ = text.size();
  const size_t first = text.find_first_not_of(" \n", from);
  return first == std::string::npos ? "" : "Oclgrind found:\n" + text.substr(first);
}

}  // namespace tim::vx::testing
