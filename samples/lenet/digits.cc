// The digit reader without its main(): pictures, preprocessing, the model file and the graph.
#include "digits.h"

#include <png.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/conv2d.h"
#include "tim/vx/ops/fullyconnected.h"
#include "tim/vx/ops/pool2d.h"
#include "tim/vx/ops/softmax.h"

namespace digits {
namespace {

namespace vx = tim::vx;
using vx::Code;
using vx::Result;
using vx::Status;

constexpr int64_t kMaxPixels = int64_t{1} << 26;  // larger pictures are refused

Result<std::vector<uint8_t>> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status::Error(Code::kIo, "cannot open " + path);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)),
                             std::istreambuf_iterator<char>());
  if (in.bad()) return Status::Error(Code::kIo, "cannot read " + path);
  return bytes;
}

// Little endian, whatever the host is.
uint64_t LittleEndian(const uint8_t* bytes, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | bytes[i];
  return value;
}
uint32_t LoadU32(const uint8_t* bytes) { return static_cast<uint32_t>(LittleEndian(bytes, 4)); }

Result<Picture> ReadPng(const std::vector<uint8_t>& bytes, const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto fail = [&] {
    const std::string message = image.message;
    png_image_free(&image);
    return Status::Error(Code::kIo, path + ": " + message);
  };
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size())) return fail();
  if (int64_t{image.width} * image.height > kMaxPixels) {
    png_image_free(&image);
    return Status::Error(Code::kIo,
                         path + " has more than " + std::to_string(kMaxPixels) + " pixels");
  }
  image.format = PNG_FORMAT_RGBA;
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit files hold what 8-bit ones would, only finer
  std::vector<uint8_t> rgba(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, rgba.data(), 0, nullptr)) return fail();

  Picture picture;
  picture.width = static_cast<int>(image.width);
  picture.height = static_cast<int>(image.height);
  picture.pixels.resize(rgba.size() / 4);
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    const int alpha = rgba[4 * i + 3];
    const auto over_white = [&](int c) { return (c * alpha + 255 * (255 - alpha) + 127) / 255; };
    const int r = over_white(rgba[4 * i]), g = over_white(rgba[4 * i + 1]),
              b = over_white(rgba[4 * i + 2]);
    picture.pixels[i] = static_cast<uint8_t>((299 * r + 587 * g + 114 * b + 500) / 1000);
  }
  return picture;
}

/// The numbers of a PGM's header and of a P2's body, separated by blanks and "# ..." lines.
class PgmNumbers {
 public:
  PgmNumbers(const std::vector<uint8_t>& bytes, size_t at) : bytes_(bytes), at_(at) {}
  size_t at() const { return at_; }

  /// -1 if no number of at most 9 digits follows.
  int64_t Next() {
    while (at_ < bytes_.size() && (std::isspace(bytes_[at_]) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else {
        ++at_;
      }
    }
    int64_t value = -1;
    for (int n = 0; n < 9 && at_ < bytes_.size() && std::isdigit(bytes_[at_]); ++n, ++at_) {
      value = (value < 0 ? 0 : value * 10) + (bytes_[at_] - '0');
    }
    return value;
  }

 private:
  const std::vector<uint8_t>& bytes_;
  size_t at_;
};

Result<Picture> ReadPgm(const std::vector<uint8_t>& bytes, const std::string& path) {
  const auto fail = [&](const std::string& what) {
    return Status::Error(Code::kIo, path + ": " + what);
  };
  PgmNumbers numbers(bytes, 2);
  const int64_t width = numbers.Next(), height = numbers.Next(), largest = numbers.Next();
  if (width < 1 || height < 1 || largest < 1 || largest > 65535 || width > kMaxPixels / height) {
    return fail("not a PGM header that can be read");
  }
  Picture picture;
  picture.width = static_cast<int>(width);
  picture.height = static_cast<int>(height);
  picture.pixels.resize(width * height);
  const bool text = bytes[1] == '2';
  const size_t size = largest > 255 ? 2 : 1, start = numbers.at() + 1;  // one blank, then pixels
  if (!text && (bytes.size() < start || bytes.size() - start < picture.pixels.size() * size)) {
    return fail("too few pixels");
  }
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    int64_t value;
    if (text) {
      value = numbers.Next();
      if (value < 0) return fail("too few pixels");
    } else {
      const uint8_t* p = &bytes[start + i * size];
      value = size == 2 ? p[0] << 8 | p[1] : p[0];
    }
    value = std::min(value, largest);
    picture.pixels[i] = static_cast<uint8_t>((value * 255 + largest / 2) / largest);
  }
  return picture;
}

