// Reader, generator and builder of the networks in bench/networks.
#include "networks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/concat.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/elementwise.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/layernormalization.h"
#include "tim/vx/ops/matmul.h"
#include "tim/vx/ops/pool2d.h"
#include "tim/vx/ops/reduce.h"
#include "tim/vx/ops/reshape.h"
#include "tim/vx/ops/resize.h"
#include "tim/vx/ops/simple_operations.h"
#include "tim/vx/ops/slice.h"
#include "tim/vx/ops/softmax.h"
#include "tim/vx/ops/transpose.h"
#include "tim/vx/ops/unidirectional_sequence_lstm.h"

namespace networks {
namespace {

namespace ops = tim::vx::ops;
using nlohmann::json;
using tim::vx::Code;
using tim::vx::DataType;
using tim::vx::Graph;
using tim::vx::PadType;
using tim::vx::PoolType;
using tim::vx::Quantization;
using tim::vx::QuantType;
using tim::vx::Result;
using tim::vx::ShapeType;
using tim::vx::Status;
using tim::vx::TensorAttribute;
using tim::vx::TensorSpec;
using TensorPtr = std::shared_ptr<tim::vx::Tensor>;

constexpr int kFormat = 1;
constexpr uint64_t kMostElements = uint64_t{1} << 31;

// What each op must have, beside name, op, inputs and output. The reader refuses other fields: a
// misspelt one would be a default.
struct OpFields {
  size_t inputs;  // 0: any number, at least one
  size_t rank;    // of the first input; 0: any
  std::vector<const char*> fields;
};
const std::map<std::string, OpFields>& Ops() {
  static const auto* const all = new std::map<std::string, OpFields>{
      {"conv", {1, 4, {"filters", "kernel", "stride", "pads", "groups", "activation", "gain"}}},
      {"dense", {1, 0, {"units", "flatten", "activation", "gain"}}},
      {"add", {2, 0, {"activation"}}},
      {"max_pool", {1, 4, {"kernel", "stride", "pads"}}},
      {"global_mean", {1, 4, {}}},
      {"reshape", {1, 0, {}}},
      {"transpose", {1, 0, {"perm"}}},
      {"concat", {0, 0, {"axis"}}},
      {"slice", {1, 0, {"begin"}}},
      {"resize_nearest", {1, 4, {"factor"}}},
      {"leaky_relu", {1, 0, {"alpha"}}},
      {"sigmoid", {1, 0, {}}},
      {"tanh", {1, 0, {}}},
      {"gelu", {1, 0, {}}},
      {"scale", {1, 0, {"factor"}}},
      {"softmax", {1, 0, {}}},
      {"matmul", {2, 0, {"transpose_b"}}},
      {"layer_norm", {1, 0, {"epsilon"}}},
      {"lstm", {1, 3, {"units", "gain"}}}};
  return *all;
}

/// Reads fields of one JSON object and remembers the first mistake, so that callers check once.
class Reader {
 public:
  Reader(const json& object, std::string place) : object_(object), place_(std::move(place)) {}

