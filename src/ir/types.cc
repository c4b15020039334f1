// OpDef::types: the element types that an operator accepts, as text. Checked, listed, and told to
// the user from the same words; the grammar stands at OpDef::types.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/graph.h"
#include "ir/operands.h"
#include "tim/vx/op_def.h"

namespace tim::vx {
namespace {

enum class Scheme { kPerTensor, kPerChannel, kPerChannelAsymmetric };

struct Atom {
  const char* name;
  DataType dtype;
};
constexpr Atom kAtoms[] = {
    {"f32", DataType::FLOAT32}, {"f16", DataType::FLOAT16}, {"i8", DataType::INT8},
    {"u8", DataType::UINT8},    {"i16", DataType::INT16},   {"u16", DataType::UINT16},
    {"i32", DataType::INT32},   {"u32", DataType::UINT32},  {"i64", DataType::INT64},
    {"bool", DataType::BOOL8},  {"i4", DataType::INT4},     {"u4", DataType::UINT4},
};
struct Group {
  const char* name;
  const char* members;
};
constexpr Group kGroups[] = {
    {"real", "f32|f16|i8|u8|i16|u16"},
    {"number", "f32|f16|i8|u8|i16|u16|i32"},
    {"copyable", "f32|f16|i8|u8|i16|u16|i32|u32|i64|bool"},
    {"logical", "bool|i8"},
};

/// What one alternative of an operand says.
struct Choice {
  DataType dtype = DataType::UNKNOWN;
  Scheme scheme = Scheme::kPerTensor;
  int same_as = -1;  // an input
  bool same_quantization = false;
};

std::string_view Trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

/// Takes the part of `rest` before `end`, and `end` itself.
std::string_view Next(std::string_view& rest, std::string_view end) {
  const size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + end.size(), rest.size()));
  return Trim(part);
}

std::string_view MembersOf(std::string_view name) {
  for (const Group& g : kGroups) {
    if (name == g.name) return g.members;
  }
  return {};
}

std::optional<Choice> ParseChoice(std::string_view word) {
  Choice c;
  if (!word.empty() && word[0] == '=') {
    word.remove_prefix(1);
    if (!word.empty() && word[0] == '=') c.same_quantization = true, word.remove_prefix(1);
    if (word.size() != 1 || word[0] < '0' || word[0] > '9') return std::nullopt;
    c.same_as = word[0] - '0';
    return c;
  }
  const std::string_view name = word.substr(0, word.find(':'));
  const std::string_view scheme = word.substr(std::min(name.size(), word.size()));
  if (scheme == ":pc") {
    c.scheme = Scheme::kPerChannel;
  } else if (scheme == ":apc") {
    c.scheme = Scheme::kPerChannelAsymmetric;
  } else if (!scheme.empty()) {
    return std::nullopt;
  }
  for (const Atom& a : kAtoms) {
    if (name == a.name) return c.dtype = a.dtype, c;
  }
  return std::nullopt;
}

/// Calls f(choice) for each alternative until it answers true.
template <class F>
bool AnyChoice(std::string_view alternatives, F f) {
  while (!alternatives.empty()) {
    const std::string_view word = Next(alternatives, "|");
    if (const std::string_view members = MembersOf(word); !members.empty()) {
      if (AnyChoice(members, f)) return true;
    } else if (const auto choice = ParseChoice(word); choice && f(*choice)) {
      return true;
    }
  }
  return false;
}

bool Fits(const Choice& c, const TensorType& t, const OpView& op) {
  if (c.same_as >= 0) {
    const TensorView other = op.in(static_cast<size_t>(c.same_as));
    if (!other.present()) return true;
    return c.same_quantization ? SameEncoding(t, other.type()) : t.dtype == other.dtype();
  }
  if (t.dtype != c.dtype) return false;
  switch (t.quant.Type()) {
    case QuantType::SYMMETRIC_PER_CHANNEL:
      return c.scheme == Scheme::kPerChannel;
    case QuantType::ASYMMETRIC_PER_CHANNEL:
      return c.scheme == Scheme::kPerChannelAsymmetric;
    case QuantType::NONE:
      return c.scheme == Scheme::kPerTensor;
    default:
      break;
  }
  const bool wide =
      t.dtype == DataType::UINT32 || t.dtype == DataType::INT64 || t.dtype == DataType::BOOL8;
  return c.scheme == Scheme::kPerTensor && !wide;
}

