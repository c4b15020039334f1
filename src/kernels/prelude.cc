// The macros between a kernel's source and the types of its operands. tensor.clh explains what they
// mean.
#include "kernels/prelude.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "base/quant.h"
#include "kernels/embedded.h"

namespace tim::vx::kernels {
namespace {

const char* OpenClType(DataType dtype) {
  switch (dtype) {
    case DataType::INT4:
    case DataType::INT8:
    case DataType::BOOL8:
      return "char";
    case DataType::UINT4:
    case DataType::UINT8:
      return "uchar";
    case DataType::INT16:
      return "short";
    case DataType::UINT16:
      return "ushort";
    case DataType::INT32:
      return "int";
    case DataType::UINT32:
      return "uint";
    case DataType::INT64:
      return "long";
    case DataType::FLOAT16:
      return "half";
    case DataType::FLOAT32:
      return "float";
    default:
      return nullptr;
  }
}

bool IsAffine(const TensorType& t) { return t.quantized() && !t.per_channel(); }
bool IsByte(const TensorType& t) {
  return IsAffine(t) && (t.dtype == DataType::INT8 || t.dtype == DataType::UINT8);
}
/// Types whose limits chains of form kLanes bring along as parameters.
bool IsNarrow(const TensorType& t) {
  return IsByte(t) || (IsAffine(t) && t.dtype == DataType::INT16);
}
bool IsReal(const TensorType& t) {
  return t.dtype == DataType::FLOAT32 || t.dtype == DataType::FLOAT16;
}
/// What is added to an i8 value in blocks (tensor_form.h); 0 for all others.
int32_t BiasOf(const TensorType& t, TensorForm form) {
  return form != TensorForm::kPlain && t.dtype == DataType::INT8 && CanTake(t, form) ? 128 : 0;
}
bool IsPlainInteger(const TensorType& t) { return IsInteger(t.dtype) && !t.quantized(); }
ScalarArg Real(float f) { return {true, f, 0}; }
ScalarArg Int(int32_t i) { return {false, 0, i}; }

/// Limits as float literals. 32-bit types saturate in the conversion, since float cannot hold their
/// limits exactly.
std::string Limits(DataType dtype) {
  return fmt::format("{:.1f}f, {:.1f}f", static_cast<double>(LowestOf(dtype)),
                     static_cast<double>(HighestOf(dtype)));
}

/// The limits of stage `p` of a chain; in kernels of form kLanes they are parameters.
std::string LimitsOf(const TensorType& t, const std::string& p, bool lanes) {
  return lanes && IsNarrow(t) ? fmt::format("{0}_lo, {0}_hi", p) : Limits(t.dtype);
}

/// Limits as literals of long; "" for types that are no integer.
std::string IntegerLimits(DataType dtype) {
  switch (dtype) {
    case DataType::INT4:
      return "-8L, 7L";
    case DataType::UINT4:
      return "0L, 15L";
    case DataType::INT8:
    case DataType::BOOL8:
      return "-128L, 127L";
    case DataType::UINT8:
      return "0L, 255L";
    case DataType::INT16:
      return "-32768L, 32767L";
    case DataType::UINT16:
      return "0L, 65535L";
    case DataType::INT32:
      return "-2147483648L, 2147483647L";
    case DataType::UINT32:
      return "0L, 4294967295L";
    default:
      return "";
  }
}

/// Collects the macros of one variant; remembers their names for the #undef lines.
class Writer {
 public:
  void Define(const std::string& name, const std::string& args, const std::string& body) {
    text_ += fmt::format("#define {}{} {}\n", name, args, body);
    names_.push_back(name);
  }
  void Line(const std::string& line) { text_ += line + "\n"; }
  const std::string& text() const { return text_; }
  std::string Undefs() const {
    std::string out;
    for (const auto& n : names_) out += "#undef " + n + "\n";
    return out;
  }

