#include "compiler.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>

namespace acme {
namespace {

/// The instruction for a kind of op; "": there is none.
std::string InstructionFor(const std::string& kind) {
  static const std::map<std::string, std::string> kInstructions = {{"Add", "add"},
                                                                   {"Multiply", "mul"},
                                                                   {"Relu", "relu"},
                                                                   {"Clip", "clip"},
                                                                   {"FullyConnected", "fc"}};
  const auto found = kInstructions.find(kind);
  return found == kInstructions.end() ? "" : found->second;
}

/// Why Acme does not take an op, for people who read the report; "" if it does.
std::string Refusal(const std::string& model, const vendor::Op& op) {
  const std::string instruction = InstructionFor(op.kind());
  if (instruction.empty()) return "it has no instruction for " + op.kind();
  for (const vendor::Tensor& tensor : op.inputs()) {
    if (tensor && tensor.type() != TIMCL_TYPE_FLOAT32) return "not float32: " + tensor.label();
  }
  const vendor::Tensor x = op.input(0), y = op.input(1), out = op.output(0);
  if (out.type() != TIMCL_TYPE_FLOAT32) return "not float32: " + out.label();

  if (instruction == "add" || instruction == "mul") {
    if (x.shape() != y.shape()) {
      return "it does not broadcast: " + x.label() + " and " + y.label();
    }
    if (instruction == "mul" && op.attr<float>("scale") != 1) {
      return "the scale is not 1";
    }
  }
  if (instruction == "fc") {
    if (model == "A50") return "its model A50 has no matrix unit";
    if (op.attr<int>("axis") != 0) return "the sum goes over more dimensions than the fastest";
    if (!y.is_constant()) return "the weight is no constant: " + y.label();
    if (y.shape().size() != 2) return "the weight is no matrix: " + y.label();
  }
  return "";
}

std::string Number(float value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

/// Writes one part as one entry.
class Writer {
 public:
  explicit Writer(std::string* code) : code_(*code) {}

  void Part(const std::string& entry, const vendor::Graph& part) {
    code_ += "entry " + entry + "\n";
    for (const vendor::Tensor& input : part.inputs()) {
      const std::string name = NewName(input);
      code_ += "input " + name + " " + std::to_string(input.count()) + "\n";
    }
    for (const vendor::Op& op : part.ops()) Write(op);
    for (const vendor::Tensor& output : part.outputs()) {
      code_ += "output " + names_.at(output.id()) + "\n";
    }
    code_ += "end\n";
  }

 private:
  void Write(const vendor::Op& op) {
    std::string line;
    for (const vendor::Tensor& input : op.inputs()) {
      if (input) line += " " + NameOf(input);
    }
    if (op.kind() == "FullyConnected" && !op.input(2)) {  // the instruction always has a bias
      line += " " + Constant(std::vector<float>(static_cast<size_t>(op.input(1).shape()[1])));
    }
    if (op.kind() == "Clip") {
      line += " " + Number(op.attr<float>("min")) + " " + Number(op.attr<float>("max"));
    }
    code_ += InstructionFor(op.kind()) + " " + NewName(op.output(0)) + line + "\n";
  }

  std::string NewName() { return "v" + std::to_string(count_++); }
  std::string NewName(const vendor::Tensor& tensor) { return names_[tensor.id()] = NewName(); }
  /// A constant is written where it is first used.
  std::string NameOf(const vendor::Tensor& tensor) {
    const auto found = names_.find(tensor.id());
    if (found != names_.end()) return found->second;
    const auto* const data = static_cast<const float*>(tensor.data());
    return names_[tensor.id()] = Constant({data, data + tensor.count()});
  }
  std::string Constant(const std::vector<float>& values) {
    const std::string name = NewName();
    code_ += "const " + name;
    for (const float value : values) code_ += " " + Number(value);
    code_ += "\n";
    return name;
  }

  std::string& code_;
  std::map<uint32_t, std::string> names_;  // of values, by tensor
  int count_ = 0;
};

}  // namespace

void Compiler::Partition(const std::string& model, const vendor::Graph& graph,
                         vendor::Selection& selection) {
  for (const vendor::Op& op : graph.ops()) {
    const std::string why = Refusal(model, op);
    if (why.empty()) {
      selection.Select(op);
    } else {
      selection.Reject(op, why);
    }
  }
}

vendor::Compiled Compiler::Compile(const std::string& model,
                                   const std::vector<vendor::Graph>& parts) {
  vendor::Compiled compiled;
  std::string code = "acme 1 for " + (model.empty() ? "A100" : model) + "\n";
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string entry = "part" + std::to_string(i);
    Writer(&code).Part(entry, parts[i]);
    compiled.calls.push_back({entry, 0});
  }
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);) Log(TIMCL_LOG_DEBUG, line);
  compiled.modules.push_back({code});  // one for all of them
  return compiled;
}

}  // namespace acme
