// A vendor's compiler and dispatcher in C++: a shared library that links against nothing and that
// any program loads at run time (Context::LoadPlugins). docs/vendors.md goes through one.
//
//   TIMCL_BACKEND_PLUGIN("acme.npu", "1.0.0", "Acme") {
//     plugin.AddCompiler<AcmeCompiler>({"A100", "A50"});  // a vendor::Compiler, and its models
//     plugin.AddDispatcher<AcmeDevice>();                 // a vendor::Device
//   }
//
// Once per library, in one source file. Either half may be left out, or stand in a library of its
// own. In CMake, timcl_add_plugin builds it.
//
// All that a plugin says goes through exceptions: throw vendor::Error with a status and words.
// Other exceptions become TIMCL_PLUGIN with their words. None leaves the library. Lifetimes and
// threads are those of tim/vx/plugin.h, whose tables this header fills in.
#ifndef TIM_VX_BACKEND_PLUGIN_H_
#define TIM_VX_BACKEND_PLUGIN_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tim/vx/plugin.h"

namespace tim::vx::vendor {

/// A failure: TIMCL_UNSUPPORTED where the next backend should take over, else what fits best.
class Error : public std::runtime_error {
 public:
  Error(timcl_status status, const std::string& words)
      : std::runtime_error(words), status_(status) {}
  timcl_status status() const { return status_; }

 private:
  timcl_status status_;
};

/// Bytes that the library owns.
struct Blob {
  const void* data = nullptr;
  size_t size = 0;
  int fd = -1;  // a file that has them too, from `fd_offset` on; -1: there is none
  uint64_t fd_offset = 0;
  std::string_view text() const { return {static_cast<const char*>(data), size}; }
};
using Options = std::map<std::string, std::string>;
using Assets = std::map<std::string, Blob>;

struct Quant {
  int32_t kind = TIMCL_QUANT_NONE;
  int32_t channel_dim = 0;  // of kinds per channel
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  // as many
};

/// An attribute: nothing, or the value in the one type that it has. Enumerators are strings.
using AttrValue = std::variant<std::monostate, bool, int64_t, double, std::string,
                               std::vector<int64_t>, std::vector<double>, std::vector<std::byte>>;

namespace detail {
inline std::string Text(const char* text) { return text == nullptr ? "" : text; }
inline AttrValue ValueOf(const timcl_attr& attr);
template <class T>
T Convert(const AttrValue& value, const std::string& whose);
}  // namespace detail

// Views of a graph: two pointers each, copied freely, valid as long as the graph that the call was
// given. Those of a Program live as long as its context.

class Tensor {
 public:
  Tensor() = default;
  Tensor(const timcl_host_api* host, const timcl_tensor* tensor) : host_(host), tensor_(tensor) {}
  /// False for an optional operand that was left out: nothing else is to be asked of it.
  explicit operator bool() const { return tensor_ != nullptr; }
  const timcl_tensor* get() const { return tensor_; }

  /// A number of its own in its graph, equal in the whole graph and in its parts.
  uint32_t id() const { return host_->tensor_id(tensor_); }
  std::string name() const { return detail::Text(host_->tensor_name(tensor_)); }
  /// For messages: "'main' f32[56,56,24,1]".
  std::string label() const { return detail::Text(host_->tensor_label(tensor_)); }
  int32_t type() const { return host_->tensor_type(tensor_); }  // TIMCL_TYPE_...
  /// Fastest dimension first.
  std::vector<int64_t> shape() const {
    const int64_t* const dims = host_->tensor_dims(tensor_);
    return dims == nullptr ? std::vector<int64_t>()
                           : std::vector<int64_t>(dims, dims + host_->tensor_rank(tensor_));
  }
  /// Elements.
  int64_t count() const {
    const int64_t* const dims = host_->tensor_dims(tensor_);
    int64_t count = 1;
    for (size_t d = 0; dims != nullptr && d < host_->tensor_rank(tensor_); ++d) count *= dims[d];
    return count;
  }
  /// Of its dense elements.
  size_t bytes() const { return host_->tensor_bytes(tensor_); }
  Quant quant() const {
    timcl_quant q = {};
    const timcl_status status = host_->tensor_quant(tensor_, &q);
    if (status != TIMCL_OK) throw Error(status, label() + ": its quantization cannot be read");
    Quant quant = {q.kind, q.channel_dim, {}, std::vector<int32_t>(q.count)};
    if (q.count > 0) quant.scales.assign(q.scales, q.scales + q.count);
    if (q.zero_points != nullptr) quant.zero_points.assign(q.zero_points, q.zero_points + q.count);
    return quant;
  }
  bool is_constant() const { return data() != nullptr; }
  /// Dense elements of a constant; null for what is none.
  const void* data() const { return host_->tensor_data(tensor_); }