 private:
  std::string text_;
  std::vector<std::string> names_;
};

/// An expression that rounds `v` to the type's own values: real in, real out. Parameters P_is, P_s,
/// P_z hold the quantization.
std::string Through(const TensorType& t, const std::string& p, const std::string& v, bool lanes) {
  if (t.dtype == DataType::FLOAT32) return v;
  if (t.dtype == DataType::FLOAT16) return fmt::format("timcl_through_half({})", v);
  if (!IsAffine(t))
    return fmt::format("(float)timcl_quantize({}, 1.0f, 0, {})", v, Limits(t.dtype));
  return fmt::format("timcl_dequantize(timcl_quantize({0}, {1}_is, {1}_z, {2}) - {1}_z, {1}_s)", v,
                     p, LimitsOf(t, p, lanes));
}
std::string SumThrough(const TensorType& t, const std::string& p, bool lanes) {
  if (!IsInteger(t.dtype)) return Through(t, p, "((float)(acc) * (m))", lanes);
  if (!IsAffine(t))
    return fmt::format("(float)timcl_quantize_sum((float)(acc), m, 0, {})", Limits(t.dtype));
  return fmt::format(
      "timcl_dequantize(timcl_quantize_sum((float)(acc), m, {0}_z, {1}) - {0}_z, {0}_s)", p,
      LimitsOf(t, p, lanes));
}

// The same of 16 numbers, for real types and narrow ones.
std::string ThroughLanes(const TensorType& t, const std::string& p, const std::string& v) {
  if (t.dtype == DataType::FLOAT32) return v;
  if (t.dtype == DataType::FLOAT16) return fmt::format("timcl_vthrough_half({})", v);
  return fmt::format(
      "timcl_vthrough(timcl_vquantize({0}, {1}_is, {1}_z), {1}_lo, {1}_hi, {1}_z, {1}_s)", v, p);
}
std::string SumThroughLanes(const TensorType& t, const std::string& p) {
  const std::string product = "(convert_float16(acc) * (m))";
  if (IsReal(t)) return ThroughLanes(t, p, product);
  return fmt::format("timcl_vthrough({0} + (float){1}_z, {1}_lo, {1}_hi, {1}_z, {1}_s)", product,
                     p);
}

/// A statement that stores the real number `v` as type t at Y[i].
/// `bias`: see BiasOf.
std::string StoreReal(const TensorType& t, const std::string& y, const std::string& p,
                      const std::string& v, int32_t bias, bool lanes) {
  if (t.dtype == DataType::FLOAT32) return fmt::format("{}[i] = {}", y, v);
  if (t.dtype == DataType::FLOAT16) return fmt::format("vstore_half_rte({}, i, {})", v, y);
  const char* type = OpenClType(t.dtype);
  const std::string quantization = IsAffine(t) ? fmt::format("{0}_is, {0}_z", p) : "1.0f, 0";
  // Wider than timcl_quantize's int.
  if (t.dtype == DataType::UINT32 && IsAffine(t))
    return fmt::format("{}[i] = timcl_quantize_uint({}, {})", y, v, quantization);
  if (t.dtype == DataType::UINT32 || t.dtype == DataType::INT64) {
    return fmt::format("{}[i] = convert_{}_sat(rint({}))", y, type, v);
  }
  if (bias != 0) {
    return fmt::format("{}[i] = (uchar)(timcl_quantize({}, {}, {}) + {})", y, v, quantization,
                       LimitsOf(t, p, lanes), bias);
  }
  return fmt::format("{}[i] = ({})timcl_quantize({}, {}, {})", y, type, v, quantization,
                     LimitsOf(t, p, lanes));
}

std::string StoreSum(const TensorType& t, const std::string& y, const std::string& p, int32_t bias,
                     bool lanes) {
  if (!IsInteger(t.dtype)) return StoreReal(t, y, p, "((float)(acc) * (m))", bias, lanes);
  const std::string rounded = fmt::format("timcl_quantize_sum((float)(acc), m, {}, {})",
                                          IsAffine(t) ? p + "_z" : "0", LimitsOf(t, p, lanes));
  return bias != 0 ? fmt::format("{}[i] = (uchar)({} + {})", y, rounded, bias)
                   : fmt::format("{}[i] = ({}){}", y, OpenClType(t.dtype), rounded);
}

/// The real number of element i of X, as acc_t.
std::string LoadText(const std::string& x, const TensorType& t, bool integer_math) {
  if (t.dtype == DataType::FLOAT16) return fmt::format("vload_half(i, {})", x);
  if (t.dtype == DataType::FLOAT32) return fmt::format("({}[i])", x);
  if (IsAffine(t)) return fmt::format("timcl_dequantize((int){0}[i] - {0}_z, {0}_s)", x);
  return fmt::format("(({}){}[i])", integer_math ? "long" : "float", x);
}

/// Sixteen neighbours from element i on, as int16 and as real numbers.
std::string RawLanes(const std::string& x, const TensorType& t) {
  if (t.dtype == DataType::INT16)
    return fmt::format("CONVERT_TO(int16, *(__global const timcl_shorts16*)({} + (i)))", x);
  const std::string bytes = fmt::format("TIMCL_BYTES({} + (i))", x);
  return t.dtype == DataType::INT8 ? "CONVERT_TO(int16, as_char16(" + bytes + "))"
                                   : "CONVERT_TO(int16, " + bytes + ")";
}
std::string LoadLanes(const std::string& x, const TensorType& t) {
  if (t.dtype == DataType::FLOAT32) return fmt::format("TIMCL_FLOATS({} + (i))", x);
  if (t.dtype == DataType::FLOAT16) return fmt::format("vload_half16(0, {} + (i))", x);
  return fmt::format("(CONVERT_TO(float16, {0} - {1}_z) * {1}_s)", RawLanes(x, t), x);
}

void WriteInput(Writer& w, const std::string& x, const TensorType& t, bool integer_math,
                bool shares, std::vector<ScalarArg>* args) {
  const char* type = OpenClType(t.dtype);
  w.Define(x + "_t", "", type);
  w.Define(x + "_HALF", "", t.dtype == DataType::FLOAT16 ? "1" : "0");
  w.Define(x + "_PASS", "", IsAffine(t) ? fmt::format("{0}, {0}_s, {0}_z", x) : x);
  const std::string pointer =
      fmt::format("__global const {}* {}{}", type, shares ? "" : "restrict ", x);
  if (IsAffine(t)) {
    w.Define(x + "_IN", "", fmt::format("{0}, float {1}_s, int {1}_z", pointer, x));
    *args = {Real(t.scale()), Int(t.zero_point())};
  } else {
    w.Define(x + "_IN", "", pointer);
  }
  if (IsInteger(t.dtype)) w.Define(x + "_RAW", "(i)", fmt::format("((int){}[i])", x));
  w.Define(x + "_ZP", "", IsAffine(t) ? x + "_z" : "0");
  if (t.per_channel()) return;  // its scales come as data; LOAD makes no sense
  w.Define(x + "_LOAD", "(i)", LoadText(x, t, integer_math));
  if (IsNarrow(t)) {
    w.Define(x + "_VRAW", "(i)", RawLanes(x, t));
    w.Define(x + "_VREAL", "(q)", fmt::format("(convert_float16((q) - {0}_z) * {0}_s)", x));
  }
  if (IsNarrow(t) || IsReal(t)) w.Define(x + "_VLOAD", "(i)", LoadLanes(x, t));
}

/// Whether `name` stands in the text as a word.
bool Mentions(const std::string& text, const std::string& name) {
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end])))
      return true;
  }
  return false;
}

