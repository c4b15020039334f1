// Building, sharing and storing programs: see program_cache.h.
#include "backends/opencl/run/program_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "backends/opencl/run/cl_error.h"
#include "backends/opencl/run/process.h"
#include "base/bytes.h"
#include "base/log.h"

namespace tim::vx::opencl {
namespace {

namespace fs = std::filesystem;
using base::ByteReader;
using base::Log;
using base::LogLevel;
using base::PutNumber;
using base::PutText;

/// Where the text was written, or why it was not.
std::string WriteDump(const std::string& folder, const std::string& source) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path path = fs::path(folder) / ("timcl_" + base::HashName(source) + ".cl");
  std::ofstream file(path, std::ios::binary);
  file << source;
  file.close();
  return file ? path.string() : "(could not be written to " + path.string() + ")";
}

/// The same where nobody named a folder: the temporary one is everybody's, so the file gets a name
/// that nobody can foresee, and is made anew.
std::string WriteTemporary(const std::string& source) {
  std::error_code error;
  std::string path = fs::temp_directory_path(error).string();
  if (error) path = "/tmp";
  path += "/timcl_XXXXXX.cl";
  const int file = mkstemps(path.data(), 3);  // exclusive, mode 0600
  if (file < 0) return "(could not be written to " + path + ")";
  std::string_view left = source;
  ssize_t n = 0;
  while (!left.empty() && (n = write(file, left.data(), left.size())) > 0)
    left.remove_prefix(static_cast<size_t>(n));
  close(file);
  return left.empty() ? path : "(could not be written to " + path + ")";
}

std::vector<std::string> NamesOf(const cl::Program& program) {
  std::vector<std::string> names;
  const std::string all = program.getInfo<CL_PROGRAM_KERNEL_NAMES>();
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find(';', at), all.size());
    // Some drivers end the list with a zero byte.
    std::string name = all.substr(at, end - at);
    name.erase(std::find(name.begin(), name.end(), '\0'), name.end());
    if (!name.empty()) names.push_back(std::move(name));
    at = end + 1;
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

ProgramCache::ProgramCache(std::shared_ptr<const Device> device, const ProgramCacheOptions& options)
    : device_(std::move(device)),
      max_programs_(options.max_programs),
      disk_(device_->entry().caches_programs && !options.even_if_driver_caches ? std::string()
                                                                               : options.cache_dir,
            options.disk_limit_bytes) {
  const DeviceEntry& entry = device_->entry();
  device_key_ = fmt::format(
      "timcl {}\nplatform {}\nplatform version {}\ndevice {}\ndevice version {}\ndriver {}\n",
      TIMCL_VERSION, entry.caps.platform, entry.platform.getInfo<CL_PLATFORM_VERSION>(),
      entry.caps.name, entry.device.getInfo<CL_DEVICE_VERSION>(), entry.caps.driver);
  standard_options_ = "-cl-std=CL1.2";
  if (entry.caps.correctly_rounded_divide)
    standard_options_ += " -cl-fp32-correctly-rounded-divide-sqrt";
}

std::string ProgramCache::OptionsOf(const ProgramText& text) const {
  if (!text.user) return standard_options_;
  std::string options = text.options.find("-cl-std=") == std::string::npos
                            ? standard_options_
                            : standard_options_.substr(standard_options_.find(' ') + 1);
  options += " -cl-kernel-arg-info";
  return text.options.empty() ? options : options + " " + text.options;
}

Status ProgramCache::Build(const std::vector<std::shared_ptr<const ProgramText>>& texts,
                           const std::string& dump_dir, BuiltPrograms* programs,
                           BuildStats* stats) {
  TIMCL_TRY(CheckProcess());
  const std::lock_guard lock(build_mutex_);
  programs->clear();
  for (const auto& text : texts) {
    // The source comes last and everything before it ends in a line break, so no two programs share
    // a key.
    std::string key =
        fmt::format("{}options {}\nkernels {}\nsignatures {}\n{}", device_key_, OptionsOf(*text),
                    fmt::join(text->functions, " "), text->images ? 1 : 0, text->source);
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.key == key; });
    if (found != known_.end()) {
      ++stats->reused;
      known_.splice(known_.begin(), known_, found);
    } else {
      TIMCL_ASSIGN(auto program, Make(*text, key, dump_dir, stats));
      known_.push_front({std::move(key), std::move(program)});
      if (known_.size() > max_programs_) known_.pop_back();
    }
    programs->push_back(known_.front().program);
  }
  StoreBinaries();
  return Status();
}

Result<std::shared_ptr<const BuiltProgram>> ProgramCache::Make(const ProgramText& text,
                                                               const std::string& key,
                                                               const std::string& dump_dir,
                                                               BuildStats* stats) {
  if (!dump_dir.empty())
    Log("cache", LogLevel::kDebug, "program text: {}", WriteDump(dump_dir, text.source));
  if (auto program = Load(text, key)) {
    ++stats->from_disk;
    return program;
  }
  const size_t count = text.functions.size();
  Log("cache", LogLevel::kInfo, "building {} kernel{} of {}", count, count == 1 ? "" : "s",
      text.origin);
  const auto start = std::chrono::steady_clock::now();
  auto program = std::make_shared<BuiltProgram>();
  TIMCL_TRY(Compile(text, dump_dir, program.get()));
  Log("cache", LogLevel::kInfo, "built in {} ms",
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                            start)
          .count());
  ++stats->built;
  if (disk_.enabled()) not_stored_.push_back({key, program});
  return std::shared_ptr<const BuiltProgram>(std::move(program));
}

