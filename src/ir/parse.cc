// Parse: a graph from its text form. Nothing in the text is trusted: whatever it holds, the answer
// is a graph or a Status with line and column.
//
//   text      = { [ statement ] [ "//" comment ] newline }
//   statement = value "=" role [ name ] type                      a value that no op writes
//             | value "=" "constant" [ name ] type data
//             | results "=" kind [ "#" integer ] [ name ] "(" [ operand { "," operand } ] ")"
//               [ "{" attributes "}" ] [ ":" result { "," result } ]
//   role      = "input" | "output" | "transient"
//   value     = "%" integer              any number; their order becomes the order of the values
//   results   = value { "," value } | "(" ")"
//   kind      = word | string            an op of the registry
//   operand   = value | "_"              _ is left out; values may be used before their definition
//   attributes                           as AttrMap::ToText writes them: axis=1, pads=[0,0,1,1]
//   result    = [ "input" | "output" ] type [ "as" shape ] [ name ]     one for each of the results
//   type      = dtype [ "(" quant ")" ] ( shape [ "infer" ] | "[" "?" "]" )
//                                        [?]: left to inference; infer: was left to inference;
//                                        as: what the op computes, where it differs
//   dtype     = "f32" | "u8" | ...       as NameOf writes them
//   quant     = real "," integer                               asymmetric: scale, zero point
//             | "fl" "=" integer                               dynamic fixed point
//             | "dim" "=" integer "," reals                    symmetric per channel: scales
//             | "dim" "=" integer "," reals "," integers       asymmetric: scales, zero points
//             | "type" "=" integer "," "dim" "=" integer "," "fl" "=" integer "," reals ","
//               integers                                       every field
//   reals, integers = "[" [ number { "," number } ] "]"
//   shape     = integers
//   data      = "{" number { "," number } "}"    stored numbers (f16 and f32: the values)
//             | 'x"' hex digits '"'              bytes, for every dtype
//             | "elided"                         printed, but does not read back (Parse can take
//                                                it for zeros)
//   name      = string with the escapes \" \\ \n \xNN
//
// Inputs and outputs get no memory here: their shapes come from the text and may be of any size.
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/half.h"
#include "ir/graph.h"
#include "ir/text.h"

namespace tim::vx::ir {
namespace {

std::optional<DataType> DataTypeOf(std::string_view name) {
  for (int i = static_cast<int>(DataType::UNKNOWN); i <= static_cast<int>(DataType::UINT4); ++i) {
    const auto dtype = static_cast<DataType>(i);
    if (name == NameOf(dtype)) return dtype;
  }
  return std::nullopt;
}

class Parser {
 public:
  Parser(std::string_view text, const OpRegistry& registry, size_t* elided)
      : text_(text), registry_(registry), elided_(elided) {}

  Result<std::unique_ptr<Graph>> Run() {
    while (true) {
      Skip();
      if (at_ == text_.size()) break;
      if (Peek() != '\n') TIMCL_TRY(Statement());
      Skip();
      if (at_ == text_.size()) break;
      if (!Take('\n')) return Bad("expected the end of the line");
    }
    return Finish();
  }

 private:
  using Integer = int64_t;
  struct Defined {
    Value value;
    int id = -1;  // in the graph
  };
  struct Use {
    Integer value = -1;  // as in the text; -1 = left out
    size_t at = 0;
  };
  struct Op {
    Node node;
    std::vector<Use> inputs;
    std::vector<Integer> outputs;
    std::vector<std::optional<Shape>> computed;
  };

  Status BadAt(size_t at, const std::string& what, Code code = Code::kInvalidArgument) const {
    size_t line = 1, begin = 0;
    for (size_t i = 0; i < at && i < text_.size(); ++i) {
      if (text_[i] == '\n') ++line, begin = i + 1;
    }
    return Status::Error(
        code, fmt::format("graph text, line {}, column {}: {}", line, at - begin + 1, what));
  }
  Status Bad(const std::string& what) const { return BadAt(at_, what); }