/// The parameters of the chain fused behind output Y. The kernel has the same ones behind Y itself
/// and hands them on by name.
class ChainParams {
 public:
  void Tensor(const TensorType& t, const std::string& name) {
    tensors_ += fmt::format(", __global const {}* {}", OpenClType(t.dtype), name);
    tensor_names_ += ", " + name;
  }
  void Scalar(ScalarArg value, const std::string& name) {
    scalars_ += fmt::format(", {} {}", value.is_float ? "float" : "int", name);
    scalar_names_ += ", " + name;
    values_.push_back(value);
  }
  std::string parameters() const { return tensors_ + scalars_; }
  std::string names() const { return tensor_names_ + scalar_names_; }
  const std::vector<ScalarArg>& values() const { return values_; }

 private:
  std::string tensors_, tensor_names_, scalars_, scalar_names_;
  std::vector<ScalarArg> values_;
};

/// The parameters of LimitsOf.
void AddRange(const TensorType& t, const std::optional<Range>& range, const std::string& p,
              ChainParams* params) {
  if (!IsNarrow(t)) return;
  params->Scalar(Int(range ? range->lowest : static_cast<int32_t>(LowestOf(t.dtype))), p + "_lo");
  params->Scalar(Int(range ? range->highest : static_cast<int32_t>(HighestOf(t.dtype))), p + "_hi");
}