  void Fail(const std::string& field, const std::string& why) {
    if (status_.ok())
      status_ = Status::Error(Code::kInvalidArgument, place_ + "field '" + field + "' " + why);
  }
  const json* Find(const char* field) {
    const auto at = object_.find(field);
    if (at != object_.end()) return &*at;
    Fail(field, "is missing");
    return nullptr;
  }
  template <class T, class Is>
  void Get(const char* field, T* to, const char* kind, Is is) {
    const json* const value = Find(field);
    if (value == nullptr) return;
    if (!is(*value)) return Fail(field, "is " + value->dump() + " where " + kind + " is needed");
    *to = value->get<T>();
  }
  void Read(const char* field, std::string* to) {
    Get(field, to, "a text", [](const json& j) { return j.is_string(); });
  }
  void Read(const char* field, bool* to) {
    Get(field, to, "true or false", [](const json& j) { return j.is_boolean(); });
  }
  void Read(const char* field, double* to) {
    Get(field, to, "a number", [](const json& j) { return j.is_number(); });
  }
  void Read(const char* field, uint32_t* to) { Get(field, to, "a whole number", IsWhole); }
  void Read(const char* field, std::vector<uint32_t>* to) {
    Get(field, to, "a list of whole numbers",
        [](const json& j) { return j.is_array() && std::all_of(j.begin(), j.end(), IsWhole); });
  }
  void Read(const char* field, std::vector<std::string>* to) {
    Get(field, to, "a list of names", [](const json& j) {
      return j.is_array() && !j.empty() &&
             std::all_of(j.begin(), j.end(), [](const json& s) { return s.is_string(); });
    });
  }
  void Read(const char* field, size_t count, uint32_t least, std::vector<uint32_t>* to) {
    Read(field, to);
    if (!ok()) return;
    if (to->size() != count) Fail(field, "needs " + std::to_string(count) + " entries");
    for (const uint32_t n : *to) {
      if (n < least) Fail(field, "has an entry below " + std::to_string(least));
    }
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

 private:
  static bool IsWhole(const json& j) {
    return j.is_number_integer() && j >= 0 && j <= std::numeric_limits<int32_t>::max();
  }
  const json& object_;
  std::string place_;
  Status status_;
};

bool Has(const std::vector<const char*>& fields, std::string_view field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

Result<Layer> ReadLayer(const json& object, size_t index, const Network& network) {
  std::string place = network.file + ": layer " + std::to_string(index);
  if (!object.is_object()) return Status::Error(Code::kInvalidArgument, place + " is no object");
  Layer layer;
  {
    Reader in(object, place + ": ");
    in.Read("name", &layer.name);
    TIMCL_TRY(in.status());
  }
  place = network.file + ": layer '" + layer.name + "': ";
  Reader in(object, place);
  in.Read("op", &layer.op);
  in.Read("inputs", &layer.inputs);
  in.Read("output", &layer.output);
  TIMCL_TRY(in.status());
  const auto found = Ops().find(layer.op);
  if (found == Ops().end()) in.Fail("op", "names '" + layer.op + "', which is no operation");
  TIMCL_TRY(in.status());
  const OpFields& op = found->second;
  for (const auto& [field, value] : object.items()) {
    if (field != "name" && field != "op" && field != "inputs" && field != "output" &&
        !Has(op.fields, field))
      in.Fail(field, "is not one of " + layer.op);
  }
  for (const std::string& tensor : layer.inputs) {
    if (network.tensors.count(tensor) == 0)
      in.Fail("inputs", "names '" + tensor + "', which is not in 'tensors'");
  }
  if (network.tensors.count(layer.output) == 0)
    in.Fail("output", "names '" + layer.output + "', which is not in 'tensors'");
  if (op.inputs != 0 && layer.inputs.size() != op.inputs)
    in.Fail("inputs", "has " + std::to_string(layer.inputs.size()) + " names, " + layer.op +
                          " takes " + std::to_string(op.inputs));
  TIMCL_TRY(in.status());
  const Shape& shape = network.ShapeOf(layer.inputs[0]);
  if (op.rank != 0 && shape.size() != op.rank)
    in.Fail("inputs", "'" + layer.inputs[0] + "' has " + std::to_string(shape.size()) +
                          " dimensions, " + layer.op + " needs " + std::to_string(op.rank));
  const auto read = [&](const char* field, auto... to) {
    if (Has(op.fields, field)) in.Read(field, to...);
  };
  read("filters", &layer.filters);
  read("units", &layer.units);
  read("groups", &layer.groups);
  read("kernel", size_t{2}, 1u, &layer.kernel);
  read("stride", size_t{2}, 1u, &layer.stride);
  read("pads", size_t{4}, 0u, &layer.pads);
  read("perm", shape.size(), 0u, &layer.perm);
  read("begin", shape.size(), 0u, &layer.begin);
  read("axis", &layer.axis);
  read("gain", &layer.gain);
  read("alpha", &layer.alpha);
  read("epsilon", &layer.epsilon);
  read("factor", &layer.factor);
  read("flatten", &layer.flatten);
  read("transpose_b", &layer.transpose_b);
  read("activation", &layer.activation);
  TIMCL_TRY(in.status());
  if (Has(op.fields, "axis") && layer.axis >= shape.size())
    in.Fail("axis", "is " + std::to_string(layer.axis) + " of " + std::to_string(shape.size()) +
                        " dimensions");
  if (layer.activation != "none" && layer.activation != "relu" && layer.activation != "relu6")
    in.Fail("activation", "is '" + layer.activation + "': none, relu or relu6");
  if (layer.op == "conv" && layer.groups != 1 &&
      !(layer.groups == shape[3] && layer.filters == shape[3]))
    in.Fail("groups", "is " + std::to_string(layer.groups) +
                          ": 1, or the channels of input and output (depthwise)");
  if (layer.flatten && shape.size() != 4) in.Fail("flatten", "needs an input of 4 dimensions");
  TIMCL_TRY(in.status());
  return layer;
}

/// {key: value} tables of numbers per tensor.
template <class T, class Read>
Status ReadTable(const json& root, Network* network, const char* field,
                 std::map<std::string, T>* to, Read read) {
  const auto at = root.find(field);
  if (at == root.end()) return {};  // calibrate.py has not run
  Reader in(root, network->file + ": ");
  if (!at->is_object()) in.Fail(field, "is no object");
  TIMCL_TRY(in.status());
  for (const auto& [tensor, value] : at->items()) {
    if (network->tensors.count(tensor) == 0)
      in.Fail(field, "names '" + tensor + "', which is not in 'tensors'");
    const bool numbers =
        value.is_array() && !value.empty() &&
        std::all_of(value.begin(), value.end(), [](const json& j) { return j.is_number(); });
    if (!numbers || !read(value, &(*to)[tensor]))
      in.Fail(field, "of '" + tensor + "' is " + value.dump());
  }
  return in.status();
}

Result<Network> Read(const json& root, const std::string& file) {
  Network network;
  network.file = file;
  if (!root.is_object()) return Status::Error(Code::kInvalidArgument, file + ": is no JSON object");
  Reader in(root, file + ": ");
  uint32_t format = 0;
  in.Read("format", &format);
  if (in.ok() && format != kFormat)
    in.Fail("format",
            "is " + std::to_string(format) + ", this program reads " + std::to_string(kFormat));
  in.Read("name", &network.name);
  in.Read("about", &network.about);
  in.Read("macs", &network.macs);
  in.Read("int8", &network.int8);
  in.Read("inputs", &network.inputs);
  in.Read("outputs", &network.outputs);
  TIMCL_TRY(in.status());
  if (network.int8 != "all" && network.int8 != "dense" && network.int8 != "lstm" &&
      network.int8 != "none")
    in.Fail("int8", "is '" + network.int8 + "': all, dense, lstm or none");
  const json* const tensors = in.Find("tensors");
  const json* const layers = in.Find("layers");
  if (in.ok() && !tensors->is_object()) in.Fail("tensors", "is no object");
  if (in.ok() && (!layers->is_array() || layers->empty())) in.Fail("layers", "is no list");
  TIMCL_TRY(in.status());

  Reader shapes(*tensors, file + ": tensors: ");
  for (const auto& [tensor, shape] : tensors->items()) {
    Shape& to = network.tensors[tensor];
    shapes.Read(tensor.c_str(), &to);
    uint64_t count = 1;
    for (const uint32_t n : to) count = std::min(count * n, kMostElements);
    if (shapes.ok() && (to.empty() || count == 0 || count == kMostElements))
      shapes.Fail(tensor, "is " + shape.dump() + ": a shape of 1 to 2^31 - 1 elements is needed");
  }
  TIMCL_TRY(shapes.status());

  std::set<std::string> known;
  const auto add = [&](const std::string& tensor) { return known.insert(tensor).second; };
  for (const std::string& tensor : network.inputs) {
    if (network.tensors.count(tensor) == 0)
      in.Fail("inputs", "names '" + tensor + "', which is not in 'tensors'");
    if (!add(tensor)) in.Fail("inputs", "names '" + tensor + "' twice");
  }
  TIMCL_TRY(in.status());
  for (size_t i = 0; i < layers->size(); ++i) {
    TIMCL_ASSIGN(Layer layer, ReadLayer((*layers)[i], i, network));
    Reader at((*layers)[i], file + ": layer '" + layer.name + "': ");
    for (const std::string& tensor : layer.inputs) {
      if (known.count(tensor) == 0)
        at.Fail("inputs", "names '" + tensor + "', which no layer before makes");
    }
    if (!add(layer.output)) at.Fail("output", "names '" + layer.output + "', which is made before");
    TIMCL_TRY(at.status());
    network.layers.push_back(std::move(layer));
  }
  for (const std::string& tensor : network.outputs) {
    if (known.count(tensor) == 0)
      in.Fail("outputs", "names '" + tensor + "', which no layer makes");
  }
  TIMCL_TRY(in.status());
  TIMCL_TRY(ReadTable(root, &network, "ranges", &network.ranges, [](const json& j, Range* to) {
    if (j.size() != 2 || !(j[0] <= j[1]) || j[0] == j[1]) return false;
    *to = {j[0].get<double>(), j[1].get<double>()};
    return true;
  }));
  const auto samples = [](const json& j, std::vector<float>* to) {
    *to = j.get<std::vector<float>>();
    return true;
  };
  TIMCL_TRY(ReadTable(root, &network, "expected", &network.expected, samples));
  TIMCL_TRY(ReadTable(root, &network, "expected_int8", &network.expected_int8, samples));
  return network;
}

/// Scale and zero point of a tensor's range.
struct Encoding {
  float scale = 1;
  int32_t zero_point = 0;
};
Encoding EncodingOf(const Range& range) {
  const double low = std::min(range.low, 0.0), step = (std::max(range.high, 0.0) - low) / 255;
  return {static_cast<float>(step),
          static_cast<int32_t>(std::clamp(std::nearbyint(-128 - low / step), -128.0, 127.0))};
}
int8_t Quantize(float x, const Encoding& e) {
  const double q = std::nearbyint(static_cast<double>(x) / e.scale) + e.zero_point;
  return static_cast<int8_t>(std::clamp(q, -128.0, 127.0));
}

/// int8 weights of `rows` equally long rows, one scale each.
struct QuantizedRows {
  std::vector<int8_t> values;
  std::vector<float> scales;
};
QuantizedRows QuantizeRows(const std::vector<float>& w, size_t rows) {
  QuantizedRows result;
  result.values.reserve(w.size());
  const size_t length = w.size() / rows;
  for (size_t r = 0; r < rows; ++r) {
    const auto begin = w.begin() + static_cast<std::ptrdiff_t>(r * length);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    float largest = 0;
    for (auto x = begin; x != end; ++x) largest = std::max(largest, std::fabs(*x));
    const float scale = largest == 0 ? 1.0f : largest / 127.0f;
    for (auto x = begin; x != end; ++x)
      result.values.push_back(
          static_cast<int8_t>(std::clamp(std::nearbyint(*x / scale), -127.0f, 127.0f)));
    result.scales.push_back(scale);
  }
  return result;
}

/// Moves elements between NHWC and NCHW; both ways are the same loop.
template <class T>
std::vector<T> Channels(const std::vector<T>& from, const Shape& nhwc, bool to_first) {
  std::vector<T> to(from.size());
  const size_t pixels = size_t{nhwc[1]} * nhwc[2], channels = nhwc[3];
  for (size_t n = 0; n < nhwc[0]; ++n) {
    for (size_t p = 0; p < pixels; ++p) {
      for (size_t c = 0; c < channels; ++c) {
        const size_t last = (n * pixels + p) * channels + c,
                     first = (n * channels + c) * pixels + p;
        (to_first ? to[first] : to[last]) = to_first ? from[last] : from[first];
      }
    }
  }
  return to;
}

}  // namespace

size_t CountOf(const Shape& shape) {
  size_t count = 1;
  for (const uint32_t n : shape) count *= n;
  return count;
}

const char* NameOf(Type type) { return type == Type::kFloat32 ? "f32" : "int8"; }

Result<Network> Load(const std::string& file) {
  std::ifstream in(file);
  if (!in) return Status::Error(Code::kIo, "cannot open " + file);
  const json root = json::parse(in, nullptr, false);
  if (root.is_discarded()) {
    // Once more for the place; the parser tells it by an exception only.
    in.clear();
    in.seekg(0);
    try {
      return Read(json::parse(in), file);
    } catch (const json::exception& e) {
      return Status::Error(Code::kInvalidArgument, file + ": " + e.what());
    }
  }
  return Read(root, file);
}

std::string FileOf(std::string_view name) {
  return std::string(TIMCL_NETWORKS_DIR) + "/" + std::string(name) + ".json";
}

const std::vector<std::string>& Names() {
  static const auto* const names = new std::vector<std::string>{"resnet50",
                                                                "mobilenet_v2",
                                                                "efficientnet_lite0",
                                                                "ssd_mobilenet_v1",
                                                                "yolov4_tiny",
                                                                "bert_base",
                                                                "lstm",
                                                                "lenet",
                                                                "resnet8",
                                                                "mobilenet_v1_025",
                                                                "ds_cnn",
                                                                "autoencoder"};
  return *names;
}

bool HasSmall(std::string_view name) {
  return std::ifstream(FileOf("small/" + std::string(name))).good();
}

// Source: draft-eastlake-fnv, FNV-1a.
uint64_t Hash(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return value;
}

// Source: SplitMix64, doi 10.1145/2714064.2660195.
std::vector<float> Values(std::string_view key, size_t count) {
  std::vector<float> values(count);
  uint64_t state = Hash(key);
  for (float& value : values) {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    value = static_cast<float>(z >> 40) * 0x1p-23f - 1;
  }
  return values;
}

std::map<std::string, std::vector<float>> Weights(const Network& network, const Layer& layer) {
  const Shape& in = network.ShapeOf(layer.inputs[0]);
  const size_t channels = in.back();
  const auto values = [&](const char* role, size_t count, float scale, float offset = 0) {
    std::vector<float> v = Values(layer.name + "/" + role, count);
    for (float& x : v) {
      x *= scale;  // in two statements: each is rounded to float32
      if (offset != 0) x = offset + x;
    }
    return v;
  };
  const auto scaled = [&](const char* role, size_t rows, size_t fan_in) {
    return values(role, rows * fan_in,
                  static_cast<float>(std::sqrt(3 * layer.gain / static_cast<double>(fan_in))));
  };
  if (layer.op == "conv") {
    const size_t fan_in = channels / layer.groups * layer.kernel[0] * layer.kernel[1];
    return {{"weights", scaled("weights", layer.filters, fan_in)},
            {"bias", values("bias", layer.filters, 0.1f)}};
  }
  if (layer.op == "dense") {
    const size_t fan_in = layer.flatten ? CountOf(in) / in[0] : channels;
    return {{"weights", scaled("weights", layer.units, fan_in)},
            {"bias", values("bias", layer.units, 0.1f)}};
  }
  if (layer.op == "layer_norm")
    return {{"gamma", values("gamma", channels, 0.1f, 1)},
            {"beta", values("beta", channels, 0.1f)}};
  if (layer.op == "lstm") {
    const size_t rows = size_t{4} * layer.units;
    return {{"weights", scaled("weights", rows, channels)},
            {"recurrent", scaled("recurrent", rows, layer.units)},
            {"bias", values("bias", rows, 0.1f)}};
  }
  return {};
}

std::vector<float> InputValues(const Network& network, const std::string& tensor, int k) {
  return Values(tensor + "/input/" + std::to_string(k), CountOf(network.ShapeOf(tensor)));
}

/// Writes the layers of one network into a graph, as a user of the API would.
class Builder {
 public:
  Builder(Graph& graph, Built* built, Type type, bool all_outputs)
      : graph_(graph),
        built_(*built),
        network_(built->network()),
        type_(type),
        all_outputs_(all_outputs) {}