/// Area averaging to W x H: the weight of a source pixel is what it shares with the target pixel.
std::vector<int64_t> Scale(const std::vector<int64_t>& p, int64_t w, int64_t h, int64_t W,
                           int64_t H) {
  const auto overlap = [](int64_t i, int64_t N, int64_t j, int64_t n) {
    return std::min((i + 1) * n, (j + 1) * N) - std::max(i * n, j * N);
  };
  std::vector<int64_t> result(W * H);
  for (int64_t Y = 0; Y < H; ++Y) {
    for (int64_t X = 0; X < W; ++X) {
      int64_t sum = 0;
      for (int64_t y = Y * h / H; y < h && y * H < (Y + 1) * h; ++y) {
        for (int64_t x = X * w / W; x < w && x * W < (X + 1) * w; ++x) {
          sum += p[y * w + x] * overlap(X, W, x, w) * overlap(Y, H, y, h);
        }
      }
      result[Y * W + X] = (2 * sum + w * h) / (2 * w * h);
    }
  }
  return result;
}

}  // namespace

Result<Picture> ReadPicture(const std::string& path) {
  TIMCL_ASSIGN(const std::vector<uint8_t> bytes, ReadFile(path));
  if (bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0) return ReadPng(bytes, path);
  if (bytes.size() >= 3 && bytes[0] == 'P' && (bytes[1] == '2' || bytes[1] == '5')) {
    return ReadPgm(bytes, path);
  }
  return Status::Error(Code::kIo, path + " is neither a PNG nor a PGM (P2, P5)");
}

// The steps are numbered as in train/README.md, section 2.
Input Preprocess(Picture picture) {
  Input input{};
  const int64_t width = picture.width, height = picture.height;
  std::vector<int64_t> p(picture.pixels.begin(), picture.pixels.end());
  if (p.empty()) return input;

  // 1. Light on dark.
  int64_t border = 0, border_sum = 0;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      if (x > 0 && x < width - 1 && y > 0 && y < height - 1) continue;
      ++border;
      border_sum += p[y * width + x];
    }
  }
  if (2 * border_sum > 255 * border) {
    for (int64_t& v : p) v = 255 - v;
    border_sum = 255 * border - border_sum;
  }
  // 2. Contrast.
  const int64_t low = border_sum / border, high = *std::max_element(p.begin(), p.end());
  if (high - low < 24) return input;
  for (int64_t& v : p) v = std::max<int64_t>(v - low, 0) * 255 / (high - low);
  // 3. Crop. The brightest pixel is 255 now, so the box is not empty.
  int64_t left = width, right = 0, top = height, bottom = 0;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      if (p[y * width + x] < 96) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = std::max(bottom, y + 1);
    }
  }
  const int64_t w = right - left, h = bottom - top, longer = std::max(w, h);
  std::vector<int64_t> box(w * h);
  for (int64_t y = 0; y < h; ++y) {
    std::copy_n(&p[(top + y) * width + left], w, &box[y * w]);
  }
  // 4. Scale.
  const auto scaled = [&](int64_t side) {
    return std::max<int64_t>(1, (2 * side * 20 + longer) / (2 * longer));
  };
  const int64_t W = scaled(w), H = scaled(h);
  const std::vector<int64_t> r = Scale(box, w, h, W, H);
  // 5. and 6. Peak and centre.
  const int64_t peak = *std::max_element(r.begin(), r.end());
  if (peak == 0) return input;
  for (int64_t y = 0; y < H; ++y) {
    for (int64_t x = 0; x < W; ++x) {
      input[((kSide - H) / 2 + y) * kSide + (kSide - W) / 2 + x] =
          static_cast<uint8_t>((2 * 255 * r[y * W + x] + peak) / (2 * peak));
    }
  }
  return input;
}