/// Writes the chain as the function FN(Y_chain) of element i and its value, which has been through
/// the first removed tensor already. One block per op: nested calls would meet the compilers' limit
/// of brackets.
void WriteChain(Writer& w, const std::string& y, const std::vector<PostOp>& post_ops,
                KernelSpec::Epilogue form, ChainParams* params) {
  const bool lanes = form == KernelSpec::Epilogue::kLanes;
  std::string scalar_body, vector_body;
  for (size_t k = 0; k < post_ops.size(); ++k) {
    const PostOp& s = post_ops[k];
    const std::string p = fmt::format("{}_{}", y, k), other = p + "_other";
    if (IsAffine(s.before)) {
      params->Scalar(Real(base::InverseScale(s.before.scale())), p + "_is");
      params->Scalar(Int(s.before.zero_point()), p + "_z");
      params->Scalar(Real(s.before.scale()), p + "_s");
      if (lanes) AddRange(s.before, s.range, p, params);
    }
    const std::string value = s.other_first ? "y" : "x", operand = s.other_first ? "x" : "y";
    std::string scalar = fmt::format("const float {} = r; ", value);
    std::string vector = fmt::format("const float16 {} = r; ", value);
    if (s.other) {
      params->Tensor(*s.other, other);
      if (IsAffine(*s.other)) {
        params->Scalar(Real(s.other->scale()), other + "_s");
        params->Scalar(Int(s.other->zero_point()), other + "_z");
      }
      scalar += fmt::format("const float {} = {}; ", operand, LoadText(other, *s.other, false));
      vector += fmt::format("const float16 {} = {}; ", operand, LoadLanes(other, *s.other));
    }
    if (s.constant) {
      params->Scalar(Real(*s.constant), other);
      scalar += fmt::format("const float {} = {}; ", operand, other);
      vector += fmt::format("const float16 {} = {}; ", operand, other);
    }
    std::string constants;
    for (int j = 0; j < 4; ++j) {
      const std::string name = fmt::format("p{}", j);
      if (!Mentions(s.expression, name)) continue;
      params->Scalar(Real(s.params[j]), fmt::format("{}_{}", p, name));
      constants += fmt::format("const float {0} = {1}_{0}; ", name, p);
    }
    if (k > 0 && s.before.dtype != DataType::FLOAT32) {
      scalar_body += fmt::format("  r = {};\n", Through(s.before, p, "r", lanes));
      vector_body += fmt::format("  r = {};\n", ThroughLanes(s.before, p, "r"));
    }
    scalar_body += fmt::format("  {{ {}{}r = {}; }}\n", scalar, constants, s.expression);
    vector_body += fmt::format("  {{ {}{}r = {}; }}\n", vector, constants, s.expression);
  }
  w.Line(fmt::format("inline float FN({}_chain)(int i, float r{}) {{\n{}  return r;\n}}", y,
                     params->parameters(), scalar_body));
  if (form == KernelSpec::Epilogue::kScalar) return;
  w.Line(fmt::format("inline float16 FN({}_chain16)(int i, float16 r{}) {{\n{}  return r;\n}}", y,
                     params->parameters(), vector_body));
}

/// VSTORE and what belongs to it: 16 results from element i on. `chain`: the text that applies the
/// post-ops to a float16; null where there are none.
void WriteLanes(Writer& w, const std::string& y, const std::vector<PostOp>& post_ops,
                const TensorType& t, int32_t bias,
                const std::function<std::string(const std::string&)>& chain) {
  w.Define(y + "_BYTES", "", IsByte(t) ? "1" : "0");
  w.Define(y + "_ALONE", "", post_ops.empty() ? "1" : "0");
  std::string ahead;  // what is read and, with it, the line of the cache that is written
  for (size_t k = 0; k < post_ops.size(); ++k) {
    if (post_ops[k].other) ahead += fmt::format("PREFETCH({}_{}_other + (i), 0); ", y, k);
  }
  if (!ahead.empty()) ahead += fmt::format("PREFETCH({} + (i), 1); ", y);
  w.Define(y + "_READ_AHEAD", "(i)", "do { " + ahead + "} while (0)");
  const std::string p0 = y + "_0";
  const std::string real =
      post_ops.empty() ? "(v)" : chain(ThroughLanes(post_ops[0].before, p0, "(v)"));
  const std::string sum = post_ops.empty() ? "(convert_float16(acc) * (m))"
                                           : chain(SumThroughLanes(post_ops[0].before, p0));
  const auto store = [&](const std::string& v) {
    const std::string to = fmt::format("*(__global timcl_{}16*)({} + (i)) = ",
                                       IsByte(t)     ? "bytes"
                                       : IsNarrow(t) ? "shorts"
                                                     : "floats",
                                       y);
    if (t.dtype == DataType::FLOAT16)
      return fmt::format("vstore_half16_rte({}, 0, {} + (i))", v, y);
    if (IsByte(t)) return fmt::format("{}timcl_round_bytes({}, {}_VLIMITS)", to, v, y);
    if (IsNarrow(t)) return fmt::format("{0}timcl_round_shorts({1}, {2}_lo, {2}_hi)", to, v, y);
    return to + v;
  };
  if (IsReal(t)) {
    w.Define(y + "_VSTORE", "(i, v)", store(real));
    w.Define(y + "_VSTORE_ACC", "(i, acc, m)", store(sum));
    return;
  }
  w.Define(y + "_VLIMITS", "", fmt::format("{0}_lo, {0}_hi, {1}", y, bias));
  w.Define(y + "_VSTORE", "(i, v)",
           store(fmt::format("timcl_vquantize({0}, {1}_is, {1}_z)", real, y)));
  if (post_ops.empty()) {
    w.Define(y + "_VSCALED", "(i, acc, m)", fmt::format("({0} + (float){1}_z)", sum, y));
  } else {
    // At most what can be converted to an integer: a chain may yield infinity.
    w.Define(y + "_VSCALED", "(i, acc, m)",
             fmt::format("timcl_vat_most(timcl_vquantize({0}, {1}_is, {1}_z), 32767.0f)", sum, y));
  }
  w.Define(y + "_VSTORE_ACC", "(i, acc, m)", store(y + "_VSCALED(i, acc, m)"));
}

