// References against the values that the scripts with golden.py wrote: nn_golden.py for the first
// operators, one script for each that came later.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "support/ir_builder.h"

namespace tim::vx::testing {
namespace {

using nlohmann::json;

TensorType TypeFrom(const json& j) {
  TensorType t;
  for (DataType d : {DataType::FLOAT32, DataType::UINT8, DataType::INT8, DataType::INT16,
                     DataType::INT32, DataType::INT64}) {
    if (j.at("dtype") == NameOf(d)) t.dtype = d;
  }
  t.shape = Shape(j.at("shape").get<std::vector<int64_t>>());
  const auto scales = j.at("scales").get<std::vector<float>>();
  const int32_t zero_point = j.at("zero_point"), dim = j.at("channel_dim");
  if (dim >= 0) {
    t.quant = Quantization(QuantType::SYMMETRIC_PER_CHANNEL, dim, scales,
                           std::vector<int32_t>(scales.size(), 0));
  } else if (scales[0] != 1.0f || zero_point != 0) {
    t.quant = Quantization(QuantType::ASYMMETRIC, scales[0], zero_point);
  }
  return t;
}

AnyAttrs AttrsFrom(const OpDef& def, const json& j) {
  AttrMap map;
  for (const auto& [name, value] : j.items()) {
    if (value.is_boolean()) {
      map.Set(name, value.get<bool>());
    } else if (value.is_array()) {
      map.Set(name, value.get<std::vector<int64_t>>());
    } else if (value.is_number_integer()) {
      map.Set(name, value.get<int64_t>());
    } else {
      map.Set(name, value.get<double>());
    }
  }
  auto data = def.schema->from_map(map);
  EXPECT_TRUE(data.ok()) << data.status().message();
  return AnyAttrs(def.schema, data.ok() ? *data : nullptr);
}

std::vector<std::byte> BytesFrom(const TensorType& t, const json& values) {
  std::vector<std::byte> bytes(t.bytes());
  ref::Output out(bytes.data(), t);
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsInteger(t.dtype)) {
      out.SetRaw(static_cast<int64_t>(i), values[i].get<int64_t>());
    } else {
      out.Set(static_cast<int64_t>(i), values[i].get<double>());
    }
  }
  return bytes;
}

class NnGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(NnGolden, References) {
  std::ifstream file(std::string(TIMCL_GOLDEN_DIR "/") + GetParam() + ".json");
  const json cases = json::parse(file);
  ASSERT_FALSE(cases.empty());
  for (size_t n = 0; n < cases.size(); ++n) {
    const json& c = cases[n];
    const std::string name = c.at("op");
    SCOPED_TRACE("case " + std::to_string(n) + ": " + name + " " + c.at("attrs").dump());
    const auto def = Builtin().Find(name);
    ASSERT_NE(def, nullptr);
    std::vector<TensorType> inputs, outputs;
    std::vector<std::vector<std::byte>> data;
    for (const json& in : c.at("inputs")) {
      inputs.push_back(TypeFrom(in));
      data.push_back(BytesFrom(inputs.back(), in.at("values")));
    }
    for (const json& out : c.at("outputs")) {
      outputs.push_back(TypeFrom(out));
      outputs.back().shape = {};
    }
    OneOp op(*def, AttrsFrom(*def, c.at("attrs")), inputs, outputs);
    const Status verified = op.Verify();
    ASSERT_TRUE(verified.ok()) << verified.message();
    std::vector<std::vector<std::byte>> results;
    ASSERT_TRUE(op.Run(data, &results).ok());
    for (size_t o = 0; o < outputs.size(); ++o) {
      const json& want = c.at("outputs")[o];
      const TensorType type = op.view().out(o).type();
      // FullyConnected over several dimensions gives {Oc, B} for weights that are not constant.
      ASSERT_EQ(type.shape, TypeFrom(want).shape);
      const ref::Input got(results[o].data(), type);
      const json& values = want.at("values");
      ASSERT_EQ(values.size(), static_cast<size_t>(got.count()));
      double largest = 0;
      for (const json& v : values) largest = std::max(largest, std::fabs(v.get<double>()));
      for (int64_t i = 0; i < got.count(); ++i) {
        const json& expected = values[static_cast<size_t>(i)];
        if (IsInteger(type.dtype)) {
          EXPECT_EQ(got.Raw(i), expected.get<int64_t>()) << "output " << o << " element " << i;
        } else {
          EXPECT_NEAR(got.At(i), expected.get<double>(), c.at("relative").get<double>() * largest)
              << "output " << o << " element " << i;
        }
      }
    }
  }
}

std::vector<std::string> Files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TIMCL_GOLDEN_DIR)) {
    const std::string name = entry.path().stem();
    // Those two have forms and tests of their own.
    if (entry.path().extension() == ".json" && name.rfind("pointwise", 0) != 0 &&
        name.rfind("lenet", 0) != 0) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}
INSTANTIATE_TEST_SUITE_P(, NnGolden, ::testing::ValuesIn(Files()),
                         [](const auto& file) { return file.param; });

TEST(Golden, EveryOperatorHasValues) {
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(TIMCL_GOLDEN_DIR)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    for (const json& c : json::parse(file)) {
      if (c.contains("op")) seen.insert(c.at("op").get<std::string>());
    }
  }
  for (const auto& def : Builtin().All()) {
    EXPECT_TRUE(seen.count(std::string(def->name))) << def->name << " is in no *_golden.json";
  }
}

}  // namespace
}  // namespace tim::vx::testing
