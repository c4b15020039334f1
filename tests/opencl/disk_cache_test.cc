// The folder of compiled programs: whose files are trusted, what becomes of a killed writer, how
// much is kept.
#include "base/disk_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/log.h"
#include "run_fixture.h"

namespace tim::vx::opencl {
namespace {

namespace fs = std::filesystem;
using base::DiskCache;
using testing::HasSubstr;

/// Warnings while it lives.
class Warnings {
 public:
  Warnings() {
    base::SetLogSink([this](base::LogLevel level, std::string_view, std::string_view text) {
      if (level == base::LogLevel::kWarn) lines.emplace_back(text);
    });
  }
  ~Warnings() { base::SetLogSink({}); }
  std::vector<std::string> lines;
};

unsigned ModeOf(const fs::path& path) {
  struct stat s {};
  EXPECT_EQ(stat(path.c_str(), &s), 0);
  return s.st_mode & 07777;
}
void SetUsed(const fs::path& path, int64_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}
std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Disk : public testing::Test {
 protected:
  void SetUp() override {
    path_ = parent_.path() + "/deep/cache";
    old_mask_ = umask(0);  // the modes are ours, not the mask's
  }
  void TearDown() override { umask(old_mask_); }
  fs::path OnlyFile() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path_)) files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? fs::path() : files[0];
  }
  TemporaryFolder parent_;
  std::string path_;
  mode_t old_mask_ = 0;
};

TEST_F(Disk, FilesAreTheOwnersAlone) {
  DiskCache cache(path_);
  EXPECT_EQ(cache.Load("key"), std::nullopt);
  cache.Store("key", "payload");
  EXPECT_EQ(cache.Load("key"), "payload");
  EXPECT_EQ(ModeOf(path_), 0700u);
  EXPECT_EQ(ModeOf(OnlyFile()), 0600u);
  EXPECT_EQ(DiskCache("").Load("key"), std::nullopt);
}

TEST_F(Disk, AFolderThatOthersMayWriteIsNotUsed) {
  const Warnings warnings;
  DiskCache(path_).Store("key", "payload");
  fs::permissions(path_, fs::perms(0770));
  DiskCache cache(path_);
  EXPECT_EQ(cache.Load("key"), std::nullopt);
  cache.Store("other", "payload");
  EXPECT_EQ(cache.Load("key"), std::nullopt);
  fs::permissions(path_, fs::perms(0700));
  EXPECT_EQ(cache.List().size(), 1u) << "nothing was stored";
  ASSERT_EQ(warnings.lines.size(), 1u) << "one warning";
  EXPECT_THAT(warnings.lines[0], HasSubstr("others may write it (mode 770)"));
}

TEST_F(Disk, AFileThatOthersMayWriteIsNotUsed) {
  const Warnings warnings;
  DiskCache cache(path_);
  cache.Store("key", "payload");
  const fs::path file = OnlyFile();
  fs::permissions(file, fs::perms(0606));
  EXPECT_EQ(cache.Load("key"), std::nullopt);
  EXPECT_THAT(cache.List().at(0).fault, HasSubstr("others may write"));
  cache.Store("key", "better");  // replaced by one of ours
  EXPECT_EQ(cache.Load("key"), "better");
  EXPECT_EQ(ModeOf(file), 0600u);
  EXPECT_EQ(warnings.lines.size(), 1u);
}

TEST_F(Disk, FilesAndFoldersOfOthersAreNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const Warnings warnings;
  DiskCache(path_).Store("key", "payload");
  const fs::path file = OnlyFile();
  ASSERT_EQ(chown(file.c_str(), 4321, 4321), 0);
  EXPECT_EQ(DiskCache(path_).Load("key"), std::nullopt);
  ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
  EXPECT_EQ(DiskCache(path_).Load("key"), "payload");
  ASSERT_EQ(chown(path_.c_str(), 4321, 4321), 0);
  EXPECT_EQ(DiskCache(path_).Load("key"), std::nullopt);
  ASSERT_EQ(warnings.lines.size(), 2u);
  for (const std::string& line : warnings.lines) EXPECT_THAT(line, HasSubstr("user 4321 owns it"));
}

TEST_F(Disk, LinksAndPipesAreNotFollowed) {
  const Warnings warnings;
  DiskCache cache(path_);
  cache.Store("key", "payload");
  const fs::path file = OnlyFile(), aside = parent_.path() + "/aside";
  fs::rename(file, aside);
  const std::string before = ReadAll(aside);
  fs::create_symlink(aside, file);
  EXPECT_EQ(DiskCache(path_).Load("key"), std::nullopt);
  cache.Store("key", "other");
  EXPECT_EQ(ReadAll(aside), before) << "not written through the link";
  EXPECT_EQ(cache.Load("key"), "other");
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(DiskCache(path_).Load("key"), std::nullopt) << "and does not wait for a writer";
  EXPECT_EQ(warnings.lines.size(), 2u);
}

TEST_F(Disk, AFileIsNeverWrittenInPlace) {
  DiskCache cache(path_);
  cache.Store("key", "one");
  const fs::path file = OnlyFile(), reader = parent_.path() + "/reader";
  fs::create_hard_link(file, reader);  // what another process has open
  const std::string before = ReadAll(reader);
  cache.Store("key", "two");
  EXPECT_EQ(ReadAll(reader), before);
  EXPECT_EQ(cache.Load("key"), "two");
}