/// The alternatives of operand i in one side of a row; the last one serves what follows if it ends
/// in
/// '*'. Empty: the row says nothing of it.
std::string_view OperandOf(std::string_view side, size_t i) {
  for (size_t k = 0;; ++k) {
    std::string_view word = Next(side, ",");
    const bool repeats = !word.empty() && word.back() == '*';
    if (repeats) word.remove_suffix(1);
    if (k == i || repeats) return word;
    if (side.empty()) return {};
  }
}

struct Row {
  std::string_view inputs, outputs;
};
Row RowOf(std::string_view& rest) {
  std::string_view row = Next(rest, ";");
  Row r;
  r.inputs = Next(row, "->");
  r.outputs = row;
  return r;
}

/// How many operands, inputs first, go with the row before one does not. `left_out`: outputs that
/// go with everything, as inputs do that are not there.
size_t FittingOperands(const Row& row, const OpView& op, const std::vector<size_t>& left_out = {}) {
  const size_t inputs = op.num_inputs(), all = inputs + op.num_outputs();
  for (size_t at = 0; at < all; ++at) {
    const bool input = at < inputs;
    const size_t i = input ? at : at - inputs;
    const TensorView t = input ? op.in(i) : op.out(i);
    if (!t.present()) continue;
    if (!input && std::find(left_out.begin(), left_out.end(), i) != left_out.end()) continue;
    const std::string_view alternatives = OperandOf(input ? row.inputs : row.outputs, i);
    if (!AnyChoice(alternatives, [&](const Choice& c) { return Fits(c, t.type(), op); })) return at;
  }
  return all;
}

/// `types` with the members of each group, for people who do not know the groups.
std::string InFull(std::string_view types) {
  std::string text, word;
  auto flush = [&] {
    const std::string_view members = MembersOf(word);
    text += members.empty() ? std::string_view(word) : members;
    word.clear();
  };
  for (const char c : types) {
    if (c >= 'a' && c <= 'z') {
      word += c;
    } else {
      flush();
      text += c;
    }
  }
  flush();
  return text;
}

/// A tensor's type in the words of OpDef::types.
std::string WordOf(const TensorType& t) {
  const char* scheme = t.quant.Type() == QuantType::SYMMETRIC_PER_CHANNEL    ? ":pc"
                       : t.quant.Type() == QuantType::ASYMMETRIC_PER_CHANNEL ? ":apc"
                                                                             : "";
  return std::string(NameOf(t.dtype)) + scheme;
}

/// Encodings of one alternative that tests use, each with a scale and zero point of its own.
void AppendEncodings(const Choice& c, std::vector<TensorType>* out) {
  using Q = Quantization;
  auto add = [&](Q q) { out->push_back({c.dtype, {}, std::move(q)}); };
  if (c.scheme != Scheme::kPerTensor) {
    const bool symmetric = c.scheme == Scheme::kPerChannel;
    return add(Q(symmetric ? QuantType::SYMMETRIC_PER_CHANNEL : QuantType::ASYMMETRIC_PER_CHANNEL,
                 0, {0.004f}, {0}));
  }
  switch (c.dtype) {
    case DataType::INT8:
      add(Q(QuantType::ASYMMETRIC, 0.041f, -7));
      add(Q(QuantType::DYNAMIC_FIXED_POINT, int8_t{4}));
      return add(Q());
    case DataType::UINT8:
      add(Q(QuantType::ASYMMETRIC, 0.037f, 119));
      return add(Q());
    case DataType::INT16:
      add(Q(QuantType::ASYMMETRIC, 0.0003f, 0));
      add(Q(QuantType::DYNAMIC_FIXED_POINT, int8_t{11}));
      return add(Q());
    case DataType::UINT16:
      return add(Q(QuantType::ASYMMETRIC, 0.0002f, 30011));
    case DataType::INT4:
      return add(Q(QuantType::ASYMMETRIC, 0.61f, 0));
    case DataType::UINT4:
      return add(Q(QuantType::ASYMMETRIC, 0.61f, 7));
    default:
      return add(Q());
  }
}

}  // namespace

