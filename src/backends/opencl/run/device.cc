// Listing and choosing OpenCL devices: see device.h.
#include "backends/opencl/run/device.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "backends/opencl/run/cl_error.h"
#include "backends/opencl/run/inline_device.h"
#include "backends/opencl/run/peaks.h"
#include "backends/opencl/run/process.h"
#include "base/env.h"
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

#if defined(__x86_64__)
/// What the core that runs this answers, once the system has moved the thread there; -1: it did
/// not.
int RdtscpOn(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return -1;
  uint32_t number = 0;
  __builtin_ia32_rdtscp(&number);
  return static_cast<int>(number & 0xfff);
}

/// Linux keeps the number of a core where rdtscp finds it; virtual machines and sandboxes may not.
/// Asked on the first and the last of the process's cores, by a thread of its own.
bool RdtscpTellsCore() {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr uint32_t kRdtscp = 1u << 27;
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) == 0 || (edx & kRdtscp) == 0) return false;
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  int first = 0, last = CPU_SETSIZE - 1;
  while (first < last && !CPU_ISSET(first, &all)) ++first;
  while (last > first && !CPU_ISSET(last, &all)) --last;
  bool tells = false;
  try {
    std::thread([&] { tells = RdtscpOn(first) == first && RdtscpOn(last) == last; }).join();
  } catch (const std::system_error&) {
    // No thread to be had.
  }
  return tells;
}
#endif

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
  e.caches_programs = e.compiles_when_run = e.pocl;
  for (const char* name : {"llvmpipe", "swrast", "softpipe", "swiftshader"}) {
    e.software_rasterizer = e.software_rasterizer || Contains(caps.name, name);
  }
  caps.is_cpu = e.type == DeviceType::kCpu;
  caps.opencl_version = VersionOf(device.getInfo<CL_DEVICE_VERSION>());
  caps.compute_units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
  caps.max_work_group = device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  const std::vector<size_t> items = device.getInfo<CL_DEVICE_MAX_WORK_ITEM_SIZES>();
  std::copy_n(items.begin(), std::min(items.size(), caps.max_work_items.size()),
              caps.max_work_items.begin());
  caps.local_memory = device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>();
  const std::string extensions = device.getInfo<CL_DEVICE_EXTENSIONS>();
  caps.has_double = extensions.find("cl_khr_fp64") != std::string::npos;
  caps.has_half = extensions.find("cl_khr_fp16") != std::string::npos;
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
  const cl_uint floats = device.getInfo<CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT>();
  // AVX-512 doubled both.
  caps.vector_floats = floats >= 16 ? 16 : floats >= 8 ? 8 : 4;
  caps.vector_registers = floats >= 16 ? 32 : 16;
  // A CPU device is this machine's own CPU, so the architecture of the build is that of the device.
  caps.register_tiles_pay = e.pocl && caps.is_cpu && floats >= 8;
#else
  caps.vector_floats = 4;
#endif
#if defined(__aarch64__)
  // NEON: PoCL prefers single floats there; its compiler keeps a tile of 6 by 16 sums in 24 of the
  // 32 registers.
  caps.register_tiles_pay = e.pocl && caps.is_cpu;
#endif
#if defined(__x86_64__)
  // 16 floats: PoCL compiles for AVX-512, so that its registers can be named. A device of another
  // machine would be called remote.
  caps.dot_product_u8s8 = caps.register_tiles_pay && !Contains(caps.name, "remote") &&
                          floats >= 16 && __builtin_cpu_supports("avx512vnni") &&
                          __builtin_cpu_supports("avx512bw");
  caps.dot_product_bf16 = caps.register_tiles_pay && !Contains(caps.name, "remote") &&
                          floats >= 16 && __builtin_cpu_supports("avx512bf16");
  if (e.pocl && caps.is_cpu && !Contains(caps.name, "remote")) {
    static const bool tells = RdtscpTellsCore();
    caps.rdtscp_tells_core = tells;
  }
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
  if (e.beside) return 5;
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
  constexpr const char* kNames[] = {"GPU or accelerator",  "PoCL CPU device",
                                    "CPU device",          "device of another type",
                                    "software rasterizer", "device for small graphs"};
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

/// What is wrong with a driver file, in words; "" when the library that it names can be loaded.
std::string FaultOf(const std::filesystem::path& icd) {
  std::ifstream file(icd);
  std::string library;
  std::getline(file, library);
  if (library.empty()) return "it names no library";
  // The loader has tried the same, and told nobody.
  void* const loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (loaded == nullptr) {
    const char* const why = dlerror();
    return fmt::format("its library cannot be loaded: {}", why != nullptr ? why : library);
  }
  dlclose(loaded);
  return "";
}

