// timcl cache: looks into the files of compiled programs, ours and PoCL's own.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/disk_cache.h"
#include "base/env.h"
#include "tools/tools.h"

namespace tim::vx::tools {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string of = "all";
};

std::string KiB(uint64_t bytes) { return fmt::format("{} KiB", (bytes + 1023) / 1024); }
std::string Day(int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

/// The rest of the line of a key that begins with `what`.
std::string LineOf(const std::string& key, std::string_view what) {
  for (size_t at = 0; at < key.size();) {
    const size_t end = std::min(key.find('\n', at), key.size());
    const std::string_view line(key.data() + at, end - at);
    if (line.starts_with(what)) return std::string(line.substr(what.size()));
    at = end + 1;
  }
  return "";
}

/// What a key stands for: programs of kernels, or what a vendor's compiler made.
std::string WhatOf(const std::string& key) {
  const std::string units = LineOf(key, "units ");
  return units.empty() ? fmt::format("{}: {}", LineOf(key, "device "), LineOf(key, "kernels "))
                       : units;
}

/// One program of PoCL: a folder <2 letters>/<name> with program.bc and a folder per kernel.
struct PoclProgram {
  fs::path folder;
  uint64_t bytes = 0;
  size_t files = 0;
  int64_t used_at = 0;
  std::string fault;
};

bool AreLetters(const std::string& name) {
  return !name.empty() && name.find_first_not_of("ABCDEFGHIJKLMNOP") == std::string::npos;
}

/// Only what looks like PoCL's: the variable may name a folder where other things lie too.
std::vector<PoclProgram> ProgramsOfPocl(const std::string& top) {
  std::vector<PoclProgram> programs;
  std::error_code error;
  for (const auto& outer : fs::directory_iterator(top, error)) {
    const std::string two = outer.path().filename().string();
    if (two.size() != 2 || !AreLetters(two) || !outer.is_directory(error)) continue;
    for (const auto& inner : fs::directory_iterator(outer.path(), error)) {
      if (!AreLetters(inner.path().filename().string()) || !inner.is_directory(error)) continue;
      PoclProgram p;
      p.folder = inner.path();
      if (!fs::exists(p.folder / "program.bc", error)) p.fault = "it has no program.bc";
      for (const auto& file : fs::recursive_directory_iterator(p.folder, error)) {
        struct stat s {};
        if (lstat(file.path().c_str(), &s) != 0 || S_ISDIR(s.st_mode)) continue;
        ++p.files;
        p.bytes += static_cast<uint64_t>(s.st_size);
        p.used_at = std::max<int64_t>(p.used_at, s.st_mtim.tv_sec);
        const std::string name = file.path().lexically_relative(p.folder).string();
        if (s.st_uid != geteuid()) {
          p.fault = fmt::format("{}: user {} owns it", name, s.st_uid);
        } else if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
          p.fault = fmt::format("{}: others may write it", name);
        } else if (s.st_size == 0 && name.ends_with(".so")) {
          p.fault = fmt::format("{}: it is empty", name);
        }
      }
      programs.push_back(std::move(p));
    }
  }
  std::sort(programs.begin(), programs.end(),
            [](const PoclProgram& a, const PoclProgram& b) { return a.used_at > b.used_at; });
  return programs;
}

/// What processes that were killed left in PoCL's folder, or living ones are writing.
std::vector<fs::path> TemporariesOfPocl(const std::string& top) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(top, error)) {
    if (entry.path().filename().string().starts_with("tempfile")) found.push_back(entry.path());
  }
  return found;
}

class Work {
 public:
  explicit Work(const Options& options)
      : ours_(options.of == "pocl" ? "" : base::Environment::Process().CacheDir()),
        pocl_(options.of == "timcl" ? "" : base::Environment::Process().PoclCacheDir()) {}

