// Print: the graph as text, one statement per line. parse.cc has the grammar.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "ir/graph.h"
#include "ir/text.h"

namespace tim::vx::ir {
namespace text {

std::string Quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string Encoding(const TensorType& type) {
  const Quantization& q = type.quant;
  const std::string name = NameOf(type.dtype);
  const bool plain_dim = q.ChannelDim() == -1, no_fl = q.Fl() == 0;
  const bool no_lists = q.Scales().empty() && q.ZeroPoints().empty();
  // fmt prints the shortest decimal number that reads back as the same float.
  switch (q.Type()) {
    case QuantType::NONE:
      if (plain_dim && no_fl && no_lists) return name;
      break;
    case QuantType::ASYMMETRIC:
      if (plain_dim && no_fl && q.Scales().size() == 1 && q.ZeroPoints().size() == 1)
        return fmt::format("{}({},{})", name, q.Scales()[0], q.ZeroPoints()[0]);
      break;
    case QuantType::DYNAMIC_FIXED_POINT:
      if (plain_dim && no_lists) return fmt::format("{}(fl={})", name, static_cast<int>(q.Fl()));
      break;
    case QuantType::SYMMETRIC_PER_CHANNEL:
      if (no_fl && q.ZeroPoints().empty())
        return fmt::format("{}(dim={},[{}])", name, q.ChannelDim(), fmt::join(q.Scales(), ","));
      break;
    case QuantType::ASYMMETRIC_PER_CHANNEL:
      if (no_fl)
        return fmt::format("{}(dim={},[{}],[{}])", name, q.ChannelDim(), fmt::join(q.Scales(), ","),
                           fmt::join(q.ZeroPoints(), ","));
      break;
  }
  // Whatever else callers may have filled in.
  return fmt::format("{}(type={},dim={},fl={},[{}],[{}])", name, static_cast<int>(q.Type()),
                     q.ChannelDim(), static_cast<int>(q.Fl()), fmt::join(q.Scales(), ","),
                     fmt::join(q.ZeroPoints(), ","));
}

}  // namespace text

namespace {

using text::Encoding;
using text::Quoted;

template <class T>
std::string Numbers(const std::byte* data, int64_t count) {
  std::string out = "{";
  for (int64_t i = 0; i < count; ++i) {
    T v;
    std::memcpy(&v, data + static_cast<size_t>(i) * sizeof v, sizeof v);
    out += i == 0 ? "" : ", ";
    if constexpr (std::is_floating_point_v<T>) {
      out += fmt::format("{}", v);
    } else {
      out += std::to_string(v);
    }
  }
  return out + "}";
}

std::string Halves(const std::byte* data, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t h;
    std::memcpy(&h, data + i * sizeof h, sizeof h);
    values[i] = base::HalfToFloat(h);
  }
  return Numbers<float>(reinterpret_cast<const std::byte*>(values.data()), count);
}

std::string Hex(const std::byte* data, size_t bytes) {
  std::string out = "x\"";
  for (size_t i = 0; i < bytes; ++i) out += fmt::format("{:02x}", static_cast<unsigned>(data[i]));
  return out + '"';
}

/// A NaN that is not the usual one would lose its bits as "nan".
bool HasOddNaN(const TensorType& type, const std::byte* data) {
  for (int64_t i = 0; i < type.count(); ++i) {
    const size_t at = static_cast<size_t>(i);
    if (type.dtype == DataType::FLOAT32) {
      uint32_t bits;
      std::memcpy(&bits, data + at * sizeof bits, sizeof bits);
      if ((bits & 0x7FFFFFFFu) > 0x7F800000u && bits != 0x7FC00000u) return true;
    } else {
      uint16_t bits;
      std::memcpy(&bits, data + at * sizeof bits, sizeof bits);
      if ((bits & 0x7FFFu) > 0x7C00u && bits != 0x7E00u) return true;
    }
  }
  return false;
}

std::string Data(const Value& v, size_t max_bytes) {
  const auto bytes = v.type.CheckedBytes();
  if (v.storage == nullptr || BitsOf(v.type.dtype) == 0 || !bytes.ok() || *bytes > max_bytes ||
      *bytes > v.storage->bytes())
    return "elided";
  const auto* data = static_cast<const std::byte*>(v.storage->data());
  const int64_t n = v.type.count();
  switch (v.type.dtype) {
    case DataType::FLOAT32:
      return HasOddNaN(v.type, data) ? Hex(data, *bytes) : Numbers<float>(data, n);
    case DataType::FLOAT16:
      return HasOddNaN(v.type, data) ? Hex(data, *bytes) : Halves(data, n);
    case DataType::INT8:
    case DataType::BOOL8:
      return Numbers<int8_t>(data, n);
    case DataType::UINT8:
      return Numbers<uint8_t>(data, n);
    case DataType::INT16:
      return Numbers<int16_t>(data, n);
    case DataType::UINT16:
      return Numbers<uint16_t>(data, n);
    case DataType::INT32:
      return Numbers<int32_t>(data, n);
    case DataType::UINT32:
      return Numbers<uint32_t>(data, n);
    case DataType::INT64:
      return Numbers<int64_t>(data, n);
    default:
      return Hex(data, *bytes);  // 4-bit types: a byte for each element
  }
}

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kInput:
      return text::kInput;
    case Role::kOutput:
      return text::kOutput;
    case Role::kConstant:
      return text::kConstant;
    case Role::kTransient:
      break;
  }
  return text::kTransient;
}

