#include "device.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <vector>

namespace acme {
namespace {

using Words = std::vector<std::string>;

struct Step {
  std::string name;
  size_t to = 0;
  std::vector<size_t> from;
  float low = 0, high = 0;  // of clip
};

/// One entry of a module, ready to run.
struct Code {
  std::vector<std::vector<float>> values;
  std::vector<size_t> inputs, outputs;  // indices into values
  std::vector<Step> steps;
};

/// Reads bytecode. It comes from a file, perhaps of somebody else: every word of it is checked, so
/// that running it needs no checks.
class Reader {
 public:
  Code Read(std::string_view text, const std::string& entry) {
    std::istringstream lines{std::string(text)};
    if (!std::getline(lines, line_) || line_.rfind("acme 1 for ", 0) != 0) {
      throw vendor::Error(TIMCL_BAD_BINARY, "this is no bytecode of Acme's version 1");
    }
    while (std::getline(lines, line_)) {
      if (line_ != "entry " + entry) continue;
      while (std::getline(lines, line_)) {
        if (line_ == "end") return std::move(code_);
        std::istringstream words(line_);
        Line(Words(std::istream_iterator<std::string>(words), {}));
      }
      throw vendor::Error(TIMCL_BAD_BINARY, "entry '" + entry + "' does not end");
    }
    throw vendor::Error(TIMCL_NOT_FOUND, "the bytecode has no entry '" + entry + "'");
  }

 private:
  void Line(const Words& words) {
    if (words.size() < 2) Fail("it has too few words");
    const std::string& name = words[0];
    if (name == "input") {
      Want(words, 3);
      code_.inputs.push_back(NewValue(words[1], Count(words[2])));
    } else if (name == "const") {
      const size_t value = NewValue(words[1], words.size() - 2);
      for (size_t i = 2; i < words.size(); ++i) code_.values[value][i - 2] = Number(words[i]);
    } else if (name == "output") {
      Want(words, 2);
      code_.outputs.push_back(Value(words[1]));
    } else {
      Instruction(name, words);
    }
  }

  void Instruction(const std::string& name, const Words& words) {
    static const std::map<std::string, size_t> kOperands = {
        {"add", 2}, {"mul", 2}, {"relu", 1}, {"clip", 1}, {"fc", 3}};
    const auto operands = kOperands.find(name);
    if (operands == kOperands.end()) Fail("there is no such instruction");
    const size_t n = operands->second;
    Want(words, 2 + n + (name == "clip" ? 2 : 0));
    Step step;
    step.name = name;
    for (size_t i = 0; i < n; ++i) step.from.push_back(Value(words[2 + i]));
    size_t count = Size(step.from[0]);
    if (name == "clip") step.low = Number(words[3]), step.high = Number(words[4]);
    if (n == 2 && count != Size(step.from[1])) Fail("its operands differ in size");
    if (name == "fc") {
      const size_t weights = Size(step.from[1]), outs = Size(step.from[2]);
      if (outs == 0 || weights == 0 || weights % outs != 0 || count % (weights / outs) != 0) {
        Fail("its operands do not fit together");
      }
      count = count / (weights / outs) * outs;
    }
    step.to = NewValue(words[1], count);
    code_.steps.push_back(step);
  }

  size_t NewValue(const std::string& name, size_t count) {
    if (count > kMemory - used_) {
      throw vendor::Error(TIMCL_UNSUPPORTED, "it needs more than the 64 MiB that Acme's chip has");
    }
    used_ += count;
    if (!names_.emplace(name, code_.values.size()).second) Fail("'" + name + "' is there already");
    code_.values.emplace_back(count);
    return code_.values.size() - 1;
  }
  size_t Value(const std::string& name) const {
    const auto found = names_.find(name);
    if (found == names_.end()) Fail("nothing before it makes '" + name + "'");
    return found->second;
  }
  size_t Size(size_t value) const { return code_.values[value].size(); }

