// CompileOption: an immutable set of choices; each setter makes a new one, so copies never meet.
#include "tim/vx/compile_option.h"

#include <algorithm>

namespace tim::vx {

struct CompileOption::Impl {
  bool relax = false;
  bool fusion = true;
  Fallback fallback = Fallback::kWarn;
  std::vector<std::pair<std::string, std::string>> pins, excludes;
  PartitionStrategy strategy = PartitionStrategy::kConvex;
  size_t max_partitions = 0, min_ops = 1;
  Target target;
  struct Choice {
    std::string backend, key, value;
  };
  std::vector<Choice> choices;
  std::vector<NamedAsset> assets;
  std::function<void(const CompileProgress&)> progress;
};

constinit CompileOption CompileOption::DefaultOptions;

CompileOption::~CompileOption() = default;
CompileOption::CompileOption(const CompileOption& other) = default;
CompileOption::CompileOption(CompileOption&& other) noexcept = default;
CompileOption& CompileOption::operator=(const CompileOption& other) = default;
CompileOption& CompileOption::operator=(CompileOption&& other) noexcept = default;

const CompileOption::Impl& CompileOption::Get() const {
  static const Impl defaults;
  return impl_ ? *impl_ : defaults;
}

CompileOption::Impl& CompileOption::Change() {
  auto own = std::make_shared<Impl>(Get());
  Impl& impl = *own;
  impl_ = std::move(own);
  return impl;
}

bool CompileOption::isRelaxMode() const { return Get().relax; }

bool CompileOption::setRelaxMode(bool enable) {
  Change().relax = enable;
  return enable;
}

CompileOption& CompileOption::SetFallback(Fallback fallback) {
  Change().fallback = fallback;
  return *this;
}

Fallback CompileOption::GetFallback() const { return Get().fallback; }

CompileOption& CompileOption::Pin(const std::string& op_name_or_kind, const std::string& backend) {
  auto& pins = Change().pins;
  const auto at = std::find_if(pins.begin(), pins.end(),
                               [&](const auto& pin) { return pin.first == op_name_or_kind; });
  if (at != pins.end()) {
    at->second = backend;
  } else {
    pins.emplace_back(op_name_or_kind, backend);
  }
  return *this;
}

const std::vector<std::pair<std::string, std::string>>& CompileOption::Pins() const {
  return Get().pins;
}

CompileOption& CompileOption::Exclude(const std::string& op_name_or_kind,
                                      const std::string& backend) {
  auto& excludes = Change().excludes;
  const std::pair<std::string, std::string> one(op_name_or_kind, backend);
  if (std::find(excludes.begin(), excludes.end(), one) == excludes.end()) excludes.push_back(one);
  return *this;
}

const std::vector<std::pair<std::string, std::string>>& CompileOption::Excludes() const {
  return Get().excludes;
}

CompileOption& CompileOption::SetPartition(PartitionStrategy strategy, size_t max_partitions,
                                           size_t min_ops) {
  Impl& impl = Change();
  impl.strategy = strategy;
  impl.max_partitions = max_partitions;
  impl.min_ops = min_ops;
  return *this;
}

PartitionStrategy CompileOption::GetPartitionStrategy() const { return Get().strategy; }
size_t CompileOption::MaxPartitions() const { return Get().max_partitions; }
size_t CompileOption::MinOps() const { return Get().min_ops; }

CompileOption& CompileOption::SetTarget(const Target& target) {
  Change().target = target;
  return *this;
}

const Target& CompileOption::GetTarget() const { return Get().target; }

CompileOption& CompileOption::SetOption(const std::string& backend, const std::string& key,
                                        const std::string& value) {
  auto& choices = Change().choices;
  const auto at = std::find_if(choices.begin(), choices.end(), [&](const Impl::Choice& c) {
    return c.backend == backend && c.key == key;
  });
  if (at != choices.end()) {
    at->value = value;
  } else {
    choices.push_back({backend, key, value});
  }
  return *this;
}

std::vector<std::pair<std::string, std::string>> CompileOption::OptionsFor(
    const std::string& backend) const {
  std::vector<std::pair<std::string, std::string>> found;
  // What is said to all comes first: a backend's own value replaces it.
  for (const std::string& whose : {std::string("*"), backend}) {
    for (const Impl::Choice& c : Get().choices) {
      if (c.backend != whose) continue;
      const auto at = std::find_if(found.begin(), found.end(),
                                   [&](const auto& have) { return have.first == c.key; });
      if (at != found.end()) {
        at->second = c.value;
      } else {
        found.emplace_back(c.key, c.value);
      }
    }
  }
  return found;
}

CompileOption& CompileOption::AddAsset(const std::string& name, const std::string& path) {
  Change().assets.push_back({name, path, nullptr});
  return *this;
}

CompileOption& CompileOption::AddAsset(const std::string& name, const void* data, size_t bytes) {
  const char* const begin = static_cast<const char*>(data);
  Change().assets.push_back(
      {name, "", std::make_shared<const std::vector<char>>(begin, begin + bytes)});
  return *this;
}

const std::vector<CompileOption::NamedAsset>& CompileOption::Assets() const { return Get().assets; }

CompileOption& CompileOption::SetFusion(bool enable) {
  Change().fusion = enable;
  return *this;
}

bool CompileOption::Fusion() const { return Get().fusion; }

CompileOption& CompileOption::SetProgress(std::function<void(const CompileProgress&)> progress) {
  Change().progress = std::move(progress);
  return *this;
}

const std::function<void(const CompileProgress&)>& CompileOption::Progress() const {
  return Get().progress;
}

}  // namespace tim::vx