  Status Build() {
    for (const std::string& tensor : network_.inputs) {
      // A picture is what a convolution or the like takes; other tensors of rank 4 are as they are.
      const auto user = std::find_if(network_.layers.begin(), network_.layers.end(),
                                     [&](const Layer& l) { return Contains(l.inputs, tensor); });
      const bool picture =
          user != network_.layers.end() && (Ops().at(user->op).rank == 4 || user->flatten);
      TIMCL_ASSIGN(at_[tensor], Make(tensor, picture, TensorAttribute::INPUT, IsFloat(tensor)));
      built_.inputs_[tensor] = {at_[tensor].tensor, picture};
    }
    for (const Layer& layer : network_.layers) {
      TIMCL_TRY(Add(layer));
      if (Contains(network_.outputs, layer.output))
        built_.outputs_[layer.output] = {at_[layer.output].tensor, at_[layer.output].picture};
    }
    return {};
  }

 private:
  struct Value {
    TensorPtr tensor;
    bool picture = false;
  };

  static bool Contains(const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  }

  /// Whether a tensor is float32 in this version of the network.
  bool IsFloat(const std::string&) const {
    return type_ == Type::kFloat32 || network_.int8 == "dense";
  }

  Result<Quantization> QuantizationOf(const std::string& tensor) const {
    const auto range = network_.ranges.find(tensor);
    if (range == network_.ranges.end())
      return Status::Error(Code::kInvalidArgument,
                           network_.file + ": field 'ranges' lacks '" + tensor +
                               "', which the int8 network needs: run bench/networks/calibrate.py");
    const Encoding e = EncodingOf(range->second);
    return Quantization(QuantType::ASYMMETRIC, e.scale, e.zero_point);
  }