 private:
  const timcl_host_api* host_ = nullptr;
  const timcl_tensor* tensor_ = nullptr;
};

class Op {
 public:
  Op() = default;
  Op(const timcl_host_api* host, const timcl_op* op) : host_(host), op_(op) {}
  explicit operator bool() const { return op_ != nullptr; }
  const timcl_op* get() const { return op_; }

  /// Name of its definition: "Conv2d" (docs/operators.md).
  std::string kind() const { return detail::Text(host_->op_kind(op_)); }
  /// The user's name for it, may be "".
  std::string name() const { return detail::Text(host_->op_name(op_)); }
  /// For messages: "Conv2d#12 'stem'".
  std::string label() const { return detail::Text(host_->op_label(op_)); }
  /// Beyond the last one, and for an optional operand that was left out: a false one.
  Tensor input(size_t index) const { return {host_, host_->op_input(op_, index)}; }
  Tensor output(size_t index) const { return {host_, host_->op_output(op_, index)}; }
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> all(host_->op_num_inputs(op_));
    for (size_t i = 0; i < all.size(); ++i) all[i] = input(i);
    return all;
  }
  std::vector<Tensor> outputs() const {
    std::vector<Tensor> all(host_->op_num_outputs(op_));
    for (size_t i = 0; i < all.size(); ++i) all[i] = output(i);
    return all;
  }
  std::map<std::string, AttrValue> attrs() const {
    std::map<std::string, AttrValue> all;
    for (size_t i = 0; i < host_->op_num_attrs(op_); ++i) {
      timcl_attr value = {};
      const char* const name = host_->op_attr_at(op_, i, &value);
      if (name != nullptr) all.emplace(name, detail::ValueOf(value));
    }
    return all;
  }
  /// T: bool, any integer, float, double, or one of AttrValue's. TIMCL_NOT_FOUND, in words that
  /// name those that there are; TIMCL_INVALID_TYPE: it is of another kind; TIMCL_INVALID_ARGUMENT:
  /// a number that T cannot hold.
  template <class T>
  T attr(const std::string& name) const {
    timcl_attr value = {};
    const timcl_status status = host_->op_attr(op_, name.c_str(), &value);
    if (status == TIMCL_NOT_FOUND) throw Error(status, Missing(name));
    if (status != TIMCL_OK) throw Error(status, label() + ": no attribute '" + name + "'");
    return detail::Convert<T>(detail::ValueOf(value), label() + ": attribute '" + name + "'");
  }

 private:
  std::string Missing(const std::string& name) const {
    std::string there;
    for (const auto& [other, value] : attrs()) there += (there.empty() ? "" : ", ") + other;
    return label() + ": no attribute '" + name + "'; there " +
           (there.empty() ? "are none" : "are: " + there);
  }

  const timcl_host_api* host_ = nullptr;
  const timcl_op* op_ = nullptr;
};

/// A graph, or a part of one.
class Graph {
 public:
  Graph() = default;
  Graph(const timcl_host_api* host, const timcl_graph* graph) : host_(host), graph_(graph) {}
  const timcl_graph* get() const { return graph_; }

