// The networks of bench/networks without a device: what the reader refuses, what the generator
// makes, and that the graphs have the shapes that the files tell.
#include "networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tim/vx/compile_report.h"
#include "tim/vx/context.h"

namespace networks {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> AllNames() {
  std::vector<std::string> names = Names();
  for (const std::string& name : Names()) {
    if (HasSmall(name)) names.push_back("small/" + name);
  }
  return names;
}

// bench/networks/README.md tells the same values, networks.py makes them too.
TEST(Generator, MakesTheValuesOfTheReadme) {
  EXPECT_EQ(Hash("stem/weights"), 0x57bdbab0596053aeu);
  const std::vector<float> v = Values("stem/weights", 1000001);
  EXPECT_THAT(std::vector<float>({v[0], v[1], v[2], v[1000000]}),
              ElementsAre(0.4735778570175171f, -0.9389078617095947f, 0.8766655921936035f,
                          -0.853972315788269f));
}

TEST(Generator, WeightsFollowTheFormula) {
  const auto network = Load(FileOf("resnet50"));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const Layer& stem = network->layers[0];
  ASSERT_EQ(stem.name, "stem");
  const auto weights = Weights(*network, stem);
  const std::vector<float>& w = weights.at("weights");
  ASSERT_EQ(w.size(), 64u * 3 * 7 * 7);
  // gain 2 over 147 terms: sqrt(6 / 147) = 0.2020305
  EXPECT_FLOAT_EQ(w[0], 0.4735778570175171f * 0.2020305f);
  EXPECT_FLOAT_EQ(weights.at("bias")[5], Values("stem/bias", 6)[5] * 0.1f);
}

TEST(Generator, LayerNormScalesAroundOne) {
  const auto network = Load(FileOf("small/bert_base"));
  ASSERT_TRUE(network.ok()) << network.status().message();
  const auto weights = Weights(*network, network->layers[0]);
  const float v = Values("embedding_norm/gamma", 1)[0];
  EXPECT_FLOAT_EQ(weights.at("gamma")[0], 1 + v * 0.1f);
  EXPECT_EQ(weights.at("beta").size(), 768u);
}

class Files : public testing::TestWithParam<std::string> {};

/// What a report tells of tensors at the border, such as "'image' f32[28,28,1,1]", by name.
std::map<std::string, std::string> TypesAtBorder(const tim::vx::CompileReport& report) {
  std::map<std::string, std::string> types;
  for (const auto& part : report.parts) {
    for (const std::string& text : part.outputs) {
      const size_t end = text.find("' ");
      if (text[0] == '\'' && end != std::string::npos)
        types[text.substr(1, end - 1)] = text.substr(end + 2);
    }
  }
  return types;
}

// Every tensor is made an output of an open shape, so the graph's own rules tell its shape.
TEST_P(Files, GraphHasTheShapesOfTheFile) {
  const auto network = Load(FileOf(GetParam()));
  ASSERT_TRUE(network.ok()) << network.status().message();
  tim::vx::ContextOptions options;
  options.host_only = true;
  const auto context = tim::vx::Context::Create(options);
  for (const Type type : {Type::kFloat32, Type::kInt8}) {
    const auto graph = context->CreateGraph();
    const auto built = Built::Into(*graph, *network, type, true);
    ASSERT_TRUE(built.ok()) << built.status().message();
    ASSERT_TRUE(graph->Compile()) << graph->LastStatus().message();
    EXPECT_THAT(graph->Report().warnings, ElementsAre());
    const auto types = TypesAtBorder(graph->Report());
    for (const Layer& layer : network->layers) {
      const Shape& shape = network->ShapeOf(layer.output);
      Shape whcn = {shape.rbegin(), shape.rend()};
      std::set<std::string> allowed;
      const auto add = [&] {
        std::string text;
        for (const uint32_t n : whcn) text += (text.empty() ? "[" : ",") + std::to_string(n);
        allowed.insert(text + "]");
      };
      add();
      if (shape.size() == 4) whcn = {shape[2], shape[1], shape[3], shape[0]}, add();
      ASSERT_EQ(types.count(layer.output), 1u) << layer.output;
      const std::string& told = types.at(layer.output);
      const size_t bracket = told.find('['), end = told.find(']');
      ASSERT_NE(end, std::string::npos) << told;
      EXPECT_EQ(allowed.count(told.substr(bracket, end - bracket + 1)), 1u)
          << layer.output << " is " << told << " where the file tells " << *allowed.begin();
      const bool float32 = type == Type::kFloat32 || network->int8 == "dense";
      EXPECT_THAT(told, testing::StartsWith(float32 ? "f32" : "i8")) << layer.output;
    }
  }
}

TEST_P(Files, TellsItsMultiplications) {
  const auto network = Load(FileOf(GetParam()));
  ASSERT_TRUE(network.ok()) << network.status().message();
  double macs = 0;
  for (const Layer& layer : network->layers) {
    const double out = static_cast<double>(CountOf(network->ShapeOf(layer.output)));
    const Shape& in = network->ShapeOf(layer.inputs[0]);
    if (layer.op == "conv")
      macs += out * layer.kernel[0] * layer.kernel[1] * in[3] / layer.groups;
    else if (layer.op == "dense")
      macs += out * static_cast<double>(layer.flatten ? CountOf(in) / in[0] : in.back());
    else if (layer.op == "matmul")
      macs += out * in.back();
    else if (layer.op == "lstm")
      macs += out * 4 * (in.back() + layer.units);
  }
  EXPECT_EQ(network->macs, macs);
}

INSTANTIATE_TEST_SUITE_P(All, Files, testing::ValuesIn(AllNames()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

class Reader : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(FileOf("lenet"));
    root_ = json::parse(in);
  }
  void TearDown() override { std::remove(file_.c_str()); }

  std::string Message(const std::string& text) {
    std::ofstream(file_) << text;
    const auto network = Load(file_);
    return network.ok() ? "it is read" : network.status().message();
  }
  std::string Message() { return Message(root_.dump()); }
  json& Layer(size_t i) { return root_["layers"][i]; }

  const std::string file_ = testing::TempDir() + "networks_test_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
  json root_;
};

TEST_F(Reader, ReadsWhatMakeWrites) { EXPECT_EQ(Message(), "it is read"); }

TEST_F(Reader, FileThatIsNotThere) {
  EXPECT_THAT(Load("/nonexistent/x.json").status().message(), HasSubstr("/nonexistent/x.json"));
}
TEST_F(Reader, NoJson) {
  EXPECT_THAT(Message("{\"format\": 1,\n \"name\" }"),
              AllOf(HasSubstr(file_), HasSubstr("line 2")));
}
TEST_F(Reader, AnotherFormat) {
  root_["format"] = 7;
  EXPECT_THAT(Message(), AllOf(HasSubstr("field 'format'"), HasSubstr("7")));
}
TEST_F(Reader, FieldIsMissing) {
  Layer(0).erase("stride");
  EXPECT_THAT(Message(), AllOf(HasSubstr(file_), HasSubstr("layer 'conv1'"),
                               HasSubstr("field 'stride' is missing")));
}
TEST_F(Reader, FieldOfAnotherOp) {
  Layer(1)["gain"] = 2;
  EXPECT_THAT(Message(),
              AllOf(HasSubstr("layer 'pool1'"), HasSubstr("'gain'"), HasSubstr("max_pool")));
}
TEST_F(Reader, FieldOfAnotherType) {
  Layer(0)["filters"] = "many";
  EXPECT_THAT(Message(), AllOf(HasSubstr("layer 'conv1'"), HasSubstr("field 'filters'"),
                               HasSubstr("\"many\""), HasSubstr("a whole number")));
  Layer(0)["filters"] = -1;
  EXPECT_THAT(Message(), HasSubstr("field 'filters' is -1"));
}
TEST_F(Reader, ListOfAnotherLength) {
  Layer(0)["pads"] = {0, 0};
  EXPECT_THAT(Message(), HasSubstr("field 'pads' needs 4 entries"));
  Layer(0)["pads"] = {0, 0, 0, 0};
  Layer(0)["stride"] = {1, 0};
  EXPECT_THAT(Message(), HasSubstr("field 'stride' has an entry below 1"));
}
TEST_F(Reader, UnknownOp) {
  Layer(0)["op"] = "convolve";
  EXPECT_THAT(Message(), AllOf(HasSubstr("layer 'conv1'"), HasSubstr("'convolve'")));
}
TEST_F(Reader, UnknownTensor) {
  Layer(1)["inputs"] = {"conv9"};
  EXPECT_THAT(Message(), AllOf(HasSubstr("layer 'pool1'"), HasSubstr("'conv9'")));
}
TEST_F(Reader, TensorThatIsMadeLater) {
  Layer(1)["inputs"] = {"conv2"};
  EXPECT_THAT(Message(), AllOf(HasSubstr("layer 'pool1'"), HasSubstr("'conv2'"),
                               HasSubstr("no layer before")));
}
TEST_F(Reader, TensorThatIsMadeTwice) {
  Layer(1)["output"] = "conv1";
  EXPECT_THAT(Message(), AllOf(HasSubstr("layer 'pool1'"), HasSubstr("field 'output'"),
                               HasSubstr("made before")));
}
TEST_F(Reader, OutputThatNobodyMakes) {
  root_["tensors"]["nothing"] = {1};
  root_["outputs"] = {"nothing"};
  EXPECT_THAT(Message(), AllOf(HasSubstr("field 'outputs'"), HasSubstr("'nothing'")));
}
TEST_F(Reader, ShapeWithoutElements) {
  root_["tensors"]["conv1"] = {1, 0, 24, 20};
  EXPECT_THAT(Message(),
              AllOf(HasSubstr("tensors"), HasSubstr("'conv1'"), HasSubstr("[1,0,24,20]")));
}
TEST_F(Reader, NumberOfInputsAndRank) {
  Layer(0)["inputs"] = {"image", "image"};
  EXPECT_THAT(Message(), AllOf(HasSubstr("layer 'conv1'"), HasSubstr("has 2 names, conv takes 1")));
  Layer(0)["inputs"] = {"logits"};
  EXPECT_THAT(Message(), HasSubstr("'logits' has 2 dimensions, conv needs 4"));
}
TEST_F(Reader, GroupsAndActivation) {
  Layer(0)["groups"] = 5;
  EXPECT_THAT(Message(), HasSubstr("field 'groups' is 5"));
  Layer(0)["groups"] = 1;
  Layer(0)["activation"] = "swish";
  EXPECT_THAT(Message(), HasSubstr("field 'activation' is 'swish'"));
}
TEST_F(Reader, RangesAndExpectedValues) {
  root_["ranges"]["conv1"] = {2, -2};
  EXPECT_THAT(Message(),
              AllOf(HasSubstr("field 'ranges'"), HasSubstr("'conv1'"), HasSubstr("[2,-2]")));
  root_["ranges"].erase("conv1");
  root_["expected"]["digits"] = {"a"};
  EXPECT_THAT(Message(), AllOf(HasSubstr("field 'expected'"), HasSubstr("'digits'")));
}

TEST_F(Reader, Int8NeedsRanges) {
  root_["ranges"].erase("pool2");
  std::ofstream(file_) << root_.dump();
  const auto network = Load(file_);
  ASSERT_TRUE(network.ok()) << network.status().message();
  tim::vx::ContextOptions options;
  options.host_only = true;
  const auto graph = tim::vx::Context::Create(options)->CreateGraph();
  EXPECT_THAT(Built::Into(*graph, *network, Type::kInt8).status().message(),
              AllOf(HasSubstr(file_), HasSubstr("'pool2'"), HasSubstr("calibrate.py")));
}

// The reference backend against what NumPy computed.
TEST(Reference, ComputesTheExpectedValues) {
  tim::vx::ContextOptions options;
  options.host_only = true;
  const auto context = tim::vx::Context::Create(options);
  for (const char* name : {"lenet", "autoencoder"}) {
    for (const Type type : {Type::kFloat32, Type::kInt8}) {
      const auto network = Load(FileOf(name));
      ASSERT_TRUE(network.ok()) << network.status().message();
      const auto graph = context->CreateGraph();
      auto built = Built::Into(*graph, *network, type);
      ASSERT_TRUE(built.ok()) << built.status().message();
      ASSERT_TRUE(built->SetInputs().ok());
      ASSERT_TRUE(graph->Run()) << graph->LastStatus().message();
      const auto difference = CompareExpected(*built, type);
      ASSERT_TRUE(difference.ok()) << difference.status().message();
      EXPECT_GT(difference->count, 8u);
      EXPECT_LE(difference->largest, type == Type::kFloat32
                                         ? 1e-5 * difference->scale
                                         : 1.001 * built->StepOf(network->outputs[0]))
          << name << " " << NameOf(type) << ": " << difference->where;
    }
  }
}

}  // namespace
}  // namespace networks