std::string Named(const std::string& name) { return name.empty() ? "" : ' ' + Quoted(name); }

std::string TypeOf(const Value& v) {
  if (v.infer_shape && v.type.shape.empty()) return Encoding(v.type) + "[?]";
  return Encoding(v.type) + v.type.shape.ToString() + (v.infer_shape ? " infer" : "");
}

std::string Kind(std::string_view kind) {
  const bool word = !kind.empty() && text::IsWordStart(kind[0]) &&
                    std::all_of(kind.begin(), kind.end(), text::IsWordPart);
  const bool reserved = kind == text::kInput || kind == text::kOutput || kind == text::kTransient ||
                        kind == text::kConstant;
  return word && !reserved ? std::string(kind) : Quoted(kind);
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options) : graph_(graph), options_(options) {}

  std::string Run() {
    written_.assign(graph_.values().size(), false);
    read_.assign(graph_.values().size(), false);
    bool sound = true;
    for (const Node& n : graph_.nodes()) {
      if (n.dead) continue;
      for (int v : n.inputs) {
        if (Known(v)) read_[static_cast<size_t>(v)] = true;
        sound = sound && (v == -1 || Known(v));
      }
      for (int v : n.outputs) {
        if (Known(v)) written_[static_cast<size_t>(v)] = true;
        sound = sound && Known(v);
      }
    }
    for (size_t v = 0; v < graph_.values().size(); ++v) {
      const Value& value = graph_.values()[v];
      const bool shown = value.role == Role::kInput || value.role == Role::kOutput ||
                         (value.role == Role::kTransient && read_[v]);
      if (shown && !written_[v]) Declare(static_cast<int>(v));
    }
    // A graph that is not in order yet is printed as it stands.
    std::vector<int> order;
    if (sound) {
      if (auto topological = graph_.TopologicalOrder(); topological.ok()) order = *topological;
    }
    if (order.empty()) {
      for (size_t id = 0; id < graph_.nodes().size(); ++id) {
        if (!graph_.nodes()[id].dead) order.push_back(static_cast<int>(id));
      }
    }
    for (int id : order) Statement(id);
    return std::move(out_);
  }

 private:
  bool Known(int v) const { return v >= 0 && static_cast<size_t>(v) < graph_.values().size(); }

  void Declare(int id) {
    const Value& v = graph_.value(id);
    out_ += fmt::format("%{} = {}{} {}", id, RoleName(v.role), Named(v.name), TypeOf(v));
    if (v.role == Role::kConstant) out_ += ' ' + Data(v, options_.max_constant_bytes);
    out_ += '\n';
  }

  void Statement(int node) {
    const Node& n = graph_.node(node);
    for (int v : n.inputs) {  // constants right before their first reader
      if (!Known(v) || graph_.value(v).role != Role::kConstant) continue;
      if (written_[static_cast<size_t>(v)]) continue;
      written_[static_cast<size_t>(v)] = true;
      Declare(v);
    }
    std::string results, inputs, types;
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      const int id = n.outputs[i];
      results += fmt::format("{}%{}", i == 0 ? "" : ", ", id);
      types += i == 0 ? " : " : ", ";
      if (!Known(id)) {
        types += "?";
        continue;
      }
      const Value& v = graph_.value(id);
      if (v.role != Role::kTransient) types += fmt::format("{} ", RoleName(v.role));
      types += TypeOf(v);
      if (i < n.out_types.size() && n.out_types[i].shape != v.type.shape)
        types += " as " + n.out_types[i].shape.ToString();
      types += Named(v.name);
    }
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      inputs += i == 0 ? "" : ", ";
      inputs += n.inputs[i] == -1 ? "_" : fmt::format("%{}", n.inputs[i]);
    }
    const std::string attrs = n.attrs.Map().ToText();
    const std::string part = n.expanded_from < 0 ? "" : "  // part of " + graph_.PartOf(node);
    out_ +=
        fmt::format("{} = {}#{}{}{}({}){}{}{}\n", n.outputs.empty() ? "()" : results,
                    n.def == nullptr ? Quoted("") : Kind(n.def->name), n.number, n.part,
                    Named(n.name), inputs, attrs.empty() ? "" : " {" + attrs + "}", types, part);
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::vector<bool> written_, read_;
  std::string out_;
};

}  // namespace

std::string Print(const Graph& graph, const PrintOptions& options) {
  return Printer(graph, options).Run();
}

}  // namespace tim::vx::ir
