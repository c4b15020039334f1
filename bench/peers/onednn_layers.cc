// The convolutions and products of one network as primitives of oneDNN 3, one after the other:
// layer by layer, not a whole network. build_layers.py writes what it reads.
//   onednn_layers NETWORK.layers layers.bin
// Layouts are oneDNN's own choice, weights are packed before, what follows is fused as post-ops,
// and of the primitives that can compute a layer the fastest is taken. Answers one line of JSON
// when ready, with the largest difference of any layer from what was expected, and one for each
// line of input:
//   run N   {"wall_ms": [N sums over all layers], "sum_of_least_ms": ..., "cpu_ms": of one run}
// sum_of_least_ms adds up the least time that each layer has taken so far.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using dnnl::memory;
using Dims = memory::dims;
using Type = memory::data_type;
using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

Dims Numbers(const std::string& text, char separator) {
  Dims numbers;
  for (const std::string& part : Split(text, separator)) numbers.push_back(std::stoll(part));
  return numbers;
}

/// real = scale * (stored - zero).
struct Encoding {
  float scale = 1;
  int32_t zero = 0;
};
Encoding EncodingOf(const std::string& scale, const std::string& zero) {
  return {std::stof(scale), std::stoi(zero)};
}

struct Array {
  Dims shape;
  const float* data = nullptr;
  int64_t count() const {
    int64_t n = 1;
    for (const int64_t extent : shape) n *= extent;
    return n;
  }
};

/// Row-major, the last extent fastest.
memory::desc Plain(const Dims& shape, Type type) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
  return {shape, type, strides};
}
memory::desc Any(const Dims& shape, Type type) { return {shape, type, memory::format_tag::any}; }

class Device {
 public:
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  memory Move(memory from, const memory::desc& to) {
    memory result(to, engine);
    dnnl::reorder(from, result).execute(stream, from, result);
    stream.wait();
    return result;
  }
  template <class T>
  memory Upload(const T* data, const memory::desc& plain, const memory::desc& to) {
    return Move(memory(plain, engine, const_cast<T*>(data)), to);
  }
  template <class T>
  memory Vector(const std::vector<T>& values, Type type) {
    const auto desc = Plain({static_cast<int64_t>(values.size())}, type);
    return Upload(values.data(), desc, desc);
  }
};

std::vector<uint8_t> Quantize(const Array& x, const Encoding& e) {
  std::vector<uint8_t> q(static_cast<size_t>(x.count()));
  for (size_t i = 0; i < q.size(); ++i) {
    const float value = std::nearbyint(x.data[i] / e.scale) + static_cast<float>(e.zero);
    q[i] = static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
  }
  return q;
}

/// The words of one line.
class Words {
 public:
  Words(const std::string& line, const std::vector<float>& data) : data_(data) {
    std::istringstream in(line);
    for (std::string word; in >> word;) {
      const size_t at = word.find('=');
      words_[word.substr(0, at)] = word.substr(at + 1);
    }
  }
  const std::string& operator[](const std::string& key) const {
    const auto found = words_.find(key);
    if (found == words_.end()) throw std::runtime_error("a layer has no " + key);
    return found->second;
  }
  bool has(const std::string& key) const { return words_.count(key) != 0; }
  Array Place(const std::string& word) const {
    const auto parts = Split(word, '@');
    Array array{Numbers(parts.at(0), 'x'), nullptr};
    const int64_t first = std::stoll(parts.at(1));
    if (first < 0 || first + array.count() > static_cast<int64_t>(data_.size()))
      throw std::runtime_error(word + " is not in the file of arrays");
    array.data = data_.data() + first;
    return array;
  }
  std::optional<Encoding> Quantized(const std::string& key) const {
    if (!has(key)) return {};
    const auto parts = Split((*this)[key], ':');
    return EncodingOf(parts.at(0), parts.at(1));
  }

 private:
  const std::vector<float>& data_;
  std::map<std::string, std::string> words_;
};

/// A primitive with all that it reads and writes.
struct Call {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> memories;
  std::string kernel;

  double Run(Device& device) {
    const auto start = Clock::now();
    primitive.execute(device.stream, memories);
    device.stream.wait();
    return MillisecondsSince(start);
  }
};