Result<Model> Model::Load(const std::string& path) {
  constexpr size_t kHeader = 16, kRecord = 72;
  Model model;
  TIMCL_ASSIGN(model.bytes_, ReadFile(path));
  const std::vector<uint8_t>& bytes = model.bytes_;
  const auto fail = [&](const std::string& what) {
    return Status::Error(Code::kIo, path + ": " + what);
  };
  if (bytes.size() < kHeader || std::memcmp(bytes.data(), "TIMDIGIT", 8) != 0 ||
      LoadU32(&bytes[8]) != 1) {
    return fail("not a file of weights, version 1");
  }
  const size_t count = LoadU32(&bytes[12]);
  if (count > (bytes.size() - kHeader) / kRecord) return fail("the table does not fit the file");
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* record = &bytes[kHeader + i * kRecord];
    const char* name = reinterpret_cast<const char*>(record);
    Entry entry;
    const uint32_t type = LoadU32(record + 24), rank = LoadU32(record + 28);
    const bool known = type == static_cast<uint32_t>(vx::DataType::UINT8) ||
                       type == static_cast<uint32_t>(vx::DataType::INT32);
    if (!known || rank > 4) return fail("entry " + std::to_string(i) + " is damaged");
    vx::ShapeType shape;
    for (uint32_t d = 0; d < rank; ++d) shape.push_back(LoadU32(record + 32 + 4 * d));
    float scale;
    const uint32_t scale_bits = LoadU32(record + 48);
    std::memcpy(&scale, &scale_bits, sizeof(scale));
    const vx::Quantization quantization(vx::QuantType::ASYMMETRIC, scale,
                                        static_cast<int32_t>(LoadU32(record + 52)));
    entry.spec =
        vx::TensorSpec(static_cast<vx::DataType>(type), shape, vx::TRANSIENT, quantization);
    entry.offset = LittleEndian(record + 56, 8);
    const uint64_t size = LittleEndian(record + 64, 8);
    const bool in_file = entry.offset <= bytes.size() && size <= bytes.size() - entry.offset;
    if (!in_file || (size != 0 && size != static_cast<uint64_t>(entry.spec.GetByteSize()))) {
      return fail("entry " + std::to_string(i) + " does not fit the file");
    }
    model.entries_[std::string(name, strnlen(name, 24))] = entry;
  }
  for (const char* name : {"input", "conv1_w", "conv1_b", "conv1_out", "conv2_w", "conv2_b",
                           "conv2_out", "fc1_w", "fc1_b", "fc1_out", "fc2_w", "fc2_b", "logits"}) {
    const auto entry = model.entries_.find(name);
    if (entry == model.entries_.end()) return fail(std::string(name) + " is missing");
    const bool is_weight = std::strstr(name, "_w") != nullptr || std::strstr(name, "_b") != nullptr;
    if (is_weight && entry->second.offset == 0) return fail(std::string(name) + " has no data");
  }
  return model;
}

vx::TensorSpec Model::Spec(const std::string& name, vx::TensorAttribute attribute) const {
  vx::TensorSpec spec = entries_.at(name).spec;
  if (attribute == vx::TRANSIENT) return spec.AsTransientSpec();
  return spec.SetAttribute(attribute);
}

const void* Model::Data(const std::string& name) const { return &bytes_[entries_.at(name).offset]; }