/// A float32 input whose elements are read through the chain `pre_ops`.
void WriteChainedInput(Writer& w, const std::string& x, const std::vector<PostOp>& pre_ops,
                       KernelSpec::Epilogue form, bool shares, std::vector<ScalarArg>* args) {
  ChainParams params;
  WriteChain(w, x, pre_ops, form, &params);
  *args = params.values();
  const std::string names = params.names();
  w.Define(x + "_t", "", "float");
  w.Define(x + "_PASS", "", x + names);
  w.Define(x + "_IN", "",
           fmt::format("__global const float* {}{}{}", shares ? "" : "restrict ", x,
                       params.parameters()));
  w.Define(x + "_ZP", "", "0");
  w.Define(x + "_LOAD", "(i)", fmt::format("FN({0}_chain)(i, {0}[i]{1})", x, names));
  if (form == KernelSpec::Epilogue::kScalar) return;
  w.Define(x + "_VLOAD", "(i)",
           fmt::format("FN({0}_chain16)(i, TIMCL_FLOATS({0} + (i)){1})", x, names));
}

void WriteOutput(Writer& w, const std::string& y, const std::vector<PostOp>& post_ops,
                 const TensorType& final_type, const FinalStore& store, bool integer_math,
                 KernelSpec::Epilogue form, std::vector<ScalarArg>* args) {
  const int32_t bias = BiasOf(final_type, store.form);
  const bool vectors = form == KernelSpec::Epilogue::kVector;
  const bool lanes = form == KernelSpec::Epilogue::kLanes;
  const char* type = bias != 0 ? "uchar" : OpenClType(final_type.dtype);
  w.Define(y + "_t", "", type);
  // Clamped first, and not by convert_short_sat(long): Mesa 22.3 gives the highest value for all.
  if (const std::string limits = IntegerLimits(final_type.dtype); !limits.empty()) {
    w.Define(y + "_SATURATE", "(v)", fmt::format("(({})clamp((long)(v), {}))", type, limits));
  } else if (final_type.dtype == DataType::INT64) {
    w.Define(y + "_SATURATE", "(v)", "((long)(v))");
  }
  ChainParams params;
  if (!post_ops.empty()) WriteChain(w, y, post_ops, form, &params);
  const std::string names = params.names();
  ChainParams own;
  if (IsAffine(final_type)) {
    own.Scalar(Real(base::InverseScale(final_type.scale())), y + "_is");
    own.Scalar(Int(final_type.zero_point()), y + "_z");
    if (lanes) AddRange(final_type, store.range, y, &own);
  }
  *args = params.values();
  args->insert(args->end(), own.values().begin(), own.values().end());
  w.Define(y + "_OUT", "",
           fmt::format("__global {}* {}{}{}{}", type, store.shares ? "" : "restrict ", y,
                       params.parameters(), own.parameters()));
  w.Define(y + "_PASS", "", y + names + own.names());
  auto chain = [&](const char* function, const std::string& first) {
    return fmt::format("FN({}_{})(i, {}{})", y, function, first, names);
  };
  if (lanes || vectors) {
    WriteLanes(w, y, post_ops, final_type, bias,
               [&](const std::string& first) { return chain("chain16", first); });
  }
  if (post_ops.empty()) {
    if (integer_math) {
      // Exact: the sum or product is a long, saturated to the type on the way out.
      w.Define(y + "_STORE", "(i, v)", fmt::format("{0}[i] = {0}_SATURATE(v)", y));
    } else {
      w.Define(y + "_STORE", "(i, v)", StoreReal(final_type, y, y, "(v)", bias, lanes));
    }
    w.Define(y + "_STORE_ACC", "(i, acc, m)", StoreSum(final_type, y, y, bias, lanes));
    return;
  }
  const std::string p0 = y + "_0";
  const TensorType& before = post_ops[0].before;
  w.Define(
      y + "_STORE", "(i, v)",
      StoreReal(final_type, y, y, chain("chain", Through(before, p0, "(v)", lanes)), bias, lanes));
  w.Define(y + "_STORE_ACC", "(i, acc, m)",
           StoreReal(final_type, y, y, chain("chain", SumThrough(before, p0, lanes)), bias, lanes));
}

std::set<std::string> DefinedNames(const std::string& source) {
  std::set<std::string> names;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    if (line.find('#') == std::string::npos) continue;
    std::istringstream words(line);
    std::string hash, word;
    words >> hash;
    if (hash == "#") {
      words >> word;
    } else if (hash == "#define") {
      word = "define";
    }
    if (word != "define") continue;
    std::string name;
    words >> name;
    names.insert(name.substr(0, name.find('(')));
  }
  return names;
}

