// The handles of plugins, and the functions that look into them. None trusts its arguments: null
// and indices beyond the end have answers.
#include "backends/plugin/host.h"

#include <algorithm>
#include <variant>

#include "base/log.h"

using tim::vx::Code;
using tim::vx::OpView;
using tim::vx::QuantType;
using tim::vx::Status;
using tim::vx::TensorView;

static_assert(static_cast<timcl_status>(Code::kInternal) == TIMCL_INTERNAL &&
              static_cast<timcl_status>(Code::kPlugin) == TIMCL_PLUGIN &&
              static_cast<timcl_status>(Code::kKernelBuild) == TIMCL_KERNEL_BUILD);
static_assert(static_cast<int>(tim::vx::DataType::UINT4) == TIMCL_TYPE_UINT4 &&
              static_cast<int>(tim::vx::DataType::FLOAT32) == TIMCL_TYPE_FLOAT32);
static_assert(static_cast<int>(QuantType::DYNAMIC_FIXED_POINT) == TIMCL_QUANT_DYNAMIC_FIXED_POINT);

timcl_tensor::timcl_tensor(uint32_t number, std::string given_name, tim::vx::TensorType given_type,
                           const void* constant)
    : id(number), name(std::move(given_name)), data(constant) {
  Retype(std::move(given_type));
}

void timcl_tensor::Retype(tim::vx::TensorType given) {
  type = std::move(given);
  label = name.empty() ? type.ToString() : fmt::format("'{}' {}", name, type.ToString());
  scales.clear(), zero_points.clear();
  const size_t count = !type.quantized() ? 0 : type.per_channel() ? type.quant.Scales().size() : 1;
  for (size_t c = 0; c < count; ++c) {
    scales.push_back(type.scale(c));
    zero_points.push_back(type.zero_point(c));
  }
}

timcl_graph::timcl_graph(const tim::vx::GraphView& given) : view(given) {
  std::unordered_map<int, const timcl_tensor*> known;
  const auto add = [&](const TensorView& t) {
    return &tensors.emplace_back(static_cast<uint32_t>(t.id()), t.name(), t.type(), t.data());
  };
  const auto handle = [&](const TensorView& t) -> const timcl_tensor* {
    if (!t.present()) return nullptr;
    const timcl_tensor*& found = known[t.id()];
    if (found == nullptr) found = add(t);
    // What an op computes may have another shape than its declared output.
    return found->type == t.type() ? found : add(t);
  };
  for (const TensorView& t : view.Inputs()) inputs.push_back(handle(t));
  for (const TensorView& t : view.Outputs()) outputs.push_back(handle(t));
  ops.resize(view.Ops().size());
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpView& op = view.Ops()[i];
    timcl_op& to = ops[i];
    index_of[&to] = i;
    to.kind = op.kind(), to.name = op.name(), to.label = op.label();
    to.attrs = op.any_attrs().Map();
    for (size_t k = 0; k < op.num_inputs(); ++k) {
      to.inputs.push_back(handle(op.in(k)));
      if (to.inputs.back() == nullptr) continue;
      auto& all = readers[to.inputs.back()->id];
      if (all.empty() || all.back() != &to) all.push_back(&to);
    }
    for (size_t k = 0; k < op.num_outputs(); ++k) {
      to.outputs.push_back(handle(op.out(k)));
      if (to.outputs.back() != nullptr) writer[to.outputs.back()->id] = &to;
    }
  }
}

timcl_assets::timcl_assets(std::shared_ptr<const tim::vx::AssetTable> given)
    : table(std::move(given)) {
  if (table == nullptr) return;
  for (const tim::vx::AssetView& asset : *table) named.emplace_back(asset.name, asset);
}