  /// Shape as the graph has it: fastest dimension first, pictures as W, H, C, N.
  static ShapeType GraphShape(const Shape& shape, bool picture) {
    if (picture) return {shape[2], shape[1], shape[3], shape[0]};
    return ShapeType(shape.rbegin(), shape.rend());
  }
  /// Index in the graph's shape of an axis of the file.
  static uint32_t GraphAxis(size_t axis, size_t rank, bool picture) {
    constexpr uint32_t kOfPicture[] = {3, 1, 0, 2};
    return picture ? kOfPicture[axis] : static_cast<uint32_t>(rank - 1 - axis);
  }

  /// The tensor of that name in the file.
  Result<Value> Make(const std::string& tensor, bool picture, TensorAttribute attribute,
                     bool is_float) {
    const bool output = Contains(network_.outputs, tensor) || all_outputs_;
    ShapeType shape;  // open between operations: the graph infers it
    if (attribute == TensorAttribute::INPUT || (output && !all_outputs_))
      shape = GraphShape(network_.ShapeOf(tensor), picture);
    if (attribute == TensorAttribute::TRANSIENT && output) attribute = TensorAttribute::OUTPUT;
    TensorSpec spec(is_float ? DataType::FLOAT32 : DataType::INT8, shape, attribute);
    if (!is_float) {
      TIMCL_ASSIGN(spec.quantization_, QuantizationOf(tensor));
    }
    Value value{graph_.CreateTensor(spec), picture};
    value.tensor->SetName(tensor);
    return value;
  }
  Result<Value> MakeOutput(const Layer& layer, bool picture) {
    return Make(layer.output, picture, TensorAttribute::TRANSIENT, IsFloat(layer.output));
  }
  /// A tensor between two operations of one layer, of the type of `like`.
  TensorPtr Between(const TensorPtr& like) {
    return graph_.CreateTensor(
        TensorSpec(like->GetDataType(), {}, TensorAttribute::TRANSIENT, like->GetQuantization()));
  }
  TensorPtr Floats(const ShapeType& shape, const std::vector<float>& values) {
    return graph_.CreateTensor(TensorSpec(DataType::FLOAT32, shape, TensorAttribute::CONSTANT),
                               values.data());
  }

