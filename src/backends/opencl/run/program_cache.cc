// Building, sharing and storing programs: see program_cache.h.
#define XXH_INLINE_ALL
#include "backends/opencl/run/program_cache.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "backends/opencl/run/cl_error.h"
#include "base/log.h"
#include "kernels/prelude.h"

namespace tim::vx::opencl {
namespace {

namespace fs = std::filesystem;
using base::Log;
using base::LogLevel;

// First bytes of a stored program; the digit changes with the layout of the file:
//   magic, key, number of kernels with image parameters, {name, number of parameters, one byte
//   each}, binary, XXH3-128 of all bytes before. Texts and the binary: 8 bytes of length, then the
//   bytes.
constexpr char kMagic[8] = {'T', 'I', 'M', 'C', 'L', 'P', '0', '1'};

struct Digest {
  unsigned char bytes[16];
};
Digest HashOf(const void* data, size_t size) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
  Digest d;
  std::memcpy(d.bytes, canonical.digest, sizeof d.bytes);
  return d;
}
std::string HexOf(const Digest& d) {
  std::string s;
  for (const unsigned char b : d.bytes) s += fmt::format("{:02x}", b);
  return s;
}

class FileWriter {
 public:
  void Raw(const void* data, size_t size) { out_.append(static_cast<const char*>(data), size); }
  void Number(uint64_t n) {
    for (int i = 0; i < 8; ++i) out_ += static_cast<char>(n >> (8 * i));
  }
  void Text(const void* data, size_t size) {
    Number(size);
    Raw(data, size);
  }
  std::string Finish() {
    const Digest d = HashOf(out_.data(), out_.size());
    Raw(d.bytes, sizeof d.bytes);
    return std::move(out_);
  }

 private:
  std::string out_;
};

/// Reads what FileWriter wrote; after the first thing that does not fit `ok` is false.
class FileReader {
 public:
  explicit FileReader(const std::string& bytes) : at_(bytes.data()), left_(bytes.size()) {
    constexpr size_t kDigest = sizeof(Digest);
    if (left_ < kDigest + sizeof kMagic) return;
    left_ -= kDigest;
    const Digest d = HashOf(at_, left_);
    ok = std::memcmp(d.bytes, at_ + left_, kDigest) == 0 &&
         std::memcmp(at_, kMagic, sizeof kMagic) == 0;
    Take(sizeof kMagic);
  }
  uint64_t Number() {
    const char* p = Take(8);
    uint64_t n = 0;
    for (int i = 0; p != nullptr && i < 8; ++i)
      n |= static_cast<uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
    return n;
  }
  std::string_view Text() {
    const uint64_t size = Number();
    const char* p = Take(size);
    return p == nullptr ? std::string_view() : std::string_view(p, size);
  }
  bool AtEnd() const { return left_ == 0; }
  bool ok = false;

 private:
  const char* Take(uint64_t size) {
    ok = ok && size <= left_;
    if (!ok) return nullptr;
    const char* p = at_;
    at_ += size;
    left_ -= size;
    return p;
  }
  const char* at_;
  size_t left_;
};

/// Where the text of a program was written, or why it was not.
std::string WriteText(const std::string& folder, const std::string& source) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path path =
      fs::path(folder) / ("timcl_" + HexOf(HashOf(source.data(), source.size())) + ".cl");
  std::ofstream file(path, std::ios::binary);
  file << source;
  file.close();
  return file ? path.string() : "(could not be written to " + path.string() + ")";
}

