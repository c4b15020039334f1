// The digit reader without its main(): pictures, preprocessing, the model file and the graph.
// The files and the preprocessing are described in train/README.md.
#ifndef SAMPLES_LENET_DIGITS_H_
#define SAMPLES_LENET_DIGITS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tim/vx/graph.h"
#include "tim/vx/result.h"
#include "tim/vx/tensor.h"

namespace digits {

constexpr int kSide = 28;  // the network reads kSide x kSide pixels
constexpr size_t kPixels = kSide * kSide;
constexpr size_t kClasses = 10;

using Input = std::array<uint8_t, kPixels>;

/// A gray picture, row by row.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> pixels;
};

/// Reads a PNG (any kind; alpha is laid over white) or a PGM (P2 or P5, up to 16 bits).
tim::vx::Result<Picture> ReadPicture(const std::string& path);

/// Finds the digit, makes it light on dark, 20 pixels high or wide, and centres it.
Input Preprocess(Picture picture);

/// The quantized weights of digits.weights, and the quantization of every activation.
class Model {
 public:
  static tim::vx::Result<Model> Load(const std::string& path);

  tim::vx::TensorSpec Spec(const std::string& name, tim::vx::TensorAttribute attribute) const;
  const void* Data(const std::string& name) const;

 private:
  struct Entry {
    tim::vx::TensorSpec spec;
    size_t offset = 0;
  };
  std::vector<uint8_t> bytes_;
  std::map<std::string, Entry> entries_;
};

/// The network's tensors that the host writes and reads.
struct Network {
  std::shared_ptr<tim::vx::Tensor> input;        ///< UINT8 {28, 28, 1, batch}
  std::shared_ptr<tim::vx::Tensor> logits;       ///< UINT8 {10, batch}, if asked for
  std::shared_ptr<tim::vx::Tensor> probability;  ///< FLOAT32 {10, batch}
};

/// Adds the network to an empty graph.
Network Build(tim::vx::Graph& graph, const Model& model, uint32_t batch = 1,
              bool with_logits = false);

/// Preprocessed digits and what they show.
struct TestSet {
  std::vector<uint8_t> labels;
  std::vector<Input> inputs;
};
tim::vx::Result<TestSet> LoadTestSet(const std::string& path);

}  // namespace digits

#endif  // SAMPLES_LENET_DIGITS_H_
