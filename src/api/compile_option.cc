// CompileOption: an immutable set of choices; each setter makes a new one, so copies never meet.
#include "tim/vx/compile_option.h"

#include <algorithm>

namespace tim::vx {

struct CompileOption::Impl {
  bool relax = false;
  bool fusion = true;
  Fallback fallback = Fallback::kWarn;
  std::vector<std::pair<std::string, std::string>> pins;
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

CompileOption& CompileOption::SetFusion(bool enable) {
  Change().fusion = enable;
  return *this;
}

bool CompileOption::Fusion() const { return Get().fusion; }

}  // namespace tim::vx