namespace tim::vx::plugin {
namespace {

/// Element `index` of a list of things or of pointers to them; null beyond the end.
template <class T>
const T* At(const std::vector<const T*>& list, size_t index) {
  return index < list.size() ? list[index] : nullptr;
}
template <class T>
const T* At(const std::vector<T>& list, size_t index) {
  return index < list.size() ? &list[index] : nullptr;
}

struct ToAttr {
  timcl_attr* to;
  void operator()(std::monostate) const {}
  void operator()(bool v) const { to->kind = TIMCL_ATTR_BOOL, to->bool_value = v; }
  void operator()(int64_t v) const { to->kind = TIMCL_ATTR_INT, to->int_value = v; }
  void operator()(double v) const { to->kind = TIMCL_ATTR_FLOAT, to->float_value = v; }
  void operator()(const std::string& v) const {
    to->kind = TIMCL_ATTR_STRING, to->string_value = v.c_str();
  }
  void operator()(const std::vector<int64_t>& v) const {
    to->kind = TIMCL_ATTR_INTS, to->ints = v.data(), to->count = v.size();
  }
  void operator()(const std::vector<double>& v) const {
    to->kind = TIMCL_ATTR_FLOATS, to->floats = v.data(), to->count = v.size();
  }
  void operator()(const std::vector<std::byte>& v) const {
    to->kind = TIMCL_ATTR_BYTES, to->bytes = v.data(), to->count = v.size();
  }
};
void Fill(const AttrValue& value, timcl_attr* to) {
  if (to == nullptr) return;
  *to = timcl_attr{};
  std::visit(ToAttr{to}, value);
}

void Fill(const AssetView& asset, timcl_blob* to) {
  if (to != nullptr) *to = {asset.data, asset.size, -1, 0};
}

/// Keeps the first mistake; the functions of a selection tell the plugin of each by a status.
timcl_status Mistaken(timcl_selection* selection, Code code, std::string text) {
  if (selection->mistake.ok()) selection->mistake = Status::Error(code, std::move(text));
  return static_cast<timcl_status>(code);
}

// A plugin sees C functions: without memory for an answer, they have one that says so.
template <class F>
timcl_status Guarded(F f) {
  try {
    return f();
  } catch (...) {
    return TIMCL_OUT_OF_MEMORY;
  }
}

extern "C" {

static void HostLog(int32_t level, const char* text) {
  using base::LogLevel;
  const LogLevel l = level <= TIMCL_LOG_ERROR  ? LogLevel::kError
                     : level == TIMCL_LOG_WARN ? LogLevel::kWarn
                     : level == TIMCL_LOG_INFO ? LogLevel::kInfo
                                               : LogLevel::kDebug;
  base::Log("plugin", l, "{}", text ? text : "");
}
static void HostSetError(const char* text) {
  try {
    LastWords() = text ? text : "";
  } catch (...) {  // no memory for the words
  }
}
static timcl_status HostAddOp(void* registry, const void* op_def) {
  if (registry == nullptr || op_def == nullptr) return TIMCL_INVALID_ARGUMENT;
  return Guarded([&] {
    static_cast<AddedOps*>(registry)->push_back(*static_cast<const OpDef*>(op_def));
    return TIMCL_OK;
  });
}

static size_t GraphNumOps(const timcl_graph* g) { return g ? g->ops.size() : 0; }
static const timcl_op* GraphOp(const timcl_graph* g, size_t i) {
  return g ? At(g->ops, i) : nullptr;
}
static size_t GraphNumInputs(const timcl_graph* g) { return g ? g->inputs.size() : 0; }
static const timcl_tensor* GraphInput(const timcl_graph* g, size_t i) {
  return g ? At(g->inputs, i) : nullptr;
}
static size_t GraphNumOutputs(const timcl_graph* g) { return g ? g->outputs.size() : 0; }
static const timcl_tensor* GraphOutput(const timcl_graph* g, size_t i) {
  return g ? At(g->outputs, i) : nullptr;
}

static const char* OpKind(const timcl_op* op) { return op ? op->kind.c_str() : nullptr; }
static const char* OpName(const timcl_op* op) { return op ? op->name.c_str() : nullptr; }
static const char* OpLabel(const timcl_op* op) { return op ? op->label.c_str() : nullptr; }
static size_t OpNumInputs(const timcl_op* op) { return op ? op->inputs.size() : 0; }
static const timcl_tensor* OpInput(const timcl_op* op, size_t i) {
  return op ? At(op->inputs, i) : nullptr;
}
static size_t OpNumOutputs(const timcl_op* op) { return op ? op->outputs.size() : 0; }
static const timcl_tensor* OpOutput(const timcl_op* op, size_t i) {
  return op ? At(op->outputs, i) : nullptr;
}
static size_t OpNumAttrs(const timcl_op* op) { return op ? op->attrs.size() : 0; }
static const char* OpAttrAt(const timcl_op* op, size_t i, timcl_attr* value) {
  if (op == nullptr || i >= op->attrs.size()) return nullptr;
  const AttrMap::Entry& entry = op->attrs.begin()[static_cast<std::ptrdiff_t>(i)];
  Fill(entry.second, value);
  return entry.first.c_str();
}
static timcl_status OpAttr(const timcl_op* op, const char* name, timcl_attr* value) {
  if (op == nullptr || name == nullptr) return TIMCL_INVALID_ARGUMENT;
  const AttrValue* const found = op->attrs.Find(name);
  if (found == nullptr) return TIMCL_NOT_FOUND;
  Fill(*found, value);
  return TIMCL_OK;
}

static uint32_t TensorId(const timcl_tensor* t) { return t ? t->id : 0; }
static const char* TensorName(const timcl_tensor* t) { return t ? t->name.c_str() : nullptr; }
static const char* TensorLabel(const timcl_tensor* t) { return t ? t->label.c_str() : nullptr; }
static int32_t TensorTypeOf(const timcl_tensor* t) {
  return t ? static_cast<int32_t>(t->type.dtype) : TIMCL_TYPE_UNKNOWN;
}
static size_t TensorRank(const timcl_tensor* t) { return t ? t->type.shape.rank() : 0; }
static const int64_t* TensorDims(const timcl_tensor* t) {
  return t ? t->type.shape.dims().data() : nullptr;
}
static size_t TensorBytes(const timcl_tensor* t) { return t ? t->type.bytes() : 0; }
static timcl_status TensorQuant(const timcl_tensor* t, timcl_quant* quant) {
  if (t == nullptr || quant == nullptr) return TIMCL_INVALID_ARGUMENT;
  *quant = {static_cast<int32_t>(t->type.quant.Type()),
            t->type.per_channel() ? t->type.quant.ChannelDim() : 0, t->scales.size(),
            t->scales.data(), t->zero_points.data()};
  return TIMCL_OK;
}
static const void* TensorData(const timcl_tensor* t) { return t ? t->data : nullptr; }
static const timcl_op* TensorProducer(const timcl_graph* g, const timcl_tensor* t) {
  if (g == nullptr || t == nullptr) return nullptr;
  const auto it = g->writer.find(t->id);
  return it == g->writer.end() ? nullptr : it->second;
}
static size_t TensorNumConsumers(const timcl_graph* g, const timcl_tensor* t) {
  if (g == nullptr || t == nullptr) return 0;
  const auto it = g->readers.find(t->id);
  return it == g->readers.end() ? 0 : it->second.size();
}
static const timcl_op* TensorConsumer(const timcl_graph* g, const timcl_tensor* t, size_t i) {
  if (i >= TensorNumConsumers(g, t)) return nullptr;
  return g->readers.at(t->id)[i];
}

static timcl_status Select(timcl_selection* selection, const timcl_op* op, int32_t index) {
  if (selection == nullptr) return TIMCL_INVALID_ARGUMENT;
  return Guarded([&]() -> timcl_status {
    const auto at = selection->graph->index_of.find(op);
    if (at == selection->graph->index_of.end()) {
      return Mistaken(selection, Code::kInvalidGraph,
                      "it selects an operator that is not in the graph");
    }
    timcl_selection::Answer& answer = selection->answers[at->second];
    if (answer.selected) {
      return Mistaken(selection, Code::kAlreadyExists, "it selects " + op->label + " twice");
    }
    answer = {true, index, ""};
    return TIMCL_OK;
  });
}
static void Reject(timcl_selection* selection, const timcl_op* op, const char* why) {
  if (selection == nullptr) return;
  (void)Guarded([&]() -> timcl_status {
    const auto at = selection->graph->index_of.find(op);
    if (at == selection->graph->index_of.end()) {
      return Mistaken(selection, Code::kInvalidGraph,
                      "it rejects an operator that is not in the graph");
    }
    timcl_selection::Answer& answer = selection->answers[at->second];
    if (answer.selected) {
      return Mistaken(selection, Code::kInvalidArgument,
                      "it rejects " + op->label + ", which it has selected");
    }
    answer.why = why ? why : "";
    return TIMCL_OK;
  });
}

static const char* Option(const timcl_options* options, const char* key) {
  if (options == nullptr || key == nullptr) return nullptr;
  for (const auto& [name, value] : options->values) {
    if (name == key) return value.c_str();
  }
  return nullptr;
}
static size_t NumOptions(const timcl_options* options) {
  return options ? options->values.size() : 0;
}
static const char* OptionAt(const timcl_options* options, size_t i, const char** value) {
  if (options == nullptr || i >= options->values.size()) return nullptr;
  if (value != nullptr) *value = options->values[i].second.c_str();
  return options->values[i].first.c_str();
}
static timcl_status Asset(const timcl_assets* assets, const char* name, timcl_blob* blob) {
  if (assets == nullptr || name == nullptr) return TIMCL_INVALID_ARGUMENT;
  for (const auto& [known, asset] : assets->named) {
    if (known != name) continue;
    Fill(asset, blob);
    return TIMCL_OK;
  }
  return TIMCL_NOT_FOUND;
}
static size_t NumAssets(const timcl_assets* assets) { return assets ? assets->named.size() : 0; }
static const char* AssetAt(const timcl_assets* assets, size_t i, timcl_blob* blob) {
  if (assets == nullptr || i >= assets->named.size()) return nullptr;
  Fill(assets->named[i].second, blob);
  return assets->named[i].first.c_str();
}
}

constexpr timcl_host_api MakeHost() {
  timcl_host_api host = {};
  host.h = TIMCL_HEADER(timcl_host_api);
  host.library_version = TIMCL_VERSION;
  host.log = HostLog;
  host.set_error = HostSetError;
  host.add_op = HostAddOp;
  host.graph_num_ops = GraphNumOps;
  host.graph_op = GraphOp;
  host.graph_num_inputs = GraphNumInputs;
  host.graph_input = GraphInput;
  host.graph_num_outputs = GraphNumOutputs;
  host.graph_output = GraphOutput;
  host.op_kind = OpKind;
  host.op_name = OpName;
  host.op_label = OpLabel;
  host.op_num_inputs = OpNumInputs;
  host.op_input = OpInput;
  host.op_num_outputs = OpNumOutputs;
  host.op_output = OpOutput;
  host.op_num_attrs = OpNumAttrs;
  host.op_attr_at = OpAttrAt;
  host.op_attr = OpAttr;
  host.tensor_id = TensorId;
  host.tensor_name = TensorName;
  host.tensor_label = TensorLabel;
  host.tensor_type = TensorTypeOf;
  host.tensor_rank = TensorRank;
  host.tensor_dims = TensorDims;
  host.tensor_bytes = TensorBytes;
  host.tensor_quant = TensorQuant;
  host.tensor_data = TensorData;
  host.tensor_producer = TensorProducer;
  host.tensor_num_consumers = TensorNumConsumers;
  host.tensor_consumer = TensorConsumer;
  host.select = Select;
  host.reject = Reject;
  host.option = Option;
  host.num_options = NumOptions;
  host.option_at = OptionAt;
  host.asset = Asset;
  host.num_assets = NumAssets;
  host.asset_at = AssetAt;
  return host;
}
constexpr timcl_host_api kHost = MakeHost();

}  // namespace

const timcl_host_api& Host() { return kHost; }

std::string& LastWords() {
  thread_local std::string words;
  return words;
}

}  // namespace tim::vx::plugin
