// Reads the golden files that tests/golden/golden_case.py writes, and compares references with
// them.
#ifndef TIMCL_TESTS_SUPPORT_GOLDEN_READER_H_
#define TIMCL_TESTS_SUPPORT_GOLDEN_READER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/ir_builder.h"

namespace tim::vx::testing::golden {

using nlohmann::json;

inline TensorType TypeFrom(const json& j) {
  TensorType t;
  for (DataType d : {DataType::FLOAT32, DataType::UINT8, DataType::INT8, DataType::INT16,
                     DataType::INT32, DataType::BOOL8}) {
    if (j.at("dtype") == NameOf(d)) t.dtype = d;
  }
  EXPECT_NE(t.dtype, DataType::UNKNOWN) << j.at("dtype");
  t.shape = Shape(j.at("shape").get<std::vector<int64_t>>());
  const float scale = j.at("scale");
  const int32_t zero_point = j.at("zero_point");
  if (scale != 1.0f || zero_point != 0) {
    t.quant = Quantization(QuantType::ASYMMETRIC, scale, zero_point);
  }
  return t;
}

inline AnyAttrs AttrsFrom(const OpDef& def, const json& j) {
  AttrMap map;
  for (const auto& [name, value] : j.items()) {
    if (value.is_array()) {
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

inline std::vector<std::byte> BytesFrom(const TensorType& t, const json& values) {
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

/// One result against its golden values.
inline void Compare(const ref::Input& got, const json& values, double relative, int64_t steps) {
  ASSERT_EQ(values.size(), static_cast<size_t>(got.count()));
  double largest = 0;
  for (const json& v : values) largest = std::max(largest, std::fabs(v.get<double>()));
  for (int64_t i = 0; i < got.count(); ++i) {
    const json& expected = values[static_cast<size_t>(i)];
    if (IsInteger(got.type().dtype)) {
      EXPECT_LE(std::abs(got.Raw(i) - expected.get<int64_t>()), steps)
          << "element " << i << " is " << got.Raw(i) << " instead of " << expected;
    } else {
      EXPECT_NEAR(got.At(i), expected.get<double>(), relative * largest) << "element " << i;
    }
  }
}

/// Runs the reference of every case of the file; returns how many cases each operator has.
inline std::map<std::string, int> CompareWithReferences(const std::string& path) {
  std::map<std::string, int> seen;
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  const json all = json::parse(file);
  const json& cases = all.at("cases");
  for (size_t n = 0; n < cases.size(); ++n) {
    const json& c = cases[n];
    const std::string name = c.at("op");
    SCOPED_TRACE("case " + std::to_string(n) + " of " + all.at("generator").get<std::string>() +
                 ": " + name + " " + c.at("attrs").dump());
    ++seen[name];
    const auto def = Builtin().Find(name);
    if (def == nullptr) {
      ADD_FAILURE() << "no operator of that name";
      continue;
    }
    std::vector<TensorType> inputs, outputs;
    std::vector<std::vector<std::byte>> data, results;
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
    EXPECT_TRUE(verified.ok()) << verified.message();
    if (!verified.ok() || !op.Run(data, &results).ok()) continue;
    for (size_t o = 0; o < outputs.size(); ++o) {
      const json& want = c.at("outputs")[o];
      const TensorType type = op.view().out(o).type();
      EXPECT_EQ(type.shape, TypeFrom(want).shape);
      SCOPED_TRACE("output " + std::to_string(o));
      Compare(ref::Input(results[o].data(), type), want.at("values"), c.at("relative"),
              c.at("steps"));
    }
  }
  return seen;
}

}  // namespace tim::vx::testing::golden
#endif  // TIMCL_TESTS_SUPPORT_GOLDEN_READER_H_