std::string KernelKey(const Variant& v) {
  std::string key = v.user ? "user" : "built-in";
  for (const std::string* part : {&v.entry, &v.options, &v.text}) {
    key += '\0';
    key += *part;
  }
  if (v.images) key += "\0images";
  return key;
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

/// A Context in static storage outlives the static objects of the driver and of the compiler inside
/// it. So every writer ends at exit() already: Get is first called when kernels have been built and
/// run, so this handler is registered after those objects were made and runs before they go.
struct ProgramCache::LiveCaches {
  std::mutex mutex;
  std::set<ProgramCache*> caches;
  static LiveCaches& Get() {
    static LiveCaches* const live = [] {
      auto* made = new LiveCaches();  // never destroyed: caches may go after every static object
      std::atexit([] {
        LiveCaches& all = Get();
        const std::lock_guard lock(all.mutex);
        for (ProgramCache* cache : all.caches) cache->Stop();
      });
      return made;
    }();
    return *live;
  }
};

ProgramCache::ProgramCache(const DeviceEntry& device, const cl::Context& context,
                           const ProgramCacheOptions& options)
    : device_(device.device), context_(context), options_(options) {
  device_key_ = fmt::format(
      "timcl {}\nplatform {}\nplatform version {}\ndevice {}\ndevice version {}\ndriver {}\n",
      TIMCL_VERSION, device.caps.platform, device.platform.getInfo<CL_PLATFORM_VERSION>(),
      device.caps.name, device_.getInfo<CL_DEVICE_VERSION>(), device.caps.driver);
  standard_options_ = "-cl-std=CL1.2";
  if (device.caps.correctly_rounded_divide)
    standard_options_ += " -cl-fp32-correctly-rounded-divide-sqrt";
}

ProgramCache::~ProgramCache() {
  if (listed_) {
    LiveCaches& live = LiveCaches::Get();
    const std::lock_guard lock(live.mutex);
    live.caches.erase(this);
  }
  Stop();
}

void ProgramCache::Stop() {
  {
    const std::lock_guard lock(queue_mutex_);
    stop_ = true;
  }
  queue_changed_.notify_all();
  if (writer_.joinable()) writer_.join();
}

Status ProgramCache::Kernels(const std::vector<Variant>& variants, const std::string& dump_dir,
                             std::vector<BuiltKernel>* kernels, BuildStats* stats) {
  const std::lock_guard lock(build_mutex_);
  std::vector<std::string> keys;
  std::vector<size_t> missing;  // the first variant of each key that is not there
  std::map<std::string, size_t> seen;
  for (const Variant& v : variants) {
    keys.push_back(KernelKey(v));
    const bool first = seen.emplace(keys.back(), keys.size() - 1).second;
    if (!first || kernels_.count(keys.back()) != 0) {
      ++stats->kernels_reused;
    } else {
      missing.push_back(keys.size() - 1);
    }
  }

  std::vector<kernels::VariantText> texts;
  std::vector<size_t> built_in;
  for (const size_t i : missing) {
    const Variant& v = variants[i];
    if (!v.user) {
      texts.push_back({v.text, v.entry, v.origin, {}});
      built_in.push_back(i);
      continue;
    }
    Text text;
    text.source = v.text;
    text.options = v.options.find("-cl-std=") == std::string::npos
                       ? standard_options_
                       : standard_options_.substr(standard_options_.find(' ') + 1);
    text.options += " -cl-kernel-arg-info";
    if (!v.options.empty()) text.options += " " + v.options;
    text.origin = v.origin;
    text.kernels = {v.entry};
    text.images = v.images;
    TIMCL_ASSIGN(auto program, MakeProgram(text, dump_dir, stats));
    const auto found = program->parameters.find(v.entry);
    kernels_[keys[i]] = {
        program, v.entry,
        found == program->parameters.end() ? std::vector<ParameterKind>() : found->second};
  }
  if (!built_in.empty()) {
    std::vector<const kernels::VariantText*> pointers;
    Text text;
    std::vector<std::string> origins;
    for (const kernels::VariantText& t : texts) {
      text.kernels.push_back(kernels::EntryName(t, pointers.size()));
      pointers.push_back(&t);
      if (std::find(origins.begin(), origins.end(), t.origin) == origins.end())
        origins.push_back(t.origin);
    }
    text.source = kernels::AssembleProgram(pointers, options_.kernel_dir);
    text.options = standard_options_;
    text.origin = fmt::format("{}", fmt::join(origins, ", "));
    TIMCL_ASSIGN(auto program, MakeProgram(text, dump_dir, stats));
    for (size_t k = 0; k < built_in.size(); ++k)
      kernels_[keys[built_in[k]]] = {program, text.kernels[k], {}};
  }
  kernels->clear();
  for (const std::string& key : keys) kernels->push_back(kernels_.at(key));
  return Status();
}

Result<std::shared_ptr<BuiltProgram>> ProgramCache::MakeProgram(const Text& text,
                                                                const std::string& dump_dir,
                                                                BuildStats* stats) {
  if (!dump_dir.empty()) {
    const std::string path = WriteText(dump_dir, text.source);
    Log("cache", LogLevel::kDebug, "program text: {}", path);
  }
  // The source comes last and everything before it ends in a line break, so no two programs share a
  // key.
  const std::string key =
      fmt::format("{}options {}\nkernels {}\nimages {}\n{}", device_key_, text.options,
                  fmt::join(text.kernels, " "), text.images ? 1 : 0, text.source);
  std::shared_ptr<BuiltProgram> program;
  if (!options_.cache_dir.empty()) program = Load(text, key);
  if (program != nullptr) {
    ++stats->programs_from_cache;
    stats->kernels_from_cache += text.kernels.size();
    return program;
  }
  program = std::make_shared<BuiltProgram>();
  program->kernels = text.kernels;
  if (!options_.cache_dir.empty()) program->key = key;
  Log("cache", LogLevel::kInfo, "building {} kernel{} of {}", text.kernels.size(),
      text.kernels.size() == 1 ? "" : "s", text.origin);
  const auto start = std::chrono::steady_clock::now();
  TIMCL_TRY(Build(text, dump_dir, program.get()));
  Log("cache", LogLevel::kInfo, "built in {} ms",
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                            start)
          .count());
  ++stats->programs_built;
  stats->kernels_built += text.kernels.size();
  return program;
}

