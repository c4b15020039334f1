// The macros between a kernel's source and the types of its operands. tensor.clh explains what they
// mean.
#include "kernels/prelude.h"

#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/quant.h"
#include "kernels/embedded.h"

namespace tim::vx::kernels {
namespace {

const char* OpenClType(DataType dtype) {
  switch (dtype) {
    case DataType::INT8:
    case DataType::BOOL8:
      return "char";
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
bool IsPlainInteger(const TensorType& t) { return IsInteger(t.dtype) && !t.quantized(); }
ScalarArg Real(float f) { return {true, f, 0}; }
ScalarArg Int(int32_t i) { return {false, 0, i}; }

/// Limits as float literals. 32-bit types saturate in the conversion, since float cannot hold their
/// limits exactly.
std::string Limits(DataType dtype) {
  return fmt::format("{:.1f}f, {:.1f}f", static_cast<double>(LowestOf(dtype)),
                     static_cast<double>(HighestOf(dtype)));
}

/// Limits as literals of long; "" for types that are no integer.
std::string IntegerLimits(DataType dtype) {
  switch (dtype) {
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
std::string Through(const TensorType& t, const std::string& p, const std::string& v) {
  if (t.dtype == DataType::FLOAT32) return v;
  if (t.dtype == DataType::FLOAT16) return fmt::format("timcl_through_half({})", v);
  if (!IsAffine(t))
    return fmt::format("(float)timcl_quantize({}, 1.0f, 0, {})", v, Limits(t.dtype));
  return fmt::format("timcl_dequantize(timcl_quantize({0}, {1}_is, {1}_z, {2}) - {1}_z, {1}_s)", v,
                     p, Limits(t.dtype));
}
std::string SumThrough(const TensorType& t, const std::string& p) {
  if (!IsInteger(t.dtype)) return Through(t, p, "((float)(acc) * (m))");
  if (!IsAffine(t))
    return fmt::format("(float)timcl_quantize_sum((float)(acc), m, 0, {})", Limits(t.dtype));
  return fmt::format(
      "timcl_dequantize(timcl_quantize_sum((float)(acc), m, {0}_z, {1}) - {0}_z, {0}_s)", p,
      Limits(t.dtype));
}

/// A statement that stores the real number `v` as type t at Y[i].
std::string StoreReal(const TensorType& t, const std::string& y, const std::string& p,
                      const std::string& v) {
  if (t.dtype == DataType::FLOAT32) return fmt::format("{}[i] = {}", y, v);
  if (t.dtype == DataType::FLOAT16) return fmt::format("vstore_half_rte({}, i, {})", v, y);
  const char* type = OpenClType(t.dtype);
  const std::string quantization = IsAffine(t) ? fmt::format("{0}_is, {0}_z", p) : "1.0f, 0";
  if (t.dtype == DataType::UINT32 || t.dtype == DataType::INT64) {
    // Wider than timcl_quantize's int; only unquantized tensors have these types.
    return fmt::format("{}[i] = convert_{}_sat(rint({}))", y, type, v);
  }
  return fmt::format("{}[i] = ({})timcl_quantize({}, {}, {})", y, type, v, quantization,
                     Limits(t.dtype));
}

std::string StoreSum(const TensorType& t, const std::string& y, const std::string& p) {
  if (!IsInteger(t.dtype)) return StoreReal(t, y, p, "((float)(acc) * (m))");
  return fmt::format("{}[i] = ({})timcl_quantize_sum((float)(acc), m, {}, {})", y,
                     OpenClType(t.dtype), IsAffine(t) ? p + "_z" : "0", Limits(t.dtype));
}

void WriteInput(Writer& w, const std::string& x, const TensorType& t, bool integer_math,
                std::vector<ScalarArg>* args) {
  const char* type = OpenClType(t.dtype);
  w.Define(x + "_t", "", type);
  const std::string pointer = fmt::format("__global const {}* restrict {}", type, x);
  if (IsAffine(t)) {
    w.Define(x + "_IN", "", fmt::format("{0}, float {1}_s, int {1}_z", pointer, x));
    *args = {Real(t.scale()), Int(t.zero_point())};
  } else {
    w.Define(x + "_IN", "", pointer);
  }
  if (IsInteger(t.dtype)) w.Define(x + "_RAW", "(i)", fmt::format("((int){}[i])", x));
  w.Define(x + "_ZP", "", IsAffine(t) ? x + "_z" : "0");
  if (t.per_channel()) return;  // its scales come as data; LOAD makes no sense
  std::string load;
  if (t.dtype == DataType::FLOAT16) {
    load = fmt::format("vload_half(i, {})", x);
  } else if (t.dtype == DataType::FLOAT32) {
    load = fmt::format("({}[i])", x);
  } else if (IsAffine(t)) {
    load = fmt::format("timcl_dequantize((int){0}[i] - {0}_z, {0}_s)", x);
  } else {
    load = fmt::format("(({}){}[i])", integer_math ? "long" : "float", x);
  }
  w.Define(x + "_LOAD", "(i)", load);
}

void WriteOutput(Writer& w, const std::string& y, const std::vector<Stage>& stages,
                 const TensorType& final_type, bool integer_math, bool vector_epilogue,
                 std::vector<ScalarArg>* args) {
  const char* type = OpenClType(final_type.dtype);
  w.Define(y + "_t", "", type);
  // Clamped first, and not by convert_short_sat(long): Mesa 22.3 gives the highest value for all.
  if (const std::string limits = IntegerLimits(final_type.dtype); !limits.empty()) {
    w.Define(y + "_SATURATE", "(v)", fmt::format("(({})clamp((long)(v), {}))", type, limits));
  } else if (final_type.dtype == DataType::INT64) {
    w.Define(y + "_SATURATE", "(v)", "((long)(v))");
  }
  std::string params = fmt::format("__global {}* restrict {}", type, y);
  auto quantization = [&](const TensorType& t, const std::string& p, bool both_ways) {
    if (!IsAffine(t)) return;
    params += fmt::format(", float {0}_is, int {0}_z", p);
    args->push_back(Real(base::InverseScale(t.scale())));
    args->push_back(Int(t.zero_point()));
    if (!both_ways) return;
    params += fmt::format(", float {}_s", p);
    args->push_back(Real(t.scale()));
  };
  if (stages.empty()) {
    quantization(final_type, y, false);
    w.Define(y + "_OUT", "", params);
    if (integer_math) {
      // Exact: the sum or product is a long, saturated to the type on the way out.
      w.Define(y + "_STORE", "(i, v)", fmt::format("{0}[i] = {0}_SATURATE(v)", y));
    } else {
      w.Define(y + "_STORE", "(i, v)", StoreReal(final_type, y, y, "(v)"));
    }
    w.Define(y + "_STORE_ACC", "(i, acc, m)", StoreSum(final_type, y, y));
    if (vector_epilogue) {
      w.Define("EPILOGUE", "(v)", "(v)");
      w.Define("EPILOGUE16", "(v)", "(v)");
    }
    return;
  }
  // The chain as one expression of v: through each removed tensor's type, then the op's expression
  // as a function.
  std::string chain, vector_chain = "(v)";
  for (size_t k = 0; k < stages.size(); ++k) {
    const Stage& s = stages[k];
    const std::string p = fmt::format("{}_{}", y, k);
    quantization(s.before, p, true);
    std::string call_params;
    for (int j = 0; j < 4; ++j) {
      if (s.expression.find(fmt::format("p{}", j)) == std::string::npos) continue;
      params += fmt::format(", float {}_p{}", p, j);
      call_params += fmt::format(", {}_p{}", p, j);
      args->push_back(Real(s.params[j]));
    }
    std::string formal;
    for (int j = 0; j < 4; ++j) {
      if (s.expression.find(fmt::format("p{}", j)) != std::string::npos)
        formal += fmt::format(", float p{}", j);
    }
    w.Line(
        fmt::format("inline float FN({}_f)(float x{}) {{ return {}; }}", p, formal, s.expression));
    if (vector_epilogue) {
      w.Line(fmt::format("inline float16 FN({}_f16)(float16 x{}) {{ return {}; }}", p, formal,
                         s.expression));
    }
    chain = k == 0 ? "TIMCL_FIRST" : Through(s.before, p, chain);
    chain = fmt::format("FN({}_f)({}{})", p, chain, call_params);
    vector_chain = fmt::format("FN({}_f16)({}{})", p, vector_chain, call_params);
  }
  quantization(final_type, y, false);
  w.Define(y + "_OUT", "", params);
  auto with_first = [&](const std::string& first) {
    std::string s = chain;
    s.replace(s.find("TIMCL_FIRST"), 11, first);
    return s;
  };
  const std::string p0 = y + "_0";
  w.Define(y + "_STORE", "(i, v)",
           StoreReal(final_type, y, y, with_first(Through(stages[0].before, p0, "(v)"))));
  w.Define(y + "_STORE_ACC", "(i, acc, m)",
           StoreReal(final_type, y, y, with_first(SumThrough(stages[0].before, p0))));
  if (vector_epilogue) {
    w.Define("EPILOGUE", "(v)", with_first("(v)"));
    w.Define("EPILOGUE16", "(v)", vector_chain);
  }
}

/// Names that the source itself defines, so that they can be undefined behind it.
std::vector<std::string> DefinedNames(const std::string& source) {
  std::vector<std::string> names;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
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
    names.push_back(name.substr(0, name.find('(')));
  }
  return names;
}

/// Drops the #include line of tensor.clh: the program has it in front already. Keeps the line
/// count.
std::string WithoutIncludes(const std::string& source) {
  std::string out;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    out += (line.rfind("#include", 0) == 0 ? "" : line) + "\n";
  }
  return out;
}

}  // namespace

Result<std::string> FindSource(const std::string& name, const std::string& override_dir) {
  if (!override_dir.empty()) {
    if (std::ifstream file(override_dir + "/" + name); file) {
      std::stringstream text;
      text << file.rdbuf();
      return text.str();
    }
  }
  for (size_t i = 0; i < kEmbeddedSourceCount; ++i) {
    if (name == kEmbeddedSources[i].name)
      return std::string(kEmbeddedSources[i].text, kEmbeddedSources[i].size);
  }
  return Status::Error(Code::kNotFound, fmt::format("there is no kernel source named '{}'", name));
}

Result<VariantText> MakeVariant(const KernelSpec& spec, const std::vector<TensorType>& ins,
                                const std::vector<TensorType>& outs,
                                const std::vector<Stage>& stages, const TensorType& final_type,
                                const std::string& override_dir) {
  TIMCL_ASSIGN(const std::string source, FindSource(spec.source, override_dir));
  using Kind = Operand::Kind;
  bool integer_math = !spec.float_math && stages.empty(), stores_integer = false;
  for (const Operand& o : spec.operands) {
    if (o.kind != Kind::kInput && o.kind != Kind::kOutput) continue;
    const TensorType& t = o.kind == Kind::kInput ? ins.at(o.index) : outs.at(o.index);
    if (OpenClType(t.dtype) == nullptr) {
      return Status::Error(Code::kUnsupported,
                           fmt::format("kernels do not read or write {} tensors", NameOf(t.dtype)));
    }
    integer_math = integer_math && IsPlainInteger(t);
    if (o.kind == Kind::kOutput) {
      stores_integer = stores_integer || IsInteger(t.dtype);
      if (o.index == 0) stores_integer = stores_integer || IsInteger(final_type.dtype);
    }
  }
  for (const Stage& s : stages) stores_integer = stores_integer || IsInteger(s.before.dtype);

  VariantText v;
  v.entry = spec.entry;
  v.origin = spec.source;
  v.operand_args.resize(spec.operands.size());
  Writer w;
  w.Line(fmt::format("#pragma OPENCL FP_CONTRACT {}", stores_integer ? "OFF" : "ON"));
  for (const auto& [name, value] : spec.defines) w.Define(name, "", value);
  w.Define("acc_t", "", integer_math ? "long" : "float");
  w.Define("INTEGER_MATH", "", integer_math ? "1" : "0");
  for (size_t k = 0; k < spec.operands.size(); ++k) {
    const Operand& o = spec.operands[k];
    switch (o.kind) {
      case Kind::kInput:
        WriteInput(w, o.name, ins.at(o.index), integer_math, &v.operand_args[k]);
        break;
      case Kind::kOutput:
        if (o.index == 0) {
          WriteOutput(w, o.name, stages, final_type, integer_math,
                      spec.epilogue == KernelSpec::Epilogue::kVector, &v.operand_args[k]);
        } else {
          WriteOutput(w, o.name, {}, outs.at(o.index), integer_math, false, &v.operand_args[k]);
        }
        break;
      case Kind::kData:
        w.Define(o.name + "_DATA", "",
                 fmt::format("__global const {}* restrict {}", o.element, o.name));
        break;
      case Kind::kScratch:
        w.Define(o.name + "_SCRATCH", "", fmt::format("__global {}* {}", o.element, o.name));
        break;
      default:
        break;
    }
  }
  for (const Operand& y : spec.operands) {
    if (y.kind != Kind::kOutput) continue;
    for (const Operand& x : spec.operands) {
      if (x.kind != Kind::kInput) continue;
      const bool fused = y.index == 0 && !stages.empty();
      const bool bits = !fused && SameEncoding(ins[x.index], outs[y.index]);
      if (!bits && ins[x.index].per_channel()) continue;
      w.Define(fmt::format("{}_COPY_{}", y.name, x.name), "(i, j)",
               // Without cl_khr_fp16 a half may only be moved as the bits that it is.
               bits && ins[x.index].dtype == DataType::FLOAT16
                   ? fmt::format("((__global ushort*){})[i] = ((__global const ushort*){})[j]",
                                 y.name, x.name)
               : bits ? fmt::format("{}[i] = {}[j]", y.name, x.name)
                      : fmt::format("{}_STORE(i, {}_LOAD(j))", y.name, x.name));
    }
  }
  v.text = w.text() + fmt::format("#line 1 \"{}\"\n", spec.source) + WithoutIncludes(source) +
           w.Undefs();
  const std::set<std::string> own = [&] {
    const auto names = DefinedNames(source);
    return std::set<std::string>(names.begin(), names.end());
  }();
  for (const auto& name : own) v.text += "#undef " + name + "\n";
  return v;
}

std::string EntryName(const VariantText& variant, size_t index) {
  return fmt::format("{}_v{}", variant.entry, index);
}

std::string AssembleProgram(const std::vector<const VariantText*>& variants,
                            const std::string& override_dir) {
  auto header = FindSource("tensor.clh", override_dir);
  std::string text = "#line 1 \"tensor.clh\"\n" + (header.ok() ? *header : std::string());
  for (size_t i = 0; i < variants.size(); ++i) {
    text += fmt::format("\n#define FN(name) TIMCL_JOIN(name, _v{0})\n#define {1} {2}\n", i,
                        variants[i]->entry, EntryName(*variants[i], i));
    text += variants[i]->text;
    text += fmt::format("#undef FN\n#undef {}\n", variants[i]->entry);
  }
  return text;
}

}  // namespace tim::vx::kernels
