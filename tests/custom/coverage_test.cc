// The sample operators of users against what is known of the built-in ones: values of the golden
// files, and the built-in operator on the same device. What passed is noted as `timcl ops` reads
// it, for its row CustomOpBase.
#include "support/coverage.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "fixture.h"
#include "gemm.h"
#include "hswish.h"
#include "tim/vx/ops/activations.h"
#include "tim/vx/ops/matmul.h"

namespace custom_test {
namespace {

using nlohmann::json;
using tim::vx::coverage::CaseRun;

class CustomCoverage : public CustomOp {
 protected:
  void Note(const std::string& name, const std::string& types, bool passed) {
    runs_.push_back({"CustomOpBase", name, "user", types, passed});
  }
  void WriteDown(const char* kind) {
    ASSERT_GE(runs_.size(), 3u);
    tim::vx::coverage::Write(TIMCL_BINARY_DIR "/coverage", kind, "custom", runs_);
  }
  std::vector<CaseRun> runs_;
};

json CasesOf(const std::string& file) {
  std::ifstream stream(TIMCL_GOLDEN_DIR "/" + file);
  return json::parse(stream).at("cases");
}

vx::ShapeType ShapeOf(const json& operand) { return operand.at("shape").get<vx::ShapeType>(); }

std::string ElementTypeOf(const json& operand) { return operand.at("dtype").get<std::string>(); }

template <class T>
vx::Quantization QuantOf(const json& operand) {
  if (std::is_same_v<T, float>) return {};
  return {vx::QuantType::ASYMMETRIC, operand.at("scale"), operand.at("zero_point")};
}

/// The results of one operator between the operands of a golden case, all of type T.
template <class T>
std::vector<T> Results(vx::Context& context, const json& c,
                       const std::function<std::shared_ptr<vx::Operation>(vx::Graph&)>& make) {
  auto graph = context.CreateGraph();
  std::vector<TensorPtr> inputs;
  for (const json& in : c.at("inputs")) {
    inputs.push_back(graph->CreateTensor({TypeOf<T>(), ShapeOf(in), vx::INPUT, QuantOf<T>(in)}));
  }
  const json& y = c.at("outputs")[0];
  const auto out = graph->CreateTensor({TypeOf<T>(), ShapeOf(y), vx::OUTPUT, QuantOf<T>(y)});
  make(*graph)->BindInputs(inputs).BindOutput(out);
  EXPECT_TRUE(graph->Compile()) << graph->LastStatus().message();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto values = c.at("inputs")[i].at("values").get<std::vector<T>>();
    EXPECT_TRUE(inputs[i]->CopyDataToTensor(values.data()));
  }
  EXPECT_TRUE(graph->Run()) << graph->LastStatus().message();
  std::vector<T> values(y.at("values").size());
  EXPECT_TRUE(out->CopyDataFromTensor(values.data()));
  return values;
}

/// All results within `allowed` of the case's values.
template <class T>
bool Agree(const std::vector<T>& got, const json& c, double allowed) {
  const auto want = c.at("outputs")[0].at("values").get<std::vector<T>>();
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], allowed) << "element " << i;
    if (!(std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])) <= allowed))
      return false;
  }
  return true;
}