/// A name as it may stand inside a #line: nothing that would end the string.
std::string Quotable(const std::string& name) {
  std::string quotable;
  for (const char c : name) quotable += c == '"' || c == '\\' || c == '\n' ? '\'' : c;
  return quotable;
}

/// Puts included sources in the place of their #include lines, each once, whatever #if stands
/// around them. Lines keep their file and number by #line.
class IncludeExpander {
 public:
  IncludeExpander(const std::string& override_dir, const KernelSources* own)
      : override_dir_(override_dir), own_(own) {}

  Status Append(const std::string& name, const std::string& text) {
    open_.push_back(name);
    done_.insert(name);
    out_ += fmt::format("#line 1 \"{}\"\n", Quotable(name));
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      std::smatch match;
      // Few lines are worth the regular expression.
      if (line.find("include") == std::string::npos ||
          !std::regex_search(line, match, IncludeLine())) {
        (out_ += line) += '\n';
        continue;
      }
      const std::string at = fmt::format("{}:{}: {}", name, number, line), included = match[1];
      if (included.empty()) {
        return Status::Error(
            Code::kKernelBuild,
            fmt::format("{}: expected the name of a kernel source in quotation marks", at));
      }
      if (included == "tensor.clh" || done_.count(included) != 0) {
        if (std::find(open_.begin(), open_.end(), included) != open_.end()) {
          return Status::Error(Code::kKernelBuild,
                               fmt::format("{}: a source cannot include itself: {} -> {}", at,
                                           fmt::join(open_, " -> "), included));
        }
        out_ += "\n";
        continue;
      }
      const auto source = FindSource(included, override_dir_, own_);
      if (!source.ok())
        return Status::Error(Code::kNotFound, fmt::format("{}: {}", at, source.status().detail()));
      TIMCL_TRY(Append(included, *source));
      out_ += fmt::format("#line {} \"{}\"\n", number + 1, Quotable(name));
    }
    open_.pop_back();
    return Status();
  }
  const std::string& text() const { return out_; }

 private:
  static const std::regex& IncludeLine() {
    static const std::regex* const line =
        new std::regex(R"re(^\s*#\s*include\b\s*(?:"([^"]*)")?)re");
    return *line;
  }

  const std::string& override_dir_;
  const KernelSources* own_;
  std::string out_;
  std::vector<std::string> open_;  // the sources around the place, outermost first
  std::set<std::string> done_;
};

std::string OriginOf(const KernelSpec& spec) {
  return spec.source.empty() ? spec.entry : spec.source;
}

/// What the operands' types mean for the arithmetic of a kernel.
struct Arithmetic {
  bool integer_math = false;    // all in long, else in float
  bool stores_integer = false;  // products must not be contracted: results are compared by the bit
};

Result<Arithmetic> ArithmeticOf(const KernelSpec& spec, const std::vector<TensorType>& ins,
                                const std::vector<TensorType>& outs,
                                const std::vector<PostOp>& post_ops, const TensorType& final_type) {
  using Kind = Operand::Kind;
  Arithmetic a;
  a.integer_math = !spec.float_math && post_ops.empty();
  for (const Operand& o : spec.operands) {
    if (o.kind != Kind::kInput && o.kind != Kind::kOutput) continue;
    const TensorType& t = o.kind == Kind::kInput ? ins.at(o.index) : outs.at(o.index);
    if (OpenClType(t.dtype) == nullptr) {
      return Status::Error(Code::kUnsupported,
                           fmt::format("kernels do not read or write {} tensors", NameOf(t.dtype)));
    }
    a.integer_math = a.integer_math && IsPlainInteger(t);
    if (o.kind != Kind::kOutput) continue;
    a.stores_integer =
        a.stores_integer || IsInteger(t.dtype) || (o.index == 0 && IsInteger(final_type.dtype));
  }
  for (const PostOp& s : post_ops) {
    a.stores_integer = a.stores_integer || IsInteger(s.before.dtype);
    if (s.other && !CanRead(*s.other, spec.epilogue)) {
      return Status::Error(Code::kUnsupported,
                           fmt::format("a fused op cannot read {} here", s.other->ToString()));
    }
  }
  return a;
}

/// All operands of a user's op by the names of its macros.
KernelSpec MacroOperands(const KernelSpec& spec) {
  KernelSpec named;
  for (size_t i = 0; i < spec.input_names.size(); ++i)
    named.operands.push_back(In(i, spec.input_names[i]));
  for (size_t i = 0; i < spec.output_names.size(); ++i)
    named.operands.push_back(Out(i, spec.output_names[i]));
  return named;
}