  template <class Op, class... Arguments>
  std::shared_ptr<Op> Make(const Layer& layer, Arguments... arguments) {
    auto op = graph_.CreateOperation<Op>(arguments...);
    op->SetName(layer.name);
    return op;
  }

  /// Where the sums of a layer go: to its output, or to a tensor in front of its activation.
  TensorPtr Activated(const Layer& layer, const TensorPtr& output) {
    if (layer.activation == "none") return output;
    const TensorPtr sums = Between(output);
    if (layer.activation == "relu")
      graph_.CreateOperation<ops::Relu>()->BindInput(sums).BindOutput(output);
    else
      graph_.CreateOperation<ops::Relu6>()->BindInput(sums).BindOutput(output);
    return sums;
  }

  /// Weights of `rows` output channels and their bias, in the type that goes with the input's.
  std::vector<TensorPtr> Kernel(const TensorPtr& input, const ShapeType& shape, int32_t channel_dim,
                                const std::vector<float>& weights, const std::vector<float>& bias,
                                bool float_bias) {
    const auto rows = static_cast<uint32_t>(bias.size());
    if (input->GetDataType() == DataType::FLOAT32)
      return {Floats(shape, weights), Floats({rows}, bias)};
    const QuantizedRows q = QuantizeRows(weights, rows);
    const TensorPtr kernel =
        graph_.CreateTensor(TensorSpec(DataType::INT8, shape, TensorAttribute::CONSTANT,
                                       Quantization(QuantType::SYMMETRIC_PER_CHANNEL, channel_dim,
                                                    q.scales, std::vector<int32_t>(rows, 0))),
                            q.values.data());
    if (float_bias) return {kernel, Floats({rows}, bias)};
    std::vector<int32_t> sums(rows);
    const double input_scale = input->GetQuantization().Scales()[0];
    for (size_t i = 0; i < rows; ++i)
      sums[i] = static_cast<int32_t>(
          std::nearbyint(static_cast<double>(bias[i]) / (input_scale * q.scales[i])));
    return {kernel,
            graph_.CreateTensor(TensorSpec(DataType::INT32, {rows}, TensorAttribute::CONSTANT),
                                sums.data())};
  }

