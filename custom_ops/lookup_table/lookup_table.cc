// LookupTable: reads a file that nobody vouches for, and hands a table to a kernel.
#include "lookup_table.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "tim/vx/kernel_sources.h"
#include "tim/vx/op_def.h"

namespace custom_ops {

extern const tim::vx::KernelSources kLookupTableFiles;  // lookup_table.cl, by CMakeLists.txt
namespace {

using tim::vx::Code;
using tim::vx::DataType;
using tim::vx::Result;
using tim::vx::Status;

constexpr size_t kEntries = 256;
constexpr size_t kMaxBytes = 65536;  // of a file; the longest useful one is far below

/// The words of a text with the line of each; '#' hides the rest of its line.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  /// "" at the end.
  std::string_view Next() {
    while (at_ < text_.size() && (IsSpace(text_[at_]) || text_[at_] == '#')) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_[at_++] == '\n') {
        ++line_;
      }
    }
    const size_t begin = at_;
    while (at_ < text_.size() && !IsSpace(text_[at_]) && text_[at_] != '#') ++at_;
    return text_.substr(begin, at_ - begin);
  }
  size_t line() const { return line_; }

 private:
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  std::string_view text_;
  size_t at_ = 0, line_ = 1;
};

/// What was found, for a message: a file may hold anything, so not all of it and not as it is.
std::string Quoted(std::string_view word) {
  if (word.empty()) return "the end of the file";
  std::string text = "'";
  for (const char c : word.substr(0, 20)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (word.size() > 20 ? "...'" : "'");
}

Result<std::string> ReadText(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;  // no exceptions
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return Status::Error(Code::kNotFound, "there is no table file '" + path + "'");
  // A pipe or a device might never end.
  if (!fs::is_regular_file(status))
    return Status::Error(Code::kIo, "table file '" + path + "': expected a plain file");
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad())
    return Status::Error(Code::kIo, "table file '" + path + "' cannot be read");
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace

Result<Table> ReadTable(const std::string& path) {
  TIMCL_ASSIGN(const std::string text, ReadText(path));
  const auto bad = [&](const std::string& expected, const std::string& found) {
    return Status::Error(Code::kInvalidArgument,
                         "table file '" + path + "': expected " + expected + ", found " + found);
  };
  if (text.size() > kMaxBytes) return bad("at most 65536 bytes", "more");

  Words words(text);
  const std::string_view title = words.Next();
  if (title != "lookup_table") return bad("'lookup_table' as its first word", Quoted(title));
  const std::string_view type = words.Next();
  if (type != "uint8" && type != "int8")
    return bad("'uint8' or 'int8' behind 'lookup_table'", Quoted(type));
  Table table;
  table.type = type == "int8" ? DataType::INT8 : DataType::UINT8;
  const int lowest = type == "int8" ? -128 : 0;
  const std::string range = type == "int8" ? "-128 to 127" : "0 to 255";
  for (size_t i = 0; i < kEntries; ++i) {
    const std::string_view word = words.Next();
    if (word.empty()) return bad("256 numbers", std::to_string(i));
    int number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < lowest ||
        number > lowest + 255) {
      return bad("a whole number from " + range + " in line " + std::to_string(words.line()),
                 Quoted(word));
    }
    table.results.push_back(static_cast<uint8_t>(number));
  }
  const std::string_view more = words.Next();
  if (!more.empty()) {
    return bad("the end of the file behind 256 numbers",
               Quoted(more) + " in line " + std::to_string(words.line()));
  }
  return table;
}

LookupTable::LookupTable(tim::vx::Graph* graph, Result<Table> table)
    : CustomOpBase(graph, 1, 1, -1, "custom_ops.lookup_table"), table_(std::move(table)) {
  if (table_.ok() && table_->results.size() != kEntries) {
    table_ = Status::Error(Code::kInvalidArgument, "a table has 256 results, this one " +
                                                       std::to_string(table_->results.size()));
  }
  if (!table_.ok()) {
    // A constructor returns no status; Compile() will.
    Fail(table_.status().code(), table_.status().detail());
    return;
  }
  kernel_resource_ = kLookupTableFiles.Find("lookup_table.cl")->text;
  SetTypes(table_->type == DataType::INT8 ? "i8 -> i8" : "u8 -> u8");
  // Each result depends on the element at its own place alone, so layout inference need not put
  // transposes around.
  SetLayoutRule(tim::vx::LayoutRule::SameForAll());
  SetReference([this](const tim::vx::ref::Inputs& inputs, tim::vx::ref::Outputs& outputs) {
    const bool is_signed = table_->type == DataType::INT8;
    for (int64_t i = 0; i < outputs[0].count(); ++i) {
      const uint8_t result =
          table_->results[static_cast<size_t>(inputs[0].Raw(i) + (is_signed ? 128 : 0))];
      outputs[0].SetRaw(i, is_signed ? static_cast<int8_t>(result) : int64_t{result});
    }
    return Status();
  });
}

std::shared_ptr<tim::vx::Operation> LookupTable::Clone(
    std::shared_ptr<tim::vx::Graph>& graph) const {
  return graph->CreateOperation<LookupTable>(table_);
}

void LookupTable::SetupShapeInfor() { outputs_size_[0] = inputs_size_[0]; }

void LookupTable::SetupParams(std::vector<DataType>, std::string&) { func_name_ = "look_up"; }

void LookupTable::SetupEnqueue(uint32_t& dim, std::vector<size_t>& global_size,
                               std::vector<size_t>& local_size) {
  using tim::vx::ops::MakeParam;
  uint32_t count = 1;  // the library refuses more elements than fit
  for (const uint32_t extent : outputs_size_[0]) count *= extent;
  const uint8_t flip = table_->type == DataType::INT8 ? 0x80 : 0;
  param_list_ = {MakeParam(table_->results), MakeParam(count), MakeParam(flip)};
  SetWorkItems(count, dim, global_size, local_size);
}

}  // namespace custom_ops