/// Y_COPY_X for each output and input: bits where the encodings agree, else by way of acc_t.
void WriteCopies(Writer& w, const KernelSpec& spec, const std::vector<TensorType>& ins,
                 const std::vector<TensorType>& outs, bool fused,
                 TensorForm form = TensorForm::kPlain) {
  for (const Operand& y : spec.operands) {
    if (y.kind != Operand::Kind::kOutput) continue;
    for (const Operand& x : spec.operands) {
      if (x.kind != Operand::Kind::kInput) continue;
      const TensorType& type = ins[x.index];
      const TensorType& logical = outs[y.index];
      const TensorType to = CanTake(logical, form) ? InForm(logical, form) : logical;
      // Where channels move, their scales move along: ops that take them see to that.
      const bool same = SameEncoding(type, to) || (type.per_channel() && to.per_channel());
      const bool bits = !(fused && y.index == 0) && same;
      if (!bits && type.per_channel()) continue;
      w.Define(fmt::format("{}_COPY_{}", y.name, x.name), "(i, j)",
               // Without cl_khr_fp16 a half may only be moved as the bits that it is.
               bits && type.dtype == DataType::FLOAT16
                   ? fmt::format("((__global ushort*){})[i] = ((__global const ushort*){})[j]",
                                 y.name, x.name)
               : bits ? fmt::format("{}[i] = {}[j]", y.name, x.name)
                      : fmt::format("{}_STORE(i, {}_LOAD(j))", y.name, x.name));
    }
  }
}

}  // namespace

Result<std::string> FindSource(const std::string& name, const std::string& override_dir,
                               const KernelSources* own) {
  if (!override_dir.empty()) {
    if (std::ifstream file(override_dir + "/" + name); file) {
      std::stringstream text;
      text << file.rdbuf();
      return text.str();
    }
  }
  std::vector<std::string> known;
  for (const KernelSources* sources : {own, &kBuiltInSources}) {
    if (sources == nullptr) continue;
    if (const KernelSource* found = sources->Find(name))
      return std::string(found->text, found->size);
    for (const KernelSource& source : *sources) known.push_back(source.name);
  }
  return Status::Error(Code::kNotFound,
                       fmt::format("there is no kernel source named '{}'; there are: {}{}", name,
                                   fmt::join(known, ", "),
                                   override_dir.empty() ? "" : ", and files in " + override_dir));
}

Result<const Sources::Expanded*> Sources::Of(const KernelSpec& spec, const KernelSources* own) {
  const std::tuple key = {own, OriginOf(spec), spec.source_text};
  if (const auto it = known_.find(key); it != known_.end()) return &it->second;
  std::string source = spec.source_text;
  if (source.empty()) {
    TIMCL_ASSIGN(source, FindSource(spec.source, override_dir_, own));
  }
  IncludeExpander expander(override_dir_, own);
  TIMCL_TRY(expander.Append(OriginOf(spec), source));
  Expanded expanded{expander.text(), ""};
  for (const auto& name : DefinedNames(expanded.text)) expanded.undefs += "#undef " + name + "\n";
  return &known_.emplace(key, std::move(expanded)).first->second;
}

bool CanRead(const TensorType& other, KernelSpec::Epilogue epilogue) {
  if (epilogue == KernelSpec::Epilogue::kVector) return IsReal(other);
  if (epilogue == KernelSpec::Epilogue::kLanes) return IsReal(other) || IsNarrow(other);
  return OpenClType(other.dtype) != nullptr && !other.per_channel();
}

Result<VariantText> MakeVariant(const KernelSpec& spec, const std::vector<TensorType>& ins,
                                const std::vector<TensorType>& outs,
                                const std::vector<PostOp>& post_ops, const TensorType& final_type,
                                Sources* sources, const KernelSources* own, const FinalStore& store,
                                const std::vector<PostOp>& pre_ops) {
  VariantText v;
  v.entry = spec.entry;
  v.origin = OriginOf(spec);
  TIMCL_ASSIGN(const Sources::Expanded* source, sources->Of(spec, own));
  TIMCL_ASSIGN(const Arithmetic arithmetic, ArithmeticOf(spec, ins, outs, post_ops, final_type));
  const bool integer_math = arithmetic.integer_math;

  v.operand_args.resize(spec.operands.size());
  Writer w;
  w.Line(fmt::format("#pragma OPENCL FP_CONTRACT {}", arithmetic.stores_integer ? "OFF" : "ON"));
  for (const auto& [name, value] : spec.defines) w.Define(name, "", value);
  w.Define("acc_t", "", integer_math ? "long" : "float");
  w.Define("INTEGER_MATH", "", integer_math ? "1" : "0");
  for (size_t k = 0; k < spec.operands.size(); ++k) {
    const Operand& o = spec.operands[k];
    using Kind = Operand::Kind;
    switch (o.kind) {
      case Kind::kInput:
        if (o.index == 0 && !pre_ops.empty()) {
          const bool lanes = spec.epilogue == KernelSpec::Epilogue::kLanes;
          WriteChainedInput(w, o.name, pre_ops,
                            lanes ? spec.epilogue : KernelSpec::Epilogue::kScalar,
                            store.inputs_share, &v.operand_args[k]);
        } else {
          WriteInput(w, o.name, ins.at(o.index), integer_math, store.inputs_share,
                     &v.operand_args[k]);
        }
        break;
      case Kind::kOutput:
        if (o.index == 0) {
          WriteOutput(w, o.name, post_ops, final_type, store, integer_math, spec.epilogue,
                      &v.operand_args[k]);
        } else {
          WriteOutput(w, o.name, {}, outs.at(o.index), {store.form, {}}, integer_math,
                      KernelSpec::Epilogue::kNone, &v.operand_args[k]);
        }
        break;
      case Kind::kData:
        w.Define(o.name + "_DATA", "",
                 fmt::format("__global const {}* restrict {}", o.element, o.name));
        w.Define(o.name + "_PASS", "", o.name);
        break;
      case Kind::kScratch:
        w.Define(o.name + "_SCRATCH", "", fmt::format("__global {}* {}", o.element, o.name));
        w.Define(o.name + "_PASS", "", o.name);
        break;
      default:
        break;
    }
  }
  WriteCopies(w, spec, ins, outs, !post_ops.empty(), store.form);
  v.text = w.text() + source->text + w.Undefs() + source->undefs;
  return v;
}

