// The folder of compiled code: see disk_cache.h.
#define XXH_INLINE_ALL
#include "base/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "base/bytes.h"
#include "base/log.h"

namespace tim::vx::base {
namespace {

// A file: magic, key, payload (both as bytes.h writes texts), XXH3-128 of all bytes before. The
// digits change with the layout.
constexpr std::string_view kMagic = "TIMCLP02";
constexpr size_t kDigest = 16;
constexpr std::string_view kSuffix = ".bin", kTemporary = "tmp.";

std::string DigestOf(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(canonical.digest), kDigest};
}

std::string NameOf(const std::string& key) { return HashName(key) + std::string(kSuffix); }
bool IsEntry(std::string_view name) {
  return name.size() == 2 * kDigest + kSuffix.size() && name.ends_with(kSuffix) &&
         name.find_first_not_of("0123456789abcdef") == 2 * kDigest;
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int operator*() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

std::string ErrorText(int number) { return std::generic_category().message(number); }

/// Why what was opened is not to be trusted; "" = it is ours alone.
std::string WhoElse(const struct stat& s) {
  if (s.st_uid != geteuid()) return fmt::format("user {} owns it", s.st_uid);
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("others may write it (mode {:o})", s.st_mode & 07777);
  return "";
}

/// Names in an open folder.
std::vector<std::string> NamesIn(int folder) {
  std::vector<std::string> names;
  // A descriptor of its own: closedir closes it.
  const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = again >= 0 ? fdopendir(again) : nullptr;
  if (list == nullptr) return names;
  while (const dirent* d = readdir(list)) names.emplace_back(d->d_name);
  closedir(list);
  return names;
}

/// A temporary file that no living process writes: whoever writes one holds a lock on it.
bool LeftBehind(int folder, const std::string& name) {
  const File file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return !file.open() || flock(*file, LOCK_EX | LOCK_NB) == 0;
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// The two texts of a whole file; false where it is damaged.
bool Split(std::string_view bytes, std::string* key, std::string* payload) {
  if (bytes.size() < kMagic.size() + kDigest || !bytes.starts_with(kMagic)) return false;
  const std::string_view body = bytes.substr(0, bytes.size() - kDigest);
  if (DigestOf(body) != bytes.substr(body.size())) return false;
  ByteReader reader{body.substr(kMagic.size())};
  *key = reader.Text();
  *payload = reader.Text();
  return reader.ok && reader.left.empty();
}

}  // namespace

std::string HashName(std::string_view bytes) {
  std::string name;
  for (const char c : DigestOf(bytes)) name += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return name;
}

void DiskCache::Distrust(const std::string& what, const std::string& why) {
  if (warned_.exchange(true)) return;
  Log("cache", LogLevel::kWarn,
      "{} is not used: {}. A cached program is code that runs, so it must belong to you alone "
      "(`timcl cache list` shows all)",
      what, why);
}

int DiskCache::OpenFolder(bool make) {
  if (!enabled()) return -1;
  if (make) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(folder_).parent_path(), ignored);
    (void)mkdir(folder_.c_str(), 0700);
  }
  const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    if (make) Log("cache", LogLevel::kInfo, "{}: {}", folder_, ErrorText(errno));
    return -1;
  }
  struct stat s {};
  const std::string why = fstat(folder, &s) == 0 ? WhoElse(s) : ErrorText(errno);
  if (why.empty()) return folder;
  Distrust("the cache folder " + folder_, why);
  close(folder);
  return -1;
}

