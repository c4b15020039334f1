// The digit reader: preprocessing and logits equal the recorded ones, 1,000 digits, and the LeNet
// that others made (TIMCL_TEST_DATA/lenet). OpenCL and the reference backend must agree bit for
// bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "layers/count_layer.h"
#include "layers/layer_access.h"
#include "nlohmann/json.hpp"
#include "samples/lenet/digits.h"
#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"
#include "tim/vx/ops.h"

namespace {

namespace vx = tim::vx;
using Json = nlohmann::json;
using Bytes = std::vector<uint8_t>;

std::shared_ptr<vx::Context> MakeContext(bool host_only) {
  vx::ContextOptions options;
  options.host_only = host_only;
  return vx::Context::Create(options);
}

Bytes ReadBytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return Bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

/// What one run gave.
struct Outcome {
  Bytes logits;
  std::vector<float> probability;
};

/// A compiled digit reader that shows its logits.
class Reader {
 public:
  Reader(bool host_only, uint32_t batch) : batch_(batch), context_(MakeContext(host_only)) {
    const auto model = digits::Model::Load(DIGITS_DIR "/digits.weights");
    EXPECT_TRUE(model.ok()) << model.status().message();
    if (!model.ok()) return;
    graph_ = context_->CreateGraph();
    net_ = digits::Build(*graph_, *model, batch, true);
    compiled_ = graph_->Compile();
    EXPECT_TRUE(compiled_) << graph_->LastStatus().message();
  }
  bool compiled() const { return compiled_; }
  const vx::CompileReport& report() const { return graph_->Report(); }

  /// `inputs` points to a batch of them.
  Outcome Read(const digits::Input* inputs) {
    Outcome outcome{Bytes(digits::kClasses * batch_),
                    std::vector<float>(digits::kClasses * batch_)};
    EXPECT_TRUE(net_.input->CopyDataToTensor(inputs));
    EXPECT_TRUE(graph_->Run()) << graph_->LastStatus().message();
    EXPECT_TRUE(net_.logits->CopyDataFromTensor(outcome.logits.data()));
    EXPECT_TRUE(net_.probability->CopyDataFromTensor(outcome.probability.data()));
    return outcome;
  }
  bool Run() { return graph_->Run(); }