TEST_F(CustomCoverage, Goldens) {
  for (const json& c : CasesOf("pointwise_golden.json")) {
    if (c.at("op") != "HardSwish") continue;
    const json &x = c.at("inputs")[0], &y = c.at("outputs")[0];
    const std::string type = ElementTypeOf(x);
    SCOPED_TRACE("hswish " + type);
    bool good = false;
    if (type == "f32") {
      good = Agree(
          Results<float>(*context_, c,
                         [](vx::Graph& g) { return g.CreateOperation<custom_ops::Hswish>(); }),
          c, 2e-6);
    } else if (type == "u8" && ElementTypeOf(y) == "u8") {
      const custom_ops::Hswish::ParamTuple params(x.at("scale"), x.at("zero_point"), y.at("scale"),
                                                  y.at("zero_point"));
      good = Agree(Results<uint8_t>(
                       *context_, c,
                       [&](vx::Graph& g) { return g.CreateOperation<custom_ops::Hswish>(params); }),
                   c, 1);
    } else {
      continue;  // not a type of that sample
    }
    Note("golden hswish " + type, type + " -> " + type, good);
  }
  for (const json& c : CasesOf("reduce_golden.json")) {
    const json &a = c.at("inputs")[0], &y = c.at("outputs")[0];
    if (c.at("op") != "Matmul" || ElementTypeOf(a) != "f32" ||
        !c.at("attrs").contains("transpose_a")) {
      continue;
    }
    const auto left = ShapeOf(a), result = ShapeOf(y);
    if (left.size() != 2 || ShapeOf(c.at("inputs")[1]).size() != 2) continue;  // it has no batches
    const bool trans_a = c.at("attrs").at("transpose_a"), trans_b = c.at("attrs").at("transpose_b");
    SCOPED_TRACE("gemm " + c.at("attrs").dump());
    const auto k = static_cast<int>(left[trans_a ? 1 : 0]);
    const custom_ops::CustomGemm::ParamTuple params(
        static_cast<int>(result[1]), k, static_cast<int>(result[0]), 0, 0, 1, 0, 1, 0, 1, 0);
    const bool good = Agree(Results<float>(*context_, c,
                                           [&](vx::Graph& g) {
                                             return g.CreateOperation<custom_ops::CustomGemm>(
                                                 trans_a, trans_b, params);
                                           }),
                            c, k * 4e-6);
    Note("golden gemm " + c.at("attrs").dump(), "f32 f32 -> f32", good);
  }
  WriteDown("golden");
}

/// A case as the golden files write it, with numbers and no values to expect.
json DrawnCase(const std::vector<vx::ShapeType>& inputs, const vx::ShapeType& output) {
  auto count = [](const vx::ShapeType& shape) {
    size_t n = 1;
    for (const uint32_t extent : shape) n *= extent;
    return n;
  };
  json c;
  uint32_t seed = 7;
  for (const vx::ShapeType& shape : inputs) {
    c["inputs"].push_back({{"shape", shape}, {"values", RandomFloats(count(shape), ++seed, 5)}});
  }
  c["outputs"].push_back({{"shape", output}, {"values", std::vector<float>(count(output))}});
  return c;
}

TEST_F(CustomCoverage, AsTheBuiltInOperators) {
  for (const vx::ShapeType& shape : {vx::ShapeType{1}, {13, 5}, {3, 2, 5, 2}, {67, 33}}) {
    SCOPED_TRACE("hswish " + ::testing::PrintToString(shape));
    json c = DrawnCase({shape}, shape);
    c["outputs"][0]["values"] = Results<float>(
        *context_, c, [](vx::Graph& g) { return g.CreateOperation<vx::ops::HardSwish>(); });
    const auto got = Results<float>(
        *context_, c, [](vx::Graph& g) { return g.CreateOperation<custom_ops::Hswish>(); });
    Note("hswish " + ::testing::PrintToString(shape), "f32 -> f32", Agree(got, c, 2e-6));
  }
  constexpr int kM = 17, kK = 9, kN = 33;
  const custom_ops::CustomGemm::ParamTuple params(kM, kK, kN, 0, 0, 1, 0, 1, 0, 1, 0);
  for (const int trans : {0, 1, 2, 3}) {
    const bool a = trans & 1, b = trans & 2;
    SCOPED_TRACE("gemm " + std::to_string(trans));
    json c = DrawnCase({a ? vx::ShapeType{kM, kK} : vx::ShapeType{kK, kM},
                        b ? vx::ShapeType{kK, kN} : vx::ShapeType{kN, kK}},
                       {kN, kM});
    c["outputs"][0]["values"] = Results<float>(
        *context_, c, [&](vx::Graph& g) { return g.CreateOperation<vx::ops::Matmul>(a, b); });
    const auto got = Results<float>(*context_, c, [&](vx::Graph& g) {
      return g.CreateOperation<custom_ops::CustomGemm>(a, b, params);
    });
    Note("gemm " + std::to_string(trans), "f32 f32 -> f32", Agree(got, c, 5e-5));
  }
  WriteDown("conformance");
}

}  // namespace
}  // namespace custom_test