  /// The int8 form of a float32 tensor, made once.
  Result<TensorPtr> Quantized(const std::string& name) {
    TensorPtr& quantized = quantized_[name];
    if (quantized == nullptr) {
      TIMCL_ASSIGN(Quantization quantization, QuantizationOf(name));
      quantized = graph_.CreateTensor(
          TensorSpec(DataType::INT8, {}, TensorAttribute::TRANSIENT, quantization));
      graph_.CreateOperation<ops::DataConvert>()->BindInput(at_[name].tensor).BindOutput(quantized);
    }
    return quantized;
  }

  Status AddConv(const Layer& layer) {
    const TensorPtr input = at_[layer.inputs[0]].tensor;
    TIMCL_ASSIGN(Value output, MakeOutput(layer, true));
    const uint32_t channels = network_.ShapeOf(layer.inputs[0])[3];
    const bool depthwise = layer.groups != 1;
    auto weights = Weights(network_, layer);
    const auto kernel =
        Kernel(input,
               depthwise ? ShapeType{layer.kernel[1], layer.kernel[0], channels, 1}
                         : ShapeType{layer.kernel[1], layer.kernel[0], channels, layer.filters},
               depthwise ? 2 : 3, weights["weights"], weights["bias"], false);
    const std::array<uint32_t, 4> pad = {layer.pads[1], layer.pads[3], layer.pads[0],
                                         layer.pads[2]};
    const std::array<uint32_t, 2> stride = {layer.stride[1], layer.stride[0]}, dilation = {1, 1};
    const TensorPtr sums = Activated(layer, output.tensor);
    Make<ops::Conv2d>(layer, pad, stride, dilation, depthwise ? 1 : 0)
        ->BindInputs({input, kernel[0], kernel[1]})
        .BindOutput(sums);
    return Done(layer, output);
  }

  Status AddDense(const Layer& layer) {
    TensorPtr input = at_[layer.inputs[0]].tensor;
    const bool float_border = type_ == Type::kInt8 && network_.int8 == "dense";
    if (float_border) {
      TIMCL_ASSIGN(input, Quantized(layer.inputs[0]));
    }
    TIMCL_ASSIGN(Value output, MakeOutput(layer, false));
    auto weights = Weights(network_, layer);
    const auto k = static_cast<uint32_t>(weights["weights"].size() / layer.units);
    const auto kernel =
        Kernel(input, {k, layer.units}, 1, weights["weights"], weights["bias"], float_border);
    const TensorPtr sums = Activated(layer, output.tensor);
    Make<ops::FullyConnected>(layer, layer.flatten ? 2u : 0u, layer.units)
        ->BindInputs({input, kernel[0], kernel[1]})
        .BindOutput(sums);
    return Done(layer, output);
  }

