// Kernel signatures: see signature.h.
#include "backends/opencl/run/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <sstream>

#include "backends/opencl/run/cl_error.h"

namespace tim::vx::opencl {
namespace {

struct ClType {
  const char* name;
  size_t bytes;
};
constexpr std::array<ClType, 13> kClTypes = {{{"bool", 1},
                                              {"char", 1},
                                              {"uchar", 1},
                                              {"short", 2},
                                              {"ushort", 2},
                                              {"half", 2},
                                              {"int", 4},
                                              {"uint", 4},
                                              {"float", 4},
                                              {"long", 8},
                                              {"ulong", 8},
                                              {"double", 8},
                                              {"unsigned", 4}}};

bool InWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (InWord(text[i]) && end < text.size() && InWord(text[end])) ++end;
    words.push_back(text.substr(i, end - i));
    i = end;
  }
  return words;
}

/// One spelling of each type: "unsigned int" and "unsigned" become "uint".
std::string Canonical(const std::string& name) {
  std::string plain;
  bool is_unsigned = false;
  for (const std::string& word : WordsOf(name)) {
    if (word == "unsigned") {
      is_unsigned = true;
    } else if (word != "signed" && word != "const" && word != "volatile" &&
               !(word == "int" && !plain.empty())) {  // "long int"
      plain = word;
    }
  }
  if (plain.empty()) plain = "int";
  return is_unsigned ? "u" + plain : plain;
}

/// Without comments, string contents and directives; the length and the lines stay.
std::string Bare(std::string text) {
  enum { kCode, kLine, kBlock, kString, kDirective } state = kCode;
  bool line_start = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\n') {
      const bool continued = state == kDirective && i > 0 && text[i - 1] == '\\';
      if (state != kBlock && !continued) state = kCode;
      line_start = true;
      continue;
    }
    if (state == kCode) {
      if (c == '/' && next == '/') state = kLine;
      if (c == '/' && next == '*') state = kBlock;
      if (c == '"') state = kString;
      if (c == '#' && line_start) state = kDirective;
      if (!std::isspace(static_cast<unsigned char>(c))) line_start = false;
      if (state == kCode) continue;
      text[i] = ' ';
      if (state == kBlock) text[++i] = ' ';
      continue;
    }
    const bool ends =
        (state == kBlock && c == '*' && next == '/') || (state == kString && c == '"');
    text[i] = ' ';
    if (ends && state == kBlock) text[++i] = ' ';
    if (ends) state = kCode;
  }
  return text;
}

bool OneOf(const std::string& word, std::initializer_list<const char*> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::optional<Parameter> ParseParameter(const std::string& text) {
  Parameter p;
  std::vector<std::string> type;
  bool pointer = false, local = false, constant_or_global = false;
  for (const std::string& word : WordsOf(text)) {
    if (word == "*") {
      if (pointer) return std::nullopt;
      pointer = true;
    } else if (OneOf(word, {"__global", "global", "__constant", "constant"})) {
      constant_or_global = true;
    } else if (OneOf(word, {"__local", "local"})) {
      local = true;
    } else if (OneOf(word, {"__private", "private", "__read_only", "read_only", "__write_only",
                            "write_only", "__read_write", "read_write", "const", "restrict",
                            "__restrict", "volatile"})) {
      continue;
    } else if (InWord(word[0])) {
      type.push_back(word);
    } else {
      return std::nullopt;  // a macro's brackets, an array: not for us
    }
  }
  if (type.size() < 2) return std::nullopt;
  p.name = type.back();
  type.pop_back();
  std::string joined;
  for (const std::string& word : type) joined += (joined.empty() ? "" : " ") + word;
  p.type = Canonical(joined);
  if (p.type == "image2d_t" || p.type == "image2d_array_t") {
    p.kind = p.type == "image2d_t" ? ParameterKind::kImage2d : ParameterKind::kImage2dArray;
  } else if (p.type.compare(0, 5, "image") == 0 || p.type == "sampler_t") {
    p.kind = ParameterKind::kOther;
  } else if (pointer != (local || constant_or_global)) {
    return std::nullopt;
  } else {
    p.kind = local     ? ParameterKind::kLocal
             : pointer ? ParameterKind::kBuffer
                       : ParameterKind::kValue;
  }
  return p;
}

/// What the op passes, in words.
std::string Passed(const Arg& arg) {
  switch (arg.kind) {
    case Arg::Kind::kScalar:
      return (arg.type_name.empty() ? fmt::format("{} bytes", arg.bytes) : arg.type_name) +
             (arg.what.empty() ? "" : " " + arg.what);
    case Arg::Kind::kLocal:
      return fmt::format("{} bytes of local memory", arg.bytes);
    default:
      return arg.what.empty() ? "memory" : arg.what;
  }
}

/// Why parameter `p` cannot receive `arg`; "": it can.
std::string Misfit(const Arg& arg, const Parameter& p) {
  if (p.kind == ParameterKind::kOther) return "no argument can be a " + p.type;
  switch (arg.kind) {
    case Arg::Kind::kScalar: {
      if (p.kind != ParameterKind::kValue) return "a value against memory";
      const size_t bytes = SizeOfClType(p.type);
      return bytes == 0 || bytes == arg.bytes
                 ? ""
                 : fmt::format("{} bytes against {}", arg.bytes, bytes);
    }
    case Arg::Kind::kLocal:
      return p.kind == ParameterKind::kLocal ? "" : "local memory against something else";
    default:
      if (p.kind == ParameterKind::kValue) return "memory against a value";
      if (p.kind == ParameterKind::kLocal) return "memory against local memory";
      return "";
  }
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n" + line;
  return text;
}

}  // namespace