Status CheckTypes(const OpView& op) {
  const char* types = op.def().types;
  if (types == nullptr) return Status();
  // The row that goes along furthest tells which operand does not fit.
  size_t furthest = 0;
  for (std::string_view rest = types; !rest.empty();) {
    const size_t fitting = FittingOperands(RowOf(rest), op);
    if (fitting == op.num_inputs() + op.num_outputs()) return Status();
    furthest = std::max(furthest, fitting);
  }
  std::string bound;
  for (size_t i = 0; i < op.num_inputs() + op.num_outputs(); ++i) {
    const size_t n = op.num_inputs();
    const TensorView t = i < n ? op.in(i) : op.out(i - n);
    bound += i == 0 ? "" : i == n ? " -> " : ", ";
    bound += t.present() ? WordOf(t.type()) : "(left out)";
  }
  const std::string supported = fmt::format(
      "the operands {} do not go together; one of these is expected: {}", bound, InFull(types));
  const size_t inputs = op.num_inputs();
  return furthest < inputs ? op.InputError(furthest, Code::kInvalidType, supported)
                           : op.OutputError(furthest - inputs, Code::kInvalidType, supported);
}

Status ir::ChooseTypes(Graph& graph, int node, const std::vector<size_t>& outputs) {
  const OpView op = graph.view(node);
  const char* types = op.def().types;
  for (std::string_view rest = types == nullptr ? "" : types; !rest.empty();) {
    const Row row = RowOf(rest);
    if (FittingOperands(row, op, outputs) < op.num_inputs() + op.num_outputs()) continue;
    for (const size_t i : outputs) {
      TensorType& type = graph.value(graph.node(node).outputs[i]).type;
      AnyChoice(OperandOf(row.outputs, i), [&](const Choice& c) {
        if (c.same_as >= 0) {
          type = op.in(static_cast<size_t>(c.same_as)).type();
        } else if (c.scheme == Scheme::kPerTensor) {
          type.dtype = c.dtype;
        }
        return type.dtype != DataType::UNKNOWN;
      });
    }
    break;
  }
  for (const size_t i : outputs) {
    if (graph.value(graph.node(node).outputs[i]).type.dtype != DataType::UNKNOWN) continue;
    const OperandName operand = OperandNames(op.def().outputs).at(i);
    return op.Error(Code::kInvalidGraph,
                    fmt::format("output {} '{}' is a placeholder, and the types of the op do not "
                                "say what it is then; bind a tensor",
                                i, operand.name));
  }
  return Status();
}

Status ParseTypes(const OpDef& def) {
  auto bad = [&](const std::string& why) {
    return Status::Error(Code::kInvalidArgument,
                         fmt::format("{}: types '{}': {}", def.name, def.types, why));
  };
  if (def.types == nullptr) return Status();
  for (std::string_view rest = def.types; !rest.empty();) {
    const std::string_view before = rest;
    const Row row = RowOf(rest);
    if (before.substr(0, before.size() - rest.size()).find("->") == std::string_view::npos)
      return bad("a row has no '->'");
    for (const bool in : {true, false}) {
      std::string_view side = in ? row.inputs : row.outputs;
      size_t operands = 0;
      bool repeats = false;
      while (!side.empty()) {
        std::string_view word = Next(side, ",");
        if (repeats) return bad("'*' is not at the last operand");
        repeats = !word.empty() && word.back() == '*';
        if (repeats) word.remove_suffix(1);
        if (word.empty()) return bad("an operand has no type");
        ++operands;
        while (!word.empty()) {
          const std::string_view one = Next(word, "|");
          if (MembersOf(one).empty() && !ParseChoice(one))
            return bad(fmt::format("'{}' is no type", one));
        }
      }
      const size_t named = ir::OperandNames(in ? def.inputs : def.outputs).size();
      if (!repeats && operands != named) {
        return bad(fmt::format("a row has {} {}, the op has {}", operands,
                               in ? "inputs" : "outputs", named));
      }
    }
  }
  return Status();
}

std::vector<TypeRow> ListTypes(const OpDef& def, size_t inputs, size_t outputs) {
  std::vector<TypeRow> rows;
  if (def.types == nullptr) return rows;
  for (std::string_view rest = def.types; !rest.empty();) {
    const Row row = RowOf(rest);
    TypeRow list;
    for (size_t at = 0; at < inputs + outputs; ++at) {
      TypeRow::Operand operand;
      AnyChoice(at < inputs ? OperandOf(row.inputs, at) : OperandOf(row.outputs, at - inputs),
                [&](const Choice& c) {
                  if (c.same_as >= 0) {
                    operand.same_as = c.same_as;
                  } else {
                    AppendEncodings(c, &operand.types);
                  }
                  return false;
                });
      list.operands.push_back(std::move(operand));
    }
    rows.push_back(std::move(list));
  }
  return rows;
}

}  // namespace tim::vx
