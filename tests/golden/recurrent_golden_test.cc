// Recurrent ops: the references against recurrent_golden.json, which recurrent_golden.py wrote.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/ir_builder.h"

namespace tim::vx::testing {
namespace {

using nlohmann::json;

/// Null: the operand is left out.
TensorType TypeFrom(const json& j) {
  TensorType t;
  if (j.is_null()) return t;
  for (DataType d : {DataType::FLOAT32, DataType::UINT8, DataType::INT8, DataType::INT32}) {
    if (j.at("dtype") == NameOf(d)) t.dtype = d;
  }
  t.shape = Shape(j.at("shape").get<std::vector<int64_t>>());
  const float scale = j.at("scale");
  const int32_t zero_point = j.at("zero_point");
  if (scale != 1.0f || zero_point != 0)
    t.quant = Quantization(QuantType::ASYMMETRIC, scale, zero_point);
  return t;
}

AnyAttrs AttrsFrom(const OpDef& def, const json& j) {
  AttrMap map;
  for (const auto& [name, value] : j.items()) {
    if (value.is_string()) {
      map.Set(name, value.get<std::string>());
    } else if (value.is_boolean()) {
      map.Set(name, value.get<bool>());
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

std::vector<std::byte> BytesFrom(const TensorType& t, const json& j) {
  if (j.is_null()) return {};
  std::vector<std::byte> bytes(t.bytes());
  ref::Output out(bytes.data(), t);
  const json& values = j.at("values");
  EXPECT_EQ(values.size(), static_cast<size_t>(t.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsInteger(t.dtype)) {
      out.SetRaw(static_cast<int64_t>(i), values[i].get<int64_t>());
    } else {
      out.Set(static_cast<int64_t>(i), values[i].get<double>());
    }
  }
  return bytes;
}

TEST(RecurrentGolden, References) {
  std::ifstream file(TIMCL_GOLDEN_DIR "/recurrent_golden.json");
  const json cases = json::parse(file);
  std::map<std::string, int> seen;
  for (size_t n = 0; n < cases.size(); ++n) {
    const json& c = cases[n];
    const std::string name = c.at("op");
    SCOPED_TRACE("case " + std::to_string(n) + ": " + name + " " + c.at("attrs").dump() + " by " +
                 c.at("source").get<std::string>());
    ++seen[name];
    const auto def = Builtin().Find(name);
    ASSERT_NE(def, nullptr);
    std::vector<TensorType> inputs, outputs;
    std::vector<std::vector<std::byte>> data;
    for (const json& in : c.at("inputs")) {
      inputs.push_back(TypeFrom(in));
      data.push_back(BytesFrom(inputs.back(), in));
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
      ASSERT_EQ(type.shape, TypeFrom(want).shape) << "output " << o;
      const ref::Input got(results[o].data(), type);
      const json& values = want.at("values");
      ASSERT_EQ(values.size(), static_cast<size_t>(got.count()));
      for (int64_t i = 0; i < got.count(); ++i) {
        const json& expected = values[static_cast<size_t>(i)];
        if (IsInteger(type.dtype)) {
          EXPECT_EQ(got.Raw(i), expected.get<int64_t>()) << "output " << o << " element " << i;
        } else {
          EXPECT_NEAR(got.At(i), expected.get<double>(), c.at("tolerance").get<double>())
              << "output " << o << " element " << i;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 9u);
  for (const auto& [name, count] : seen) EXPECT_GE(count, 3) << name;
}

}  // namespace
}  // namespace tim::vx::testing
