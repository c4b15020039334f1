// Listing and choosing OpenCL devices: see device.h.
#include "backends/opencl/run/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "backends/opencl/run/cl_error.h"
#include "backends/opencl/run/program_cache.h"
#include "base/log.h"

namespace tim::vx::opencl {
namespace {

std::string Lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}
bool Contains(const std::string& text, const std::string& part) {
  return Lower(text).find(Lower(part)) != std::string::npos;
}

/// 120 of "OpenCL 1.2 ...".
int VersionOf(const std::string& text) {
  const size_t at = text.find("OpenCL ");
  if (at == std::string::npos || at + 9 >= text.size()) return 0;
  const char major = text[at + 7], minor = text[at + 9];
  if (!std::isdigit(static_cast<unsigned char>(major)) || text[at + 8] != '.' ||
      !std::isdigit(static_cast<unsigned char>(minor))) {
    return 0;
  }
  return (major - '0') * 100 + (minor - '0') * 10;
}

DeviceEntry Describe(const cl::Platform& platform, const cl::Device& device) {
  DeviceEntry e;
  e.platform = platform;
  e.device = device;
  DeviceCaps& caps = e.caps;
  caps.platform = platform.getInfo<CL_PLATFORM_NAME>();
  caps.name = device.getInfo<CL_DEVICE_NAME>();
  caps.vendor = device.getInfo<CL_DEVICE_VENDOR>();
  caps.driver = device.getInfo<CL_DRIVER_VERSION>();
  const cl_device_type type = device.getInfo<CL_DEVICE_TYPE>();
  e.type = (type & CL_DEVICE_TYPE_GPU) != 0           ? DeviceType::kGpu
           : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? DeviceType::kAccelerator
           : (type & CL_DEVICE_TYPE_CPU) != 0         ? DeviceType::kCpu
                                                      : DeviceType::kOther;
  e.pocl = Contains(caps.platform, "portable computing language");
  for (const char* name : {"llvmpipe", "swrast", "softpipe", "swiftshader"}) {
    e.software_rasterizer = e.software_rasterizer || Contains(caps.name, name);
  }
  caps.is_cpu = e.type == DeviceType::kCpu;
  caps.opencl_version = VersionOf(device.getInfo<CL_DEVICE_VERSION>());
  caps.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
  caps.max_work_group = device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  caps.max_allocation = device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
  caps.global_memory = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
  const cl_device_fp_config fp = device.getInfo<CL_DEVICE_SINGLE_FP_CONFIG>();
  caps.correctly_rounded_divide = (fp & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  // CL_DEVICE_HOST_UNIFIED_MEMORY left the standard in 2.0 but every driver still answers; where
  // one does not, the answer is 0 and copies are made.
  caps.shared_memory = caps.is_cpu && device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>() == CL_TRUE;
  caps.buffer_alignment =
      std::max<size_t>(128, device.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8);
#if defined(__x86_64__) || defined(__i386__)
  // A CPU device is this machine's own CPU, so the architecture of the build is that of the device.
  caps.register_tiles_pay =
      e.pocl && caps.is_cpu && device.getInfo<CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT>() >= 8;
#endif

  if (device.getInfo<CL_DEVICE_AVAILABLE>() != CL_TRUE) {
    e.why_not = "it is not available at the moment";
  } else if (caps.opencl_version < 120) {
    e.why_not =
        fmt::format("it has '{}', and 1.2 is the minimum", device.getInfo<CL_DEVICE_VERSION>());
  } else if (device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>() != CL_TRUE) {
    e.why_not = "it has no compiler";
  } else if (device.getInfo<CL_DEVICE_ENDIAN_LITTLE>() != CL_TRUE) {
    e.why_not = "it is big-endian";
  } else if ((fp & CL_FP_ROUND_TO_NEAREST) == 0) {
    e.why_not = "its 32-bit floats do not round to nearest";
  } else {
    e.usable = true;
  }
  return e;
}

/// Lower is better.
int RankOf(const DeviceEntry& e) {
  if (e.software_rasterizer) return 4;
  switch (e.type) {
    case DeviceType::kGpu:
    case DeviceType::kAccelerator:
      return 0;
    case DeviceType::kCpu:
      return e.pocl ? 1 : 2;
    case DeviceType::kOther:
      break;
  }
  return 3;
}
const char* RankName(int rank) {
  constexpr const char* kNames[] = {"GPU or accelerator", "PoCL CPU device", "CPU device",
                                    "device of another type", "software rasterizer"};
  return kNames[rank];
}

std::string Listing(const std::vector<DeviceEntry>& entries) {
  std::string text;
  for (size_t i = 0; i < entries.size(); ++i) {
    text += fmt::format("{}{}: '{}' ({})", i == 0 ? "" : ", ", i, entries[i].caps.name,
                        entries[i].caps.platform);
    if (!entries[i].usable) text += ", unusable because " + entries[i].why_not;
  }
  return text;
}

/// What the loader looked at, in words: each folder with its driver files, or that it is not there.
std::string DriverFiles(const std::string& icd_vendors) {
  namespace fs = std::filesystem;
  const std::string place = icd_vendors.empty() ? "/etc/OpenCL/vendors" : icd_vendors;
  std::string text = icd_vendors.empty() ? place : "OCL_ICD_VENDORS=" + place;
  std::error_code error;
  if (!fs::exists(place, error)) return text + " (does not exist)";
  if (!fs::is_directory(place, error)) return text + " (a file)";
  std::vector<std::string> files;
  fs::directory_iterator it(place, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (it->path().extension() == ".icd") files.push_back(it->path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return text +
         (files.empty() ? " (no .icd file in it)" : fmt::format(" ({})", fmt::join(files, ", ")));
}

}  // namespace

const char* NameOf(DeviceType type) {
  switch (type) {
    case DeviceType::kGpu:
      return "GPU";
    case DeviceType::kAccelerator:
      return "accelerator";
    case DeviceType::kCpu:
      return "CPU";
    case DeviceType::kOther:
      break;
  }
  return "other";
}

std::vector<DeviceEntry> ListDevices() {
  std::vector<DeviceEntry> entries;
  std::vector<cl::Platform> platforms;
  if (cl::Platform::get(&platforms) != CL_SUCCESS) return entries;  // the loader found no driver
  for (const cl::Platform& platform : platforms) {
    std::vector<cl::Device> devices;
    if (platform.getDevices(CL_DEVICE_TYPE_ALL, &devices) != CL_SUCCESS) continue;
    for (const cl::Device& device : devices) entries.push_back(Describe(platform, device));
  }
  return entries;
}

Result<size_t> ChooseAmong(std::vector<DeviceEntry>* entries, const std::string& request) {
  const size_t none = entries->size();
  size_t best = none;
  std::string reason;
  if (!request.empty()) {
    size_t wanted = none;
    if (request.size() <= 4 && std::all_of(request.begin(), request.end(),
                                           [](unsigned char c) { return std::isdigit(c) != 0; })) {
      const auto index = static_cast<size_t>(std::atoi(request.c_str()));
      if (index < none) wanted = index;
    }
    // Of several that match the first usable one is meant.
    for (size_t i = 0; i < none && wanted == none; ++i) {
      const DeviceCaps& caps = (*entries)[i].caps;
      if ((*entries)[i].usable &&
          (Contains(caps.name, request) || Contains(caps.platform, request)))
        wanted = i;
    }
    for (size_t i = 0; i < none && wanted == none; ++i) {
      const DeviceCaps& caps = (*entries)[i].caps;
      if (Contains(caps.name, request) || Contains(caps.platform, request)) wanted = i;
    }
    if (wanted == none) {
      return Status::Error(Code::kDevice,
                           fmt::format("no OpenCL device has the index or name '{}'; there are: {}",
                                       request, Listing(*entries)));
    }
    if (!(*entries)[wanted].usable) {
      return Status::Error(
          Code::kDevice,
          fmt::format("the requested OpenCL device {} '{}' cannot be used: {}", wanted,
                      (*entries)[wanted].caps.name, (*entries)[wanted].why_not));
    }
    best = wanted;
    reason = fmt::format("'{}' was requested", request);
  } else {
    for (size_t i = 0; i < none; ++i) {
      if (!(*entries)[i].usable) continue;
      if (best == none || RankOf((*entries)[i]) < RankOf((*entries)[best])) best = i;
    }
    if (best == none) {
      return Status::Error(Code::kDevice,
                           "no OpenCL device meets the minimum (OpenCL 1.2, a compiler, little "
                           "endian, IEEE floats): " +
                               Listing(*entries));
    }
    reason = fmt::format("the first {}", RankName(RankOf((*entries)[best])));
  }
  for (size_t i = 0; i < none; ++i) {
    DeviceEntry& e = (*entries)[i];
    if (i == best) {
      e.verdict = "chosen: " + reason;
    } else if (!e.usable) {
      e.verdict = "not usable: " + e.why_not;
    } else if (!request.empty()) {
      e.verdict = fmt::format("not chosen: '{}' means device {}", request, best);
    } else if (RankOf(e) == RankOf((*entries)[best])) {
      e.verdict = fmt::format("not chosen: device {} of the same kind comes first", best);
    } else {
      e.verdict = fmt::format("not chosen: a {} comes after a {}", RankName(RankOf(e)),
                              RankName(RankOf((*entries)[best])));
    }
  }
  return best;
}

Result<DeviceChoice> ChooseDevice(const std::string& request, const std::string& icd_vendors) {
  DeviceChoice choice;
  choice.entries = ListDevices();
  if (choice.entries.empty()) {
    return Status::Error(
        Code::kDevice,
        fmt::format(
            "there is no OpenCL device. Drivers were looked for in {}. Install one, such as "
            "the package pocl-opencl-icd for the CPU, or choose the reference backend, "
            "which needs none (ContextOptions::host_only)",
            DriverFiles(icd_vendors)));
  }
  TIMCL_ASSIGN(choice.index, ChooseAmong(&choice.entries, request));
  for (size_t i = 0; i < choice.entries.size(); ++i) {
    base::Log("device", base::LogLevel::kDebug, "{} '{}': {}", i, choice.entries[i].caps.name,
              choice.entries[i].verdict);
  }
  return choice;
}

Result<std::shared_ptr<Device>> Device::Open(const DeviceEntry& entry,
                                             const ProgramCacheOptions& options) {
  std::shared_ptr<Device> device(new Device());
  device->entry_ = entry;
  cl_int error = CL_SUCCESS;
  device->context_ = cl::Context(entry.device, nullptr, nullptr, nullptr, &error);
  TIMCL_TRY(ClStatus(error, "clCreateContext", entry.caps.name));
  device->programs_ = std::make_unique<ProgramCache>(entry, device->context_, options);
  return device;
}

Device::~Device() = default;

}  // namespace tim::vx::opencl