  /// In topological order.
  std::vector<Op> ops() const {
    std::vector<Op> all(host_->graph_num_ops(graph_));
    for (size_t i = 0; i < all.size(); ++i) all[i] = {host_, host_->graph_op(graph_, i)};
    return all;
  }
  /// What crosses its border, constants left out.
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> all(host_->graph_num_inputs(graph_));
    for (size_t i = 0; i < all.size(); ++i) all[i] = {host_, host_->graph_input(graph_, i)};
    return all;
  }
  std::vector<Tensor> outputs() const {
    std::vector<Tensor> all(host_->graph_num_outputs(graph_));
    for (size_t i = 0; i < all.size(); ++i) all[i] = {host_, host_->graph_output(graph_, i)};
    return all;
  }
  /// The op of this graph that writes it; a false one: it comes from outside.
  Op producer(const Tensor& tensor) const {
    return {host_, host_->tensor_producer(graph_, tensor.get())};
  }
  /// Ops of this graph that read it, each once.
  std::vector<Op> consumers(const Tensor& tensor) const {
    std::vector<Op> all(host_->tensor_num_consumers(graph_, tensor.get()));
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = {host_, host_->tensor_consumer(graph_, tensor.get(), i)};
    }
    return all;
  }

 private:
  const timcl_host_api* host_ = nullptr;
  const timcl_graph* graph_ = nullptr;
};

/// The answer to Compiler::Partition. An op that is not answered counts as rejected.
class Selection {
 public:
  Selection(const timcl_host_api* host, timcl_selection* selection)
      : host_(host), selection_(selection) {}
  /// Takes an op of the graph, once. Ops with different partition indices never run as one part.
  void Select(const Op& op, int32_t partition_index = 0) {
    const timcl_status status = host_->select(selection_, op.get(), partition_index);
    if (status == TIMCL_OK) return;
    throw Error(status, op.label() + (status == TIMCL_ALREADY_EXISTS ? " was selected before"
                                                                     : " cannot be selected"));
  }
  /// Says why not: the report shows it.
  void Reject(const Op& op, const std::string& why) {
    host_->reject(selection_, op.get(), why.c_str());
  }

 private:
  const timcl_host_api* host_;
  timcl_selection* selection_;
};

/// What a compiler or a device is made with; its constructor takes it and hands it to the base.
struct Setup {
  const timcl_host_api* host = nullptr;
  Options options;  // CompileOption::SetOption for this vendor
  Assets assets;    // of the graph; a device is given them one by one
};

/// What compilers and devices have in common.
class Half {
 public:
  explicit Half(const Setup& setup) : setup_(setup) {}
  virtual ~Half() = default;
  Half(const Half&) = delete;
  Half& operator=(const Half&) = delete;

  const timcl_host_api* host() const { return setup_.host; }
  const Options& options() const { return setup_.options; }
  /// The bytes stay where they are as long as this object.
  const Assets& assets() const { return setup_.assets; }
  /// One line for the library's log, under topic "plugin". Levels: TIMCL_LOG_...
  void Log(int32_t level, const std::string& text) const { host()->log(level, text.c_str()); }

 protected:
  Setup setup_;
};

struct Module {
  std::string code;  // any bytes
  /// Optional: an object that a dispatcher of this library takes in place of the code, in this
  /// process alone.
  std::shared_ptr<void> live = {};
};
struct Call {
  std::string entry;
  size_t module = 0;  // index
};
struct Compiled {
  std::vector<Module> modules;
  std::vector<Call> calls;  // one for each part, in their order
};

