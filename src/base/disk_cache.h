// Files of compiled code: programs of the OpenCL backend, modules of vendors' compilers. It is code
// that will run, so nothing is trusted that somebody else may have written.
#ifndef TIMCL_BASE_DISK_CACHE_H_
#define TIMCL_BASE_DISK_CACHE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tim::vx::base {

/// 32 hexadecimal digits that stand for these bytes.
std::string HashName(std::string_view bytes);

/// One folder, of mode 0700; its files have mode 0600. A folder or a file that another user owns or
/// may write is passed over, with one warning. Processes may share the folder: a file appears whole
/// or not at all, and damage is found by a hash. Never throws because of a file. Threads: any.
class DiskCache {
 public:
  static constexpr uint64_t kLimitBytes = uint64_t{256} << 20;

  /// "": no cache. The least recently used files go when there are more than `limit_bytes`.
  explicit DiskCache(std::string folder, uint64_t limit_bytes = kLimitBytes)
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

  bool enabled() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }

  /// What was stored under exactly this key; marks it as used.
  std::optional<std::string> Load(const std::string& key);
  void Store(const std::string& key, const std::string& payload);

  struct Entry {
    std::string file, key;
    uint64_t bytes = 0;
    int64_t used_at = 0;  // seconds since 1970
    std::string fault;    // why it is not used; "" = good
  };
  /// Every file of ours in the folder, whole or not, the latest first.
  std::vector<Entry> List();
  /// Removes them and says how many; files that are not of this cache stay.
  size_t Clear();

 private:
  /// An open folder that may be trusted, or -1.
  int OpenFolder(bool make);
  /// The bytes of a file that may be trusted; else why not.
  std::string ReadFile(int folder, const std::string& name, bool mark_used, std::string* fault);
  void Trim(int folder);
  void Distrust(const std::string& what, const std::string& why);

  const std::string folder_;
  const uint64_t limit_bytes_;
  std::atomic<bool> warned_{false};
};

}  // namespace tim::vx::base
#endif  // TIMCL_BASE_DISK_CACHE_H_