Result<UserMacros> MakeUserMacros(const KernelSpec& spec, const std::vector<TensorType>& ins,
                                  const std::vector<TensorType>& outs,
                                  const std::string& override_dir) {
  UserMacros macros;
  for (const char* name : {"tensor.clh", "image_tensor.clh"}) {
    TIMCL_ASSIGN(const std::string text, FindSource(name, override_dir));
    macros.text += fmt::format("\n#line 1 \"{}\"\n{}", name, text);
  }
  Writer w;
  w.Define("FN", "(name)", "name");
  w.Define("acc_t", "", "float");
  w.Define("INTEGER_MATH", "", "0");
  const size_t count = ins.size() + outs.size();
  for (size_t k = 0; k < count; ++k) {
    const bool input = k < ins.size();
    const size_t i = input ? k : k - ins.size();
    const TensorType& type = input ? ins[i] : outs[i];
    const std::string& name = input ? spec.input_names.at(i) : spec.output_names.at(i);
    if (OpenClType(type.dtype) == nullptr || type.per_channel()) {
      return Status::Error(
          Code::kUnsupported,
          fmt::format("the macros for '{}' do not know {}; read its numbers from a "
                      "plain __global pointer, without UseTensorMacros",
                      name, type.ToString()));
    }
    std::vector<ScalarArg> args;
    const std::string more =
        IsAffine(type) ? fmt::format(", float {0}_{1}, int {0}_z", name, input ? "s" : "is") : "";
    const std::string quantization =
        IsAffine(type) ? fmt::format("{0}_{1}, {0}_z", name, input ? "s" : "is") : "1.0f, 0";
    w.Define(name + "_IMAGE", "(I)", fmt::format("I {}{}", name, more));
    if (input) {
      WriteInput(w, name, type, false, false, &args);
      w.Define(name + "_READ", "(at)",
               fmt::format("timcl_read_real({}, at, {})", name, quantization));
    } else {
      WriteOutput(w, name, {}, type, {}, false, KernelSpec::Epilogue::kNone, &args);
      w.Define(name + "_WRITE", "(at, v)",
               fmt::format("timcl_write_real({}, at, v, {})", name, quantization));
    }
    (input ? macros.input_args : macros.output_args).push_back(std::move(args));
  }
  WriteCopies(w, MacroOperands(spec), ins, outs, false);
  macros.text += w.text() + "#pragma OPENCL FP_CONTRACT ON\n";
  return macros;
}

std::string EntryName(const VariantText& variant, size_t index) {
  return fmt::format("{}_v{}", variant.entry, index);
}

std::string AssembleProgram(const std::vector<const VariantText*>& variants,
                            const std::string& override_dir, const std::string& between) {
  std::string text;
  for (const char* name : {"tensor.clh", "vector_math.clh"}) {
    const auto header = FindSource(name, override_dir);
    text += fmt::format("#line 1 \"{}\"\n{}", name, header.ok() ? *header : std::string());
  }
  text += between;
  for (size_t i = 0; i < variants.size(); ++i) {
    text += fmt::format("\n#define FN(name) TIMCL_JOIN(name, _v{0})\n#define {1} {2}\n", i,
                        variants[i]->entry, EntryName(*variants[i], i));
    text += variants[i]->text;
    text += fmt::format("#undef FN\n#undef {}\n", variants[i]->entry);
  }
  return text;
}

}  // namespace tim::vx::kernels
