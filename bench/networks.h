// The networks of bench/networks: reads their files, makes their weights, builds them through the
// public API. bench/networks/README.md defines the format, the weights and the int8 version.
#ifndef TIMCL_BENCH_NETWORKS_H_
#define TIMCL_BENCH_NETWORKS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tim/vx/graph.h"
#include "tim/vx/result.h"
#include "tim/vx/tensor.h"

namespace networks {

/// Extents, outermost first, as in the files; pictures are NHWC.
using Shape = std::vector<uint32_t>;

/// One operation. Members that its op does not have keep their defaults.
struct Layer {
  std::string name, op;
  std::vector<std::string> inputs;
  std::string output;
  std::string activation = "none";
  uint32_t filters = 0, groups = 1, units = 0, axis = 0;
  std::vector<uint32_t> kernel, stride;  // {h, w}
  std::vector<uint32_t> pads;            // {top, left, bottom, right}
  std::vector<uint32_t> perm, begin;
  double gain = 1, alpha = 0, epsilon = 0, factor = 1;
  bool flatten = false, transpose_b = false;
};

struct Range {
  double low = 0, high = 0;
};

struct Network {
  std::string file, name, about;
  std::string int8;  // "all", "dense" or "lstm"
  double macs = 0;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Shape> tensors;
  std::vector<Layer> layers;
  std::map<std::string, Range> ranges;
  /// Of outputs: elements floor(i * size / count), of the float32 network and of the int8 one.
  std::map<std::string, std::vector<float>> expected, expected_int8;

  const Shape& ShapeOf(const std::string& tensor) const { return tensors.at(tensor); }
};

/// Reads and checks a file. An error names the file, the layer and the field.
tim::vx::Result<Network> Load(const std::string& file);
/// The file of a network of this project: "resnet50", "small/resnet50".
std::string FileOf(std::string_view name);
/// Their names in the order of the table in README.md.
const std::vector<std::string>& Names();
/// Whether there is a small form of a network.
bool HasSmall(std::string_view name);

/// FNV-1a, 64 bits.
uint64_t Hash(std::string_view text);
/// Elements 0 to count - 1 of a key, uniform in [-1, 1).
std::vector<float> Values(std::string_view key, size_t count);
/// Weights of a layer by role, in the order of README.md; empty for an op without weights.
std::map<std::string, std::vector<float>> Weights(const Network& network, const Layer& layer);
/// Values of input number k, in the order of the file.
std::vector<float> InputValues(const Network& network, const std::string& tensor, int k = 0);
size_t CountOf(const Shape& shape);

enum class Type { kFloat32, kInt8 };
/// "f32", "int8".
const char* NameOf(Type type);

/// A network in a graph. Keeps what is needed to move values across its border.
class Built {
 public:
  /// Adds the network's layers to an empty graph. `all_outputs`: every tensor of the file becomes
  /// an output of an open shape, named after the tensor, to see what shapes are inferred.
  static tim::vx::Result<Built> Into(tim::vx::Graph& graph, const Network& network, Type type,
                                     bool all_outputs = false);

  /// Sets all inputs to input number k.
  tim::vx::Status SetInputs(int k = 0);
  /// Real values of one output, in the order of the file.
  tim::vx::Result<std::vector<float>> Output(const std::string& tensor) const;
  /// The encoding's step of an int8 output; 0 for a float32 one.
  float StepOf(const std::string& tensor) const;

  const Network& network() const { return *network_; }

 private:
  friend class Builder;
  struct Border {
    std::shared_ptr<tim::vx::Tensor> tensor;
    bool picture = false;  // stored as W, H, C, N
  };
  std::shared_ptr<const Network> network_;
  std::map<std::string, Border> inputs_, outputs_;
};

/// How far outputs are from what is expected.
struct Difference {
  double largest = 0;                        // of |x - y|
  double scale = 0;                          // largest |y|
  double squares = 0, expected_squares = 0;  // sums of (x - y)^2 and y^2
  size_t count = 0;
  std::string where;  // of the largest one, in words
  /// Root of the mean square, as a part of that of what is expected.
  double rms() const;
};

/// Against the expected values of the file. kNotFound where it has none for this type.
tim::vx::Result<Difference> CompareExpected(const Built& built, Type type);
/// All elements of all outputs, of two graphs of one network.
tim::vx::Result<Difference> Compare(const Built& ours, const Built& reference);

}  // namespace networks

#endif  // TIMCL_BENCH_NETWORKS_H_