  int List() {
    if (ours_.enabled()) {
      const auto entries = ours_.List();
      uint64_t bytes = 0;
      for (const auto& e : entries) bytes += e.bytes;
      fmt::print("timcl {}: {} programs, {} of at most {}\n", ours_.folder(), entries.size(),
                 KiB(bytes), KiB(base::DiskCache::kLimitBytes));
      for (const auto& e : entries) {
        fmt::print("  {}  {:>10}  {}  {}\n", Day(e.used_at), KiB(e.bytes), e.file,
                   e.fault.empty() ? WhatOf(e.key) : "not used: " + e.fault);
      }
    }
    if (!pocl_.empty()) {
      const auto programs = ProgramsOfPocl(pocl_);
      uint64_t bytes = 0;
      for (const PoclProgram& p : programs) bytes += p.bytes;
      fmt::print("PoCL {}: {} programs, {}\n", pocl_, programs.size(), KiB(bytes));
      for (const PoclProgram& p : programs) {
        fmt::print("  {}  {:>10}  {}  {} files{}\n", Day(p.used_at), KiB(p.bytes),
                   p.folder.lexically_relative(pocl_).string(), p.files,
                   p.fault.empty() ? "" : ", " + p.fault);
      }
    }
    return 0;
  }

  int Clear() {
    if (ours_.enabled()) {
      const size_t removed = ours_.Clear();
      fmt::print("timcl {}: {} files removed\n", ours_.folder(), removed);
    }
    if (!pocl_.empty()) {
      size_t removed = 0;
      std::error_code error;
      for (const PoclProgram& p : ProgramsOfPocl(pocl_)) {
        if (fs::remove_all(p.folder, error) != static_cast<std::uintmax_t>(-1)) ++removed;
        fs::remove(p.folder.parent_path(), error);  // once it is empty
      }
      for (const fs::path& p : TemporariesOfPocl(pocl_)) fs::remove_all(p, error);
      fmt::print("PoCL {}: {} programs removed\n", pocl_, removed);
    }
    return 0;
  }

  int Verify() {
    size_t faults = 0;
    if (ours_.enabled()) {
      const auto entries = ours_.List();
      for (const auto& e : entries) {
        if (e.fault.empty()) continue;
        ++faults;
        fmt::print("timcl {}/{}: {}\n", ours_.folder(), e.file, e.fault);
      }
      fmt::print("timcl {}: {} programs looked at\n", ours_.folder(), entries.size());
    }
    if (!pocl_.empty()) {
      const auto programs = ProgramsOfPocl(pocl_);
      for (const PoclProgram& p : programs) {
        if (p.fault.empty()) continue;
        ++faults;
        fmt::print("PoCL {}: {}\n", p.folder.string(), p.fault);
      }
      fmt::print("PoCL {}: {} programs looked at\n", pocl_, programs.size());
    }
    if (faults == 0) return 0;
    fmt::print(stderr, "{} cannot be used; `timcl cache clear` removes all\n", faults);
    return 1;
  }

 private:
  base::DiskCache ours_;
  std::string pocl_;
};

}  // namespace

Command AddCache(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("cache",
                                     "The files of compiled programs: ours (TIMCL_CACHE_DIR), used "
                                     "where the driver keeps none, and "
                                     "PoCL's own (POCL_CACHE_DIR).");
  sub->require_subcommand(1);
  CLI::App* list = sub->add_subcommand("list", "What is there, the last used first");
  CLI::App* clear = sub->add_subcommand("clear", "Removes all of it; programs are compiled anew");
  CLI::App* verify = sub->add_subcommand(
      "verify",
      "Looks for damaged files and for files that others may write. Exit status 1 when there are "
      "any.");
  for (CLI::App* one : {list, clear, verify}) {
    one->add_option("--of", options->of, "timcl, pocl or all")
        ->check(CLI::IsMember({"timcl", "pocl", "all"}));
  }
  return [options, list, clear] {
    Work work(*options);
    return list->parsed() ? work.List() : clear->parsed() ? work.Clear() : work.Verify();
  };
}

}  // namespace tim::vx::tools
