// Asking PoCL for its inline device, and telling it from others: see inline_device.h.
#include "backends/opencl/run/inline_device.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <thread>

#include "base/log.h"

namespace tim::vx::opencl {
namespace {

constexpr const char* kVariable = "POCL_DEVICES";

/// Of "OpenCL 3.0 PoCL 3.1+debian, ..." the 3 of 3.1; 0 for another platform.
int PoclVersion(const cl::Platform& platform) {
  const std::string text = platform.getInfo<CL_PLATFORM_VERSION>();
  const size_t at = text.find("PoCL ");
  int major = 3;  // of a text that says it in other words
  if (at != std::string::npos) {
    std::istringstream(text.substr(at + 5)) >> major;
  } else if (platform.getInfo<CL_PLATFORM_NAME>() != "Portable Computing Language") {
    return 0;
  }
  return major;
}

struct Known {
  std::map<cl_device_id, bool> runs_inline;
  /// PoCL was asked for its devices: by us, with its inline device named by us.
  bool asked = false, named = false;
};
/// Guarded by DriverMutex(). Never destroyed: a Context in static storage may end after every
/// static object.
Known& TheKnown() {
  static Known* const known = new Known();
  return *known;
}

/// A native kernel runs where the kernels of its device run, and needs no compiler.
bool RunsInline(const DeviceEntry& e) {
  const auto can = e.device.getInfo<CL_DEVICE_EXECUTION_CAPABILITIES>();
  if ((can & CL_EXEC_NATIVE_KERNEL) == 0) return false;
  cl_int error = CL_SUCCESS;
  const cl::Context context(e.device, nullptr, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) return false;
  const cl::CommandQueue queue(context, e.device, 0, &error);
  if (error != CL_SUCCESS) return false;
  std::thread::id ran;
  std::thread::id* where = &ran;
  error = clEnqueueNativeKernel(
      queue(),
      [](void* args) { **static_cast<std::thread::id**>(args) = std::this_thread::get_id(); },
      &where, sizeof where, 0, nullptr, nullptr, 0, nullptr, nullptr);
  const cl_int finished = queue.finish();
  return error == CL_SUCCESS && finished == CL_SUCCESS && ran == std::this_thread::get_id();
}

}  // namespace

NamePoclDevices::NamePoclDevices(const cl::Platform& platform, bool wanted) {
  const int version = PoclVersion(platform);
  if (version == 0) return;
  Known& known = TheKnown();
  const bool first = !known.asked;
  known.asked = true;
  if (!wanted || !first) return;
  if (const char* value = getenv(kVariable)) was_set_ = true, was_ = value;
  // The names from 4.0 on. PoCL passes over those that it does not know.
  const std::string main = version >= 4 ? "cpu" : "pthread";
  const std::string beside = version >= 4 ? "cpu-minimal" : "basic";
  std::istringstream words(was_);
  for (std::string word; words >> word;) {
    if (word == "basic" || word == "cpu-minimal") return;  // its user has it already
  }
  setenv(kVariable, ((was_.empty() ? main : was_) + " " + beside).c_str(), 1);
  set_ = known.named = true;
}

NamePoclDevices::~NamePoclDevices() {
  if (!set_) return;
  if (was_set_) {
    setenv(kVariable, was_.c_str(), 1);
  } else {
    unsetenv(kVariable);
  }
}

void FindInline(bool wanted, std::vector<DeviceEntry>* entries) {
  Known& known = TheKnown();
  for (DeviceEntry& e : *entries) {
    if (!e.pocl || e.type != DeviceType::kCpu) continue;
    auto it = known.runs_inline.find(e.device());
    if (it == known.runs_inline.end()) {
      if (!wanted || !e.usable) continue;
      it = known.runs_inline.emplace(e.device(), RunsInline(e)).first;
      base::Log("device", base::LogLevel::kDebug, "'{}' runs kernels in {}", e.caps.name,
                it->second ? "the caller's thread" : "threads of its own");
    }
    e.runs_inline = it->second;
    e.beside = e.runs_inline && known.named;
  }
  std::stable_partition(entries->begin(), entries->end(),
                        [](const DeviceEntry& e) { return !e.beside; });
}

InlineChoice ChooseInline(const std::vector<DeviceEntry>& entries, size_t chosen) {
  const DeviceEntry& main = entries[chosen];
  if (main.runs_inline) {
    return {{}, fmt::format("'{}' itself runs kernels in the caller's thread", main.caps.name)};
  }
  if (!main.pocl || main.type != DeviceType::kCpu) {
    return {{},
            fmt::format("it is opened only beside a CPU device of PoCL, and '{}' is none",
                        main.caps.name)};
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].runs_inline && entries[i].usable && entries[i].platform() == main.platform())
      return {i, ""};
  }
  return {
      {},
      "PoCL shows no device that runs kernels in the caller's thread ('basic', or "
      "'cpu-minimal' from 4.0 on). It is asked for at the first clGetDeviceIDs of a process: if "
      "that was not ours, set POCL_DEVICES=\"pthread basic\" in the environment, or make this "
      "context first"};
}

}  // namespace tim::vx::opencl