std::string Parameter::ToString() const {
  const std::string tail = name.empty() ? "" : " " + name;
  switch (kind) {
    case ParameterKind::kBuffer:
      return "__global " + type + "*" + tail;
    case ParameterKind::kLocal:
      return "__local " + type + "*" + tail;
    case ParameterKind::kImage2d:
      return "image2d_t" + tail;
    case ParameterKind::kImage2dArray:
      return "image2d_array_t" + tail;
    default:
      return type + tail;
  }
}

size_t SizeOfClType(const std::string& name) {
  std::string base = Canonical(name);
  size_t digits = base.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(base[digits - 1]))) --digits;
  const std::string count = base.substr(digits);
  base.resize(digits);
  size_t elements = 1;
  if (!count.empty()) {
    if (!OneOf(count, {"2", "3", "4", "8", "16"}) || base == "bool") return 0;
    elements = count == "3" ? 4 : std::stoul(count);
  }
  for (const ClType& t : kClTypes) {
    if (base == t.name) return t.bytes * elements;
  }
  return 0;
}

std::optional<Signature> ParseSignature(const std::string& source, const std::string& function) {
  const std::string text = Bare(source);
  for (size_t at = text.find(function); at != std::string::npos;
       at = text.find(function, at + function.size())) {
    size_t open = at + function.size();
    if ((at > 0 && InWord(text[at - 1])) || (open < text.size() && InWord(text[open]))) continue;
    while (open < text.size() && std::isspace(static_cast<unsigned char>(text[open]))) ++open;
    if (open == text.size() || text[open] != '(') continue;
    // The words since the statement before: a kernel returns void and says what it is.
    const size_t before = text.find_last_of(";{}", at);
    const auto head = WordsOf(text.substr(before == std::string::npos ? 0 : before + 1,
                                          at - (before == std::string::npos ? 0 : before + 1)));
    if (std::none_of(head.begin(), head.end(),
                     [](const std::string& w) { return w == "kernel" || w == "__kernel"; })) {
      continue;
    }
    const size_t close = text.find(')', open);
    if (close == std::string::npos) return std::nullopt;
    const std::string list = text.substr(open + 1, close - open - 1);
    Signature signature;
    if (const auto words = WordsOf(list);
        words.empty() || (words.size() == 1 && words[0] == "void"))
      return signature;
    std::istringstream parameters(list);
    for (std::string one; std::getline(parameters, one, ',');) {
      auto p = ParseParameter(one);
      if (!p) return std::nullopt;
      signature.push_back(std::move(*p));
    }
    return signature;
  }
  return std::nullopt;
}