Status ProgramCache::Compile(const ProgramText& text, const std::string& dump_dir,
                             BuiltProgram* built) {
  const cl::Device& device = device_->entry().device;
  const std::string options = OptionsOf(text);
  cl_int error = CL_SUCCESS;
  built->program = cl::Program(device_->context(), text.source, false, &error);
  TIMCL_TRY(ClStatus(error, "clCreateProgramWithSource", text.origin));
  error = built->program.build({device}, options.c_str());
  if (error == CL_OUT_OF_HOST_MEMORY) return ClStatus(error, "clBuildProgram", text.origin);
  if (error != CL_SUCCESS) {
    std::string log = built->program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device);
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    return Status::Error(
        Code::kKernelBuild,
        fmt::format(
            "{}: function {}: clBuildProgram failed with {}; options: {}\n{}\nfull text: "
            "{}",
            text.origin, fmt::join(text.functions, ", "), ClErrorName(error), options,
            log.empty() ? "(the compiler says nothing)" : log,
            dump_dir.empty() ? WriteTemporary(text.source) : WriteDump(dump_dir, text.source)));
  }
  const std::vector<std::string> names = NamesOf(built->program);
  for (const std::string& function : text.functions) {
    if (std::binary_search(names.begin(), names.end(), function)) continue;
    return Status::Error(
        Code::kKernelBuild,
        fmt::format("{}: there is no kernel function '{}' in the source, which has: {}",
                    text.origin, function,
                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  return text.images ? ReadSignatures(text, built) : Status();
}

Status ProgramCache::ReadSignatures(const ProgramText& text, BuiltProgram* built) {
  for (const std::string& name : text.functions) {
    cl_int error = CL_SUCCESS;
    const cl::Kernel kernel(built->program, name.c_str(), &error);
    TIMCL_TRY(ClStatus(error, "clCreateKernel", text.origin + ": " + name));
    auto signature = ReadSignature(kernel, name, text.source);
    if (!signature.ok()) return signature.status().AtOp(text.origin);
    built->signatures[name] = std::move(*signature);
  }
  return Status();
}

// A stored program: the number of functions of which the parameters are known; of each its name,
// their number, and of each parameter one byte for its kind, its type and its name; the binary.

std::shared_ptr<const BuiltProgram> ProgramCache::Load(const ProgramText& text,
                                                       const std::string& key) {
  const auto payload = disk_.Load(key);
  if (!payload) return nullptr;
  auto built = std::make_shared<BuiltProgram>();
  ByteReader reader{*payload};
  const uint64_t functions = reader.Number();
  for (uint64_t k = 0; reader.ok && k < functions; ++k) {
    Signature& signature = built->signatures[std::string(reader.Text())];
    const uint64_t count = reader.Number();
    for (uint64_t i = 0; reader.ok && i < count; ++i) {
      Parameter p;
      const uint64_t kind = reader.Number();
      reader.ok = reader.ok && kind < kParameterKinds;
      p.kind = static_cast<ParameterKind>(kind);
      p.type = reader.Text();
      p.name = reader.Text();
      signature.push_back(std::move(p));
    }
  }
  const std::string_view binary = reader.Text();
  if (!reader.ok || !reader.left.empty()) return nullptr;
  const cl::Device& device = device_->entry().device;
  cl_int error = CL_SUCCESS;
  built->program =
      cl::Program(device_->context(), {device},
                  cl::Program::Binaries{{binary.begin(), binary.end()}}, nullptr, &error);
  if (error == CL_SUCCESS) error = built->program.build({device}, OptionsOf(text).c_str());
  if (error != CL_SUCCESS) {
    Log("cache", LogLevel::kInfo, "the driver refuses a stored program with {}: building anew",
        ClErrorName(error));
    return nullptr;
  }
  const std::vector<std::string> names = NamesOf(built->program);
  for (const std::string& function : text.functions) {
    if (!std::binary_search(names.begin(), names.end(), function)) return nullptr;
  }
  Log("cache", LogLevel::kDebug, "{} kernels of {} from {}", text.functions.size(), text.origin,
      disk_.folder());
  return built;
}

void ProgramCache::StoreBinaries() {
  if (not_stored_.empty()) return;
  const BinaryTurn turn;
  if (!turn.granted()) {
    if (not_stored_.size() > max_programs_) not_stored_.clear();  // it was never quiet
    return;
  }
  for (const Known& k : not_stored_) {
    cl_int error = CL_SUCCESS;
    const std::vector<std::vector<unsigned char>> binaries =
        k.program->program.getInfo<CL_PROGRAM_BINARIES>(&error);
    if (error != CL_SUCCESS || binaries.size() != 1 || binaries[0].empty()) {
      Log("cache", LogLevel::kInfo, "the driver gives no binary ({})", ClErrorName(error));
      continue;
    }
    std::string payload;
    PutNumber(&payload, k.program->signatures.size());
    for (const auto& [name, signature] : k.program->signatures) {
      PutText(&payload, name);
      PutNumber(&payload, signature.size());
      for (const Parameter& p : signature) {
        PutNumber(&payload, static_cast<uint64_t>(p.kind));
        PutText(&payload, p.type);
        PutText(&payload, p.name);
      }
    }
    PutText(&payload, {reinterpret_cast<const char*>(binaries[0].data()), binaries[0].size()});
    disk_.Store(k.key, payload);
  }
  not_stored_.clear();
}

}  // namespace tim::vx::opencl