  Status AddLstm(const Layer& layer) {
    TIMCL_ASSIGN(Value output, MakeOutput(layer, false));
    const TensorPtr input = at_[layer.inputs[0]].tensor;
    auto weights = Weights(network_, layer);
    const uint32_t units = layer.units;
    const auto channels = static_cast<uint32_t>(weights["weights"].size() / (size_t{4} * units));
    const auto gate = [&](const char* role, size_t g) {
      const std::vector<float>& all = weights[role];
      const size_t count = all.size() / 4;
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(g * count);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    const auto matrix = [&](const char* role, size_t g, uint32_t length) {
      if (type_ == Type::kFloat32) return Floats({length, units}, gate(role, g));
      const QuantizedRows q = QuantizeRows(gate(role, g), 1);
      return graph_.CreateTensor(
          TensorSpec(DataType::INT8, {length, units}, TensorAttribute::CONSTANT,
                     Quantization(QuantType::ASYMMETRIC, q.scales[0], 0)),
          q.values.data());
    };
    const TensorPtr none = graph_.CreateTensorPlaceHolder();
    std::vector<TensorPtr> operands = {input, none, none};  // both states start with zeros
    for (size_t g = 0; g < 4; ++g) operands.push_back(matrix("weights", g, channels));
    for (size_t g = 0; g < 4; ++g) operands.push_back(matrix("recurrent", g, units));
    operands.insert(operands.end(), 3, none);  // peepholes
    for (size_t g = 0; g < 4; ++g) operands.push_back(Floats({units}, gate("bias", g)));
    operands.insert(operands.end(), 6, none);  // projection and norms
    using Lstm = ops::UnidirectionalSequenceLstm;
    Make<Lstm>(layer, 0.0f, 0.0f, Lstm::kTANH, 0.0f, false, Lstm::kSIGMOID, true)
        ->BindInputs(operands)
        .BindOutput(output.tensor);
    return Done(layer, output);
  }

  /// A reshape counts in the order of the file, so a picture is brought into it first.
  Status AddReshape(const Layer& layer) {
    const Value input = at_[layer.inputs[0]];
    const Shape& from = network_.ShapeOf(layer.inputs[0]);
    TIMCL_ASSIGN(Value output, MakeOutput(layer, false));
    TensorPtr source = input.tensor;
    if (input.picture && from[1] * from[2] != 1) {
      source = Between(input.tensor);
      graph_.CreateOperation<ops::Transpose>(std::vector<uint32_t>{2, 0, 1, 3})
          ->BindInput(input.tensor)
          .BindOutput(source);
    }
    Make<ops::Reshape>(layer, GraphShape(network_.ShapeOf(layer.output), false))
        ->BindInput(source)
        .BindOutput(output.tensor);
    return Done(layer, output);
  }

  Status Add(const Layer& layer) {
    const std::string& op = layer.op;
    if (op == "conv") return AddConv(layer);
    if (op == "dense") return AddDense(layer);
    if (op == "lstm") return AddLstm(layer);
    if (op == "reshape") return AddReshape(layer);

    const Value in = at_[layer.inputs[0]];
    const Shape& from = network_.ShapeOf(layer.inputs[0]);
    const Shape& to = network_.ShapeOf(layer.output);
    const size_t rank = from.size();
    for (const std::string& tensor : layer.inputs) {
      if (at_[tensor].picture != in.picture)
        return Status::Error(Code::kInvalidArgument,
                             network_.file + ": layer '" + layer.name +
                                 "': field 'inputs' mixes pictures and other tensors");
    }
    const auto last = static_cast<int32_t>(GraphAxis(rank - 1, rank, in.picture));
    TIMCL_ASSIGN(Value output, MakeOutput(layer, in.picture && op != "global_mean"));
    TensorPtr result = output.tensor;
    std::vector<TensorPtr> operands;
    for (const std::string& tensor : layer.inputs) operands.push_back(at_[tensor].tensor);

    std::shared_ptr<tim::vx::Operation> made;
    if (op == "add") {
      result = Activated(layer, output.tensor);
      made = Make<ops::Add>(layer);
    } else if (op == "max_pool") {
      const std::array<uint32_t, 4> pad = {layer.pads[1], layer.pads[3], layer.pads[0],
                                           layer.pads[2]};
      const std::array<uint32_t, 2> size = {layer.kernel[1], layer.kernel[0]},
                                    stride = {layer.stride[1], layer.stride[0]};
      made = Make<ops::Pool2d>(layer, PoolType::MAX, pad, size, stride);
    } else if (op == "global_mean") {
      made = Make<ops::ReduceMean>(layer, std::vector<int32_t>{0, 1}, false);
    } else if (op == "transpose") {
      std::vector<uint32_t> perm(rank);
      for (size_t i = 0; i < rank; ++i)
        perm[GraphAxis(i, rank, in.picture)] = GraphAxis(layer.perm[i], rank, in.picture);
      made = Make<ops::Transpose>(layer, perm);
    } else if (op == "concat") {
      made = Make<ops::Concat>(layer, GraphAxis(layer.axis, rank, in.picture),
                               static_cast<int>(operands.size()));
    } else if (op == "slice") {
      std::vector<int32_t> start(rank), length(rank);
      for (size_t i = 0; i < rank; ++i) {
        const uint32_t axis = GraphAxis(i, rank, in.picture);
        start[axis] = static_cast<int32_t>(layer.begin[i]);
        length[axis] = static_cast<int32_t>(to[i]);
      }
      made = Make<ops::Slice>(layer, static_cast<uint32_t>(rank), start, length);
    } else if (op == "resize_nearest") {
      made = Make<ops::Resize>(layer, tim::vx::ResizeType::NEAREST_NEIGHBOR, 0.0f, false, false,
                               static_cast<int>(from[1] * layer.factor),
                               static_cast<int>(from[2] * layer.factor));
    } else if (op == "leaky_relu") {
      made = Make<ops::LeakyRelu>(layer, static_cast<float>(layer.alpha));
    } else if (op == "sigmoid") {
      made = Make<ops::Sigmoid>(layer);
    } else if (op == "tanh") {
      made = Make<ops::Tanh>(layer);
    } else if (op == "gelu") {
      made = Make<ops::Gelu>(layer, false);
    } else if (op == "scale") {
      operands.push_back(Floats({1}, {static_cast<float>(layer.factor)}));
      made = Make<ops::Multiply>(layer);
    } else if (op == "softmax") {
      made = Make<ops::Softmax>(layer, 1.0f, last);
    } else if (op == "matmul") {
      made = Make<ops::Matmul>(layer, false, layer.transpose_b);
    } else if (op == "layer_norm") {
      auto weights = Weights(network_, layer);
      operands.push_back(Floats({from.back()}, weights["beta"]));
      operands.push_back(Floats({from.back()}, weights["gamma"]));
      made = Make<ops::LayerNormalization>(layer, last, static_cast<float>(layer.epsilon));
    }
    made->BindInputs(operands).BindOutput(result);
    return Done(layer, output);
  }

  Status Done(const Layer& layer, Value output) {
    at_[layer.output] = std::move(output);
    return {};
  }

  Graph& graph_;
  Built& built_;
  const Network& network_;
  const Type type_;
  const bool all_outputs_;
  std::map<std::string, Value> at_;
  std::map<std::string, TensorPtr> quantized_;
};

Result<Built> Built::Into(Graph& graph, const Network& network, Type type, bool all_outputs) {
  Built built;
  built.network_ = std::make_shared<const Network>(network);
  TIMCL_TRY(Builder(graph, &built, type, all_outputs).Build());
  return built;
}

Status Built::SetInputs(int k) {
  for (const auto& [name, border] : inputs_) {
    std::vector<float> values = InputValues(*network_, name, k);
    if (border.picture) values = Channels(values, network_->ShapeOf(name), true);
    const void* data = values.data();
    std::vector<int8_t> quantized;
    if (border.tensor->GetDataType() == DataType::INT8) {
      const Quantization& q = border.tensor->GetQuantization();
      for (const float x : values)
        quantized.push_back(Quantize(x, {q.Scales()[0], q.ZeroPoints()[0]}));
      data = quantized.data();
    }
    if (!border.tensor->CopyDataToTensor(data))
      return Status::Error(Code::kInternal,
                           "input '" + name + "' of " + network_->name + " could not be written");
  }
  return {};
}

Result<std::vector<float>> Built::Output(const std::string& tensor) const {
  const auto found = outputs_.find(tensor);
  if (found == outputs_.end())
    return Status::Error(Code::kNotFound, network_->name + " has no output '" + tensor + "'");
  const Border& border = found->second;
  std::vector<float> values(CountOf(network_->ShapeOf(tensor)));
  bool read = false;
  if (border.tensor->GetDataType() == DataType::INT8) {
    std::vector<int8_t> quantized(values.size());
    read = border.tensor->CopyDataFromTensor(quantized.data());
    const Quantization& q = border.tensor->GetQuantization();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(quantized[i] - q.ZeroPoints()[0]) * q.Scales()[0];
  } else {
    read = border.tensor->CopyDataFromTensor(values.data());
  }
  if (!read)
    return Status::Error(Code::kInternal,
                         "output '" + tensor + "' of " + network_->name + " could not be read");
  if (border.picture) values = Channels(values, network_->ShapeOf(tensor), false);
  return values;
}

float Built::StepOf(const std::string& tensor) const {
  const TensorPtr& at = outputs_.at(tensor).tensor;
  return at->GetDataType() == DataType::INT8 ? at->GetQuantization().Scales()[0] : 0.0f;
}

namespace {

void Add(const std::string& tensor, size_t index, float ours, float expected, Difference* to) {
  // A NaN is the largest difference of all.
  const double difference = std::fabs(static_cast<double>(ours) - expected);
  to->scale = std::max(to->scale, std::fabs(static_cast<double>(expected)));
  to->squares += difference * difference;
  to->expected_squares += static_cast<double>(expected) * expected;
  if (to->count++ == 0 || !(difference <= to->largest)) {
    to->largest = difference;
    to->where = "element " + std::to_string(index) + " of '" + tensor + "' is " +
                std::to_string(ours) + " where " + std::to_string(expected) + " is expected";
  }
}

}  // namespace

double Difference::rms() const { return std::sqrt(squares / expected_squares); }

Result<Difference> CompareExpected(const Built& built, Type type) {
  const Network& network = built.network();
  const auto& all = type == Type::kFloat32 ? network.expected : network.expected_int8;
  Difference difference;
  for (const std::string& tensor : network.outputs) {
    const auto expected = all.find(tensor);
    if (expected == all.end())
      return Status::Error(Code::kNotFound, network.file + " has no expected values of '" + tensor +
                                                "' for " + NameOf(type));
    TIMCL_ASSIGN(const std::vector<float> values, built.Output(tensor));
    const size_t count = expected->second.size();
    for (size_t i = 0; i < count; ++i) {
      const size_t at = i * values.size() / count;
      Add(tensor, at, values[at], expected->second[i], &difference);
    }
  }
  return difference;
}

Result<Difference> Compare(const Built& ours, const Built& reference) {
  Difference difference;
  for (const std::string& tensor : ours.network().outputs) {
    TIMCL_ASSIGN(const std::vector<float> a, ours.Output(tensor));
    TIMCL_ASSIGN(const std::vector<float> b, reference.Output(tensor));
    for (size_t i = 0; i < a.size(); ++i) Add(tensor, i, a[i], b.at(i), &difference);
  }
  return difference;
}

}  // namespace networks