  template <class T>
  T Parse(const std::string& word) const {
    T value = 0;
    const char* const end = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data(), end, value);
    if (at != end || error != std::errc()) Fail("'" + word + "' is no number that fits");
    return value;
  }
  float Number(const std::string& word) const { return Parse<float>(word); }
  size_t Count(const std::string& word) const { return Parse<size_t>(word); }

  void Want(const Words& words, size_t count) const {
    if (words.size() != count) Fail(std::to_string(count) + " words are wanted");
  }
  [[noreturn]] void Fail(const std::string& why) const {
    throw vendor::Error(TIMCL_BAD_BINARY, "bytecode '" + line_.substr(0, 60) + "': " + why);
  }

  static constexpr size_t kMemory = size_t{1} << 24;  // elements

  Code code_;
  std::string line_;
  std::map<std::string, size_t> names_;
  size_t used_ = 0;
};

void Run(const Step& step, std::vector<std::vector<float>>& values) {
  const std::vector<float>& x = values[step.from[0]];
  std::vector<float>& to = values[step.to];
  if (step.name == "fc") {  // to[o, b] = sum over k of x[k, b] * weights[k, o] + bias[o]
    const std::vector<float>&weights = values[step.from[1]], &bias = values[step.from[2]];
    const size_t outs = bias.size(), length = weights.size() / outs;
    for (size_t i = 0; i < to.size(); ++i) {
      const size_t o = i % outs, b = i / outs;
      float sum = bias[o];
      for (size_t k = 0; k < length; ++k) sum += x[b * length + k] * weights[o * length + k];
      to[i] = sum;
    }
    return;
  }
  const float* const y = step.from.size() > 1 ? values[step.from[1]].data() : nullptr;
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = step.name == "add"    ? x[i] + y[i]
            : step.name == "mul"  ? x[i] * y[i]
            : step.name == "relu" ? (x[i] < 0 ? 0 : x[i])  // passes a NaN on, as clip does
            : x[i] < step.low     ? step.low
            : x[i] > step.high    ? step.high
                                  : x[i];
  }
}

class Context : public vendor::Context {
 public:
  explicit Context(Code code) : code_(std::move(code)) {}

  void Invoke() override {
    for (size_t i = 0; i < code_.inputs.size(); ++i) {
      std::vector<float>& value = code_.values[code_.inputs[i]];
      std::memcpy(value.data(), input(i), value.size() * sizeof(float));
    }
    for (const Step& step : code_.steps) Run(step, code_.values);
    for (size_t i = 0; i < code_.outputs.size(); ++i) {
      const std::vector<float>& value = code_.values[code_.outputs[i]];
      std::memcpy(output(i), value.data(), value.size() * sizeof(float));
    }
  }
  std::vector<vendor::Metric> Metrics(int32_t) override {
    return {{"instructions", static_cast<double>(code_.steps.size())}};
  }

 private:
  Code code_;
};

/// That tensors of the graph and values of the bytecode are of one size.
void CheckBorder(const std::vector<vendor::Tensor>& tensors, const std::vector<size_t>& values,
                 const Code& code) {
  bool fits = tensors.size() == values.size();
  for (size_t i = 0; fits && i < tensors.size(); ++i) {
    fits = tensors[i].bytes() == code.values[values[i]].size() * sizeof(float);
  }
  if (!fits) throw vendor::Error(TIMCL_BAD_BINARY, "the bytecode was made for other tensors");
}

}  // namespace

void Device::CheckRuntime(const std::string& sdk_version, const std::string&) {
  if (sdk_version.rfind("2026.", 0) == 0) return;
  throw vendor::Error(TIMCL_VERSION_MISMATCH,
                      "this runtime takes code of the SDKs 2026.x, not of " + sdk_version);
}

std::unique_ptr<vendor::Context> Device::Load(const vendor::Program& program) {
  Code code = Reader().Read(program.code.text(), program.entry);
  CheckBorder(program.inputs, code.inputs, code);
  CheckBorder(program.outputs, code.outputs, code);
  return std::make_unique<Context>(std::move(code));
}

}  // namespace acme