/// Compiles. One object for each compilation of a graph, made by a constructor (const Setup&).
class Compiler : public Half {
 public:
  using Half::Half;
  /// Throws where it cannot compile for a model ("" is its own choice) on this machine.
  virtual void CheckTarget(const std::string& /*model*/) {}
  /// Selects ops of the graph.
  virtual void Partition(const std::string& model, const Graph& graph, Selection& selection) = 0;
  /// Compiles all parts of a graph together. Where that throws TIMCL_UNSUPPORTED it is called for
  /// each part alone: the ops of those that fail go to the next backend.
  virtual Compiled Compile(const std::string& model, const std::vector<Graph>& parts) = 0;
};

/// A call that is to be run.
struct Program {
  Blob code;             // of the module that the call is in
  void* live = nullptr;  // Module::live, where both halves are of this library
  std::string entry;
  std::vector<Tensor> inputs, outputs;  // the border of the part
};

/// A figure of the last invocation: {"cycles", 1204, ""}.
struct Metric {
  std::string name;
  double value = 0;
  std::string unit = {};
};

/// One call of a graph, ready to run.
class Context {
 public:
  Context() = default;
  virtual ~Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// What the memory of a tensor must be like. Unless it is changed: on the host, dense, 64-byte
  /// aligned.
  virtual void Requirements(bool /*is_output*/, size_t /*index*/, timcl_requirements* /*needs*/) {}
  /// Before the first invocation, and again whenever the address changed. This one keeps it for
  /// input() and output().
  virtual void Bind(bool is_output, size_t index, const timcl_buffer& buffer) {
    if (buffer.kind != TIMCL_BUFFER_HOST) {
      throw Error(TIMCL_UNSUPPORTED, "memory of kind " + std::to_string(buffer.kind) +
                                         " where memory of the host is needed");
    }
    std::vector<void*>& bound = is_output ? outputs_ : inputs_;
    if (bound.size() <= index) bound.resize(index + 1);
    bound[index] = buffer.data;
  }
  /// Returns when the outputs are written.
  virtual void Invoke() = 0;
  /// The tensors of its program have other shapes now; Requirements and Bind follow.
  /// TIMCL_UNSUPPORTED, as here: the part is compiled anew.
  virtual void Resize() { throw Error(TIMCL_UNSUPPORTED, "its shapes are fixed"); }
  /// Level 0: what costs nothing to know; higher ones more.
  virtual std::vector<Metric> Metrics(int32_t /*level*/) { return {}; }

 protected:
  /// Memory of a tensor, as it was bound.
  const void* input(size_t index) const { return At(inputs_, "input", index); }
  void* output(size_t index) const { return At(outputs_, "output", index); }

 private:
  static void* At(const std::vector<void*>& bound, const char* what, size_t index) {
    if (index < bound.size() && bound[index] != nullptr) return bound[index];
    throw Error(TIMCL_INVALID_ARGUMENT, std::string(what) + " " + std::to_string(index) +
                                            " has no memory: it was never bound");
  }

  std::vector<void*> inputs_, outputs_;
};

/// Runs what a compiler of the same vendor made. One object for each compiled graph, made by a
/// constructor (const Setup&).
class Device : public Half {
 public:
  using Half::Half;
  /// Throws where it does not run what the vendor's SDK of this version compiled for this model.
  /// A class that does not override it runs what its own version compiled, and nothing else.
  virtual void CheckRuntime(const std::string& /*sdk_version*/, const std::string& /*model*/) {}
  /// Each asset of the graph, once, before the first Load. This one keeps it for assets().
  virtual void RegisterAsset(const std::string& name, const Blob& asset) {
    setup_.assets[name] = asset;
  }
  /// TIMCL_NOT_FOUND: there is no such entry. TIMCL_UNSUPPORTED: the part goes to the next backend.
  virtual std::unique_ptr<Context> Load(const Program& program) = 0;
};

