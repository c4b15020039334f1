// What the golden tests share: operands and attributes as the files of tests/golden write them.
#ifndef TIMCL_TESTS_SUPPORT_GOLDEN_H_
#define TIMCL_TESTS_SUPPORT_GOLDEN_H_

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tim/vx/op_def.h"

namespace tim::vx::testing {

inline nlohmann::json ReadGolden(const std::string& name) {
  std::ifstream file(TIMCL_GOLDEN_DIR "/" + name);
  return nlohmann::json::parse(file);
}

/// {"dtype", "shape", "zero_point" and "scale" or, with "channel_dim", "scales"}.
inline TensorType TypeFrom(const nlohmann::json& j) {
  TensorType t;
  for (DataType d : {DataType::FLOAT32, DataType::UINT8, DataType::INT8, DataType::INT16,
                     DataType::INT32, DataType::INT64, DataType::BOOL8}) {
    if (j.at("dtype") == NameOf(d)) t.dtype = d;
  }
  EXPECT_NE(t.dtype, DataType::UNKNOWN) << j.at("dtype");
  t.shape = Shape(j.at("shape").get<std::vector<int64_t>>());
  const auto scales = j.contains("scales") ? j.at("scales").get<std::vector<float>>()
                                           : std::vector<float>{j.at("scale").get<float>()};
  const int32_t zero_point = j.at("zero_point"), dim = j.value("channel_dim", -1);
  if (dim >= 0) {
    t.quant = Quantization(QuantType::SYMMETRIC_PER_CHANNEL, dim, scales,
                           std::vector<int32_t>(scales.size(), 0));
  } else if (scales[0] != 1.0f || zero_point != 0) {
    t.quant = Quantization(QuantType::ASYMMETRIC, scales[0], zero_point);
  }
  return t;
}

inline AnyAttrs AttrsFrom(const OpDef& def, const nlohmann::json& j) {
  AttrMap map;
  for (const auto& [name, value] : j.items()) {
    if (value.is_array()) {
      map.Set(name, value.get<std::vector<int64_t>>());
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

/// Stored values, as they are in the file.
inline std::vector<std::byte> BytesFrom(const TensorType& t, const nlohmann::json& values) {
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

}  // namespace tim::vx::testing
#endif  // TIMCL_TESTS_SUPPORT_GOLDEN_H_