class Layer {
 public:
  Layer(const Words& words, Device& device) : words_(words), device_(device) {
    src_ = words.Place(words["src"]);
    weights_ = words.Place(words["weights"]);
    dst_ = words.Place(words["dst"]);
    if (words.has("bias")) bias_ = words.Place(words["bias"]);
    src_q_ = words.Quantized("src_q");
    dst_q_ = words.Quantized("dst_q");
    ReadPostOps();
    ReadQuantization();
    Choose();
  }

  /// Largest difference from what is expected, as a share of the largest value. Runs the layer.
  double Error() {
    LoadSum(call_);
    call_.Run(device_);
    const Type type = dst_q_ ? Type::u8 : Type::f32;
    const memory plain = device_.Move(call_.memories.at(DNNL_ARG_DST), Plain(dst_.shape, type));
    const void* const found = plain.get_data_handle();
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < dst_.count(); ++i) {
      const float y =
          dst_q_ ? dst_q_->scale *
                       static_cast<float>(static_cast<const uint8_t*>(found)[i] - dst_q_->zero)
                 : static_cast<const float*>(found)[i];
      const double off = std::abs(static_cast<double>(y) - dst_.data[i]);
      if (!(off <= worst)) worst = std::isnan(off) ? std::numeric_limits<double>::max() : off;
      largest = std::max(largest, std::abs(static_cast<double>(dst_.data[i])));
    }
    return worst / (largest > 0 ? largest : 1);
  }
  double Run() { return call_.Run(device_); }
  const std::string& kernel() const { return call_.kernel; }

 private:
  void ReadPostOps() {
    dnnl::post_ops ops;
    using dnnl::algorithm;
    if (words_.has("post")) {
      for (const std::string& word : Split(words_["post"], ',')) {
        const auto parts = Split(word, ':');
        if (parts[0] == "sum") {
          sum_ = words_.Place(parts.at(1));
          if (parts.size() > 3) sum_q_ = EncodingOf(parts[2], parts[3]);
          ops.append_sum(sum_q_ ? sum_q_->scale : 1, sum_q_ ? sum_q_->zero : 0);
        } else if (parts[0] == "relu") {
          ops.append_eltwise(algorithm::eltwise_relu, 0, 0);
        } else if (parts[0] == "leaky") {
          ops.append_eltwise(algorithm::eltwise_relu, std::stof(parts.at(1)), 0);
        } else if (parts[0] == "relu6") {
          ops.append_eltwise(algorithm::eltwise_clip, 0, 6);
        } else if (parts[0] == "gelu") {
          ops.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
        } else {
          throw std::runtime_error("post-op " + word + " is not known");
        }
      }
    }
    attr_.set_post_ops(ops);
  }

  /// Weights: symmetric, one scale per output channel.
  void ReadQuantization() {
    if (!src_q_) return;
    const int64_t rows = weights_.shape[0], inner = weights_.count() / rows;
    q_weights_.resize(static_cast<size_t>(weights_.count()));
    for (int64_t r = 0; r < rows; ++r) {
      const float* const from = weights_.data + r * inner;
      float largest = 0;
      for (int64_t i = 0; i < inner; ++i) largest = std::max(largest, std::abs(from[i]));
      scales_.push_back(largest > 0 ? largest / 127 : 1);
      for (int64_t i = 0; i < inner; ++i) {
        q_weights_[static_cast<size_t>(r * inner + i)] = static_cast<int8_t>(
            std::clamp(std::nearbyint(from[i] / scales_.back()), -127.f, 127.f));
      }
    }
  }

  Type src_type() const { return src_q_ ? Type::u8 : Type::f32; }
  Type weights_type() const { return src_q_ ? Type::s8 : Type::f32; }
  Type dst_type() const { return dst_q_ ? Type::u8 : Type::f32; }

  /// `channels`: mask of the dimensions of the weights that are output channels.
  dnnl::primitive_attr Attributes(int channels) const {
    dnnl::primitive_attr attr = attr_;
    if (src_q_) {
      attr.set_scales_mask(DNNL_ARG_SRC, 0);
      attr.set_scales_mask(DNNL_ARG_WEIGHTS, channels);
      if (src_q_->zero != 0) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    }
    if (dst_q_) {
      attr.set_scales_mask(DNNL_ARG_DST, 0);
      if (dst_q_->zero != 0) attr.set_zero_points_mask(DNNL_ARG_DST, 0);
    }
    return attr;
  }

  /// `weights`: how they lie in the file.
  template <class Description>
  Call Make(const Description& desc, const memory::desc& weights) {
    Call call;
    call.kernel = desc.impl_info_str();
    call.primitive = dnnl::primitive(desc.get());
    auto& to = call.memories;
    const auto src = Plain(src_.shape, src_type());
    if (src_q_) {
      const std::vector<uint8_t> q = Quantize(src_, *src_q_);
      to[DNNL_ARG_SRC] = device_.Upload(q.data(), src, desc.src_desc());
      to[DNNL_ARG_WEIGHTS] = device_.Upload(q_weights_.data(), weights, desc.weights_desc());
      to[DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC] = device_.Vector<float>({src_q_->scale}, Type::f32);
      to[DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS] = device_.Vector(scales_, Type::f32);
      if (src_q_->zero != 0)
        to[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC] =
            device_.Vector<int32_t>({src_q_->zero}, Type::s32);
    } else {
      to[DNNL_ARG_SRC] = device_.Upload(src_.data, src, desc.src_desc());
      to[DNNL_ARG_WEIGHTS] = device_.Upload(weights_.data, weights, desc.weights_desc());
    }
    if (dst_q_) {
      to[DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST] = device_.Vector<float>({dst_q_->scale}, Type::f32);
      if (dst_q_->zero != 0)
        to[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST] =
            device_.Vector<int32_t>({dst_q_->zero}, Type::s32);
    }
    if (bias_) {
      to[DNNL_ARG_BIAS] = memory(desc.bias_desc(), device_.engine);
      std::copy_n(bias_->data, bias_->count(),
                  static_cast<float*>(to[DNNL_ARG_BIAS].get_data_handle()));
    }
    to[DNNL_ARG_DST] = memory(desc.dst_desc(), device_.engine);
    LoadSum(call);
    return call;
  }

  /// The other operand of an addition lies where the result goes. Later runs add to their results,
  /// which takes the same time.
  void LoadSum(Call& call) {
    if (!sum_) return;
    memory& dst = call.memories.at(DNNL_ARG_DST);
    const auto plain = Plain(dst_.shape, dst_type());
    if (sum_q_)
      dst = device_.Upload(Quantize(*sum_, *sum_q_).data(), plain, dst.get_desc());
    else
      dst = device_.Upload(sum_->data, plain, dst.get_desc());
  }

  Call Convolution(dnnl::algorithm algorithm) {
    const int64_t groups = std::stoll(words_["groups"]);
    Dims shape = weights_.shape;
    if (groups > 1) {
      shape[0] /= groups;
      shape.insert(shape.begin(), groups);
    }
    const Dims pads = Numbers(words_["pads"], ',');
    const dnnl::convolution_forward::primitive_desc desc(
        device_.engine, dnnl::prop_kind::forward_inference, algorithm, Any(src_.shape, src_type()),
        Any(shape, weights_type()), Any(bias_->shape, Type::f32), Any(dst_.shape, dst_type()),
        Numbers(words_["stride"], ','), {pads.at(0), pads.at(1)}, {pads.at(2), pads.at(3)},
        Attributes(groups > 1 ? 3 : 1));
    return Make(desc, Plain(shape, weights_type()));
  }

  Call InnerProduct() {
    const dnnl::inner_product_forward::primitive_desc desc(
        device_.engine, dnnl::prop_kind::forward_inference, Any(src_.shape, src_type()),
        Any(weights_.shape, weights_type()), Any(bias_->shape, Type::f32),
        Any(dst_.shape, dst_type()), Attributes(1));
    return Make(desc, Plain(weights_.shape, weights_type()));
  }

  /// Of a dense layer, whose weights are constant.
  Call Product() {
    const int64_t n = weights_.shape[0], k = weights_.shape[1];
    const dnnl::matmul::primitive_desc desc(device_.engine, Any(src_.shape, src_type()),
                                            Any({k, n}, weights_type()), Any({1, n}, Type::f32),
                                            Any(dst_.shape, dst_type()), Attributes(2));
    return Make(desc, memory::desc({k, n}, weights_type(), Dims{1, k}));
  }

  /// Of two tensors that the network computes: nothing is packed before.
  Call ProductOfTensors() {
    const auto plain = Plain(weights_.shape, Type::f32);
    const dnnl::matmul::primitive_desc desc(device_.engine, Plain(src_.shape, Type::f32), plain,
                                            Plain(dst_.shape, Type::f32), attr_);
    return Make(desc, plain);
  }

  void Choose() {
    std::string refusals;
    double best = std::numeric_limits<double>::max();
    const auto consider = [&](auto make) {
      try {
        Call call = make();
        double least = std::numeric_limits<double>::max();
        for (int i = 0; i < 4; ++i) least = std::min(least, call.Run(device_));
        if (least >= best) return;
        best = least;
        call_ = std::move(call);
      } catch (const dnnl::error& error) {
        if (error.status != dnnl_unimplemented) throw;
        refusals += std::string(refusals.empty() ? "" : "; ") + error.what();
      }
    };
    const std::string& op = words_["op"];
    if (op == "conv") {
      consider([&] { return Convolution(dnnl::algorithm::convolution_direct); });
      if (!src_q_) consider([&] { return Convolution(dnnl::algorithm::convolution_winograd); });
    } else if (op == "dense") {
      consider([&] { return InnerProduct(); });
      consider([&] { return Product(); });
    } else if (op == "matmul") {
      consider([&] { return ProductOfTensors(); });
    }
    if (!call_.primitive)
      throw std::runtime_error("no primitive of oneDNN computes it: " + refusals);
    std::fprintf(stderr, "%s: %s, %.4f ms\n", words_["name"].c_str(), call_.kernel.c_str(), best);
  }

  Words words_;
  Device& device_;
  Array src_, weights_, dst_;
  std::optional<Array> bias_, sum_;
  std::optional<Encoding> src_q_, dst_q_, sum_q_;
  std::vector<int8_t> q_weights_;
  std::vector<float> scales_;
  dnnl::primitive_attr attr_;
  Call call_;
};

