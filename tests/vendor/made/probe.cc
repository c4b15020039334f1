// A vendor's plugin that does what its options say: it tells what it sees of a graph, throws in any
// of its functions, and knows another SDK. It takes every Add and doubles instead.
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "tim/vx/backend_plugin.h"

namespace {

namespace vendor = tim::vx::vendor;

/// Option "throw" names the function; "as" what is thrown.
void MayThrow(const vendor::Options& options, const std::string& where) {
  const auto found = options.find("throw");
  if (found == options.end() || found->second != where) return;
  const auto as = options.find("as");
  if (as != options.end() && as->second == "unsupported") {
    throw vendor::Error(TIMCL_UNSUPPORTED, "not supported in " + where);
  }
  if (as != options.end() && as->second == "int") throw 42;
  throw std::runtime_error("thrown in " + where);
}

template <class T>
std::string List(const T& values) {
  std::ostringstream text;
  for (const auto& value : values) text << (text.tellp() > 0 ? "," : "") << value;
  return "[" + text.str() + "]";
}

std::string Text(const vendor::AttrValue& value) {
  std::ostringstream text;
  if (const auto* b = std::get_if<bool>(&value)) text << "bool " << *b;
  if (const auto* i = std::get_if<int64_t>(&value)) text << "int " << *i;
  if (const auto* f = std::get_if<double>(&value)) text << "float " << *f;
  if (const auto* s = std::get_if<std::string>(&value)) text << "string " << *s;
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) text << "ints " << List(*v);
  if (const auto* v = std::get_if<std::vector<double>>(&value)) text << "floats " << List(*v);
  return text.str();
}

std::string Text(const vendor::Tensor& tensor) {
  if (!tensor) return "none";
  std::string text = tensor.name() + " type " + std::to_string(tensor.type()) + " " +
                     List(tensor.shape()) + " " + std::to_string(tensor.bytes()) + " bytes";
  const vendor::Quant quant = tensor.quant();
  if (quant.kind != TIMCL_QUANT_NONE) {
    text += " quant " + std::to_string(quant.kind) + " along " + std::to_string(quant.channel_dim) +
            " " + List(quant.scales) + List(quant.zero_points);
  }
  if (tensor.is_constant() && tensor.type() == TIMCL_TYPE_FLOAT32) {
    const auto* const data = static_cast<const float*>(tensor.data());
    text += " data " + List(std::vector<float>(data, data + tensor.count()));
  }
  return text;
}

class ProbeCompiler : public vendor::Compiler {
 public:
  explicit ProbeCompiler(const vendor::Setup& setup) : Compiler(setup) {
    MayThrow(options(), "create");
  }
  void CheckTarget(const std::string& model) override {
    MayThrow(options(), "check_target");
    if (model == "broken") throw vendor::Error(TIMCL_DEVICE, "its SDK is not installed");
  }
  void Partition(const std::string& model, const vendor::Graph& graph,
                 vendor::Selection& selection) override {
    MayThrow(options(), "partition");
    for (const vendor::Op& op : graph.ops()) {
      if (options().count("tell") > 0) {
        selection.Reject(op, Tell(model, graph, op));
      } else if (op.kind() == "Add") {
        selection.Select(op);
        if (options().count("twice") > 0) selection.Select(op);
      }
    }
  }
  vendor::Compiled Compile(const std::string&, const std::vector<vendor::Graph>& parts) override {
    MayThrow(options(), "compile");
    vendor::Compiled compiled;
    for (size_t i = 0; i < parts.size(); ++i) {
      compiled.calls.push_back({"double" + std::to_string(i), 0});
    }
    compiled.modules.push_back({"twice"});
    return compiled;
  }

 private:
  std::string Tell(const std::string& model, const vendor::Graph& graph, const vendor::Op& op) {
    std::string text = "model '" + model + "' sees " + op.kind() + " '" + op.name() + "' (";
    for (const auto& [name, value] : op.attrs()) text += name + "=" + Text(value) + " ";
    text += ") in:";
    for (const vendor::Tensor& tensor : op.inputs()) text += " {" + Text(tensor) + "}";
    text += " out:";
    for (const vendor::Tensor& tensor : op.outputs()) {
      text += " {" + Text(tensor) + "} read by " + std::to_string(graph.consumers(tensor).size());
    }
    for (const auto& [key, value] : options()) text += " option " + key + "=" + value;
    for (const auto& [name, blob] : assets()) {
      text += " asset " + name + "=" + std::string(blob.text());
    }
    return text;
  }
};

class ProbeContext : public vendor::Context {
 public:
  ProbeContext(const vendor::Options& options, const vendor::Program& program, std::string asset)
      : options_(options), count_(program.outputs.at(0).count()), asset_(std::move(asset)) {}
  void Requirements(bool, size_t, timcl_requirements*) override {
    MayThrow(options_, "requirements");
  }
  void Bind(bool is_output, size_t index, const timcl_buffer& buffer) override {
    MayThrow(options_, "bind");
    vendor::Context::Bind(is_output, index, buffer);
  }
  void Invoke() override {
    MayThrow(options_, "invoke");
    const auto* const x = static_cast<const float*>(input(0));
    auto* const y = static_cast<float*>(output(0));
    const float factor = asset_.empty() ? 2.0f : std::stof(asset_);
    for (int64_t i = 0; i < count_; ++i) y[i] = factor * x[i];
  }

 private:
  const vendor::Options& options_;  // the device's, which lives longer
  const int64_t count_;
  const std::string asset_;
};

class ProbeDevice : public vendor::Device {
 public:
  explicit ProbeDevice(const vendor::Setup& setup) : Device(setup) {
    MayThrow(options(), "device_create");
  }
  void CheckRuntime(const std::string& sdk_version, const std::string& model) override {
    MayThrow(options(), "check_runtime");
    if (options().count("old") > 0) {
      throw vendor::Error(TIMCL_VERSION_MISMATCH,
                          "it does not run SDK " + sdk_version + " for '" + model + "'");
    }
  }
  void RegisterAsset(const std::string& name, const vendor::Blob& asset) override {
    MayThrow(options(), "register_asset");
    vendor::Device::RegisterAsset(name, asset);
  }
  std::unique_ptr<vendor::Context> Load(const vendor::Program& program) override {
    MayThrow(options(), "context_create");
    if (program.code.text() != "twice") throw vendor::Error(TIMCL_BAD_BINARY, "not its code");
    const auto factor = assets().find("factor");
    return std::make_unique<ProbeContext>(
        options(), program, factor == assets().end() ? "" : std::string(factor->second.text()));
  }
};

}  // namespace

TIMCL_BACKEND_PLUGIN("test.probe", "1.0.0", "Probe") {
  plugin.SetSdkVersion("5.1");
  plugin.AddCompiler<ProbeCompiler>({"p1", "broken"});
  plugin.AddDispatcher<ProbeDevice>();
}