namespace detail {

inline AttrValue ValueOf(const timcl_attr& attr) {
  switch (attr.kind) {
    case TIMCL_ATTR_BOOL:
      return attr.bool_value != 0;
    case TIMCL_ATTR_INT:
      return attr.int_value;
    case TIMCL_ATTR_FLOAT:
      return attr.float_value;
    case TIMCL_ATTR_STRING:
      return Text(attr.string_value);
    case TIMCL_ATTR_INTS:
      return attr.count == 0 ? std::vector<int64_t>()
                             : std::vector<int64_t>(attr.ints, attr.ints + attr.count);
    case TIMCL_ATTR_FLOATS:
      return attr.count == 0 ? std::vector<double>()
                             : std::vector<double>(attr.floats, attr.floats + attr.count);
    case TIMCL_ATTR_BYTES: {
      const auto* const bytes = static_cast<const std::byte*>(attr.bytes);
      return attr.count == 0 ? std::vector<std::byte>()
                             : std::vector<std::byte>(bytes, bytes + attr.count);
    }
    default:  // none, or a kind of a later minor
      return {};
  }
}

inline const char* KindOf(const AttrValue& value) {
  static constexpr const char* kNames[] = {"empty",    "a bool",   "an integer",   "a real number",
                                           "a string", "integers", "real numbers", "bytes"};
  return kNames[value.index()];
}

template <class T>
T Convert(const AttrValue& value, const std::string& whose) {
  constexpr bool kInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  using Held = std::conditional_t<kInteger, int64_t,
                                  std::conditional_t<std::is_floating_point_v<T>, double, T>>;
  const Held* const held = std::get_if<Held>(&value);
  if (held == nullptr) {
    throw Error(TIMCL_INVALID_TYPE,
                whose + " is " + KindOf(value) + ", read as " + KindOf(AttrValue(Held{})));
  }
  const T converted = static_cast<T>(*held);
  if constexpr (kInteger) {
    if (static_cast<Held>(converted) != *held || (converted < T(0)) != (*held < 0)) {
      throw Error(TIMCL_INVALID_ARGUMENT, whose + " is " + std::to_string(*held) +
                                              ", which an integer of " +
                                              std::to_string(8 * sizeof(T)) + " bits cannot hold");
    }
  }
  return converted;
}

inline timcl_status Fail(const timcl_host_api* host, timcl_status status, const char* words) {
  if (host != nullptr && TIMCL_HAS(timcl_host_api, host, set_error)) host->set_error(words);
  return status == TIMCL_OK ? TIMCL_PLUGIN : status;
}

/// No exception leaves the library.
template <class F>
timcl_status Fenced(const timcl_host_api* host, const F& f) noexcept {
  try {
    f();
    return TIMCL_OK;
  } catch (const Error& e) {
    return Fail(host, e.status(), e.what());
  } catch (const std::bad_alloc& e) {
    return Fail(host, TIMCL_OUT_OF_MEMORY, e.what());
  } catch (const std::exception& e) {
    return Fail(host, TIMCL_PLUGIN, e.what());
  } catch (...) {
    return Fail(host, TIMCL_PLUGIN, "the plugin threw something that is no std::exception");
  }
}
template <class T>
void Destroy(void* object) noexcept {
  delete static_cast<T*>(object);
}

/// That the library is new enough; the last member that this header uses stands for all of them.
inline void CheckHost(const timcl_host_api* host) {
  if (host == nullptr) throw Error(TIMCL_INVALID_ARGUMENT, "the library gave no table of its own");
  if (TIMCL_HAS(timcl_host_api, host, asset_at)) return;
  throw Error(TIMCL_VERSION_MISMATCH,
              "this plugin needs version 1.1 of the library's tables for plugins; this library" +
                  (TIMCL_HAS(timcl_host_api, host, library_version)
                       ? ", " + Text(host->library_version) + ","
                       : std::string()) +
                  " has " + std::to_string(host->h.major) + "." + std::to_string(host->h.minor));
}

inline Blob BlobOf(const timcl_blob* blob) {
  return blob == nullptr ? Blob{} : Blob{blob->data, blob->size, blob->fd, blob->fd_offset};
}

inline Setup SetupOf(const timcl_host_api* host, const timcl_options* options,
                     const timcl_assets* assets) {
  CheckHost(host);
  Setup setup;
  setup.host = host;
  for (size_t i = 0; i < host->num_options(options); ++i) {
    const char* value = nullptr;
    const char* const key = host->option_at(options, i, &value);
    if (key != nullptr) setup.options[key] = Text(value);
  }
  for (size_t i = 0; i < host->num_assets(assets); ++i) {
    timcl_blob blob = {};
    const char* const name = host->asset_at(assets, i, &blob);
    if (name != nullptr) setup.assets[name] = BlobOf(&blob);
  }
  return setup;
}

// The functions of the tables. A compiler or device of the table is a Compiler* or Device*.

struct Result {
  const timcl_host_api* host;
  Compiled compiled;
};

template <class C>
timcl_status CreateCompiler(const timcl_host_api* host, const timcl_options* options,
                            const timcl_assets* assets, void** out) {
  return Fenced(host, [&] {
    std::unique_ptr<Compiler> compiler = std::make_unique<C>(SetupOf(host, options, assets));
    *out = compiler.release();
  });
}
inline timcl_status CheckTarget(void* object, const char* model) {
  auto* const compiler = static_cast<Compiler*>(object);
  return Fenced(compiler->host(), [&] { compiler->CheckTarget(Text(model)); });
}
inline timcl_status Partition(void* object, const char* model, const timcl_graph* graph,
                              timcl_selection* selection) {
  auto* const compiler = static_cast<Compiler*>(object);
  return Fenced(compiler->host(), [&] {
    Selection answer(compiler->host(), selection);
    compiler->Partition(Text(model), Graph(compiler->host(), graph), answer);
  });
}
inline timcl_status Compile(void* object, const char* model, const timcl_graph* const* parts,
                            size_t num_parts, void** out) {
  auto* const compiler = static_cast<Compiler*>(object);
  return Fenced(compiler->host(), [&] {
    std::vector<Graph> graphs;
    for (size_t i = 0; i < num_parts; ++i) graphs.emplace_back(compiler->host(), parts[i]);
    *out = new Result{compiler->host(), compiler->Compile(Text(model), graphs)};
  });
}
inline size_t NumModules(void* object) {
  return static_cast<Result*>(object)->compiled.modules.size();
}
inline const Module& ModuleAt(const Result& result, size_t index) {
  const std::vector<Module>& all = result.compiled.modules;
  if (index < all.size()) return all[index];
  throw Error(TIMCL_INVALID_ARGUMENT,
              "module " + std::to_string(index) + " of " + std::to_string(all.size()));
}
inline timcl_status ModuleCode(void* object, size_t index, timcl_blob* code) {
  const auto& result = *static_cast<Result*>(object);
  return Fenced(result.host, [&] {
    const std::string& bytes = ModuleAt(result, index).code;
    *code = {bytes.data(), bytes.size(), -1, 0};
  });
}
inline timcl_status LiveHandle(void* object, size_t index, void** live) {
  const auto& result = *static_cast<Result*>(object);
  return Fenced(result.host, [&] { *live = ModuleAt(result, index).live.get(); });
}
inline size_t NumCalls(void* object) { return static_cast<Result*>(object)->compiled.calls.size(); }
inline timcl_status CallAt(void* object, size_t index, const char** entry, size_t* module_index) {
  const auto& result = *static_cast<Result*>(object);
  return Fenced(result.host, [&] {
    const std::vector<Call>& all = result.compiled.calls;
    if (index >= all.size()) {
      throw Error(TIMCL_INVALID_ARGUMENT,
                  "call " + std::to_string(index) + " of " + std::to_string(all.size()));
    }
    *entry = all[index].entry.c_str();
    *module_index = all[index].module;
  });
}

template <class D>
timcl_status CreateDevice(const timcl_host_api* host, const timcl_options* options, void** out) {
  return Fenced(host, [&] {
    std::unique_ptr<Device> device = std::make_unique<D>(SetupOf(host, options, nullptr));
    *out = device.release();
  });
}
inline timcl_status CheckRuntime(void* object, const char* sdk_version, const char* model) {
  auto* const device = static_cast<Device*>(object);
  return Fenced(device->host(), [&] { device->CheckRuntime(Text(sdk_version), Text(model)); });
}
inline timcl_status RegisterAsset(void* object, const char* name, const timcl_blob* asset) {
  auto* const device = static_cast<Device*>(object);
  return Fenced(device->host(), [&] { device->RegisterAsset(Text(name), BlobOf(asset)); });
}

/// A context of the table.
struct Loaded {
  const timcl_host_api* host;
  std::unique_ptr<Context> context;
  std::vector<Metric> metrics;  // the last ones: the library reads their names
};
inline timcl_status CreateContext(void* object, const timcl_blob* code, void* live,
                                  const char* entry, const timcl_tensor* const* inputs,
                                  size_t num_inputs, const timcl_tensor* const* outputs,
                                  size_t num_outputs, void** out) {
  auto* const device = static_cast<Device*>(object);
  return Fenced(device->host(), [&] {
    Program program = {BlobOf(code), live, Text(entry), {}, {}};
    for (size_t i = 0; i < num_inputs; ++i) program.inputs.emplace_back(device->host(), inputs[i]);
    for (size_t i = 0; i < num_outputs; ++i) {
      program.outputs.emplace_back(device->host(), outputs[i]);
    }
    std::unique_ptr<Context> context = device->Load(program);
    if (context == nullptr) throw Error(TIMCL_PLUGIN, "Load of the device gave no context");
    *out = new Loaded{device->host(), std::move(context), {}};
  });
}
inline timcl_status Requirements(void* object, int32_t is_output, size_t index,
                                 timcl_requirements* needs) {
  auto* const loaded = static_cast<Loaded*>(object);
  return Fenced(loaded->host, [&] { loaded->context->Requirements(is_output != 0, index, needs); });
}
inline timcl_status Bind(void* object, int32_t is_output, size_t index,
                         const timcl_buffer* buffer) {
  auto* const loaded = static_cast<Loaded*>(object);
  return Fenced(loaded->host, [&] { loaded->context->Bind(is_output != 0, index, *buffer); });
}
inline timcl_status Invoke(void* object) {
  auto* const loaded = static_cast<Loaded*>(object);
  return Fenced(loaded->host, [&] { loaded->context->Invoke(); });
}
inline timcl_status Resize(void* object) {
  auto* const loaded = static_cast<Loaded*>(object);
  return Fenced(loaded->host, [&] { loaded->context->Resize(); });
}
inline timcl_status Metrics(void* object, int32_t level, timcl_metric* metrics, size_t* count) {
  auto* const loaded = static_cast<Loaded*>(object);
  return Fenced(loaded->host, [&] {
    const size_t room = *count;
    *count = 0;
    loaded->metrics = loaded->context->Metrics(level);
    for (const Metric& m : loaded->metrics) {
      if (*count < room) metrics[(*count)++] = {m.name.c_str(), m.value, m.unit.c_str()};
    }
  });
}

}  // namespace detail