std::vector<float> Floats(const char* path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw std::runtime_error(std::string("cannot read ") + path);
  std::vector<float> data(static_cast<size_t>(in.tellg()) / sizeof(float));
  in.seekg(0).read(reinterpret_cast<char*>(data.data()),
                   static_cast<std::streamsize>(data.size() * sizeof(float)));
  return data;
}

double CpuMilliseconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

void Serve(const char* network, const char* arrays) {
  const std::vector<float> data = Floats(arrays);
  std::ifstream in(network);
  if (!in) throw std::runtime_error(std::string("cannot read ") + network);
  Device device;
  std::vector<Layer> layers;
  for (std::string line; std::getline(in, line);) {
    const Words words(line, data);
    try {
      layers.emplace_back(words, device);
    } catch (const std::exception& error) {
      throw std::runtime_error(words["name"] + ": " + error.what());
    }
  }
  if (layers.empty()) throw std::runtime_error(std::string(network) + " has no layers");
  double worst = 0;
  int by_reference = 0;
  for (Layer& layer : layers) {
    worst = std::max(worst, layer.Error());
    by_reference += layer.kernel().rfind("ref", 0) == 0;
  }
  const dnnl_version_t& version = *dnnl_version();
  std::printf(
      "{\"ready\": true, \"version\": \"%d.%d.%d\", \"max_error\": %.9g, \"settings\": \"%zu "
      "layers, "
      "own layouts, weights packed before, post-ops fused, fastest primitive of each, sum of least "
      "times%s\"}\n",
      version.major, version.minor, version.patch, worst, layers.size(),
      by_reference > 0 ? (", " + std::to_string(by_reference) + " by reference kernels").c_str()
                       : "");
  std::fflush(stdout);

  std::vector<double> least(layers.size(), std::numeric_limits<double>::max());
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    int count = 0;
    if (!(words >> word >> count) || word != "run" || count < 1) {
      std::printf("{\"error\": \"only 'run N' is known\"}\n");
      std::fflush(stdout);
      continue;
    }
    const double cpu = CpuMilliseconds();
    std::printf("{\"wall_ms\": [");
    for (int i = 0; i < count; ++i) {
      double sum = 0;
      for (size_t l = 0; l < layers.size(); ++l) {
        const double time = layers[l].Run();
        sum += time;
        least[l] = std::min(least[l], time);
      }
      std::printf("%s%.6f", i == 0 ? "" : ", ", sum);
    }
    double sum = 0;
    for (const double time : least) sum += time;
    std::printf("], \"sum_of_least_ms\": %.6f, \"cpu_ms\": %.6f}\n", sum,
                (CpuMilliseconds() - cpu) / count);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw std::runtime_error("usage: onednn_layers NETWORK.layers layers.bin");
    Serve(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::string text;
    for (const char* c = error.what(); *c != '\0'; ++c) text += *c == '"' || *c == '\\' ? '\'' : *c;
    std::printf("{\"error\": \"%s\"}\n", text.c_str());
    return 1;
  }
  return 0;
}