  // Characters and words.

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  /// Blanks and a comment, not the end of the line.
  void Skip() {
    while (at_ < text_.size() && (Peek() == ' ' || Peek() == '\t' || Peek() == '\r')) ++at_;
    if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && Peek() != '\n') ++at_;
    }
  }
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeAfterBlanks(char c) {
    Skip();
    return Take(c);
  }
  Status Expect(char c) {
    return TakeAfterBlanks(c) ? Status() : Bad(fmt::format("expected '{}'", c));
  }
  std::string_view Word() {
    Skip();
    const size_t start = at_;
    if (text::IsWordStart(Peek())) {
      while (at_ < text_.size() && text::IsWordPart(text_[at_])) ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  /// Goes back if the next word is another one.
  bool TakeWord(std::string_view word) {
    const size_t start = at_;
    if (Word() == word) return true;
    at_ = start;
    return false;
  }

  // Numbers.

  template <class T>
  static const char* KindOf() {
    return std::is_floating_point_v<T> ? "a number" : "a whole number";
  }
  template <class T>
  Result<T> Number() {
    Skip();
    T v{};
    const auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (r.ec == std::errc::result_out_of_range) return Bad("the number is out of range");
    if (r.ec != std::errc()) return Bad(fmt::format("expected {}", KindOf<T>()));
    at_ = static_cast<size_t>(r.ptr - text_.data());
    return v;
  }
  template <class T>
  Result<std::vector<T>> List(char open, char close) {
    TIMCL_TRY(Expect(open));
    std::vector<T> list;
    if (TakeAfterBlanks(close)) return list;
    while (true) {
      TIMCL_ASSIGN(const T v, Number<T>());
      list.push_back(v);
      if (TakeAfterBlanks(close)) return list;
      if (!Take(',')) return Bad(fmt::format("expected ',' or '{}'", close));
    }
  }
  Result<Integer> Field(std::string_view name) {
    if (!TakeWord(name)) return Bad(fmt::format("expected {}=", name));
    TIMCL_TRY(Expect('='));
    return Number<Integer>();
  }
  template <class T>
  Result<T> Narrow(Integer v, size_t at) const {
    if (v < std::numeric_limits<T>::min() || v > std::numeric_limits<T>::max())
      return BadAt(at, "the number is out of range");
    return static_cast<T>(v);
  }

  static int HexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }
  bool TakeHexByte(unsigned char* out) {
    if (at_ + 2 > text_.size()) return false;
    const int high = HexDigit(text_[at_]), low = HexDigit(text_[at_ + 1]);
    if (high < 0 || low < 0) return false;
    *out = static_cast<unsigned char>(high * 16 + low);
    at_ += 2;
    return true;
  }

  Result<std::string> String() {
    TIMCL_TRY(Expect('"'));
    std::string s;
    while (!Take('"')) {
      if (at_ == text_.size() || Peek() == '\n') return Bad("the string does not end");
      char c = text_[at_++];
      if (c == '\\') {
        unsigned char byte = 0;
        if (Take('n')) {
          c = '\n';
        } else if (Take('x')) {
          if (!TakeHexByte(&byte)) return Bad("expected two hex digits");
          c = static_cast<char>(byte);
        } else if (Peek() == '"' || Peek() == '\\') {
          c = text_[at_++];
        } else {
          return Bad("unknown escape");
        }
      }
      s += c;
    }
    return s;
  }
  Result<std::string> OptionalName() {
    Skip();
    return Peek() == '"' ? String() : Result<std::string>(std::string());
  }

  // Types.

  Result<Quantization> Quant() {
    if (!Take('(')) return Quantization();
    Quantization q;
    Skip();
    const size_t start = at_;
    if (TakeWord("fl")) {
      at_ = start;
      TIMCL_ASSIGN(const Integer fl, Field("fl"));
      TIMCL_ASSIGN(const int8_t narrow, Narrow<int8_t>(fl, start));
      q = Quantization(QuantType::DYNAMIC_FIXED_POINT, narrow);
    } else if (TakeWord("dim")) {
      at_ = start;
      TIMCL_ASSIGN(const Integer dim, Field("dim"));
      TIMCL_ASSIGN(const int32_t narrow, Narrow<int32_t>(dim, start));
      TIMCL_TRY(Expect(','));
      TIMCL_ASSIGN(std::vector<float> scales, List<float>('[', ']'));
      std::vector<int32_t> zero_points;
      auto type = QuantType::SYMMETRIC_PER_CHANNEL;
      if (TakeAfterBlanks(',')) {
        type = QuantType::ASYMMETRIC_PER_CHANNEL;
        TIMCL_ASSIGN(zero_points, List<int32_t>('[', ']'));
      }
      q = Quantization(type, narrow, std::move(scales), std::move(zero_points));
    } else if (TakeWord("type")) {
      at_ = start;
      TIMCL_ASSIGN(const Integer type, Field("type"));
      if (type < 0 || type > static_cast<Integer>(QuantType::DYNAMIC_FIXED_POINT))
        return BadAt(start, "unknown type of quantization");
      TIMCL_TRY(Expect(','));
      TIMCL_ASSIGN(const Integer dim, Field("dim"));
      TIMCL_ASSIGN(const int32_t narrow_dim, Narrow<int32_t>(dim, start));
      TIMCL_TRY(Expect(','));
      TIMCL_ASSIGN(const Integer fl, Field("fl"));
      TIMCL_ASSIGN(const int8_t narrow_fl, Narrow<int8_t>(fl, start));
      TIMCL_TRY(Expect(','));
      q = Quantization(static_cast<QuantType>(type), narrow_fl);
      q.ChannelDim() = narrow_dim;
      TIMCL_ASSIGN(q.Scales(), List<float>('[', ']'));
      TIMCL_TRY(Expect(','));
      TIMCL_ASSIGN(q.ZeroPoints(), List<int32_t>('[', ']'));
    } else {
      TIMCL_ASSIGN(const float scale, Number<float>());
      TIMCL_TRY(Expect(','));
      TIMCL_ASSIGN(const int32_t zero_point, Number<int32_t>());
      q = Quantization(QuantType::ASYMMETRIC, scale, zero_point);
    }
    TIMCL_TRY(Expect(')'));
    return q;
  }

  Result<Shape> ShapeList() {
    TIMCL_ASSIGN(std::vector<int64_t> dims, List<int64_t>('[', ']'));
    return Shape(std::move(dims));
  }

  Status Type(Value* v) {
    Skip();
    const size_t start = at_;
    const std::string_view word = Word();
    const auto dtype = DataTypeOf(word);
    if (!dtype) return BadAt(start, fmt::format("'{}' is not a data type", word));
    v->type.dtype = *dtype;
    TIMCL_ASSIGN(v->type.quant, Quant());
    const size_t shape = at_;
    if (TakeAfterBlanks('[') && TakeAfterBlanks('?')) {
      v->infer_shape = true;
      return Expect(']');
    }
    at_ = shape;
    TIMCL_ASSIGN(v->type.shape, ShapeList());
    v->infer_shape = TakeWord("infer");
    return Status();
  }

  // Data of constants. Memory is asked for only after the text has shown as many numbers.

  Status Store(Value* v, size_t at, const void* data, size_t bytes) {
    auto wanted = v->type.CheckedBytes();
    if (!wanted.ok()) return BadAt(at, wanted.status().detail(), wanted.status().code());
    if (bytes != *wanted) {
      return BadAt(at, fmt::format("{} bytes of data for {}, which has {}", bytes,
                                   v->type.ToString(), *wanted));
    }
    v->storage = base::Storage::Allocate(bytes);
    if (v->storage == nullptr) return BadAt(at, "no memory for a constant", Code::kOutOfMemory);
    std::memcpy(v->storage->data(), data, bytes);
    return Status();
  }

  Status StoreZeros(Value* v, size_t at) {
    auto bytes = v->type.CheckedBytes();
    if (!bytes.ok()) return BadAt(at, bytes.status().detail(), bytes.status().code());
    // The text is small, whatever it says; all of it together stays within reason.
    if (*bytes <= kMostZeros - zeros_) v->storage = base::Storage::Allocate(*bytes);
    if (v->storage == nullptr) {
      return BadAt(at, fmt::format("no memory for {} bytes of a constant", *bytes),
                   Code::kOutOfMemory);
    }
    zeros_ += *bytes;
    ++*elided_;
    return Status();
  }

  template <class T>
  Status StoreNumbers(Value* v) {
    const size_t at = at_;
    TIMCL_ASSIGN(const std::vector<T> list, List<T>('{', '}'));
    if (v->type.dtype == DataType::FLOAT16) {
      if constexpr (std::is_same_v<T, float>) {
        std::vector<uint16_t> halves;
        for (float f : list) halves.push_back(base::FloatToHalf(f));
        return Store(v, at, halves.data(), halves.size() * sizeof(uint16_t));
      }
    }
    return Store(v, at, list.data(), list.size() * sizeof(T));
  }

  Status Data(Value* v) {
    Skip();
    const size_t start = at_;
    if (v->infer_shape) return Bad("a constant has a shape of its own");
    if (BitsOf(v->type.dtype) == 0) return Bad("a constant has a data type");
    if (TakeWord("elided")) {
      if (elided_ != nullptr) return StoreZeros(v, start);
      return BadAt(start,
                   "the data of this constant was elided when the graph was printed "
                   "(PrintOptions::max_constant_bytes)");
    }
    if (Take('x')) {
      if (!Take('"')) return Bad("expected '\"'");
      std::vector<unsigned char> bytes;
      for (unsigned char b = 0; !Take('"'); bytes.push_back(b)) {
        if (!TakeHexByte(&b)) return Bad("expected two hex digits");
      }
      return Store(v, start, bytes.data(), bytes.size());
    }
    if (Peek() != '{') return Bad("expected data: {numbers}, x\"hex\" or elided");
    switch (v->type.dtype) {
      case DataType::FLOAT32:
      case DataType::FLOAT16:
        return StoreNumbers<float>(v);
      case DataType::INT8:
      case DataType::BOOL8:
        return StoreNumbers<int8_t>(v);
      case DataType::UINT8:
        return StoreNumbers<uint8_t>(v);
      case DataType::INT16:
        return StoreNumbers<int16_t>(v);
      case DataType::UINT16:
        return StoreNumbers<uint16_t>(v);
      case DataType::INT32:
        return StoreNumbers<int32_t>(v);
      case DataType::UINT32:
        return StoreNumbers<uint32_t>(v);
      case DataType::INT64:
        return StoreNumbers<int64_t>(v);
      default:
        return Bad("data of 4-bit types is given as hex bytes");
    }
  }

  // Statements.

  Result<Integer> ValueId() {
    TIMCL_TRY(Expect('%'));
    const size_t start = at_;
    if (Peek() < '0' || Peek() > '9') return Bad("expected the number of a value");
    TIMCL_ASSIGN(const Integer id, Number<Integer>());
    TIMCL_TRY(Narrow<int32_t>(id, start).status());
    return id;
  }

  Status Define(Integer id, size_t at, Value value) {
    Defined d;
    d.value = std::move(value);
    if (!values_.emplace(id, std::move(d)).second)
      return BadAt(at, fmt::format("%{} is defined twice", id));
    return Status();
  }

  Status Statement() {
    std::vector<std::pair<Integer, size_t>> results;
    Skip();
    const size_t start = at_;
    if (Take('(')) {
      TIMCL_TRY(Expect(')'));
    } else {
      do {
        Skip();
        const size_t at = at_;
        TIMCL_ASSIGN(const Integer id, ValueId());
        results.emplace_back(id, at);
      } while (TakeAfterBlanks(','));
    }
    TIMCL_TRY(Expect('='));
    Skip();
    const size_t word_at = at_;
    std::string kind;
    if (Peek() == '"') {
      TIMCL_ASSIGN(kind, String());
    } else {
      const std::string_view word = Word();
      if (word.empty()) return Bad("expected the kind of an op, or a role");
      const auto role = RoleOf(word);
      if (role) {
        if (results.size() != 1) return BadAt(start, fmt::format("{} declares one value", word));
        return Declaration(results[0].first, results[0].second, *role);
      }
      kind = std::string(word);
    }
    std::shared_ptr<const OpDef> def = registry_.Find(kind);
    if (def == nullptr) {
      return BadAt(word_at, fmt::format("there is no op of the kind {}", text::Quoted(kind)),
                   Code::kNotFound);
    }
    return Operation(std::move(def), results);
  }

  static std::optional<Role> RoleOf(std::string_view word) {
    if (word == text::kInput) return Role::kInput;
    if (word == text::kOutput) return Role::kOutput;
    if (word == text::kTransient) return Role::kTransient;
    if (word == text::kConstant) return Role::kConstant;
    return std::nullopt;
  }

  Status Declaration(Integer id, size_t at, Role role) {
    Value v;
    v.role = role;
    TIMCL_ASSIGN(v.name, OptionalName());
    TIMCL_TRY(Type(&v));
    if (role == Role::kConstant) TIMCL_TRY(Data(&v));
    return Define(id, at, std::move(v));
  }

  Status Operation(std::shared_ptr<const OpDef> shared,
                   const std::vector<std::pair<Integer, size_t>>& results) {
    Op op;
    const OpDef& def = *shared;
    op.node.def = std::move(shared);
    op.node.number = static_cast<int>(ops_.size());
    if (Take('#')) {
      const size_t at = at_;
      TIMCL_ASSIGN(const Integer number, Number<Integer>());
      TIMCL_ASSIGN(op.node.number, Narrow<int32_t>(number, at));
      while (Take('.')) {
        TIMCL_ASSIGN(const Integer part, Number<Integer>());
        op.node.part += fmt::format(".{}", part);
      }
    }
    TIMCL_ASSIGN(op.node.name, OptionalName());
    TIMCL_TRY(Expect('('));
    if (!TakeAfterBlanks(')')) {
      while (true) {
        Skip();
        Use use{-1, at_};
        if (!Take('_')) {
          TIMCL_ASSIGN(use.value, ValueId());
        }
        op.inputs.push_back(use);
        if (TakeAfterBlanks(')')) break;
        if (!Take(',')) return Bad("expected ',' or ')'");
      }
    }
    TIMCL_TRY(Attributes(def, &op.node));
    for (size_t i = 0; i < results.size(); ++i) {
      if (!TakeAfterBlanks(i == 0 ? ':' : ','))
        return Bad(fmt::format("expected the type of result {}", i));
      TIMCL_TRY(OneResult(results[i], &op));
    }
    ops_.push_back(std::move(op));
    return Status();
  }

  Status Attributes(const OpDef& def, Node* node) {
    Skip();
    const size_t start = at_;
    std::string_view inside;
    if (Take('{')) {
      bool quoted = false;
      while (at_ < text_.size() && Peek() != '\n' && (quoted || Peek() != '}')) {
        if (quoted && Peek() == '\\' && at_ + 1 < text_.size())
          ++at_;
        else if (Peek() == '"')
          quoted = !quoted;
        ++at_;
      }
      inside = text_.substr(start + 1, at_ - start - 1);
      if (!Take('}')) return BadAt(start, "the attributes do not end");
    }
    auto map = ParseAttrs(inside);
    if (!map.ok()) return BadAt(start, map.status().detail(), map.status().code());
    if (def.schema == nullptr) {
      return map->size() == 0 ? Status()
                              : BadAt(start, fmt::format("{} has no attributes", def.name));
    }
    auto attrs = def.schema->from_map(*map);
    if (!attrs.ok()) return BadAt(start, attrs.status().detail(), attrs.status().code());
    node->attrs = AnyAttrs(def.schema, *attrs);
    return Status();
  }

  Status OneResult(const std::pair<Integer, size_t>& result, Op* op) {
    Value v;
    Skip();
    const size_t start = at_;
    if (TakeWord(text::kOutput)) {
      v.role = Role::kOutput;
    } else if (TakeWord(text::kInput)) {
      v.role = Role::kInput;
    } else if (TakeWord(text::kConstant) || TakeWord(text::kTransient)) {
      return BadAt(start, "a result is transient, or an input or output of the graph");
    }
    TIMCL_TRY(Type(&v));
    std::optional<Shape> computed;
    if (TakeWord("as")) {
      TIMCL_ASSIGN(computed, ShapeList());
    }
    TIMCL_ASSIGN(v.name, OptionalName());
    op->outputs.push_back(result.first);
    op->computed.push_back(std::move(computed));
    return Define(result.first, result.second, std::move(v));
  }

  Result<std::unique_ptr<Graph>> Finish() {
    auto graph = std::make_unique<Graph>();
    for (auto& [id, defined] : values_) defined.id = graph->AddValue(std::move(defined.value));
    for (Op& op : ops_) {
      for (const Use& use : op.inputs) {
        int id = -1;
        if (use.value >= 0) {
          const auto it = values_.find(use.value);
          if (it == values_.end())
            return BadAt(use.at, fmt::format("%{} is not defined", use.value));
          id = it->second.id;
        }
        op.node.inputs.push_back(id);
      }
      for (Integer v : op.outputs) op.node.outputs.push_back(values_.at(v).id);
      const int node = graph->AddNode(std::move(op.node));
      for (size_t i = 0; i < op.computed.size(); ++i) {
        if (op.computed[i]) graph->node(node).out_types[i].shape = *op.computed[i];
      }
    }
    return graph;
  }

  std::string_view text_;
  const OpRegistry& registry_;
  size_t* const elided_;
  static constexpr size_t kMostZeros = size_t{64} << 30;
  size_t zeros_ = 0;
  size_t at_ = 0;
  std::map<Integer, Defined> values_;
  std::vector<Op> ops_;
};

}  // namespace

Result<std::unique_ptr<Graph>> Parse(std::string_view text, const OpRegistry& registry,
                                     size_t* elided) {
  if (elided != nullptr) *elided = 0;
  auto graph = Parser(text, registry, elided).Run();
  if (graph.ok()) (*graph)->set_ops(std::make_shared<const OpRegistry>(registry));
  return graph;
}

}  // namespace tim::vx::ir