struct DriverFiles {
  std::string text;  // where the loader looked: each driver file, or that there is none
  bool any = false;
  std::vector<std::string> faults;
};
DriverFiles LookAtDriverFiles(const std::string& icd_vendors) {
  namespace fs = std::filesystem;
  const std::string place = icd_vendors.empty() ? "/etc/OpenCL/vendors" : icd_vendors;
  DriverFiles found;
  found.text = icd_vendors.empty() ? place : "OCL_ICD_VENDORS=" + place;
  std::error_code error;
  std::vector<fs::path> files;
  if (!fs::exists(place, error)) {
    found.text += " (does not exist)";
    return found;
  }
  if (!fs::is_directory(place, error)) {
    found.text += " (a file)";
    if (fs::path(place).extension() == ".icd") files.push_back(place);
  } else {
    fs::directory_iterator it(place, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      if (it->path().extension() == ".icd") files.push_back(it->path());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> names;
    for (const fs::path& f : files) names.push_back(f.filename().string());
    found.text +=
        names.empty() ? " (no .icd file in it)" : fmt::format(" ({})", fmt::join(names, ", "));
  }
  found.any = !files.empty();
  for (const fs::path& f : files) {
    const std::string fault = FaultOf(f);
    if (!fault.empty()) found.faults.push_back(fmt::format("{}: {}", f.string(), fault));
  }
  return found;
}

Status NoDevice(const std::vector<std::string>& failures, const std::string& icd_vendors) {
  const DriverFiles files = LookAtDriverFiles(icd_vendors);
  std::string text = "there is no OpenCL device";
  for (const auto* list : {&failures, &files.faults}) {
    for (const std::string& f : *list) text += "; " + f;
  }
  text += fmt::format(". Drivers were looked for in {}. ", files.text);
  const std::string pocl_dir = base::Environment::Process().PoclCacheDir();
  const bool pocl_failed = std::any_of(failures.begin(), failures.end(), [](const std::string& f) {
    return Contains(f, "portable computing language");
  });
  if (pocl_failed) {
    text += fmt::format(
        "PoCL wants a folder that it can write and run code from, and it would use {}: set "
        "POCL_CACHE_DIR to such a folder",
        pocl_dir.empty() ? "none, as neither XDG_CACHE_HOME nor HOME is set" : pocl_dir);
  } else if (!files.faults.empty()) {
    text += "Install the library that the driver file names, or remove the file";
  } else if (files.any) {
    text +=
        "The driver is there but finds no device: are its kernel module and the rights to its "
        "device files there?";
  } else {
    text += "Install one, such as the package pocl-opencl-icd for the CPU";
  }
  return Status::Error(Code::kDevice, text +
                                          ". Or choose the reference backend, which needs none "
                                          "(ContextOptions::host_only)");
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

std::vector<DeviceEntry> ListDevices(std::vector<std::string>* failures, bool inline_too) {
  std::vector<DeviceEntry> entries;
  std::vector<std::string> ignored;
  if (failures == nullptr) failures = &ignored;
  if (const Status s = CheckProcess(); !s.ok()) {
    failures->push_back(s.message());
    return entries;
  }
  const std::lock_guard lock(DriverMutex());
  std::vector<cl::Platform> platforms;
  const cl_int error = cl::Platform::get(&platforms);
  if (error != CL_SUCCESS) {
    failures->push_back(
        fmt::format("the loader's clGetPlatformIDs answers {}", ClErrorName(error)));
    return entries;
  }
  for (const cl::Platform& platform : platforms) {
    const NamePoclDevices names(platform, inline_too);
    std::vector<cl::Device> devices;
    const cl_int none = platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
    if (devices.empty()) {
      failures->push_back(fmt::format(
          "clGetDeviceIDs of platform '{}' answers {}", platform.getInfo<CL_PLATFORM_NAME>(),
          // opencl.hpp makes an empty list of this code.
          ClErrorName(none == CL_SUCCESS ? CL_DEVICE_NOT_FOUND : none)));
    }
    for (const cl::Device& device : devices) entries.push_back(Describe(platform, device));
  }
  FindInline(inline_too, &entries);
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

Result<DeviceChoice> ChooseDevice(const std::string& request, const std::string& icd_vendors,
                                  bool inline_too) {
  TIMCL_TRY(CheckProcess());
  DeviceChoice choice;
  std::vector<std::string> failures;
  choice.entries = ListDevices(&failures, inline_too);
  if (choice.entries.empty()) return NoDevice(failures, icd_vendors);
  auto index = ChooseAmong(&choice.entries, request);
  if (!index.ok()) {
    // The device that is missed may be one of a driver that failed.
    for (const std::string& f : failures) base::Log("device", base::LogLevel::kWarn, "{}", f);
    return index.status();
  }
  choice.index = *index;
  if (inline_too) choice.beside = ChooseInline(choice.entries, choice.index);
  for (size_t i = 0; i < choice.entries.size(); ++i) {
    base::Log("device", base::LogLevel::kDebug, "{} '{}': {}", i, choice.entries[i].caps.name,
              choice.entries[i].verdict);
  }
  return choice;
}

Device::Device() = default;
Device::~Device() = default;

const Peaks& Device::peaks() const {
  std::call_once(measured_, [&] { peaks_ = std::make_unique<const Peaks>(MeasurePeaks(*this)); });
  return *peaks_;
}

Result<std::shared_ptr<Device>> Device::Open(const DeviceEntry& entry) {
  TIMCL_TRY(CheckProcess());
  const std::lock_guard lock(DriverMutex());
  std::shared_ptr<Device> device(new Device());
  device->entry_ = entry;
  cl_int error = CL_SUCCESS;
  device->context_ = cl::Context(entry.device, nullptr, nullptr, nullptr, &error);
  TIMCL_TRY(ClStatus(error, "clCreateContext", entry.caps.name));
  return device;
}

}  // namespace tim::vx::opencl