TEST_F(Disk, AKilledWriterLeavesNothingBehind) {
  DiskCache cache(path_);
  cache.Store("before", "payload");
  const pid_t child = fork();
  if (child == 0) {
    // The system ends the process in the middle of its file.
    signal(SIGXFSZ, SIG_DFL);
    const rlimit no_core = {0, 0}, small = {1000, 1000};
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_FSIZE, &small);
    cache.Store("key", std::string(100000, 'x'));
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
  EXPECT_EQ(cache.Load("key"), std::nullopt);
  const auto entries = cache.List();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(std::count_if(entries.begin(), entries.end(),
                          [](const auto& e) {
                            return e.fault == "left by a process that was killed" &&
                                   e.bytes == 1000;
                          }),
            1);
  // One that is being written stays.
  const std::string written = path_ + "/tmp.1.1";
  const int file = open(written.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  cache.Store("key", "payload");
  EXPECT_EQ(cache.Load("key"), "payload");
  EXPECT_EQ(cache.List().size(), 3u);
  EXPECT_TRUE(fs::exists(written));
  close(file);
  cache.Store("key", "payload");
  EXPECT_FALSE(fs::exists(written));
}

/// Writers and readers of the same few files, whose folder is too small for all, and one of whom is
/// killed: what is loaded is what somebody stored under that key.
TEST_F(Disk, SeveralProcessesAtOnce) {
  constexpr int kProcesses = 4, kKeys = 6;
  const auto key_of = [](int k) { return "key " + std::to_string(k); };
  const auto payload_of = [](int k, int round) {
    return std::to_string(k) + ":" +
           std::string(static_cast<size_t>(20000 + round), static_cast<char>('a' + k));
  };
  const auto is_whole = [&](int k, const std::string& payload) {
    const std::string head = std::to_string(k) + ":";
    return payload.rfind(head, 0) == 0 && payload.size() >= 20000 &&
           payload.find_first_not_of(static_cast<char>('a' + k), head.size()) == std::string::npos;
  };
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      DiskCache cache(path_, 100000);
      int loaded = 0;
      for (int round = 0; round < 150 || p == 0; ++round) {  // the first one goes on until killed
        const int k = (round * 7 + p) % kKeys;
        cache.Store(key_of(k), payload_of(k, round));
        const int other = (round * 5 + p) % kKeys;
        const auto found = cache.Load(key_of(other));
        if (found && !is_whole(other, *found)) _exit(1);
        loaded += found.has_value();
      }
      _exit(loaded > 0 ? 0 : 2);
    }
    children.push_back(child);
  }
  int status = 0;
  for (int p = 1; p < kProcesses; ++p) {
    ASSERT_EQ(waitpid(children[static_cast<size_t>(p)], &status, 0),
              children[static_cast<size_t>(p)]);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << p << ": " << status;
  }
  kill(children[0], SIGKILL);
  ASSERT_EQ(waitpid(children[0], &status, 0), children[0]);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  DiskCache cache(path_, 100000);
  cache.Store(key_of(0), payload_of(0, 1));
  EXPECT_EQ(cache.Load(key_of(0)), payload_of(0, 1));
  uint64_t bytes = 0;
  for (const auto& entry : cache.List()) {
    EXPECT_EQ(entry.fault, "") << entry.file;
    bytes += entry.bytes;
  }
  EXPECT_LE(bytes, 100000u);
}

TEST_F(Disk, TheLeastRecentlyUsedGoFirst) {
  DiskCache cache(path_, 3000);
  const std::string payload(800, 'x');
  for (const char* key : {"a", "b", "c"}) cache.Store(key, payload);
  int64_t at = 1000;
  for (const auto& e : cache.List()) SetUsed(path_ + "/" + e.file, at++);
  std::vector<std::string> keys;  // the latest first
  for (const auto& e : cache.List()) keys.push_back(e.key);
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(cache.Load(keys[2]), payload);  // the oldest is used, so the next oldest goes
  cache.Store("d", payload);
  EXPECT_EQ(cache.Load(keys[1]), std::nullopt);
  for (const std::string& key : {keys[0], keys[2], std::string("d")})
    EXPECT_EQ(cache.Load(key), payload);
}

TEST_F(Disk, ListAndClear) {
  DiskCache cache(path_);
  EXPECT_TRUE(cache.List().empty());
  EXPECT_EQ(cache.Clear(), 0u);
  cache.Store("a", "payload");
  cache.Store("b", "payload");
  std::ofstream(path_ + "/mine.txt") << "not of the cache";
  const auto entries = cache.List();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].fault, "");
  EXPECT_GT(entries[0].bytes, 7u);
  std::ofstream(path_ + "/" + entries[0].file, std::ios::app) << "more";
  size_t damaged = 0;
  for (const auto& e : cache.List()) damaged += e.fault == "damaged";
  EXPECT_EQ(damaged, 1u);
  EXPECT_EQ(cache.Clear(), 2u);
  EXPECT_EQ(OnlyFile().filename(), "mine.txt");
}

}  // namespace
}  // namespace tim::vx::opencl
