// Point-wise ops: the references against pointwise_golden.json, which pointwise_golden.py wrote.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "support/ir_builder.h"

namespace tim::vx::testing {
namespace {

using nlohmann::json;

TensorType TypeOf(const json& j) {
  TensorType t;
  for (DataType d : {DataType::FLOAT32, DataType::UINT8, DataType::INT8, DataType::INT16,
                     DataType::INT32, DataType::BOOL8}) {
    if (j.at("dtype") == NameOf(d)) t.dtype = d;
  }
  t.shape = Shape(j.at("shape").get<std::vector<int64_t>>());
  const float scale = j.at("scale");
  const int32_t zero_point = j.at("zero_point");
  if (scale != 1.0f || zero_point != 0) {
    t.quant = Quantization(QuantType::ASYMMETRIC, scale, zero_point);
  }
  return t;
}

AnyAttrs AttrsFor(const OpDef& def, const json& j) {
  AttrMap map;
  for (const auto& [name, value] : j.items()) {
    if (value.is_boolean()) {
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

/// Stored values, as they are in the file.
std::vector<std::byte> Stored(const TensorType& t, const json& values) {
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

TEST(PointwiseGolden, References) {
  std::ifstream file(TIMCL_GOLDEN_DIR "/pointwise_golden.json");
  const json cases = json::parse(file);
  ASSERT_GT(cases.size(), 100u);
  std::set<std::string> seen;
  for (size_t n = 0; n < cases.size(); ++n) {
    const json& c = cases[n];
    const std::string name = c.at("op");
    SCOPED_TRACE("case " + std::to_string(n) + ": " + name + " " + c.at("attrs").dump());
    seen.insert(name);
    const auto def = Builtin().Find(name);
    ASSERT_NE(def, nullptr);
    std::vector<TensorType> inputs;
    std::vector<std::vector<std::byte>> data;
    for (const json& in : c.at("inputs")) {
      inputs.push_back(TypeOf(in));
      data.push_back(Stored(inputs.back(), in.at("values")));
    }
    const json& want = c.at("output");
    const TensorType declared = TypeOf(want);
    TensorType open = declared;
    open.shape = {};
    OneOp op(*def, AttrsFor(*def, c.at("attrs")), inputs, {open});
    const Status verified = op.Verify();
    ASSERT_TRUE(verified.ok()) << verified.message();
    ASSERT_EQ(op.view().out(0).shape(), declared.shape);
    std::vector<std::vector<std::byte>> results;
    ASSERT_TRUE(op.Run(data, &results).ok());
    const TensorType result_type = op.view().out(0).type();
    const ref::Input got(results[0].data(), result_type);
    const json& values = want.at("values");
    ASSERT_EQ(values.size(), static_cast<size_t>(got.count()));
    for (int64_t i = 0; i < got.count(); ++i) {
      const json& expected = values[static_cast<size_t>(i)];
      if (IsInteger(result_type.dtype)) {
        const int64_t difference = got.Raw(i) - expected.get<int64_t>();
        EXPECT_LE(std::abs(difference), c.at("steps").get<int64_t>()) << "element " << i;
      } else {
        const double y = expected;
        EXPECT_NEAR(got.At(i), y, 4e-7 * std::fabs(y) + 1e-7) << "element " << i;
      }
    }
  }
  // All of activations.h, elementwise.h, simple_operations.h and clip.h.
  EXPECT_EQ(seen.size(), 48u);
}

}  // namespace
}  // namespace tim::vx::testing