/// What the body of TIMCL_BACKEND_PLUGIN fills. Texts are kept as pointers: literals do.
class Plugin {
 public:
  Plugin(const char* name, const char* version, const char* vendor, void (*body)(Plugin&)) {
    table_.h = TIMCL_HEADER(timcl_plugin);
    table_.name = name;
    table_.version = version;
    table_.vendor = vendor;
    body(*this);
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  const timcl_plugin* table() const { return &table_; }

  /// Of the vendor's tools behind the plugin, without it the plugin's own version: the stamp of
  /// what is compiled, see Device::CheckRuntime.
  void SetSdkVersion(const char* version) { table_.sdk_version = version; }

  /// `models`: those that it compiles for; none: there is no choice.
  template <class C>
  void AddCompiler(std::initializer_list<const char*> models = {}) {
    static_assert(std::is_base_of_v<Compiler, C>, "a compiler is derived from vendor::Compiler");
    models_ = models;
    models_.push_back(nullptr);
    compiler_.h = TIMCL_HEADER(timcl_compiler_api);
    compiler_.models = models.size() == 0 ? nullptr : models_.data();
    compiler_.create = detail::CreateCompiler<C>;
    compiler_.destroy = detail::Destroy<Compiler>;
    compiler_.check_target = detail::CheckTarget;
    compiler_.partition = detail::Partition;
    compiler_.compile = detail::Compile;
    compiler_.num_modules = detail::NumModules;
    compiler_.module = detail::ModuleCode;
    compiler_.num_calls = detail::NumCalls;
    compiler_.call = detail::CallAt;
    compiler_.destroy_result = detail::Destroy<detail::Result>;
    compiler_.live_handle = detail::LiveHandle;
    table_.compiler = &compiler_;
  }

  template <class D>
  void AddDispatcher() {
    static_assert(std::is_base_of_v<Device, D>, "a dispatcher is derived from vendor::Device");
    // A function that is there would answer for versions that nobody thought of.
    constexpr bool kChecksRuntime =
        !std::is_same_v<decltype(&D::CheckRuntime), decltype(&Device::CheckRuntime)>;
    dispatch_.h = TIMCL_HEADER(timcl_dispatch_api);
    dispatch_.device_create = detail::CreateDevice<D>;
    dispatch_.device_destroy = detail::Destroy<Device>;
    dispatch_.check_runtime = kChecksRuntime ? detail::CheckRuntime : nullptr;
    dispatch_.register_asset = detail::RegisterAsset;
    dispatch_.context_create = detail::CreateContext;
    dispatch_.context_destroy = detail::Destroy<detail::Loaded>;
    dispatch_.requirements = detail::Requirements;
    dispatch_.bind = detail::Bind;
    dispatch_.invoke = detail::Invoke;
    dispatch_.resize = detail::Resize;
    dispatch_.metrics = detail::Metrics;
    table_.dispatch = &dispatch_;
  }

 private:
  timcl_plugin table_ = {};
  timcl_compiler_api compiler_ = {};
  timcl_dispatch_api dispatch_ = {};
  std::vector<const char*> models_;
};

namespace detail {

/// `make` gives the library's one Plugin.
template <class F>
timcl_status Query(uint32_t host_major, const timcl_host_api* host, const timcl_plugin** out,
                   const F& make) {
  if (host_major != TIMCL_ABI_MAJOR) return TIMCL_VERSION_MISMATCH;
  return Fenced(host, [&] {
    CheckHost(host);
    *out = make().table();
  });
}

}  // namespace detail
}  // namespace tim::vx::vendor

/// Defines the library's one symbol; a body follows that calls plugin.AddCompiler, AddDispatcher.
#define TIMCL_BACKEND_PLUGIN(plugin_name, plugin_version, plugin_vendor)                      \
  static void TimclFillPlugin(::tim::vx::vendor::Plugin& plugin);                             \
  extern "C" timcl_status timcl_plugin_query(uint32_t host_major, const timcl_host_api* host, \
                                             const timcl_plugin** out) {                      \
    return ::tim::vx::vendor::detail::Query(                                                  \
        host_major, host, out, []() -> const ::tim::vx::vendor::Plugin& {                     \
          static const ::tim::vx::vendor::Plugin plugin(plugin_name, plugin_version,          \
                                                        plugin_vendor, TimclFillPlugin);      \
          return plugin;                                                                      \
        });                                                                                   \
  }                                                                                           \
  static void TimclFillPlugin([[maybe_unused]] ::tim::vx::vendor::Plugin& plugin)

#endif  // TIM_VX_BACKEND_PLUGIN_H_