Result<Signature> ReadSignature(const cl::Kernel& kernel, const std::string& function,
                                const std::string& source) {
  cl_int error = CL_SUCCESS;
  const auto count = kernel.getInfo<CL_KERNEL_NUM_ARGS>(&error);
  TIMCL_TRY(ClStatus(error, "clGetKernelInfo", function));
  // Drivers end some texts with a zero byte.
  const auto text = [](std::string s) {
    s.erase(std::find(s.begin(), s.end(), '\0'), s.end());
    return s;
  };
  Signature signature(count);
  for (cl_uint i = 0; i < count && error == CL_SUCCESS; ++i) {
    Parameter& p = signature[i];
    std::string type = text(kernel.getArgInfo<CL_KERNEL_ARG_TYPE_NAME>(i, &error));
    if (error != CL_SUCCESS) break;
    const auto address = kernel.getArgInfo<CL_KERNEL_ARG_ADDRESS_QUALIFIER>(i, &error);
    if (error != CL_SUCCESS) break;
    cl_int no_name = CL_SUCCESS;
    p.name = text(kernel.getArgInfo<CL_KERNEL_ARG_NAME>(i, &no_name));
    while (!type.empty() && (type.back() == '*' || type.back() == ' ')) type.pop_back();
    p.type = Canonical(type);
    if (p.type == "timcl_image2d_array") {
      p.kind = ParameterKind::kImage2dArray;
    } else if (p.type == "timcl_image2d") {
      p.kind = ParameterKind::kImage2d;
    } else if (p.type == "sampler_t" || (p.type.compare(0, 5, "image") == 0 &&
                                         p.type.compare(p.type.size() - 2, 2, "_t") == 0)) {
      p.kind = ParameterKind::kOther;
    } else {
      p.kind = address == CL_KERNEL_ARG_ADDRESS_PRIVATE ? ParameterKind::kValue
               : address == CL_KERNEL_ARG_ADDRESS_LOCAL ? ParameterKind::kLocal
                                                        : ParameterKind::kBuffer;
    }
  }
  if (error == CL_SUCCESS) return signature;
  auto parsed = ParseSignature(source, function);
  if (parsed && parsed->size() == count) return std::move(*parsed);
  return Status::Error(
      Code::kUnsupported,
      fmt::format("the driver does not tell the parameters of kernel function '{}' ({}), and its "
                  "text is not understood: write them without macros",
                  function, ClErrorName(error)));
}

std::string CompareSignature(const std::string& function, const std::vector<Arg>& passed,
                             const Signature& declared) {
  const size_t rows = std::max(passed.size(), declared.size());
  std::vector<std::array<std::string, 3>> table = {{"the op passes", "the kernel declares", ""}};
  std::string first;
  for (size_t i = 0; i < rows; ++i) {
    std::array<std::string, 3> row;
    row[0] = i < passed.size() ? Passed(passed[i]) : "(nothing)";
    row[1] = i < declared.size() ? declared[i].ToString() : "(nothing)";
    if (i < passed.size() && i < declared.size()) row[2] = Misfit(passed[i], declared[i]);
    if (first.empty() && !row[2].empty()) {
      first = fmt::format("parameter {} of kernel function '{}' is '{}', but the op passes {}: {}",
                          i, function, row[1], row[0], row[2]);
    }
    table.push_back(std::move(row));
  }
  if (passed.size() != declared.size()) {
    first = fmt::format(
        "kernel function '{}' has {} parameters, but {} arguments are passed (inputs, outputs, "
        "then scalars)",
        function, declared.size(), passed.size());
  }
  if (first.empty()) return "";
  std::array<size_t, 2> width{};
  for (const auto& row : table) {
    for (size_t c = 0; c < 2; ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < table.size(); ++i) {
    const auto& row = table[i];
    std::string line =
        fmt::format("  {:>3}  {:<{}}  {:<{}}{}", i == 0 ? "" : std::to_string(i - 1), row[0],
                    width[0], row[1], width[1], row[2].empty() ? "" : "  <- " + row[2]);
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return first + Join(lines);
}

std::vector<std::string> DoubtsOf(const std::vector<Arg>& passed, const Signature& declared) {
  const auto real = [](const std::string& type) {
    return OneOf(type.substr(0, type.find_first_of("0123456789")), {"half", "float", "double"});
  };
  std::vector<std::string> doubts;
  for (size_t i = 0; i < std::min(passed.size(), declared.size()); ++i) {
    const Arg& arg = passed[i];
    const Parameter& p = declared[i];
    if (p.kind == ParameterKind::kBuffer && arg.type.dtype != DataType::UNKNOWN &&
        arg.type.count() > 0) {
      // Vectors are read where there are as many elements; what is pointed to may be smaller.
      const size_t wanted = SizeOfClType(p.type.substr(0, p.type.find_first_of("0123456789"))),
                   has = arg.type.bytes() / static_cast<size_t>(arg.type.count());
      if (wanted > has) {
        doubts.push_back(
            fmt::format("parameter {} is '{}', but the op passes {}: its elements have {}, not {} "
                        "bytes",
                        i, p.ToString(), Passed(arg), has, wanted));
      }
      continue;
    }
    if (arg.kind != Arg::Kind::kScalar || arg.type_name.empty() || SizeOfClType(p.type) == 0)
      continue;
    // 16 bits may well be the bits of a half, where the device has no such type.
    if (real(arg.type_name) == real(p.type) || p.type == "ushort") continue;
    doubts.push_back(
        fmt::format("parameter {} is '{}', but the op passes {}: its bits are taken as they are", i,
                    p.ToString(), Passed(arg)));
  }
  return doubts;
}

}  // namespace tim::vx::opencl