Network Build(vx::Graph& graph, const Model& model, uint32_t batch, bool with_logits) {
  namespace ops = vx::ops;
  const auto constant = [&](const char* name) {
    return graph.CreateTensor(model.Spec(name, vx::CONSTANT), model.Data(name));
  };
  // No shape: Compile() infers it. Only the quantization is the model's.
  const auto transient = [&](const char* name) {
    return graph.CreateTensor(model.Spec(name, vx::TRANSIENT));
  };
  Network net;
  vx::TensorSpec input = model.Spec("input", vx::INPUT);
  net.input = graph.CreateTensor(input.SetShape({kSide, kSide, 1, batch}));
  net.probability = graph.CreateTensor(
      vx::TensorSpec(vx::DataType::FLOAT32, {static_cast<uint32_t>(kClasses), batch}, vx::OUTPUT));

  const std::array<uint32_t, 2> one = {1, 1}, two = {2, 2};
  const auto conv1 = transient("conv1_out"), pool1 = transient("conv1_out");
  graph.CreateOperation<ops::Conv2d>(vx::PadType::VALID, one, one)
      ->BindInputs({net.input, constant("conv1_w"), constant("conv1_b")})
      .BindOutput(conv1);
  graph.CreateOperation<ops::Pool2d>(vx::PoolType::MAX, vx::PadType::NONE, two, two)
      ->BindInput(conv1)
      .BindOutput(pool1);

  const auto conv2 = transient("conv2_out"), pool2 = transient("conv2_out");
  graph.CreateOperation<ops::Conv2d>(vx::PadType::VALID, one, one)
      ->BindInputs({pool1, constant("conv2_w"), constant("conv2_b")})
      .BindOutput(conv2);
  graph.CreateOperation<ops::Pool2d>(vx::PoolType::MAX, vx::PadType::NONE, two, two)
      ->BindInput(conv2)
      .BindOutput(pool2);

  // Dimensions 0 to 2 of {4, 4, 32, batch} are the 512 numbers of one picture.
  const auto fc1 = transient("fc1_out"), relu = transient("fc1_out");
  graph.CreateOperation<ops::FullyConnected>(2u)
      ->BindInputs({pool2, constant("fc1_w"), constant("fc1_b")})
      .BindOutput(fc1);
  graph.CreateOperation<ops::Relu>()->BindInput(fc1).BindOutput(relu);

  std::shared_ptr<vx::Tensor> logits;
  if (with_logits) {
    vx::TensorSpec spec = model.Spec("logits", vx::OUTPUT);
    logits = graph.CreateTensor(spec.SetShape({static_cast<uint32_t>(kClasses), batch}));
    net.logits = logits;
  } else {
    logits = transient("logits");
  }
  graph.CreateOperation<ops::FullyConnected>(0u)
      ->BindInputs({relu, constant("fc2_w"), constant("fc2_b")})
      .BindOutput(logits);
  graph.CreateOperation<ops::Softmax>(1.0f, 0)->BindInput(logits).BindOutput(net.probability);
  return net;
}

Result<TestSet> LoadTestSet(const std::string& path) {
  constexpr size_t kHeader = 28, kPacked = kPixels / 2;
  TIMCL_ASSIGN(const std::vector<uint8_t> bytes, ReadFile(path));
  if (bytes.size() < kHeader || std::memcmp(bytes.data(), "TIMTESTS", 8) != 0 ||
      LoadU32(&bytes[8]) != 1 || LoadU32(&bytes[16]) != kSide || LoadU32(&bytes[20]) != kSide ||
      LoadU32(&bytes[24]) != 4) {
    return Status::Error(Code::kIo, path + " is not a test set, version 1, of 28 x 28 pixels");
  }
  const size_t count = LoadU32(&bytes[12]);
  if ((bytes.size() - kHeader) / (1 + kPacked) < count) {
    return Status::Error(Code::kIo, path + " is cut off");
  }
  TestSet set;
  set.labels.assign(&bytes[kHeader], &bytes[kHeader] + count);
  set.inputs.resize(count);
  for (size_t n = 0; n < count; ++n) {
    const uint8_t* packed = &bytes[kHeader + count + n * kPacked];
    for (size_t i = 0; i < kPixels; ++i) {
      const int nibble = i % 2 == 0 ? packed[i / 2] & 15 : packed[i / 2] >> 4;
      set.inputs[n][i] = static_cast<uint8_t>(nibble * 17);
    }
  }
  return set;
}

}  // namespace digits