 private:
  uint32_t batch_;
  std::shared_ptr<vx::Context> context_;
  std::shared_ptr<vx::Graph> graph_;
  digits::Network net_;
  bool compiled_ = false;
};

const Json& Golden() {
  static const Json golden = [] {
    std::ifstream in(TIMCL_SOURCE_DIR "/tests/golden/lenet_digits_golden.json");
    return Json::parse(in);
  }();
  return golden;
}

digits::Input FromHex(const std::string& hex) {
  digits::Input input{};
  EXPECT_EQ(hex.size(), 2 * input.size());
  for (size_t i = 0; i < input.size(); ++i) {
    input[i] = static_cast<uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return input;
}

std::string Picture(const Json& golden) {
  return DIGITS_DIR "/pictures/" + golden["file"].get<std::string>();
}

TEST(LenetDigits, PreprocessingEqualsTheRecordedPixels) {
  ASSERT_GE(Golden()["pictures"].size(), 5u);
  for (const Json& golden : Golden()["pictures"]) {
    SCOPED_TRACE(golden["file"]);
    const auto picture = digits::ReadPicture(Picture(golden));
    ASSERT_TRUE(picture.ok()) << picture.status().message();
    EXPECT_EQ(picture->width, golden["width"].get<int>());
    EXPECT_EQ(picture->height, golden["height"].get<int>());
    EXPECT_EQ(digits::Preprocess(*picture), FromHex(golden["preprocessed"]));
  }
}

// Preprocessed pixels as a picture of their own come out as they went in, dark on light too.
TEST(LenetDigits, PreprocessingFindsTheDigitWhereverItIs) {
  const digits::Input seven = FromHex(Golden()["pictures"][4]["preprocessed"]);
  digits::Picture wide;
  wide.width = 61;
  wide.height = 40;
  wide.pixels.assign(61 * 40, 255);
  for (int y = 0; y < 28; ++y) {
    for (int x = 0; x < 28; ++x) {
      wide.pixels[(y + 11) * 61 + x + 2] = static_cast<uint8_t>(255 - seven[y * 28 + x]);
    }
  }
  const digits::Input result = digits::Preprocess(wide);
  int different = 0;  // the box is cut at 96, so faint edges may be lost
  for (size_t i = 0; i < result.size(); ++i) different += std::abs(result[i] - seven[i]) > 96;
  EXPECT_EQ(different, 0);
}

TEST(LenetDigits, EmptyPicturesGiveNoPixels) {
  digits::Picture flat;
  flat.width = 9;
  flat.height = 4;
  flat.pixels.assign(36, 130);
  EXPECT_EQ(digits::Preprocess(flat), digits::Input{});
  EXPECT_EQ(digits::Preprocess(digits::Picture{}), digits::Input{});
}

class PictureFile : public ::testing::Test {
 protected:
  // Of this process alone: tests of one program may run side by side.
  std::string Write(const std::string& bytes) {
    path_ =
        std::filesystem::temp_directory_path() / ("timcl_" + std::to_string(getpid()) + "_picture");
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_.string();
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::filesystem::path path_;
};

TEST_F(PictureFile, TextPgmWithComments) {
  const auto picture = digits::ReadPicture(Write("P2 # gray\n# more\n3 2\n15\n0 5 15\n1 2 3\n"));
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_EQ(picture->width, 3);
  EXPECT_THAT(picture->pixels, ::testing::ElementsAre(0, 85, 255, 17, 34, 51));
}
TEST_F(PictureFile, SixteenBitPgm) {
  const std::string pixels("\x00\x00\xff\xff\x80\x80", 6);
  const auto picture = digits::ReadPicture(Write("P5\n3 1\n65535\n" + pixels));
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_THAT(picture->pixels, ::testing::ElementsAre(0, 255, 128));
}
TEST_F(PictureFile, DamagedFilesAreRefused) {
  const Bytes png = ReadBytes(DIGITS_DIR "/pictures/5_slanted.png");
  const std::string cut(png.begin(), png.begin() + png.size() / 2);
  for (const std::string& bytes : {std::string("P5\n3 2\n255\nab"), std::string("P2\n2 1\n255\n7"),
                                   std::string("P5\n0 2\n255\n"), std::string("P5\n2 2\n70000\n"),
                                   std::string("P5\n99999999 99999999\n255\n"), std::string("P5"),
                                   std::string("GIF89a"), std::string(), cut}) {
    const auto picture = digits::ReadPicture(Write(bytes));
    EXPECT_FALSE(picture.ok()) << bytes.substr(0, 20);
    EXPECT_EQ(picture.status().code(), vx::Code::kIo);
  }
  EXPECT_FALSE(digits::ReadPicture("/nonexistent/picture.png").ok());
}
TEST_F(PictureFile, DamagedModelsAndTestSetsAreRefused) {
  const Bytes whole = ReadBytes(DIGITS_DIR "/digits.weights");
  for (const size_t size : {size_t{0}, size_t{15}, size_t{40}, size_t{500}, whole.size() - 64}) {
    const auto model = digits::Model::Load(Write(std::string(whole.begin(), whole.begin() + size)));
    EXPECT_FALSE(model.ok()) << size;
  }
  EXPECT_FALSE(digits::LoadTestSet(Write(std::string(whole.begin(), whole.end()))).ok());
  const Bytes set = ReadBytes(DIGITS_DIR "/digits.testset");
  EXPECT_FALSE(digits::LoadTestSet(Write(std::string(set.begin(), set.end() - 1))).ok());
}

void ExpectRecordedLogits(bool host_only) {
  Reader reader(host_only, 1);
  ASSERT_TRUE(reader.compiled());
  for (const Json& golden : Golden()["pictures"]) {
    SCOPED_TRACE(golden["file"]);
    const digits::Input input = FromHex(golden["preprocessed"]);
    const Outcome outcome = reader.Read(&input);
    EXPECT_EQ(outcome.logits, golden["logits"].get<Bytes>());
    const int digit = golden["digit"];  // its probability is recorded with five decimals
    EXPECT_NEAR(outcome.probability[digit], golden["probability"].get<double>(), 6e-6);
  }
}
TEST(LenetDigits, RecordedLogitsOnTheDevice) { ExpectRecordedLogits(false); }
TEST(LenetDigits, RecordedLogitsOnTheReferenceBackend) { ExpectRecordedLogits(true); }

TEST(LenetDigits, OneSynchronisationPerRun) {
  Reader reader(false, 1);
  ASSERT_TRUE(reader.compiled());
  EXPECT_EQ(reader.report().syncs, 1u) << reader.report().ToText();
  const auto snapshot = FindInLayers<timcl_count_snapshot_fn>("timcl_count_snapshot");
  ASSERT_NE(snapshot, nullptr) << "ctest sets OPENCL_LAYERS to the count layer";
  ASSERT_TRUE(reader.Run());
  timcl_counts before, after;
  snapshot(&before);
  ASSERT_TRUE(reader.Run());
  snapshot(&after);
  EXPECT_EQ(timcl_count_syncs(&after) - timcl_count_syncs(&before), 1);
  EXPECT_EQ(after.create_buffer, before.create_buffer);
  EXPECT_EQ(after.enqueue_kernel - before.enqueue_kernel,
            static_cast<int64_t>(reader.report().launches));
}

TEST(LenetDigits, ThousandDigits) {
  constexpr uint32_t kBatch = 100;
  const auto set = digits::LoadTestSet(DIGITS_DIR "/digits.testset");
  ASSERT_TRUE(set.ok()) << set.status().message();
  ASSERT_EQ(set->inputs.size(), Golden()["testset"]["count"].get<size_t>());
  ASSERT_EQ(set->inputs.size(), 1000u);
  Reader device(false, kBatch), reference(true, kBatch);
  ASSERT_TRUE(device.compiled() && reference.compiled());

  int right = 0;
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  Outcome all;
  for (size_t start = 0; start < set->inputs.size(); start += kBatch) {
    const Outcome outcome = device.Read(&set->inputs[start]);
    for (const uint8_t byte : outcome.logits) hash = (hash ^ byte) * 0x100000001b3u;
    for (size_t n = 0; n < kBatch; ++n) {
      const float* p = &outcome.probability[n * digits::kClasses];
      right += std::max_element(p, p + digits::kClasses) - p == set->labels[start + n];
    }
    all.logits.insert(all.logits.end(), outcome.logits.begin(), outcome.logits.end());
    all.probability.insert(all.probability.end(), outcome.probability.begin(),
                           outcome.probability.end());
  }
  // The reference backend is slow: it reads every tenth digit, in one batch.
  std::vector<digits::Input> some;
  for (size_t n = 3; n < set->inputs.size(); n += 10) some.push_back(set->inputs[n]);
  ASSERT_EQ(some.size(), kBatch);
  const Outcome expected = reference.Read(some.data());
  for (size_t n = 0; n < kBatch; ++n) {
    for (size_t i = 0; i < digits::kClasses; ++i) {
      const size_t in_all = (3 + 10 * n) * digits::kClasses + i, in_some = n * digits::kClasses + i;
      ASSERT_EQ(all.logits[in_all], expected.logits[in_some]) << "digit " << 3 + 10 * n;
      ASSERT_NEAR(all.probability[in_all], expected.probability[in_some], 1e-6);
    }
  }
  char hex[17];
  std::snprintf(hex, sizeof(hex), "%016llx", static_cast<unsigned long long>(hash));
  EXPECT_EQ(hex, Golden()["testset"]["logits_fnv1a64"].get<std::string>());
  EXPECT_EQ(right, Golden()["testset"]["correct"].get<int>());
  EXPECT_GE(right, 980);
  std::printf("right: %d of %zu\n", right, set->inputs.size());
}

// The LeNet of TIM-VX's samples: what lenet.json says of it, in typed API code.
class OthersLenet : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("TIMCL_TEST_DATA");
    if (folder == nullptr) GTEST_SKIP() << "TIMCL_TEST_DATA is not set: no LeNet made by others";
    const std::filesystem::path path = std::filesystem::path(folder) / "lenet";
    if (!std::filesystem::exists(path / "lenet.json")) {
      GTEST_SKIP() << "there is no " << (path / "lenet.json").string();
    }
    std::ifstream in(path / "lenet.json");
    json_ = Json::parse(in);
    weights_ = ReadBytes(path / json_["weights_file"].get<std::string>());
    digit_ = ReadBytes(path / json_["input"]["file"].get<std::string>());
    ASSERT_EQ(digit_.size(), digits::kPixels);
  }

  static vx::Quantization Quant(const Json& pair) {
    return vx::Quantization(vx::QuantType::ASYMMETRIC, pair[0].get<float>(), pair[1].get<int>());
  }

  Outcome Read(bool host_only, size_t* syncs) {
    namespace ops = vx::ops;
    const auto context = MakeContext(host_only);
    const auto graph = context->CreateGraph();
    const auto constant = [&](const char* name) {
      const Json& t = json_["tensors"][name];
      const auto type = t["dtype"] == "UINT8" ? vx::DataType::UINT8 : vx::DataType::INT32;
      const vx::TensorSpec spec(type, t["shape"].get<vx::ShapeType>(), vx::CONSTANT,
                                Quant(t["quant"]));
      return graph->CreateTensor(spec, &weights_[t["offset"].get<size_t>()]);
    };
    const auto u8 = [&](float scale, int zero) {
      return graph->CreateTensor(
          {vx::DataType::UINT8, {}, vx::TRANSIENT, {vx::QuantType::ASYMMETRIC, scale, zero}});
    };
    const auto input =
        graph->CreateTensor({vx::DataType::UINT8, json_["input"]["shape"].get<vx::ShapeType>(),
                             vx::INPUT, Quant(json_["input"]["quant"])});
    const auto logits = graph->CreateTensor(
        {vx::DataType::UINT8, {10, 1}, vx::OUTPUT, {vx::QuantType::ASYMMETRIC, 0.06251489f, 80}});
    const auto output = graph->CreateTensor({vx::DataType::FLOAT32, {10, 1}, vx::OUTPUT});
    const auto conv1 = u8(0.01928069f, 140), pool1 = u8(0.01928069f, 140);
    const auto conv2 = u8(0.04075872f, 141), pool2 = u8(0.04075872f, 141);
    const auto fc3 = u8(0.01992089f, 0), relu = u8(0.01992089f, 0);
    using Pair = std::array<uint32_t, 2>;
    const Pair one = {1, 1}, two = {2, 2}, five = {5, 5};
    graph->CreateOperation<ops::Conv2d>(20, vx::PadType::VALID, five, one, one)
        ->BindInputs({input, constant("conv1_weight"), constant("conv1_bias")})
        .BindOutput(conv1);
    graph->CreateOperation<ops::Pool2d>(vx::PoolType::MAX, vx::PadType::NONE, two, two)
        ->BindInput(conv1)
        .BindOutput(pool1);
    graph->CreateOperation<ops::Conv2d>(50, vx::PadType::VALID, five, one, one)
        ->BindInputs({pool1, constant("conv2_weight"), constant("conv2_bias")})
        .BindOutput(conv2);
    graph->CreateOperation<ops::Pool2d>(vx::PoolType::MAX, vx::PadType::NONE, two, two)
        ->BindInput(conv2)
        .BindOutput(pool2);
    graph->CreateOperation<ops::FullyConnected>(2u, 500u)
        ->BindInputs({pool2, constant("fc3_weight"), constant("fc3_bias")})
        .BindOutput(fc3);
    graph->CreateOperation<ops::Relu>()->BindInput(fc3).BindOutput(relu);
    graph->CreateOperation<ops::FullyConnected>(0u, 10u)
        ->BindInputs({relu, constant("fc4_weight"), constant("fc4_bias")})
        .BindOutput(logits);
    graph->CreateOperation<ops::Softmax>(1.0f, 0)->BindInput(logits).BindOutput(output);

    Outcome outcome{Bytes(10), std::vector<float>(10)};
    EXPECT_TRUE(graph->Compile()) << graph->LastStatus().message();
    EXPECT_TRUE(input->CopyDataToTensor(digit_.data(), digits::kPixels));
    EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
    EXPECT_TRUE(logits->CopyDataFromTensor(outcome.logits.data()));
    EXPECT_TRUE(output->CopyDataFromTensor(outcome.probability.data()));
    if (syncs != nullptr) *syncs = graph->Report().syncs;
    return outcome;
  }

  Json json_;
  Bytes weights_, digit_;
};

TEST_F(OthersLenet, ReadsItsDigit) {
  size_t syncs = 0;
  const Outcome device = Read(false, &syncs);
  EXPECT_EQ(syncs, 1u);
  const auto top = [](const std::vector<float>& p) {
    return std::max_element(p.begin(), p.end()) - p.begin();
  };
  EXPECT_EQ(top(device.probability), 0) << "the picture shows a 0";
  EXPECT_GT(device.probability[0], 0.5f);
  const Outcome reference = Read(true, nullptr);
  EXPECT_EQ(device.logits, reference.logits);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(device.probability[i], reference.probability[i], 1e-6);
  }
}

}  // namespace
