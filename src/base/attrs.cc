// AttrMap: attributes by name, and their text form.
#include "tim/vx/attrs.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tim::vx {
namespace {

std::string Number(double d) {
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  if (std::isnan(d)) return "nan";
  std::string s = fmt::format("{}", d);
  // A double always reads back as a double.
  if (s.find_first_of(".en") == std::string::npos) s += ".0";
  return s;
}

std::string Text(const AttrValue& v) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return Number(d); }
    std::string operator()(const std::string& s) const {
      std::string out = "\"";
      for (char c : s) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n') {
          out += "\\n";
        } else {
          out += c;
        }
      }
      return out + '"';
    }
    std::string operator()(const std::vector<int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ","));
    }
    std::string operator()(const std::vector<double>& v) const {
      std::string out = "f[";
      for (size_t i = 0; i < v.size(); ++i) out += (i ? "," : "") + Number(v[i]);
      return out + "]";
    }
    std::string operator()(const std::vector<std::byte>& v) const {
      std::string out = "x\"";
      for (std::byte b : v) out += fmt::format("{:02x}", static_cast<unsigned>(b));
      return out + '"';
    }
  };
  return std::visit(Visitor{}, v);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<AttrMap> Map() {
    AttrMap map;
    Skip();
    while (at_ < text_.size()) {
      const size_t start = at_;
      while (at_ < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
        ++at_;
      std::string name(text_.substr(start, at_ - start));
      if (name.empty() || !Take('=')) return Bad("expected name=value");
      TIMCL_ASSIGN(AttrValue v, Value());
      map.Set(std::move(name), std::move(v));
      Skip();
      if (at_ == text_.size()) break;
      if (!Take(',')) return Bad("expected ','");
      Skip();
    }
    return map;
  }

 private:
  Status Bad(const char* what) const {
    return Status::Error(Code::kInvalidArgument,
                         fmt::format("attributes, column {}: {}: '{}'", at_ + 1, what, text_));
  }
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view Word() {
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ']' && text_[at_] != ' ') ++at_;
    return text_.substr(start, at_ - start);
  }
  static bool Int(std::string_view w, int64_t* out) {
    const auto r = std::from_chars(w.data(), w.data() + w.size(), *out);
    return r.ec == std::errc() && r.ptr == w.data() + w.size();
  }
  static bool Real(std::string_view w, double* out) {
    const auto r = std::from_chars(w.data(), w.data() + w.size(), *out);
    return r.ec == std::errc() && r.ptr == w.data() + w.size();
  }

  Result<AttrValue> Value() {
    if (Take('[')) return List<int64_t>(Int);
    if (text_.substr(at_, 2) == "f[") return at_ += 2, List<double>(Real);
    if (text_.substr(at_, 2) == "x\"") {
      at_ += 2;
      std::vector<std::byte> bytes;
      while (!Take('"')) {
        unsigned b = 0;
        const char* p = text_.data() + at_;
        if (at_ + 2 > text_.size() || std::from_chars(p, p + 2, b, 16).ptr != p + 2)
          return Bad("expected hex bytes");
        bytes.push_back(static_cast<std::byte>(b));
        at_ += 2;
      }
      return AttrValue(std::move(bytes));
    }
    if (Take('"')) {
      std::string s;
      while (!Take('"')) {
        if (at_ >= text_.size()) return Bad("string without end");
        char c = text_[at_++];
        if (c == '\\' && at_ < text_.size()) {
          c = text_[at_++];
          if (c == 'n') c = '\n';
        }
        s += c;
      }
      return AttrValue(std::move(s));
    }
    const std::string_view w = Word();
    if (w == "true" || w == "false") return AttrValue(w == "true");
    if (w == "none") return AttrValue();
    int64_t i = 0;
    if (Int(w, &i)) return AttrValue(i);
    double d = 0;
    if (Real(w, &d)) return AttrValue(d);
    return Bad("expected a value");
  }

  template <class T>
  Result<AttrValue> List(bool (*one)(std::string_view, T*)) {
    std::vector<T> out;
    Skip();
    if (Take(']')) return AttrValue(std::move(out));
    while (true) {
      Skip();
      T v{};
      if (!one(Word(), &v)) return Bad("expected a number");
      out.push_back(v);
      Skip();
      if (Take(']')) return AttrValue(std::move(out));
      if (!Take(',')) return Bad("expected ',' or ']'");
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Status attrs_detail::NoAttribute(std::string_view name, const AttrMap& map) {
  return Status::Error(Code::kNotFound,
                       fmt::format("there is no attribute '{}' among ({})", name, map.ToText()));
}
Status attrs_detail::WrongKind(std::string_view name, const AttrMap& map) {
  return Status::Error(
      Code::kInvalidArgument,
      fmt::format("attribute '{}' is asked for as another kind than it has in ({})", name,
                  map.ToText()));
}

const AttrValue* AttrMap::Find(std::string_view name) const {
  for (const auto& [n, v] : entries_) {
    if (n == name) return &v;
  }
  return nullptr;
}

AttrMap& AttrMap::Set(std::string name, AttrValue value) {
  for (auto& [n, v] : entries_) {
    if (n == name) return v = std::move(value), *this;
  }
  entries_.emplace_back(std::move(name), std::move(value));
  return *this;
}

std::string AttrMap::ToText() const {
  std::string out;
  for (const auto& [n, v] : entries_) out += (out.empty() ? "" : ", ") + n + "=" + Text(v);
  return out;
}

Result<AttrMap> ParseAttrs(std::string_view text) { return Parser(text).Map(); }

const char* attrs_detail::EnumeratorName(EnumList list, int64_t value) {
  for (const EnumName& e : list) {
    if (e.value == value) return e.name;
  }
  return nullptr;
}
bool attrs_detail::EnumeratorValue(EnumList list, std::string_view name, int64_t* value) {
  for (const EnumName& e : list) {
    if (name == e.name) return *value = e.value, true;
  }
  return false;
}
std::string attrs_detail::EnumChoices(EnumList list) {
  std::string text = "one of";
  for (const EnumName& e : list) text += fmt::format(" {}", e.name);
  return text;
}

std::vector<std::string> attrs_detail::SplitNames(const char* text) {
  std::vector<std::string> names;
  std::string name;
  for (const char* p = text;; ++p) {
    if (*p == ',' || *p == 0) {
      if (!name.empty()) names.push_back(name);
      name.clear();
      if (*p == 0) return names;
    } else if (*p != ' ' && *p != '\n') {
      name += *p;
    }
  }
}

Result<AnyAttrs> AnyAttrs::From(const AttrSchema* schema, const AttrMap& map) {
  if (schema == nullptr) {
    if (map.size() == 0) return AnyAttrs();
    return Status::Error(
        Code::kInvalidArgument,
        fmt::format("unknown attribute '{}' (there are none)", map.begin()->first));
  }
  auto data = schema->from_map(map);
  if (!data.ok()) return data.status();
  return AnyAttrs(schema, std::move(*data));
}

}  // namespace tim::vx