Status ProgramCache::Build(const Text& text, const std::string& dump_dir, BuiltProgram* built) {
  cl_int error = CL_SUCCESS;
  built->program = cl::Program(context_, text.source, false, &error);
  TIMCL_TRY(ClStatus(error, "clCreateProgramWithSource", text.origin));
  error = built->program.build({device_}, text.options.c_str());
  if (error == CL_OUT_OF_HOST_MEMORY) return ClStatus(error, "clBuildProgram", text.origin);
  if (error != CL_SUCCESS) {
    std::string log = built->program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_);
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    std::error_code ignored;
    std::string folder = dump_dir.empty() ? fs::temp_directory_path(ignored).string() : dump_dir;
    if (folder.empty()) folder = "/tmp";
    return Status::Error(
        Code::kKernelBuild,
        fmt::format("{}: function {}: clBuildProgram failed with {}; options: {}\n{}\nfull text: "
                    "{}",
                    text.origin, fmt::join(text.kernels, ", "), ClErrorName(error), text.options,
                    log.empty() ? "(the compiler says nothing)" : log,
                    WriteText(folder, text.source)));
  }
  const std::vector<std::string> names = NamesOf(built->program);
  for (const std::string& kernel : text.kernels) {
    if (std::binary_search(names.begin(), names.end(), kernel)) continue;
    return Status::Error(
        Code::kKernelBuild,
        fmt::format("{}: there is no kernel function '{}' in the source, which has: {}",
                    text.origin, kernel,
                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  return text.images ? ReadParameters(text, built) : Status();
}

Status ProgramCache::ReadParameters(const Text& text, BuiltProgram* built) {
  for (const std::string& name : text.kernels) {
    cl_int error = CL_SUCCESS;
    const cl::Kernel kernel(built->program, name.c_str(), &error);
    TIMCL_TRY(ClStatus(error, "clCreateKernel", text.origin + ": " + name));
    const auto count = kernel.getInfo<CL_KERNEL_NUM_ARGS>(&error);
    TIMCL_TRY(ClStatus(error, "clGetKernelInfo", text.origin + ": " + name));
    std::vector<ParameterKind> kinds(count, ParameterKind::kPlain);
    bool any = false;
    for (cl_uint i = 0; i < count; ++i) {
      const std::string type = kernel.getArgInfo<CL_KERNEL_ARG_TYPE_NAME>(i, &error);
      TIMCL_TRY(ClStatus(error, "clGetKernelArgInfo", text.origin + ": " + name));
      if (type.find("timcl_image2d_array") != std::string::npos) {
        kinds[i] = ParameterKind::kImage2dArray;
      } else if (type.find("timcl_image2d") != std::string::npos) {
        kinds[i] = ParameterKind::kImage2d;
      }
      any = any || kinds[i] != ParameterKind::kPlain;
    }
    if (any) built->parameters[name] = std::move(kinds);
  }
  return Status();
}

std::string ProgramCache::PathOf(const std::string& key) const {
  return (fs::path(options_.cache_dir) / (HexOf(HashOf(key.data(), key.size())) + ".bin")).string();
}

std::shared_ptr<BuiltProgram> ProgramCache::Load(const Text& text, const std::string& key) {
  const std::string path = PathOf(key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  FileReader reader(bytes);
  const bool same_key = reader.Text() == key;
  auto built = std::make_shared<BuiltProgram>();
  built->kernels = text.kernels;
  const uint64_t with_images = reader.Number();
  for (uint64_t k = 0; reader.ok && k < with_images; ++k) {
    const std::string name(reader.Text());
    for (const char c : reader.Text()) {
      reader.ok = reader.ok && static_cast<unsigned char>(c) <= 2;
      built->parameters[name].push_back(static_cast<ParameterKind>(c));
    }
  }
  const std::string_view binary = reader.Text();
  if (!reader.ok || !reader.AtEnd()) {
    Log("cache", LogLevel::kInfo, "{} is damaged: building anew", path);
    return nullptr;
  }
  if (!same_key) return nullptr;  // two texts with one hash, or a file put there under this name
  cl_int error = CL_SUCCESS;
  built->program = cl::Program(
      context_, {device_}, cl::Program::Binaries{{binary.begin(), binary.end()}}, nullptr, &error);
  if (error == CL_SUCCESS) error = built->program.build({device_}, text.options.c_str());
  if (error != CL_SUCCESS) {
    Log("cache", LogLevel::kInfo, "{}: the driver refuses it with {}: building anew", path,
        ClErrorName(error));
    return nullptr;
  }
  const std::vector<std::string> names = NamesOf(built->program);
  for (const std::string& kernel : text.kernels) {
    if (!std::binary_search(names.begin(), names.end(), kernel)) return nullptr;
  }
  built->stored = true;
  Log("cache", LogLevel::kDebug, "{} kernels of {} from {}", text.kernels.size(), text.origin,
      path);
  return built;
}

void ProgramCache::AfterFirstRun(const std::vector<BuiltKernel>& kernels) {
  if (options_.cache_dir.empty()) return;
  std::call_once(listed_once_, [this] {
    LiveCaches& live = LiveCaches::Get();
    const std::lock_guard lock(live.mutex);
    live.caches.insert(this);
    listed_ = true;
  });
  const std::lock_guard lock(queue_mutex_);
  bool queued = false;
  for (const BuiltKernel& k : kernels) {
    BuiltProgram& p = *k.program;
    if (p.stored || p.key.empty()) continue;
    p.ran[k.name] = true;
    if (p.ran.size() < p.kernels.size()) continue;
    p.stored = true;
    queue_.push_back(k.program);
    queued = true;
  }
  if (!queued || stop_) return;
  queued_ns_ = NowNs();
  if (!writer_.joinable()) writer_ = std::thread([this] { Work(); });
  queue_changed_.notify_all();
}

void ProgramCache::Flush() {
  std::unique_lock lock(queue_mutex_);
  hurry_ = true;
  queue_changed_.notify_all();
  queue_changed_.wait(lock, [this] { return queue_.empty() && !writing_; });
  hurry_ = false;
}

int64_t ProgramCache::NowNs() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

bool ProgramCache::Quiet() const {
  constexpr int64_t kQuietNs = 250'000'000, kPatienceNs = 10'000'000'000;
  const int64_t now = NowNs();
  return now - last_activity_ns_.load(std::memory_order_relaxed) >= kQuietNs ||
         now - queued_ns_ >= kPatienceNs;
}

void ProgramCache::Work() {
  std::unique_lock lock(queue_mutex_);
  while (true) {
    queue_changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    // At the end the rest is still written: a program that runs once would never fill the cache.
    if (queue_.empty()) return;
    while (!stop_ && !hurry_ && !Quiet()) {
      queue_changed_.wait_for(lock, std::chrono::milliseconds(100));
    }
    const std::shared_ptr<BuiltProgram> program = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    try {
      Store(*program);
    } catch (const std::exception& e) {
      Log("cache", LogLevel::kInfo, "a program was not stored: {}", e.what());
    }
    lock.lock();
    writing_ = false;
    queue_changed_.notify_all();
  }
}

void ProgramCache::Store(const BuiltProgram& program) {
  cl_int error = CL_SUCCESS;
  const std::vector<std::vector<unsigned char>> binaries =
      program.program.getInfo<CL_PROGRAM_BINARIES>(&error);
  if (error != CL_SUCCESS || binaries.size() != 1 || binaries[0].empty()) {
    Log("cache", LogLevel::kInfo, "the driver gives no binary ({})", ClErrorName(error));
    return;
  }
  FileWriter out;
  out.Raw(kMagic, sizeof kMagic);
  out.Text(program.key.data(), program.key.size());
  out.Number(program.parameters.size());
  for (const auto& [name, kinds] : program.parameters) {
    out.Text(name.data(), name.size());
    out.Text(kinds.data(), kinds.size());
  }
  out.Text(binaries[0].data(), binaries[0].size());
  const std::string bytes = out.Finish();

  std::error_code code;
  fs::create_directories(options_.cache_dir, code);
  const std::string path = PathOf(program.key);
  static std::atomic<int> counter{0};
  const std::string temporary = fmt::format("{}.{}.{}", path, getpid(), counter.fetch_add(1));
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
      Log("cache", LogLevel::kInfo, "{} cannot be written", temporary);
      fs::remove(temporary, code);
      return;
    }
  }
  fs::rename(temporary, path, code);
  if (code) {
    Log("cache", LogLevel::kInfo, "{} cannot be renamed: {}", temporary, code.message());
    fs::remove(temporary, code);
    return;
  }
  Log("cache", LogLevel::kDebug, "{} kernels stored in {}", program.kernels.size(), path);
}

}  // namespace tim::vx::opencl