std::string DiskCache::ReadFile(int folder, const std::string& name, bool mark_used,
                                std::string* fault) {
  const std::string path = folder_ + "/" + name;
  // Not blocking: somebody may have put a pipe there.
  const File file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.open()) {
    *fault = errno == ELOOP ? "it is a link" : ErrorText(errno);
    if (errno == ELOOP) Distrust(path, *fault);
    return "";
  }
  struct stat s {};
  if (fstat(*file, &s) != 0) {
    *fault = ErrorText(errno);
    return "";
  }
  *fault = S_ISREG(s.st_mode) ? WhoElse(s) : "it is no file";
  if (!fault->empty()) {
    Distrust(path, *fault);
    return "";
  }
  std::string bytes(static_cast<size_t>(s.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = read(*file, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  if (mark_used) (void)futimens(*file, nullptr);
  return bytes;
}

std::optional<std::string> DiskCache::Load(const std::string& key) {
  const File folder(OpenFolder(false));
  if (!folder.open()) return std::nullopt;
  const std::string name = NameOf(key);
  std::string fault, stored_key, payload;
  const std::string bytes = ReadFile(*folder, name, true, &fault);
  if (!fault.empty()) return std::nullopt;
  if (!Split(bytes, &stored_key, &payload)) {
    Log("cache", LogLevel::kInfo, "{}/{} is damaged", folder_, name);
    return std::nullopt;
  }
  if (stored_key != key) return std::nullopt;  // two keys with one hash, or a file put there
  return payload;
}

void DiskCache::Store(const std::string& key, const std::string& payload) {
  const File folder(OpenFolder(true));
  if (!folder.open()) return;
  std::string bytes(kMagic);
  PutText(&bytes, key);
  PutText(&bytes, payload);
  bytes += DigestOf(bytes);

  // Beside the final name, then renamed: other processes may be reading the file of that name.
  static constinit std::atomic<unsigned> counter{0};
  std::string temporary;
  int descriptor = -1;
  for (int tries = 0; descriptor < 0 && tries < 100; ++tries) {
    temporary = fmt::format("{}{}.{}", kTemporary, getpid(), counter.fetch_add(1));
    descriptor = openat(*folder, temporary.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  const File file(descriptor);
  bool done = file.open() && flock(*file, LOCK_EX | LOCK_NB) == 0 && WriteAll(*file, bytes) &&
              renameat(*folder, temporary.c_str(), *folder, NameOf(key).c_str()) == 0;
  if (!done) {
    Log("cache", LogLevel::kInfo, "{}/{} cannot be written: {}", folder_, temporary,
        ErrorText(errno));
    if (file.open()) (void)unlinkat(*folder, temporary.c_str(), 0);
    return;
  }
  Trim(*folder);
}

void DiskCache::Trim(int folder) {
  struct Used {
    std::string name;
    uint64_t bytes;
    timespec at;
  };
  std::vector<Used> files;
  uint64_t total = 0;
  for (const std::string& name : NamesIn(folder)) {
    if (name.starts_with(kTemporary) && LeftBehind(folder, name)) {
      (void)unlinkat(folder, name.c_str(), 0);
      continue;
    }
    struct stat s {};
    if (!IsEntry(name) || fstatat(folder, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
    files.push_back({name, static_cast<uint64_t>(s.st_size), s.st_mtim});
    total += files.back().bytes;
  }
  std::sort(files.begin(), files.end(), [](const Used& a, const Used& b) {
    return std::tie(a.at.tv_sec, a.at.tv_nsec) < std::tie(b.at.tv_sec, b.at.tv_nsec);
  });
  for (size_t i = 0; i < files.size() && total > limit_bytes_; ++i) {
    if (unlinkat(folder, files[i].name.c_str(), 0) == 0) total -= files[i].bytes;
  }
}

std::vector<DiskCache::Entry> DiskCache::List() {
  std::vector<Entry> entries;
  const File folder(OpenFolder(false));
  if (!folder.open()) return entries;
  for (const std::string& name : NamesIn(*folder)) {
    const bool temporary = name.starts_with(kTemporary);
    if (!temporary && !IsEntry(name)) continue;
    Entry e;
    e.file = name;
    struct stat s {};
    if (fstatat(*folder, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0) {
      e.bytes = static_cast<uint64_t>(s.st_size);
      e.used_at = s.st_mtim.tv_sec;
    }
    if (temporary) {
      e.fault = LeftBehind(*folder, name) ? "left by a process that was killed" : "being written";
    } else {
      std::string payload;
      const std::string bytes = ReadFile(*folder, name, false, &e.fault);
      if (e.fault.empty() && !Split(bytes, &e.key, &payload)) {
        const bool ours = bytes.starts_with(kMagic.substr(0, 6)) && !bytes.starts_with(kMagic);
        e.fault = ours ? "of another version" : "damaged";
      }
      if (e.fault.empty() && NameOf(e.key) != name) e.fault = "it has the name of another program";
    }
    entries.push_back(std::move(e));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(b.used_at, a.file) < std::tie(a.used_at, b.file);
  });
  return entries;
}

size_t DiskCache::Clear() {
  size_t removed = 0;
  const File folder(OpenFolder(false));
  if (!folder.open()) return 0;
  for (const std::string& name : NamesIn(*folder)) {
    const bool ours = IsEntry(name) || (name.starts_with(kTemporary) && LeftBehind(*folder, name));
    if (ours && unlinkat(*folder, name.c_str(), 0) == 0) ++removed;
  }
  return removed;
}

}  // namespace tim::vx::base
